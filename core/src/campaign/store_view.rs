//! The store as one campaign knows it: its incarnation and when that was last verified, the highest revision and the
//! largest token known, its maximum age, the inspection under way, and the connection.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::time::Duration;

use crate::record::Attempt;
use crate::store::StoreInfo;
use crate::time::Instant;
use crate::token::{Incarnation, Revision, Token};

/// The number of incarnations of the store that are remembered.
const REMEMBERED: usize = 4;

/// The result of comparing an answer with what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// The answer may be current.
    Fresh,
    /// The answer is older than something known: it comes from an isolated or lagging server.
    Stale,
    /// For a whole lease and over two new connections, answers were lower: the store went back.
    Regressed,
}

/// The change that an inspection made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inspection {
    /// A later inspection was already answered, so this inspection shows nothing new.
    Old,
    /// The known incarnation.
    Same,
    /// Another incarnation.
    New,
}

/// The series of answers lower than the mark.
#[derive(Clone, Debug, Hash)]
struct Suspicion {
    since: Instant,
    connection: u64,
}

/// What the watch shows about the incarnation.
#[derive(Clone, Debug, Default, Hash)]
struct Watch {
    /// The time at which the current watch became ready.
    since: Option<Instant>,
    /// The newest write of ours that the watch showed in the known incarnation.
    write: Option<(Attempt, Revision)>,
}

/// The connection to the store.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Connection {
    /// The number of connections so far.
    number: u64,
    /// When a new connection was requested; `None` once it exists.
    asked: Option<Instant>,
}

impl Connection {
    /// Whether to request a new connection now, because none was requested within `timeout`.
    pub(super) fn start_new(&mut self, timeout: Duration, now: Instant) -> bool {
        if self.asked.is_some_and(|asked| now < asked + timeout) {
            return false;
        }
        self.asked = Some(now);
        true
    }

    /// Notes that the connection is new.
    pub(super) fn is_new(&mut self) {
        self.asked = None;
        self.number += 1;
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// The store, as known to one campaign.
#[derive(Clone, Debug, Hash)]
pub(super) struct StoreView {
    incarnation: Incarnation,
    /// `i0`: the send time of the request whose answer last showed this incarnation.
    verified_at: Instant,
    /// No win is reported before this instant, because the store may have been replaced under a leader.
    trusted_at: Instant,
    max_age: Option<Duration>,
    /// The longest maximum age that the store ever had: no lease is longer.
    longest_max_age: Duration,
    newest: Option<Revision>,
    /// The highest revision known of each incarnation, the newest incarnation last.
    marks: Vec<(Incarnation, Revision)>,
    suspicion: Option<Box<Suspicion>>,
    /// The largest token that any candidate may have reported.
    largest_token: Option<Token>,
    /// The wanted inspection must be sent at this instant or later.
    wanted_inspection: Option<Instant>,
    /// When an inspection was last asked for; `None` once it is answered or has timed out.
    inspection_asked: Option<Instant>,
    /// The number of inspections that failed in a row.
    inspections_failed: u32,
    watch: Watch,
    pub(super) connection: Connection,
    /// The number of operations that failed in a row.
    failures: u32,
}

impl StoreView {
    pub(super) fn new(info: &StoreInfo, lease: Duration, skew: Duration, now: Instant) -> Self {
        let mut store = Self {
            incarnation: info.incarnation,
            verified_at: info.asked_at,
            trusted_at: Instant::ZERO,
            max_age: info.max_age,
            longest_max_age: info.max_age.unwrap_or_default(),
            newest: info.newest,
            marks: Vec::new(),
            suspicion: None,
            largest_token: None,
            wanted_inspection: None,
            inspection_asked: None,
            inspections_failed: 0,
            watch: Watch::default(),
            connection: Connection::default(),
            failures: 0,
        };
        // An operator's statement counts only here, at the start: a candidate that has known another incarnation has
        // seen the name in use.
        store.begin(info, info.never_used, lease, skew, now);
        store
    }

    /// Observes the result of an inspection.
    pub(super) fn inspect(
        &mut self,
        info: &StoreInfo,
        lease: Duration,
        skew: Duration,
        now: Instant,
    ) -> Inspection {
        if info.asked_at < self.verified_at {
            return Inspection::Old;
        }
        self.verified_at = info.asked_at;
        self.max_age = info.max_age;
        self.longest_max_age = self.longest_max_age.max(info.max_age.unwrap_or_default());
        self.newest = info.newest;
        if info.incarnation == self.incarnation {
            return Inspection::Same;
        }
        self.incarnation = info.incarnation;
        self.suspicion = None;
        self.begin(info, false, lease, skew, now);
        Inspection::New
    }

    /// Begins an incarnation. It is trusted once it is a lease old, by the store's clocks or by ours. If the store's
    /// name was never used before, the incarnation is trusted at once.
    pub(super) fn begin(
        &mut self,
        info: &StoreInfo,
        never_used: bool,
        lease: Duration,
        skew: Duration,
        now: Instant,
    ) {
        let ours = now + lease;
        let theirs = info.age.map(|age| now + lease.saturating_add(skew).saturating_sub(age));
        let trusted_at = if never_used { Instant::ZERO } else { theirs.map_or(ours, |at| at.min(ours)) };
        self.trusted_at = self.trusted_at.max(trusted_at);
        if !self.marks.iter().any(|(known, _)| *known == self.incarnation) {
            if self.marks.len() == REMEMBERED {
                self.marks.remove(0);
            }
            // Usually there is only one.
            self.marks.reserve_exact(1);
            self.marks.push((self.incarnation, Revision(0)));
        }
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    pub(super) fn verified_at(&self) -> Instant {
        self.verified_at
    }

    /// Notes that an answer to a request sent at `asked_at` carried the known incarnation.
    pub(super) fn verify(&mut self, asked_at: Instant) {
        self.verified_at = self.verified_at.max(asked_at);
    }

    pub(super) fn trusted_at(&self) -> Instant {
        self.trusted_at
    }

    pub(super) fn max_age(&self) -> Option<Duration> {
        self.max_age
    }

    pub(super) fn longest_max_age(&self) -> Duration {
        self.longest_max_age
    }

    /// The highest revision known of this incarnation.
    pub(super) fn mark(&self) -> Revision {
        self.marks.iter().find(|(known, _)| *known == self.incarnation).map_or(Revision(0), |(_, mark)| *mark)
    }

    /// Observes a revision that is certainly in the store's history.
    pub(super) fn observe_revision(&mut self, revision: Revision) {
        if revision >= self.mark() {
            self.suspicion = None;
            self.set_mark(revision);
        }
    }

    fn set_mark(&mut self, revision: Revision) {
        let present = self.incarnation;
        if let Some((_, mark)) = self.marks.iter_mut().find(|(known, _)| *known == present) {
            *mark = revision;
        }
    }

    /// Compares an answer with the mark that was known when its request was sent. If the store is known to have gone
    /// back since then, the present mark counts instead.
    pub(super) fn classify(
        &mut self,
        revision: Revision,
        mark: Revision,
        lease: Duration,
        now: Instant,
    ) -> Freshness {
        if revision >= mark.min(self.mark()) {
            return Freshness::Fresh;
        }
        let connection = self.connection.number;
        let suspicion = self.suspicion.get_or_insert_with(|| Box::new(Suspicion { since: now, connection }));
        let certain = connection >= suspicion.connection + 2 && now >= suspicion.since + lease;
        if certain { Freshness::Regressed } else { Freshness::Stale }
    }

    /// Notes that the store went back to `revision`: it counts as another store under the same incarnation.
    pub(super) fn regress(&mut self, revision: Revision, lease: Duration, now: Instant) {
        self.suspicion = None;
        self.set_mark(revision);
        self.newest = Some(revision);
        self.trusted_at = self.trusted_at.max(now + lease);
    }

    /// Observes a token that some candidate may have reported.
    pub(super) fn observe_token(&mut self, token: Token) {
        self.largest_token = self.largest_token.max(Some(token));
    }

    /// The largest token that any candidate may have reported.
    pub(super) fn largest_token(&self) -> Option<Token> {
        self.largest_token
    }

    /// Notes that the store gave a write this revision, even if an inspection reported a larger one as the newest.
    pub(super) fn assigned(&mut self, revision: Revision) {
        self.newest = self.newest.min(Some(revision));
    }

    /// The token of the next write, if no other write in the store comes first.
    pub(super) fn next_token(&self) -> Token {
        let newest = self.newest.unwrap_or_default().max(self.mark());
        Token { incarnation: self.incarnation, sequence: Revision(newest.0.saturating_add(1)) }
    }

    /// The smallest number of writes that must come before the next one has a token above every token observed. `None`
    /// if no number is enough, because a later incarnation was observed.
    pub(super) fn missing_revisions(&self) -> Option<u64> {
        let (Some(largest), next) = (self.largest_token, self.next_token()) else { return Some(0) };
        match largest.incarnation.cmp(&next.incarnation) {
            Ordering::Less => Some(0),
            Ordering::Equal => Some((largest.sequence.0.saturating_add(1)).saturating_sub(next.sequence.0)),
            Ordering::Greater => None,
        }
    }

    /// Forgets all observed tokens, because an operator accepts that tokens start again.
    pub(super) fn forget_tokens(&mut self) {
        self.largest_token = None;
    }

    /// Asks for an inspection at `now`; an answer to a request sent at `since` or later counts.
    pub(super) fn want_inspection(&mut self, since: Instant, now: Instant) {
        self.inspection_asked = Some(now);
        self.wanted_inspection = self.wanted_inspection.max(Some(since));
    }

    /// The earliest time at which the wanted inspection may be asked for; `None` if none is wanted.
    pub(super) fn wanted_inspection(&self) -> Option<Instant> {
        self.wanted_inspection
    }

    /// Notes that no inspection is wanted any more.
    pub(super) fn forget_wanted_inspection(&mut self) {
        self.wanted_inspection = None;
    }

    /// Stops waiting for the inspection asked for last, and returns when it was asked for.
    pub(super) fn end_inspection(&mut self) -> Option<Instant> {
        self.inspection_asked.take()
    }

    /// Counts a failed inspection, and returns how many failed in a row.
    pub(super) fn inspection_failed(&mut self) -> u32 {
        self.inspections_failed = self.inspections_failed.saturating_add(1);
        self.inspections_failed
    }

    /// Notes that the inspection requested at `asked_at` was answered, and returns whether it was the wanted one.
    pub(super) fn inspection_answered(&mut self, asked_at: Instant) -> bool {
        self.inspections_failed = 0;
        let wanted = self.wanted_inspection.take_if(|since| asked_at >= *since).is_some();
        self.inspection_asked.take_if(|_| wanted);
        wanted
    }

    /// Notes that a new watch was ready at `since` or earlier.
    pub(super) fn watch_began(&mut self, since: Instant) {
        self.watch.since = Some(since);
    }

    /// Whether the watch had already been ready for `span` at the instant `at`.
    pub(super) fn watches_since(&self, span: Duration, at: Instant) -> bool {
        self.watch.since.is_some_and(|since| since + span <= at)
    }

    /// Notes that the watch showed our attempt at this revision. Returns whether that verifies the incarnation. A watch
    /// sees only one incarnation. If the known incarnation was verified after the watch was ready, the watch's
    /// incarnation is no later; and it is no earlier, since the attempt was sent when the known incarnation was already
    /// known.
    pub(super) fn watch_showed(&mut self, attempt: Attempt, sent_at: Instant, revision: Revision) -> bool {
        let verified = self.watch.since.is_some_and(|since| since <= self.verified_at);
        if verified {
            self.verify(sent_at);
            self.watch.write = Some((attempt, revision));
        }
        verified
    }

    /// The newest write of ours that the watch showed in the known incarnation.
    pub(super) fn watched_write(&self) -> Option<(Attempt, Revision)> {
        self.watch.write
    }

    /// Counts an operation that failed.
    pub(super) fn operation_failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// An operation succeeded.
    pub(super) fn operation_succeeded(&mut self) {
        self.failures = 0;
    }

    /// The number of operations that failed in a row.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);
    const SKEW: Duration = Duration::from_secs(1);

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn store_info(incarnation: u64, asked_at: u64, age: Option<u64>) -> StoreInfo {
        StoreInfo {
            asked_at: at(asked_at),
            incarnation: Incarnation(incarnation),
            age: age.map(Duration::from_secs),
            never_used: false,
            max_age: Some(LEASE),
            newest: None,
        }
    }

    fn store(age: Option<u64>) -> StoreView {
        StoreView::new(&store_info(1, 100, age), LEASE, SKEW, at(100))
    }

    fn inspect(store: &mut StoreView, info: &StoreInfo) -> Inspection {
        store.inspect(info, LEASE, SKEW, info.asked_at)
    }

    fn token(incarnation: u64, sequence: u64) -> Token {
        Token { incarnation: Incarnation(incarnation), sequence: Revision(sequence) }
    }

    #[test]
    fn an_incarnation_is_old_enough_by_the_first_clock_that_shows_it() {
        assert_eq!(store(None).trusted_at(), at(130), "watched for a lease");
        assert_eq!(
            store(Some(0)).trusted_at(),
            at(130),
            "the store reports an age of zero, so our own clock decides"
        );
        assert_eq!(store(Some(10)).trusted_at(), at(121));
        assert_eq!(store(Some(31)).trusted_at(), at(100));
        assert_eq!(store(Some(5000)).trusted_at(), at(100));
    }

    #[test]
    fn a_name_that_was_never_used_is_old_enough_at_once() {
        let new = StoreInfo { never_used: true, ..store_info(1, 100, Some(0)) };
        assert_eq!(StoreView::new(&new, LEASE, SKEW, at(100)).trusted_at(), Instant::ZERO);
    }

    #[test]
    fn a_name_whose_use_was_observed_is_not_believed_to_be_new() {
        let mut store = store(Some(5000));
        let new = StoreInfo { never_used: true, ..store_info(2, 110, Some(0)) };
        assert_eq!(inspect(&mut store, &new), Inspection::New);
        assert_eq!(store.trusted_at(), at(110 + 30));
    }

    #[test]
    fn a_new_incarnation_is_trusted_no_earlier_than_the_old_one_was() {
        let mut store = store(None);
        assert_eq!(inspect(&mut store, &store_info(2, 105, Some(5000))), Inspection::New);
        assert_eq!(store.trusted_at(), at(130));
    }

    #[test]
    fn inspections_count_in_the_order_they_were_asked_in() {
        let mut store = store(None);
        assert_eq!(inspect(&mut store, &store_info(1, 110, None)), Inspection::Same);
        assert_eq!(store.verified_at(), at(110));
        assert_eq!(inspect(&mut store, &store_info(2, 109, None)), Inspection::Old);
        assert_eq!((store.verified_at(), store.incarnation()), (at(110), Incarnation(1)));
    }

    #[test]
    fn an_acknowledgement_that_names_the_incarnation_verifies_it_and_never_takes_that_back() {
        let mut store = store(None);
        store.verify(at(120));
        store.verify(at(110));
        assert_eq!(store.verified_at(), at(120));
    }

    #[test]
    fn marks_are_kept_for_each_incarnation() {
        let mut store = store(None);
        store.observe_revision(Revision(50));
        store.observe_revision(Revision(40));
        assert_eq!(store.mark(), Revision(50));
        inspect(&mut store, &store_info(2, 101, None));
        assert_eq!(store.mark(), Revision(0));
        store.observe_revision(Revision(3));
        inspect(&mut store, &store_info(1, 102, None));
        assert_eq!(store.mark(), Revision(50), "the mark of an incarnation that comes back is remembered");
    }

    #[test]
    fn only_the_latest_incarnations_are_remembered() {
        let mut store = store(None);
        store.observe_revision(Revision(50));
        for incarnation in 2..=5 {
            inspect(&mut store, &store_info(incarnation, 100 + incarnation, None));
        }
        inspect(&mut store, &store_info(1, 110, None));
        assert_eq!(store.mark(), Revision(0));
    }

    #[test]
    fn lower_answers_are_a_regression_after_a_lease_and_two_new_connections() {
        let mut store = store(None);
        store.observe_revision(Revision(50));
        let classify =
            |store: &mut StoreView, secs| store.classify(Revision(9), Revision(50), LEASE, at(secs));
        assert_eq!(classify(&mut store, 200), Freshness::Stale);
        store.connection.is_new();
        assert_eq!(classify(&mut store, 231), Freshness::Stale, "one new connection");
        store.connection.is_new();
        assert_eq!(classify(&mut store, 229), Freshness::Stale, "less than a lease");
        assert_eq!(classify(&mut store, 230), Freshness::Regressed);
    }

    #[test]
    fn an_answer_that_is_up_to_date_ends_the_suspicion() {
        let mut store = store(None);
        store.observe_revision(Revision(50));
        let classify =
            |store: &mut StoreView, secs| store.classify(Revision(9), Revision(50), LEASE, at(secs));
        classify(&mut store, 200);
        store.connection.is_new();
        store.connection.is_new();
        store.observe_revision(Revision(50));
        assert_eq!(classify(&mut store, 230), Freshness::Stale);
    }

    #[test]
    fn an_answer_is_compared_with_what_was_known_when_it_was_asked_for() {
        let mut store = store(None);
        store.observe_revision(Revision(50));
        assert_eq!(store.classify(Revision(49), Revision(40), LEASE, at(200)), Freshness::Fresh);
    }

    #[test]
    fn after_a_regression_the_lower_mark_counts_and_no_win_is_reported_for_a_lease() {
        let mut store = store(Some(5000));
        store.observe_revision(Revision(50));
        store.regress(Revision(9), LEASE, at(300));
        assert_eq!((store.mark(), store.trusted_at()), (Revision(9), at(330)));
    }

    #[test]
    fn a_token_can_be_exceeded_where_the_next_write_is_sure_to_be_above_it() {
        let mut store = store(None);
        assert_eq!(store.missing_revisions(), Some(0), "no token was observed");
        store.observe_token(token(1, 50));
        assert_eq!((store.next_token(), store.missing_revisions()), (token(1, 1), Some(50)));
        store.observe_revision(Revision(50));
        assert_eq!(store.missing_revisions(), Some(0), "the next revision is at least 51");
        store.regress(Revision(9), LEASE, at(300));
        assert_eq!((store.next_token(), store.missing_revisions()), (token(1, 10), Some(41)));
        inspect(&mut store, &StoreInfo { newest: Some(Revision(50)), ..store_info(1, 301, None) });
        assert_eq!(store.missing_revisions(), Some(0), "other keys of the store count too");
        inspect(&mut store, &store_info(2, 302, None));
        assert_eq!(store.missing_revisions(), Some(0), "a newer incarnation exceeds every older one");
        store.observe_token(token(3, 0));
        assert_eq!(store.missing_revisions(), None, "an older incarnation never exceeds a newer one");
    }

    #[test]
    fn the_largest_token_is_kept_through_all_incarnations_until_it_is_forgotten() {
        let mut store = store(None);
        store.observe_token(token(1, 50));
        store.observe_token(token(1, 40));
        inspect(&mut store, &store_info(2, 101, None));
        assert_eq!(store.largest_token(), Some(token(1, 50)));
        store.observe_token(token(2, 1));
        assert_eq!(store.largest_token(), Some(token(2, 1)));
        store.forget_tokens();
        assert_eq!(store.largest_token(), None);
    }
}

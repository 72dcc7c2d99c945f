//! Which life of the store this is, how far its history is known, and which tokens were seen.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::time::Duration;

use crate::store::StoreInfo;
use crate::time::Instant;
use crate::token::{Incarnation, Revision, Token};

/// How many lives of the store are remembered.
const REMEMBERED: usize = 4;

/// How an answer compares with what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// It may be the present.
    Fresh,
    /// It is older than something known: an isolated server, or one that lags.
    Stale,
    /// Lower answers for a whole lease, over two new connections: the store went back.
    Regressed,
}

/// What an inspection changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inspection {
    /// Asked before one that was answered earlier; it says nothing new.
    Old,
    /// The life known already.
    Same,
    /// Another life.
    New,
}

#[derive(Clone, Debug, Hash)]
struct Doubt {
    since: Instant,
    connection: u64,
}

/// The life of the store, as known to one campaign.
#[derive(Clone, Debug, Hash)]
pub(super) struct Life {
    incarnation: Incarnation,
    /// `i0`: when the newest answer that showed this incarnation was asked for.
    shown: Instant,
    /// Nobody is told a win before this: the store may have been made anew under a leader.
    old_at: Instant,
    max_age: Option<Duration>,
    /// The longest maximum age there ever was: nobody's lease is longer.
    longest_age: Duration,
    newest: Option<Revision>,
    /// The highest revision known of each life, newest life last.
    marks: Vec<(Incarnation, Revision)>,
    doubt: Option<Doubt>,
    /// How many connections there have been.
    connection: u64,
    /// The largest token that may have been told to anybody.
    seen: Option<Token>,
}

impl Life {
    pub(super) fn new(info: &StoreInfo, lease: Duration, skew: Duration, now: Instant) -> Self {
        let mut life = Self {
            incarnation: info.incarnation,
            shown: info.asked_at,
            old_at: Instant::ZERO,
            max_age: info.max_age,
            longest_age: info.max_age.unwrap_or_default(),
            newest: info.newest,
            marks: Vec::new(),
            doubt: None,
            connection: 0,
            seen: None,
        };
        // Only here: a candidate that knew another life has seen the name used, whatever an operator states.
        life.begin(info, info.never_used, lease, skew, now);
        life
    }

    /// Takes in an inspection.
    pub(super) fn inspect(
        &mut self,
        info: &StoreInfo,
        lease: Duration,
        skew: Duration,
        now: Instant,
    ) -> Inspection {
        if info.asked_at < self.shown {
            return Inspection::Old;
        }
        self.shown = info.asked_at;
        self.max_age = info.max_age;
        self.longest_age = self.longest_age.max(info.max_age.unwrap_or_default());
        self.newest = info.newest;
        if info.incarnation == self.incarnation {
            return Inspection::Same;
        }
        self.incarnation = info.incarnation;
        self.doubt = None;
        self.begin(info, false, lease, skew, now);
        Inspection::New
    }

    /// A life is trusted when it is a lease old, by the store's clocks or by ours; or at once where the store's name was
    /// never used before.
    fn begin(&mut self, info: &StoreInfo, never_used: bool, lease: Duration, skew: Duration, now: Instant) {
        let ours = now + lease;
        let theirs = info.age.map(|age| now + lease.saturating_add(skew).saturating_sub(age));
        let old_at = if never_used { Instant::ZERO } else { theirs.map_or(ours, |at| at.min(ours)) };
        self.old_at = self.old_at.max(old_at);
        if !self.marks.iter().any(|(life, _)| *life == self.incarnation) {
            if self.marks.len() == REMEMBERED {
                self.marks.remove(0);
            }
            self.marks.push((self.incarnation, Revision(0)));
        }
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    pub(super) fn shown(&self) -> Instant {
        self.shown
    }

    /// An acknowledgement carried this life's incarnation.
    pub(super) fn show(&mut self, asked_at: Instant) {
        self.shown = self.shown.max(asked_at);
    }

    pub(super) fn old_at(&self) -> Instant {
        self.old_at
    }

    pub(super) fn max_age(&self) -> Option<Duration> {
        self.max_age
    }

    pub(super) fn longest_age(&self) -> Duration {
        self.longest_age
    }

    pub(super) fn mark(&self) -> Revision {
        self.marks.iter().find(|(life, _)| *life == self.incarnation).map_or(Revision(0), |(_, mark)| *mark)
    }

    /// A revision that is certainly in the store's history.
    pub(super) fn saw(&mut self, revision: Revision) {
        if revision >= self.mark() {
            self.doubt = None;
            self.set_mark(revision);
        }
    }

    fn set_mark(&mut self, revision: Revision) {
        let present = self.incarnation;
        if let Some((_, mark)) = self.marks.iter_mut().find(|(life, _)| *life == present) {
            *mark = revision;
        }
    }

    /// Compares an answer with the mark that was known when it was asked for, or with today's
    /// where the store is known to have gone back since.
    pub(super) fn judge(
        &mut self,
        revision: Revision,
        mark: Revision,
        lease: Duration,
        now: Instant,
    ) -> Freshness {
        if revision >= mark.min(self.mark()) {
            return Freshness::Fresh;
        }
        let connection = self.connection;
        let doubt = self.doubt.get_or_insert(Doubt { since: now, connection });
        let certain = connection >= doubt.connection + 2 && now >= doubt.since + lease;
        if certain { Freshness::Regressed } else { Freshness::Stale }
    }

    /// Believes that the store went back to `revision`: another life under the same name.
    pub(super) fn regress(&mut self, revision: Revision, lease: Duration, now: Instant) {
        self.doubt = None;
        self.set_mark(revision);
        self.newest = Some(revision);
        self.old_at = self.old_at.max(now + lease);
    }

    pub(super) fn connected(&mut self) {
        self.connection += 1;
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection
    }

    /// A token that may have been told to anybody.
    pub(super) fn saw_token(&mut self, token: Token) {
        self.seen = self.seen.max(Some(token));
    }

    /// The largest token that may have been told to anybody.
    pub(super) fn largest_token(&self) -> Option<Token> {
        self.seen
    }

    /// A write got this revision, whatever an inspection said of the newest one.
    pub(super) fn gave(&mut self, revision: Revision) {
        self.newest = self.newest.min(Some(revision));
    }

    /// The token of the next write, if that is the next of the whole store.
    pub(super) fn next_token(&self) -> Token {
        let newest = self.newest.unwrap_or_default().max(self.mark());
        Token { incarnation: self.incarnation, sequence: Revision(newest.0.saturating_add(1)) }
    }

    /// How many writes there must be at least before the next one has a token above every token seen; `None` where no
    /// number of them is enough, because a later life was seen.
    pub(super) fn missing(&self) -> Option<u64> {
        let (Some(seen), next) = (self.seen, self.next_token()) else { return Some(0) };
        match seen.incarnation.cmp(&next.incarnation) {
            Ordering::Less => Some(0),
            Ordering::Equal => Some((seen.sequence.0.saturating_add(1)).saturating_sub(next.sequence.0)),
            Ordering::Greater => None,
        }
    }

    /// An operator accepts that tokens start again.
    pub(super) fn forget_tokens(&mut self) {
        self.seen = None;
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

    fn life(age: Option<u64>) -> Life {
        Life::new(&store_info(1, 100, age), LEASE, SKEW, at(100))
    }

    fn inspect(life: &mut Life, info: &StoreInfo) -> Inspection {
        life.inspect(info, LEASE, SKEW, info.asked_at)
    }

    fn token(incarnation: u64, sequence: u64) -> Token {
        Token { incarnation: Incarnation(incarnation), sequence: Revision(sequence) }
    }

    #[test]
    fn a_life_is_old_enough_by_whichever_clock_says_so_first() {
        assert_eq!(life(None).old_at(), at(130), "watched for a lease");
        assert_eq!(life(Some(0)).old_at(), at(130), "the store's clock has no skew to add to ours");
        assert_eq!(life(Some(10)).old_at(), at(121));
        assert_eq!(life(Some(31)).old_at(), at(100));
        assert_eq!(life(Some(5000)).old_at(), at(100));
    }

    #[test]
    fn a_name_that_was_never_used_is_old_enough_at_once() {
        let new = StoreInfo { never_used: true, ..store_info(1, 100, Some(0)) };
        assert_eq!(Life::new(&new, LEASE, SKEW, at(100)).old_at(), Instant::ZERO);
    }

    #[test]
    fn a_name_whose_use_was_seen_is_not_believed_to_be_new() {
        let mut life = life(Some(5000));
        let new = StoreInfo { never_used: true, ..store_info(2, 110, Some(0)) };
        assert_eq!(inspect(&mut life, &new), Inspection::New);
        assert_eq!(life.old_at(), at(110 + 30));
    }

    #[test]
    fn a_new_life_is_trusted_no_earlier_than_the_old_one_was() {
        let mut life = life(None);
        assert_eq!(inspect(&mut life, &store_info(2, 105, Some(5000))), Inspection::New);
        assert_eq!(life.old_at(), at(130));
    }

    #[test]
    fn inspections_count_in_the_order_they_were_asked_in() {
        let mut life = life(None);
        assert_eq!(inspect(&mut life, &store_info(1, 110, None)), Inspection::Same);
        assert_eq!(life.shown(), at(110));
        assert_eq!(inspect(&mut life, &store_info(2, 109, None)), Inspection::Old);
        assert_eq!((life.shown(), life.incarnation()), (at(110), Incarnation(1)));
    }

    #[test]
    fn an_acknowledgement_that_names_the_life_shows_it_and_never_takes_that_back() {
        let mut life = life(None);
        life.show(at(120));
        life.show(at(110));
        assert_eq!(life.shown(), at(120));
    }

    #[test]
    fn marks_are_kept_for_each_life() {
        let mut life = life(None);
        life.saw(Revision(50));
        life.saw(Revision(40));
        assert_eq!(life.mark(), Revision(50));
        inspect(&mut life, &store_info(2, 101, None));
        assert_eq!(life.mark(), Revision(0));
        life.saw(Revision(3));
        inspect(&mut life, &store_info(1, 102, None));
        assert_eq!(life.mark(), Revision(50), "a life that comes back is remembered");
    }

    #[test]
    fn only_the_latest_lives_are_remembered() {
        let mut life = life(None);
        life.saw(Revision(50));
        for incarnation in 2..=5 {
            inspect(&mut life, &store_info(incarnation, 100 + incarnation, None));
        }
        inspect(&mut life, &store_info(1, 110, None));
        assert_eq!(life.mark(), Revision(0));
    }

    #[test]
    fn lower_answers_are_a_regression_after_a_lease_and_two_new_connections() {
        let mut life = life(None);
        life.saw(Revision(50));
        let judge = |life: &mut Life, secs| life.judge(Revision(9), Revision(50), LEASE, at(secs));
        assert_eq!(judge(&mut life, 200), Freshness::Stale);
        life.connected();
        assert_eq!(judge(&mut life, 231), Freshness::Stale, "one new connection");
        life.connected();
        assert_eq!(judge(&mut life, 229), Freshness::Stale, "less than a lease");
        assert_eq!(judge(&mut life, 230), Freshness::Regressed);
    }

    #[test]
    fn an_answer_that_is_up_to_date_ends_the_doubt() {
        let mut life = life(None);
        life.saw(Revision(50));
        let judge = |life: &mut Life, secs| life.judge(Revision(9), Revision(50), LEASE, at(secs));
        judge(&mut life, 200);
        life.connected();
        life.connected();
        life.saw(Revision(50));
        assert_eq!(judge(&mut life, 230), Freshness::Stale);
    }

    #[test]
    fn an_answer_is_compared_with_what_was_known_when_it_was_asked_for() {
        let mut life = life(None);
        life.saw(Revision(50));
        assert_eq!(life.judge(Revision(49), Revision(40), LEASE, at(200)), Freshness::Fresh);
    }

    #[test]
    fn after_a_regression_the_lower_mark_counts_and_nobody_is_told_for_a_lease() {
        let mut life = life(Some(5000));
        life.saw(Revision(50));
        life.regress(Revision(9), LEASE, at(300));
        assert_eq!((life.mark(), life.old_at()), (Revision(9), at(330)));
    }

    #[test]
    fn a_token_can_be_exceeded_where_the_next_write_is_sure_to_be_above_it() {
        let mut life = life(None);
        assert_eq!(life.missing(), Some(0), "no token was seen");
        life.saw_token(token(1, 50));
        assert_eq!((life.next_token(), life.missing()), (token(1, 1), Some(50)));
        life.saw(Revision(50));
        assert_eq!(life.missing(), Some(0), "the next is 51 at least");
        life.regress(Revision(9), LEASE, at(300));
        assert_eq!((life.next_token(), life.missing()), (token(1, 10), Some(41)));
        inspect(&mut life, &StoreInfo { newest: Some(Revision(50)), ..store_info(1, 301, None) });
        assert_eq!(life.missing(), Some(0), "other keys of the store count too");
        inspect(&mut life, &store_info(2, 302, None));
        assert_eq!(life.missing(), Some(0), "a newer life exceeds every older one");
        life.saw_token(token(3, 0));
        assert_eq!(life.missing(), None, "an older life never exceeds a newer one");
    }

    #[test]
    fn the_largest_token_is_kept_through_all_lives_until_it_is_forgotten() {
        let mut life = life(None);
        life.saw_token(token(1, 50));
        life.saw_token(token(1, 40));
        inspect(&mut life, &store_info(2, 101, None));
        assert_eq!(life.largest_token(), Some(token(1, 50)));
        life.saw_token(token(2, 1));
        assert_eq!(life.largest_token(), Some(token(2, 1)));
        life.forget_tokens();
        assert_eq!(life.largest_token(), None);
    }
}

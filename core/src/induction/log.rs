//! The log as one campaign reads it, and the wait that the records below a claim impose on it.

use core::time::Duration;

use super::record::{Kind, Record, TopicId};
use crate::record::Nonce;
use crate::time::Instant;
use crate::token::{Incarnation, Revision, Token};

/// The lease assumed for other software: goNELI's default heartbeat timeout (`config.go`).
const FOREIGN_LEASE: Duration = Duration::from_secs(5);

/// The records read from partition zero.
#[derive(Clone, Debug, Hash)]
pub(super) struct Log {
    /// The offset after the newest record read.
    next: Option<Revision>,
    /// The offset from which every record was read.
    whole_from: Option<Revision>,
    /// When reading began, at the log's beginning or after a gap.
    began: Instant,
    /// The newest record that this campaign did not write.
    newest: Option<Newest>,
    /// The offset of the newest record written by neither this campaign nor the author of `newest`.
    third: Option<Revision>,
    /// The author and the offset of the newest claim that this campaign did not write.
    claim: Option<(Option<Nonce>, Revision)>,
    /// The longest lease that other campaigns' records state, or this campaign's own.
    longest: Duration,
    /// The largest incarnation in this log and all logs before it.
    incarnation: Option<Incarnation>,
    former: Option<Incarnation>,
    /// The largest incarnation in this log that others stated, or that this campaign stated for its own term.
    seen: Option<Incarnation>,
    /// The largest token of any term.
    largest: Option<Token>,
    /// The number of gaps in the reading, and how many of them precede a claim that states a larger incarnation than
    /// all before it.
    gaps: u32,
    settled: u32,
}

#[derive(Clone, Copy, Debug, Hash)]
struct Newest {
    offset: Revision,
    /// `None` for other software.
    author: Option<Nonce>,
    first_sight: Instant,
    /// For a release, the term that it ends and the offset that it states as proven.
    released: Option<(Token, Revision)>,
}

/// The records below a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Below {
    /// `f`: when the newest record of another campaign was first observed, or when reading began.
    pub(super) first_sight: Instant,
    /// Whether the newest claim's term was released, and no third campaign wrote after that claim.
    pub(super) released: bool,
    /// Whether the group's last leader stated an incarnation that no record read here states. If so, these records
    /// prove nothing about that leader.
    pub(super) missed: bool,
    /// The longest lease that the records state.
    pub(super) lease: Duration,
    /// The largest incarnation at or below the claim's offset.
    pub(super) incarnation: Option<Incarnation>,
}

impl Log {
    pub(super) fn new(lease: Duration, now: Instant) -> Self {
        Self {
            next: None,
            whole_from: None,
            began: now,
            newest: None,
            third: None,
            claim: None,
            longest: lease,
            incarnation: None,
            former: None,
            seen: None,
            largest: None,
            gaps: 0,
            settled: 0,
        }
    }

    /// Takes in a record from the log of `topic`. Returns false if its offset is below the next expected one.
    pub(super) fn read(&mut self, record: &Record, ours: bool, topic: Option<TopicId>, now: Instant) -> bool {
        let offset = record.offset;
        if self.next.is_some_and(|next| offset < next) {
            return false;
        }
        if self.next.is_some_and(|next| offset > next) {
            // The records in between were not read.
            self.gap(now);
        }
        self.whole_from.get_or_insert(offset);
        self.next = Some(Revision(offset.0.saturating_add(1)));
        if record.kind == Kind::Probe {
            return true;
        }
        // A producer may have kept this record for a topic that no longer exists. Then the record's offsets refer to
        // another log, and its incarnation is a former one.
        let is_former = record.topic.zip(topic).is_some_and(|(written_for, topic)| written_for != topic);
        if is_former {
            self.former = self.former.max(record.term_info.map(|info| info.token.incarnation));
        } else if let Some(info) = record.term_info {
            self.incarnation = self.incarnation.max(Some(info.token.incarnation));
            if !ours || info.led_for.is_some() {
                self.seen = self.seen.max(Some(info.token.incarnation));
            }
            if info.led_for.is_some() {
                self.observe_token(info.token);
            }
        }
        if !ours {
            let author = record.write_id.map(|write_id| write_id.nonce);
            let released = match record.kind {
                Kind::Release { proven } if record.topic == topic => {
                    record.term_info.map(|info| (info.token, proven))
                }
                Kind::Release { .. } | Kind::Claim | Kind::Heartbeat | Kind::Probe => None,
            };
            if let Some(before) = self.newest.filter(|before| before.author != author) {
                self.third = Some(before.offset);
            }
            if record.kind == Kind::Claim {
                self.claim = Some((author, offset));
            }
            self.newest = Some(Newest { offset, author, first_sight: now, released });
            self.longest = self.longest.max(lease_of(record));
        }
        true
    }

    /// Describes the records below the last record read, which is our claim. `stated` is the token that the group had
    /// committed before. If the claim of that token is not in this log, its leader belongs to another log, or to a part
    /// that was not read.
    pub(super) fn below(&self, stated: Option<Token>) -> Below {
        let released = self.newest.is_some_and(|newest| {
            newest.released.is_some_and(|(term, proven)| {
                let read = self.whole_from.is_some_and(|from| from.0 <= proven.0.saturating_add(1));
                // The newest claim must lie at or below the last record that the released term proved. If the release's
                // author has a later term, that term's claim lies above that record; the release may land above that
                // claim too, because producers can be replaced. A claim of another campaign at or below that record
                // comes from a former owner, which will claim again.
                let is_newest = self.claim.is_none_or(|(author, claim)| {
                    claim <= proven && (claim == term.sequence || author != newest.author)
                });
                read && is_newest && self.third.is_none_or(|third| third <= proven)
            })
        });
        Below {
            first_sight: self.newest.map_or(self.began, |newest| newest.first_sight),
            released,
            missed: stated.is_some_and(|token| Some(token.incarnation) > self.seen),
            lease: self.longest,
            incarnation: self.incarnation,
        }
    }

    /// Notes that some records were not read. They may be from any writer, so they count as first observed now.
    pub(super) fn gap(&mut self, now: Instant) {
        self.gaps = self.gaps.wrapping_add(1);
        self.begin(now);
    }

    /// Begins the reading again, as from an empty log.
    pub(super) fn begin(&mut self, now: Instant) {
        (self.next, self.whole_from, self.newest) = (None, None, None);
        (self.third, self.claim) = (None, None);
        self.began = now;
    }

    /// Whether another campaign's records show that it claims or leads.
    pub(super) fn is_claimed(&self, now: Instant) -> bool {
        self.newest.is_some_and(|newest| newest.released.is_none() && now < newest.first_sight + self.longest)
    }

    /// Whether other software wrote the newest record, and less than a lease ago.
    pub(super) fn has_foreign(&self, now: Instant) -> bool {
        self.newest.is_some_and(|newest| newest.author.is_none() && now < newest.first_sight + self.longest)
    }

    /// Begins again after the log was replaced or lost records. Tokens continue above those of the former log.
    pub(super) fn reset(&mut self, now: Instant) {
        self.gap(now);
        self.former = self.former.max(self.incarnation.take());
        self.seen = None;
        self.former = self.former.max(self.largest.map(|largest| largest.incarnation));
    }

    /// Makes the next claim state a larger incarnation than this incarnation.
    pub(super) fn exceed(&mut self, incarnation: Incarnation) {
        self.former = self.former.max(Some(incarnation));
    }

    pub(super) fn has_read(&self) -> bool {
        self.next.is_some()
    }

    pub(super) fn gaps(&self) -> u32 {
        self.gaps
    }

    /// Notes that a claim states a larger incarnation than any record in the gaps before it.
    pub(super) fn settle(&mut self) {
        self.settled = self.gaps;
    }

    /// Whether a record of another candidate was read.
    pub(super) fn saw_others(&self) -> bool {
        self.newest.is_some()
    }

    pub(super) fn has_passed(&self, offset: Revision) -> bool {
        self.next.is_some_and(|next| next > offset)
    }

    /// The incarnation that a claim states. It is this log's incarnation if that is known, larger than those of earlier
    /// logs, and not smaller than that of any known token, and if no unread record may state a larger one. Otherwise it
    /// is a new incarnation.
    pub(super) fn claimed_incarnation(&self, time_of_day: Duration) -> Incarnation {
        let of_terms = self.largest.map(|largest| largest.incarnation);
        match self.incarnation {
            Some(incarnation)
                if self.settled == self.gaps
                    && self.former < Some(incarnation)
                    && of_terms <= Some(incarnation) =>
            {
                incarnation
            }
            _ => {
                let known = self.incarnation.max(self.former).max(of_terms);
                let millis = u64::try_from(time_of_day.as_millis()).unwrap_or(u64::MAX);
                let above = known.map_or(0, |known| known.0.saturating_add(1));
                Incarnation(millis.max(above))
            }
        }
    }

    pub(super) fn observe_token(&mut self, token: Token) {
        self.largest = self.largest.max(Some(token));
    }

    pub(super) fn largest_token(&self) -> Option<Token> {
        self.largest
    }

    pub(super) fn longest(&self) -> Duration {
        self.longest
    }
}

/// The lease of a record's writer, for which other candidates wait.
pub(super) fn lease_of(record: &Record) -> Duration {
    record.lease.unwrap_or(FOREIGN_LEASE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Attempt, TermInfo, WriteId};
    use alloc::vec::Vec;

    const T: Duration = Duration::from_secs(5);
    const TOPIC: Option<TopicId> = Some(TopicId(1));

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn record(offset: u64, author: u128, kind: Kind) -> Record {
        Record {
            offset: Revision(offset),
            name: "other".into(),
            write_id: (author > 0).then_some(WriteId { nonce: Nonce(author), attempt: Attempt(1) }),
            kind,
            lease: None,
            term_info: None,
            topic: TOPIC,
            metadata: Vec::new(),
        }
    }

    fn release(proven: u64) -> Kind {
        Kind::Release { proven: Revision(proven) }
    }

    /// Builds a log from these records of other campaigns. The first has offset 10, and each is read one second after
    /// the one before.
    fn log(records: &[(u128, Kind)]) -> Log {
        let (mut log, mut claim) = (Log::new(T, at(0)), 0);
        for (place, (author, kind)) in records.iter().enumerate() {
            let place = place as u64;
            let record = match kind {
                Kind::Release { .. } => of_term(claim, record(10 + place, *author, *kind)),
                _ => record(10 + place, *author, *kind),
            };
            if *kind == Kind::Claim {
                claim = 10 + place;
            }
            assert!(log.read(&record, false, TOPIC, at(1 + place)));
        }
        log
    }

    /// Assigns the record to the term whose claim is at this offset.
    fn of_term(claim: u64, record: Record) -> Record {
        let token = Token { incarnation: Incarnation(0), sequence: Revision(claim) };
        Record { term_info: Some(TermInfo { token, led_for: None }), ..record }
    }

    #[test]
    fn a_release_over_which_only_its_author_wrote_is_clean() {
        assert!(log(&[(1, Kind::Claim), (1, Kind::Heartbeat), (1, release(11))]).below(None).released);
        assert!(log(&[(2, Kind::Heartbeat), (1, Kind::Claim), (1, release(11))]).below(None).released);
    }

    #[test]
    fn a_release_over_a_third_record_is_not() {
        let late = [(1, Kind::Heartbeat), (2, Kind::Claim), (2, Kind::Heartbeat), (1, release(10))];
        assert!(!log(&late).below(None).released);
        let foreign = [(1, Kind::Heartbeat), (0, Kind::Heartbeat), (1, release(10))];
        assert!(!log(&foreign).below(None).released);
    }

    #[test]
    fn a_release_below_which_its_author_claimed_again_is_not() {
        let mut log = log(&[(1, Kind::Claim), (1, Kind::Heartbeat), (1, Kind::Claim), (1, Kind::Heartbeat)]);
        log.read(&of_term(10, record(14, 1, release(11))), false, TOPIC, at(9));
        assert!(!log.below(None).released, "the claim at 12 may be of a live term");
    }

    #[test]
    fn a_release_over_a_late_claim_of_a_former_owner_is_clean_once_its_leader_proved_more() {
        let mut log = log(&[(1, Kind::Claim), (2, Kind::Claim), (1, Kind::Heartbeat)]);
        log.read(&of_term(10, record(13, 1, release(12))), false, TOPIC, at(9));
        assert!(log.below(None).released);
    }

    #[test]
    fn a_release_of_another_term_than_the_newest_claims_is_not() {
        let mut log = log(&[(1, Kind::Claim), (1, Kind::Heartbeat)]);
        log.read(&of_term(7, record(12, 1, release(11))), false, TOPIC, at(9));
        assert!(!log.below(None).released);
    }

    #[test]
    fn a_release_that_names_no_term_is_not() {
        let mut log = log(&[(1, Kind::Heartbeat)]);
        log.read(&record(11, 1, release(10)), false, TOPIC, at(9));
        assert!(!log.below(None).released);
    }

    #[test]
    fn a_claim_of_ones_own_above_what_was_proven_changes_nothing() {
        let mut log = log(&[(1, Kind::Claim), (1, Kind::Heartbeat)]);
        log.read(&record(12, 3, Kind::Claim), true, TOPIC, at(8));
        log.read(&of_term(10, record(13, 1, release(11))), false, TOPIC, at(9));
        assert!(log.below(None).released);
    }

    #[test]
    fn the_incarnation_of_a_former_topic_is_a_former_one() {
        let mut log = Log::new(T, at(0));
        let token = Token { incarnation: Incarnation(600), sequence: Revision(9) };
        let term_info = Some(TermInfo { token, led_for: Some(T) });
        let late = Record { term_info, topic: Some(TopicId(7)), ..record(0, 1, Kind::Heartbeat) };
        log.read(&late, false, TOPIC, at(1));
        assert_eq!((log.below(None).incarnation, log.largest_token()), (None, None));
        assert_eq!(log.claimed_incarnation(Duration::from_millis(10)), Incarnation(601));
    }

    #[test]
    fn a_release_with_a_record_above_it_is_not() {
        assert!(!log(&[(1, Kind::Heartbeat), (1, release(10)), (1, Kind::Claim)]).below(None).released);
        assert!(!log(&[(1, Kind::Heartbeat), (1, release(10)), (0, Kind::Heartbeat)]).below(None).released);
    }

    #[test]
    fn a_release_whose_range_was_not_read_is_not() {
        assert!(!log(&[(1, release(8))]).below(None).released, "offset 9 was not read");
        assert!(log(&[(1, release(9))]).below(None).released);
        let mut jumped = log(&[(1, Kind::Heartbeat)]);
        jumped.read(&record(12, 1, release(10)), false, TOPIC, at(9));
        assert!(!jumped.below(None).released, "offset 11 was not read");
    }

    #[test]
    fn the_newest_record_of_another_gives_the_first_sight_and_nothing_the_beginning() {
        assert_eq!(log(&[(1, Kind::Heartbeat), (2, Kind::Heartbeat)]).below(None).first_sight, at(2));
        assert_eq!(log(&[]).below(None).first_sight, at(0));
        let mut own = log(&[(1, Kind::Heartbeat)]);
        own.read(&record(11, 3, Kind::Heartbeat), true, TOPIC, at(9));
        assert_eq!(own.below(None).first_sight, at(1));
    }

    #[test]
    fn behind_a_gap_everything_counts_as_observed_then() {
        let mut log = log(&[(1, Kind::Heartbeat), (1, release(10))]);
        log.gap(at(50));
        assert_eq!((log.below(None).first_sight, log.below(None).released), (at(50), false));
        log.read(&record(99, 3, Kind::Claim), true, TOPIC, at(51));
        assert_eq!((log.below(None).first_sight, log.below(None).released), (at(50), false));
    }

    #[test]
    fn a_record_below_the_position_is_not_taken_in() {
        let mut log = log(&[(1, Kind::Heartbeat), (1, Kind::Heartbeat)]);
        assert!(!log.read(&record(11, 2, Kind::Heartbeat), false, TOPIC, at(9)));
        assert_eq!(log.below(None).first_sight, at(2));
    }

    #[test]
    fn the_longest_lease_that_a_record_names_counts_and_five_seconds_for_other_software() {
        let mut log = Log::new(Duration::from_secs(2), at(0));
        let ours = Record { lease: Some(Duration::from_secs(9)), ..record(1, 4, Kind::Heartbeat) };
        assert_eq!(log.below(None).lease, Duration::from_secs(2));
        log.read(&record(0, 0, Kind::Heartbeat), false, TOPIC, at(1));
        assert_eq!(log.below(None).lease, Duration::from_secs(5));
        log.read(&ours, false, TOPIC, at(1));
        assert_eq!(log.below(None).lease, Duration::from_secs(9));
    }

    #[test]
    fn the_first_claim_of_a_log_states_the_time_and_later_ones_the_largest_below() {
        let mut log = Log::new(T, at(0));
        let day = Duration::from_millis(700);
        assert_eq!(log.claimed_incarnation(day), Incarnation(700));
        log.incarnation = Some(Incarnation(600));
        assert_eq!(log.claimed_incarnation(day), Incarnation(600));
    }

    #[test]
    fn after_a_reset_the_incarnation_is_above_the_former_one_even_where_the_time_of_day_went_back() {
        let mut log = Log::new(T, at(0));
        log.incarnation = Some(Incarnation(600));
        log.reset(at(1));
        assert_eq!(log.claimed_incarnation(Duration::from_millis(10)), Incarnation(601));
        assert_eq!(log.claimed_incarnation(Duration::from_millis(700)), Incarnation(700));
        log.incarnation = Some(Incarnation(600));
        assert_eq!(log.claimed_incarnation(Duration::from_millis(10)), Incarnation(601));
    }
}

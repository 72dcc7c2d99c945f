//! The proven history: which candidate can prove that it led, and when.
//!
//! Events do not decide whether there ever were two leaders. In every candidate a
//! [probe](crate::probe) asks `is_leader()` about a thousand times a second and around every event, and
//! reads the clock before and after. That clock counts from the machine's boot and is the same for all
//! processes, so readings of different candidates can be compared.
//!
//! # Why a found overlap is real
//!
//! A reading is `(before, answer, after)`. The answer was computed at *some* instant between the two clock readings. A
//! term begins once and ends once, so between two true answers in the same term the answer was true throughout. Two
//! true readings of one term therefore prove that the candidate led from the first one's `after` (or earlier) to the
//! last one's `before` (or later), without a gap. A [`Proven`] keeps exactly that. If two of them, of different terms,
//! share more than an instant, there were two leaders at once, without any allowance. If they only touch, they do not
//! overlap.
//!
//! # Why an overlap is found
//!
//! At either end, readings miss at most the distance between two of them, about a millisecond, unless the process was
//! stopped. In that case the lease itself is the evidence: with every true reading the probe notes the deadline that it
//! read *before* it asked. `is_leader()` compares the clock with that deadline, and the deadline only moves forward. So
//! unless something ended the term, the answer was true until that deadline, asked or not. If the term was reported as
//! expired, and the first false reading came after the deadline, nothing else ended it, and the proof reaches to the
//! deadline. A candidate that is killed proves nothing after its last reading: a dead process does not lead.

use std::time::Duration;

use incumbent::{Instant, Token};

use crate::check::{Led, disorder, overlaps};
use crate::record::Evidence;

/// A candidate's proven leadership in one term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// The candidate.
    pub candidate: String,
    /// The term as its probe recorded it.
    pub evidence: Evidence,
}

impl Led for Proven {
    type Token = Token;

    fn from(&self) -> u64 {
        self.evidence.since.as_nanos()
    }

    fn until(&self) -> u64 {
        self.evidence.proven_until().as_nanos()
    }

    fn token(&self) -> &Token {
        &self.evidence.token
    }
}

/// Two leaders at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The term that began first.
    pub one: Proven,
    /// The term that overlaps it.
    pub other: Proven,
}

impl Overlap {
    /// The time for which both have proven that they led.
    pub fn duration(&self) -> Duration {
        let from = self.one.evidence.since.max(self.other.evidence.since);
        self.one.evidence.proven_until().min(self.other.evidence.proven_until()).since(from)
    }
}

/// The terms of all candidates, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub struct History(Vec<Proven>);

impl History {
    /// Sorts the terms.
    pub fn new(mut terms: Vec<Proven>) -> Self {
        terms.sort_by_key(|term| (term.evidence.since, term.evidence.token));
        Self(terms)
    }

    /// All pairs of terms that overlap.
    pub fn overlaps(&self) -> Vec<Overlap> {
        let pairs = overlaps(&self.0).into_iter();
        pairs.map(|(one, other)| Overlap { one: one.clone(), other: other.clone() }).collect()
    }

    /// The terms whose token is not larger than every earlier term's.
    pub fn token_regressions(&self) -> Vec<&Proven> {
        disorder(&self.0).into_iter().map(|(_, later)| later).collect()
    }

    /// The spans between one term and the next in which no candidate could work. A leader that is stopped or dead
    /// cannot work, whatever its lease.
    pub fn vacancies(&self) -> Vec<Duration> {
        let mut vacancies = Vec::new();
        let mut worked_until = None;
        for term in &self.0 {
            vacancies.extend(worked_until.map(|until| term.evidence.since.since(until)));
            worked_until = worked_until.max(Some(term.evidence.seen));
        }
        vacancies
    }

    /// The last deadline that the candidate's probe recorded in the term of that token.
    pub fn deadline(&self, candidate: &str, token: Token) -> Option<Instant> {
        let mut latest = self.0.iter().rev();
        let of_term = |term: &&Proven| term.evidence.token == token && term.candidate == candidate;
        latest.find(of_term).map(|term| term.evidence.deadline)
    }

    /// The vacancy before the term of that token; none before the first.
    pub fn vacancy_before(&self, token: Token, won: Instant) -> Option<Duration> {
        let before = self.0.iter().filter(|term| term.evidence.token < token);
        before.map(|term| term.evidence.seen).max().map(|until| won.since(until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::Reason;
    use incumbent::incumbent_core::{Incarnation, Revision};

    fn token(sequence: u64) -> Token {
        Token { incarnation: Incarnation(1), sequence: Revision(sequence) }
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// A term that ended cleanly, with a lease that ends long after it.
    fn led(candidate: &str, sequence: u64, since: u64, seen: u64) -> Proven {
        let evidence = Evidence {
            token: token(sequence),
            since: at(since),
            seen: at(seen),
            deadline: at(seen + 1_000),
            gone: Some(at(seen + 1)),
            ended: Some(Reason::Resigned),
        };
        Proven { candidate: candidate.into(), evidence }
    }

    /// The term `term` with another end, and a lease until 50.
    fn ending(term: Proven, gone: Option<u64>, ended: Option<Reason>) -> Proven {
        let evidence = Evidence { deadline: at(50), gone: gone.map(at), ended, ..term.evidence };
        Proven { evidence, ..term }
    }

    fn pairs(terms: Vec<Proven>) -> Vec<(u64, u64)> {
        let overlaps = History::new(terms).overlaps();
        overlaps
            .iter()
            .map(|o| (o.one.evidence.token.sequence.0, o.other.evidence.token.sequence.0))
            .collect()
    }

    #[test]
    fn two_leaders_at_once_are_found() {
        assert_eq!(pairs(vec![led("a", 1, 10, 20), led("b", 2, 19, 30)]), [(1, 2)]);
    }

    #[test]
    fn the_order_of_the_reports_does_not_matter() {
        assert_eq!(pairs(vec![led("b", 2, 19, 30), led("a", 1, 10, 20)]), [(1, 2)]);
    }

    #[test]
    fn a_term_inside_a_longer_one_is_found_and_so_is_one_behind_it() {
        let terms =
            vec![led("a", 1, 10, 100), led("b", 2, 20, 30), led("c", 3, 40, 50), led("d", 4, 100, 200)];
        assert_eq!(pairs(terms), [(1, 2), (1, 3)]);
    }

    #[test]
    fn an_overlap_lasts_as_long_as_both_lead() {
        let overlaps = History::new(vec![led("a", 1, 10, 25), led("b", 2, 19, 30)]).overlaps();
        assert_eq!(overlaps[0].duration(), Duration::from_nanos(6));
    }

    #[test]
    fn terms_that_touch_do_not_overlap() {
        assert_eq!(pairs(vec![led("a", 1, 10, 20), led("b", 2, 20, 30)]), []);
    }

    #[test]
    fn a_candidate_that_was_killed_leads_no_further_than_its_last_reading() {
        let killed = ending(led("a", 1, 10, 20), None, None);
        assert_eq!(pairs(vec![killed, led("b", 2, 21, 30)]), []);
    }

    #[test]
    fn a_candidate_that_was_stopped_leads_until_its_deadline() {
        let stopped = ending(led("a", 1, 10, 20), Some(90), Some(Reason::Expired));
        assert_eq!(pairs(vec![stopped.clone(), led("b", 2, 49, 60)]), [(1, 2)]);
        assert_eq!(pairs(vec![stopped, led("b", 2, 50, 60)]), []);
    }

    #[test]
    fn a_candidate_that_was_stopped_and_is_not_heard_again_proves_nothing_more() {
        let stopped = ending(led("a", 1, 10, 20), None, None);
        assert_eq!(pairs(vec![stopped, led("b", 2, 30, 60)]), []);
    }

    #[test]
    fn a_term_that_was_ended_by_something_else_than_the_clock_does_not_reach_to_its_deadline() {
        let term = ending(led("a", 1, 10, 20), Some(90), Some(Reason::Usurped));
        assert_eq!(pairs(vec![term, led("b", 2, 30, 60)]), []);
    }

    #[test]
    fn an_expiry_that_was_noticed_before_the_deadline_does_not_reach_to_it() {
        let term = ending(led("a", 1, 10, 20), Some(21), Some(Reason::Expired));
        assert_eq!(pairs(vec![term, led("b", 2, 30, 60)]), []);
    }

    #[test]
    fn a_single_true_reading_is_no_term_of_time() {
        let glimpse = led("b", 2, 16, 15);
        assert_eq!(pairs(vec![led("a", 1, 10, 20), glimpse]), []);
    }

    #[test]
    fn a_token_that_does_not_grow_is_found() {
        let terms = vec![led("a", 5, 10, 20), led("b", 7, 30, 40), led("c", 6, 50, 60), led("d", 8, 70, 80)];
        let history = History::new(terms);
        let found: Vec<_> = history.token_regressions().iter().map(|s| s.candidate.as_str()).collect();
        assert_eq!(found, ["c"]);
    }

    #[test]
    fn a_vacancy_lasts_from_the_last_work_to_the_next() {
        let history = History::new(vec![led("a", 1, 10, 20), led("b", 2, 35, 40), led("c", 3, 40, 60)]);
        assert_eq!(history.vacancies(), [Duration::from_nanos(15), Duration::ZERO]);
        assert_eq!(history.vacancy_before(token(2), at(34)), Some(Duration::from_nanos(14)));
        assert_eq!(history.vacancy_before(token(1), at(34)), None);
    }
}

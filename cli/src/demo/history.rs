//! The proven history: which candidate can prove that it led, and when.
//!
//! The demo does not trust events to decide whether there ever were two leaders. In every candidate a
//! [witness](super::witness) asks `is_leader()` about a thousand times a second and around every event, and
//! reads the clock before and after. That clock counts from the machine's boot and is the same for all
//! processes, so readings of different candidates can be compared.
//!
//! # Why a found overlap is real
//!
//! A reading is `(before, answer, after)`. The answer was computed at *some* instant between the two clock
//! readings. A term begins once and ends once, so between two true answers in the same term the answer was
//! true throughout. Two true readings of one term therefore prove that the candidate led from the first one's
//! `after` (or earlier) to the last one's `before` (or later), without a gap. A [`Stretch`] keeps exactly
//! that. Two stretches of different terms that share more than an instant are two leaders at once, with no
//! allowance for anything. Stretches that only touch do not overlap.
//!
//! # Why an overlap is found
//!
//! Readings leave out at most the distance between two of them, about a millisecond, at either end, except
//! where the process was stopped. There the lease itself is the evidence: with every true reading the witness
//! notes the deadline that it read *before* it asked. `is_leader()` compares the clock with that deadline,
//! and the deadline only moves forward. So unless something ended the term, the answer was true until then,
//! asked or not. If the term was reported as expired, and the first false reading came after the deadline,
//! nothing else ended it, and the stretch reaches to the deadline. A candidate that is killed proves nothing
//! after its last reading: a dead process does not lead.

use std::time::Duration;

use incumbent::{Instant, Reason, Token};

use super::record::Line;

/// A candidate's proven leadership in one term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The candidate.
    pub(super) candidate: String,
    /// The term as its witness recorded it.
    pub(super) line: Line,
}

impl Stretch {
    /// The end of the time in which the candidate proved that it led, exclusive.
    pub(super) fn proven_until(&self) -> Instant {
        let Line { seen, deadline, gone, ended, .. } = self.line;
        let by_the_clock = ended == Some(Reason::Expired) && gone.is_some_and(|gone| gone >= deadline);
        if by_the_clock { seen.max(deadline) } else { seen }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let from = self.line.since.max(other.line.since);
        let until = self.proven_until().min(other.proven_until());
        from < until
    }
}

/// Two leaders at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Overlap {
    /// The stretch that began first.
    pub(super) one: Stretch,
    /// The stretch that overlaps it.
    pub(super) other: Stretch,
}

impl Overlap {
    /// The time for which both have proven that they led.
    pub(super) fn duration(&self) -> Duration {
        let from = self.one.line.since.max(self.other.line.since);
        self.one.proven_until().min(self.other.proven_until()).since(from)
    }
}

/// The stretches of all candidates, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(super) struct History(Vec<Stretch>);

impl History {
    pub(super) fn new(mut stretches: Vec<Stretch>) -> Self {
        stretches.sort_by_key(|stretch| (stretch.line.since, stretch.line.token));
        Self(stretches)
    }

    /// All pairs of terms that overlap.
    pub(super) fn overlaps(&self) -> Vec<Overlap> {
        let mut found = Vec::new();
        // The stretches that may overlap a later one.
        let mut open = Vec::<&Stretch>::new();
        for stretch in &self.0 {
            open.retain(|earlier| earlier.proven_until() > stretch.line.since);
            let twins = open.iter().filter(|earlier| earlier.overlaps(stretch));
            found.extend(twins.map(|earlier| Overlap { one: (*earlier).clone(), other: stretch.clone() }));
            open.push(stretch);
        }
        found
    }

    /// The terms whose token is not above that of every earlier term: a resource that remembers the largest
    /// token it has seen would have refused them.
    pub(super) fn token_regressions(&self) -> Vec<&Stretch> {
        let mut largest = None;
        let mut found = Vec::new();
        for stretch in &self.0 {
            if largest.is_some_and(|largest| stretch.line.token <= largest) {
                found.push(stretch);
            }
            largest = largest.max(Some(stretch.line.token));
        }
        found
    }

    /// The times between one term and the next in which no candidate could work. A leader that is stopped or
    /// dead cannot work, whatever its lease says.
    pub(super) fn vacancies(&self) -> Vec<Duration> {
        let mut vacancies = Vec::new();
        let mut worked_until = None;
        for stretch in &self.0 {
            vacancies.extend(worked_until.map(|until| stretch.line.since.since(until)));
            worked_until = worked_until.max(Some(stretch.line.seen));
        }
        vacancies
    }

    /// The last deadline that the candidate's witness recorded in the term of that token.
    pub(super) fn deadline(&self, candidate: &str, token: Token) -> Option<Instant> {
        let mut latest = self.0.iter().rev();
        let of_term = |stretch: &&Stretch| stretch.line.token == token && stretch.candidate == candidate;
        latest.find(of_term).map(|stretch| stretch.line.deadline)
    }

    /// The vacancy before the term of that token; none before the first.
    pub(super) fn vacancy_before(&self, token: Token, won: Instant) -> Option<Duration> {
        let before = self.0.iter().filter(|stretch| stretch.line.token < token);
        before.map(|stretch| stretch.line.seen).max().map(|until| won.since(until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::incumbent_core::{Incarnation, Revision};

    fn token(sequence: u64) -> Token {
        Token { incarnation: Incarnation(1), sequence: Revision(sequence) }
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// A term that ended in good order, with a lease that ends long after it.
    fn led(candidate: &str, sequence: u64, since: u64, seen: u64) -> Stretch {
        let line = Line {
            token: token(sequence),
            since: at(since),
            seen: at(seen),
            deadline: at(seen + 1_000),
            gone: Some(at(seen + 1)),
            ended: Some(Reason::Resigned),
        };
        Stretch { candidate: candidate.into(), line }
    }

    /// The same stretch with another end, and a lease until 50.
    fn ending(stretch: Stretch, gone: Option<u64>, ended: Option<Reason>) -> Stretch {
        let line = Line { deadline: at(50), gone: gone.map(at), ended, ..stretch.line };
        Stretch { line, ..stretch }
    }

    fn pairs(stretches: Vec<Stretch>) -> Vec<(u64, u64)> {
        let overlaps = History::new(stretches).overlaps();
        overlaps.iter().map(|o| (o.one.line.token.sequence.0, o.other.line.token.sequence.0)).collect()
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
    fn a_single_true_reading_is_no_stretch_of_time() {
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

//! The observations of every election, and their ages.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent::incumbent_core::record::{Entry, Nonce};
use incumbent::store::{CandidateInfo, WatchEvent};
use incumbent::{Instant, Leader};

use crate::status::is_of;

/// The beginning of a state, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Since {
    pub(super) at: Instant,
    /// The age of the state when it was observed.
    pub(super) already: Duration,
    /// True if the age is exact, false if it is a lower bound.
    pub(super) is_exact: bool,
}

impl Since {
    fn seen(at: Instant, is_exact: bool) -> Self {
        Self { at, already: Duration::ZERO, is_exact }
    }

    /// The age of the state.
    pub(super) fn age(self, now: Instant) -> Duration {
        now.since(self.at) + self.already
    }
}

/// One election.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) entry: Entry,
    /// The beginning of the leadership or the vacancy.
    pub(super) held: Since,
    /// The time at which the current entry was written.
    written: Since,
    /// The number of leaders so far.
    pub(super) changes: u64,
    /// The holder at the last observation.
    observed: Option<Holder>,
    /// The length of the present lease, if it is known.
    lease: Option<Duration>,
    /// The other candidates of the election, longest-standing first; `None` if the store has no way to ask.
    pub(super) waiting: Option<Vec<CandidateInfo>>,
}

/// The holder of a key, as one campaign; `None` during a vacancy.
type Holder = Option<(String, Option<Nonce>)>;

/// The remaining time of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) left: Duration,
    pub(super) lease: Duration,
    /// True if the time is an upper bound.
    pub(super) is_bound: bool,
}

impl Row {
    /// The holder's name; `None` during a vacancy.
    pub(super) fn leader(&self) -> Option<&str> {
        self.entry.live().map(|record| record.candidate.as_str())
    }

    /// The remaining time of the lease, if the key is held and the lease known.
    pub(super) fn left(&self, now: Instant) -> Option<Left> {
        let lease = self.lease.filter(|_| self.entry.live().is_some())?;
        let left = lease.saturating_sub(now.since(self.written.at));
        Some(Left { left, lease, is_bound: !self.written.is_exact })
    }

    /// The state of the key, in a word.
    pub(super) fn state(&self, now: Instant) -> &'static str {
        match self.left(now) {
            Some(left) if left.left.is_zero() => "overdue",
            _ => crate::status::state(&self.entry),
        }
    }

    /// Takes the beginning of the term from the holder's report, if there is one.
    fn believe(&mut self) {
        let term_info = self.entry.live().and_then(|record| record.term_info);
        if let Some(led_for) = term_info.and_then(|term_info| term_info.led_for) {
            self.held = Since { already: led_for, ..self.written };
        }
    }
}

/// All elections of the store.
#[derive(Clone, Debug)]
pub(super) struct Board {
    pub(super) rows: BTreeMap<String, Row>,
    pub(super) max_age: Option<Duration>,
    /// True if candidates keep leases alive without a write, so that neither a renewal nor an expiry is seen.
    pub(super) is_queue: bool,
    /// The time of the store's last answer.
    pub(super) answered: Option<Instant>,
    pub(super) began: Instant,
    /// The reason for which the store does not answer.
    pub(super) warning: Option<String>,
    /// The candidates in the last answer; `None` if the store has no way to ask.
    roll: Option<Vec<CandidateInfo>>,
}

impl Board {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            rows: BTreeMap::new(),
            max_age: None,
            is_queue: false,
            answered: None,
            began: now,
            warning: None,
            roll: None,
        }
    }

    /// Returns this board for elections that are queues, or that are not.
    pub(super) fn of_queues(self, is_queue: bool) -> Self {
        Self { is_queue, ..self }
    }

    /// Updates the board from the store's current entries.
    pub(super) fn take(&mut self, now: Instant, seen: Vec<WatchEvent>, max_age: Option<Duration>) {
        let is_first = self.answered.is_none();
        let mut before = std::mem::take(&mut self.rows);
        for WatchEvent { key, entry } in seen {
            let fresh = Since::seen(now, !is_first);
            let lease = entry.live().and_then(|record| record.lease).or(max_age).filter(|_| !self.is_queue);
            let mut row = match before.remove(&key) {
                None => Row {
                    entry,
                    held: fresh,
                    written: fresh,
                    changes: 0,
                    observed: None,
                    lease,
                    waiting: None,
                },
                Some(row) if row.entry.revision() != entry.revision() => {
                    Row { entry, written: fresh, lease, ..row }
                }
                Some(row) => {
                    self.rows.insert(key, row);
                    continue;
                }
            };
            row.believe();
            self.rows.insert(key, row);
        }
        // An election whose record is gone is vacant, and keeps its line.
        for (key, row) in before {
            self.rows.insert(key, Row { entry: Entry::Vacant, ..row });
        }
        (self.max_age, self.answered, self.warning) = (max_age, Some(now), None);
        self.settle_waiting();
    }

    /// Updates the board from an observer's event. Every change of leadership comes this way, however short.
    pub(super) fn observe(&mut self, now: Instant, key: &str, leader: Option<&Leader>) {
        let Some(row) = self.rows.get_mut(key) else { return };
        let holder: Holder = leader.map(|leader| (leader.name.clone(), leader.nonce));
        let before = row.observed.replace(holder.clone());
        // The first observation repeats the entry that has already been read, unless it has changed since.
        let before = before.unwrap_or_else(|| holder_of(&row.entry));
        if before != holder {
            row.held = Since::seen(now, true);
            row.changes += u64::from(holder.is_some());
        }
    }

    /// Updates the candidates of all elections.
    pub(super) fn call(&mut self, roll: Option<Vec<CandidateInfo>>) {
        self.roll = roll;
        self.settle_waiting();
    }

    /// Removes the holder of each key from its waiting candidates.
    fn settle_waiting(&mut self) {
        for (key, row) in &mut self.rows {
            let waits = |candidate: &&CandidateInfo| {
                candidate.election == *key && !row.entry.live().is_some_and(|record| is_of(record, candidate))
            };
            row.waiting = self.roll.as_ref().map(|roll| roll.iter().filter(waits).cloned().collect());
        }
    }

    /// Records that the store does not answer.
    pub(super) fn warning(&mut self, what: String) {
        self.warning = Some(what);
    }
}

fn holder_of(entry: &Entry) -> Holder {
    entry.live().map(|record| (record.candidate.clone(), record.write_id.map(|write_id| write_id.nonce)))
}

#[cfg(test)]
pub(super) mod tests {
    use incumbent::incumbent_core::record::{Attempt, Record, TermInfo, WriteId};
    use incumbent::incumbent_core::{Incarnation, Revision, Token};

    use super::*;

    pub(crate) fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    pub(crate) fn held(key: &str, by: &str, revision: u64) -> WatchEvent {
        let write_id = WriteId { nonce: Nonce(by.len() as u128), attempt: Attempt(1) };
        let record = Record {
            revision: Revision(revision),
            candidate: by.into(),
            write_id: Some(write_id),
            lease: Some(Duration::from_secs(15)),
            term_info: None,
            metadata: Vec::new(),
            oversize: None,
        };
        WatchEvent { key: key.into(), entry: Entry::Live(record) }
    }

    pub(crate) fn present(election: &str, name: &str, nonce: u128) -> CandidateInfo {
        let (election, name, nonce) = (election.into(), name.into(), Some(Nonce(nonce)));
        CandidateInfo { election, name, nonce, standing_for: Duration::from_secs(70) }
    }

    pub(crate) fn deleted(key: &str, revision: u64) -> WatchEvent {
        WatchEvent { key: key.into(), entry: Entry::Deleted { revision: Revision(revision), lease: None } }
    }

    #[test]
    fn what_was_there_before_is_as_old_as_the_sight_of_it_at_least() {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("jobs", "ada", 5)], None);
        assert_eq!(board.rows["jobs"].held, Since::seen(at(1), false));
        let left = Left { left: Duration::from_secs(11), lease: Duration::from_secs(15), is_bound: true };
        assert_eq!(board.rows["jobs"].left(at(5)), Some(left));
    }

    #[test]
    fn a_renewal_fills_the_lease_and_changes_nothing_else() {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("jobs", "ada", 5)], None);
        board.take(at(6), vec![held("jobs", "ada", 6)], None);
        let row = &board.rows["jobs"];
        assert_eq!((row.held.at, row.changes), (at(1), 0));
        let left = Left { left: Duration::from_secs(14), lease: Duration::from_secs(15), is_bound: false };
        assert_eq!(row.left(at(7)), Some(left));
    }

    #[test]
    fn a_holder_that_says_how_long_it_has_led_is_believed() {
        let said = |revision, secs| {
            let mut watched = held("jobs", "ada", revision);
            if let Entry::Live(record) = &mut watched.entry {
                let token = Token { incarnation: Incarnation(1), sequence: Revision(2) };
                record.term_info = Some(TermInfo { token, led_for: Some(Duration::from_secs(secs)) });
            }
            watched
        };
        let mut board = Board::new(at(0));
        board.take(at(10), vec![said(5, 300)], None);
        let held = board.rows["jobs"].held;
        assert_eq!((held.age(at(12)).as_secs(), held.is_exact), (302, false));
        board.take(at(14), vec![said(6, 305)], None);
        let held = board.rows["jobs"].held;
        assert_eq!((held.age(at(15)).as_secs(), held.is_exact), (306, true));
    }

    #[test]
    fn every_candidate_that_does_not_hold_the_lease_waits() {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("jobs", "ada", 5), deleted("off", 1)], None);
        let waiting = |board: &Board, key: &str| {
            board.rows[key]
                .waiting
                .as_ref()
                .map(|all| all.iter().map(|one| one.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(waiting(&board, "jobs"), None);
        // The first candidate has the holder's nonce, 3. The second has the same name and waits.
        board.call(Some(vec![
            present("jobs", "ada", 3),
            present("jobs", "ada", 9),
            present("off", "ben", 4),
        ]));
        assert_eq!(
            (waiting(&board, "jobs").unwrap(), waiting(&board, "off").unwrap()),
            (vec!["ada".into()], vec!["ben".into()])
        );
        board.call(None);
        assert_eq!(waiting(&board, "jobs"), None);
    }

    #[test]
    fn every_leader_that_comes_is_counted_however_short_the_vacancy() {
        let mut board = Board::new(at(0));
        let ada = held("jobs", "ada", 5);
        let leader = Leader::of(ada.entry.live().unwrap());
        board.take(at(1), vec![ada], None);
        board.observe(at(1), "jobs", Some(&leader));
        let row = &board.rows["jobs"];
        assert_eq!((row.changes, row.held), (0, Since::seen(at(1), false)));
        board.observe(at(2), "jobs", None);
        let row = &board.rows["jobs"];
        assert_eq!((row.changes, row.held), (0, Since::seen(at(2), true)));
        board.observe(at(3), "jobs", Some(&leader));
        let row = &board.rows["jobs"];
        assert_eq!((row.changes, row.held), (1, Since::seen(at(3), true)));
    }

    #[test]
    fn a_leader_that_came_between_the_look_and_the_observer_is_counted() {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![deleted("jobs", 4)], None);
        let leader = Leader::of(held("jobs", "ada", 5).entry.live().unwrap());
        board.observe(at(2), "jobs", Some(&leader));
        assert_eq!(board.rows["jobs"].changes, 1);
    }

    #[test]
    fn a_lease_that_is_not_renewed_is_overdue() {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("jobs", "ada", 5), deleted("off", 1)], None);
        assert_eq!(board.rows["jobs"].state(at(15)), "held");
        assert_eq!(board.rows["jobs"].state(at(16)), "overdue");
        assert_eq!(board.rows["off"].state(at(16)), "deleted");
    }

    #[test]
    fn in_a_queue_no_lease_is_seen_to_run_out() {
        let mut board = Board::new(at(0)).of_queues(true);
        board.take(at(1), vec![held("jobs", "ada", 5)], None);
        let row = &board.rows["jobs"];
        assert_eq!((row.state(at(60)), row.left(at(60))), ("held", None));
    }

    #[test]
    fn what_the_store_has_forgotten_is_vacant_and_stays() {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("jobs", "ada", 5)], None);
        board.take(at(2), Vec::new(), None);
        board.take(at(3), Vec::new(), None);
        assert_eq!((board.rows["jobs"].state(at(3)), board.rows["jobs"].leader()), ("vacant", None));
    }

    #[test]
    fn a_record_that_states_no_lease_has_the_longest_of_the_store() {
        let mut board = Board::new(at(0));
        let mut bare = held("jobs", "go-1", 5);
        if let Entry::Live(record) = &mut bare.entry {
            (record.lease, record.write_id) = (None, None);
        }
        board.take(at(1), vec![bare], Some(Duration::from_secs(30)));
        assert_eq!(board.rows["jobs"].left(at(1)).unwrap().lease, Duration::from_secs(30));
    }
}

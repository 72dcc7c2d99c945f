//! What was seen of every election, and since when.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent::core::record::{Entry, Nonce};
use incumbent::store::Watched;
use incumbent::{Instant, Leader};

/// Since when something has been so, as far as was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Since {
    pub(super) at: Instant,
    /// Its beginning was seen; otherwise it is older than that.
    pub(super) is_exact: bool,
}

/// One election.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) entry: Entry,
    /// Who holds the seat, or that nobody does.
    pub(super) held: Since,
    /// What is there now was written.
    written: Since,
    /// How many leaders have come.
    pub(super) changes: u64,
    /// Whose the seat was when it was last observed.
    observed: Option<Holder>,
    /// How long the lease is that is shown.
    lease: Option<Duration>,
}

/// Whose a seat is, of one campaign; none where it is vacant.
type Holder = Option<(String, Option<Nonce>)>;

/// What there is to say of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) left: Duration,
    pub(super) lease: Duration,
    /// It may be less.
    pub(super) is_bound: bool,
}

impl Row {
    /// The holder's name; none where the seat is vacant.
    pub(super) fn leader(&self) -> Option<&str> {
        self.entry.live().map(|record| record.candidate.as_str())
    }

    /// What is left of the lease, where it is held and its length known.
    pub(super) fn left(&self, now: Instant) -> Option<Left> {
        let lease = self.lease.filter(|_| self.entry.live().is_some())?;
        let left = lease.saturating_sub(now.since(self.written.at));
        Some(Left { left, lease, is_bound: !self.written.is_exact })
    }

    /// How the seat stands, in a word.
    pub(super) fn seat(&self, now: Instant) -> &'static str {
        match self.left(now) {
            Some(left) if left.left.is_zero() => "overdue",
            _ => crate::status::seat(&self.entry),
        }
    }
}

/// All elections of the store.
#[derive(Clone, Debug)]
pub(super) struct Board {
    pub(super) rows: BTreeMap<String, Row>,
    pub(super) max_age: Option<Duration>,
    /// When the store last answered.
    pub(super) answered: Option<Instant>,
    pub(super) began: Instant,
    /// Why it does not answer.
    pub(super) trouble: Option<String>,
}

impl Board {
    pub(super) fn new(now: Instant) -> Self {
        Self { rows: BTreeMap::new(), max_age: None, answered: None, began: now, trouble: None }
    }

    /// Takes in what the store says now.
    pub(super) fn take(&mut self, now: Instant, seen: Vec<Watched>, max_age: Option<Duration>) {
        let is_first = self.answered.is_none();
        let mut before = std::mem::take(&mut self.rows);
        for Watched { key, entry } in seen {
            let fresh = Since { at: now, is_exact: !is_first };
            let lease = entry.live().and_then(|record| record.lease).or(max_age);
            let row = match before.remove(&key) {
                None => Row { entry, held: fresh, written: fresh, changes: 0, observed: None, lease },
                Some(row) if row.entry.revision() != entry.revision() => {
                    Row { entry, written: fresh, lease, ..row }
                }
                Some(row) => row,
            };
            self.rows.insert(key, row);
        }
        // What the store has forgotten is vacant, and its line stays.
        for (key, row) in before {
            self.rows.insert(key, Row { entry: Entry::Vacant, ..row });
        }
        (self.max_age, self.answered, self.trouble) = (max_age, Some(now), None);
    }

    /// Takes in what an observer was told: every change of a seat comes this way, however short.
    pub(super) fn observe(&mut self, now: Instant, key: &str, leader: Option<&Leader>) {
        let Some(row) = self.rows.get_mut(key) else { return };
        let holder: Holder = leader.map(|leader| (leader.name.clone(), leader.nonce));
        let before = row.observed.replace(holder.clone());
        // The first observation says what was looked at already, unless it has changed since.
        let before = before.unwrap_or_else(|| holder_of(&row.entry));
        if before != holder {
            row.held = Since { at: now, is_exact: true };
            row.changes += u64::from(holder.is_some());
        }
    }

    /// The store does not answer.
    pub(super) fn trouble(&mut self, what: String) {
        self.trouble = Some(what);
    }
}

fn holder_of(entry: &Entry) -> Holder {
    entry.live().map(|record| (record.candidate.clone(), record.stamp.map(|stamp| stamp.nonce)))
}

#[cfg(test)]
pub(super) mod tests {
    use incumbent::core::Revision;
    use incumbent::core::record::{Attempt, Record, Stamp};

    use super::*;

    pub(crate) fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    pub(crate) fn held(key: &str, by: &str, revision: u64) -> Watched {
        let stamp = Stamp { nonce: Nonce(by.len() as u128), attempt: Attempt(1) };
        let record = Record {
            revision: Revision(revision),
            candidate: by.into(),
            stamp: Some(stamp),
            lease: Some(Duration::from_secs(15)),
            claim: None,
            metadata: Vec::new(),
        };
        Watched { key: key.into(), entry: Entry::Live(record) }
    }

    pub(crate) fn deleted(key: &str, revision: u64) -> Watched {
        Watched { key: key.into(), entry: Entry::Deleted { revision: Revision(revision) } }
    }

    #[test]
    fn what_was_there_before_is_as_old_as_the_sight_of_it_at_least() {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("jobs", "ada", 5)], None);
        assert_eq!(board.rows["jobs"].held, Since { at: at(1), is_exact: false });
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
    fn every_leader_that_comes_is_counted_however_short_the_vacancy() {
        let mut board = Board::new(at(0));
        let ada = held("jobs", "ada", 5);
        let leader = Leader::of(ada.entry.live().unwrap());
        board.take(at(1), vec![ada], None);
        board.observe(at(1), "jobs", Some(&leader));
        let row = &board.rows["jobs"];
        assert_eq!((row.changes, row.held), (0, Since { at: at(1), is_exact: false }));
        board.observe(at(2), "jobs", None);
        let row = &board.rows["jobs"];
        assert_eq!((row.changes, row.held), (0, Since { at: at(2), is_exact: true }));
        board.observe(at(3), "jobs", Some(&leader));
        let row = &board.rows["jobs"];
        assert_eq!((row.changes, row.held), (1, Since { at: at(3), is_exact: true }));
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
    fn a_lease_that_nobody_renews_is_overdue() {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("jobs", "ada", 5), deleted("off", 1)], None);
        assert_eq!(board.rows["jobs"].seat(at(15)), "held");
        assert_eq!(board.rows["jobs"].seat(at(16)), "overdue");
        assert_eq!(board.rows["off"].seat(at(16)), "deleted");
    }

    #[test]
    fn what_the_store_has_forgotten_is_vacant_and_stays() {
        let mut board = Board::new(at(0));
        board.take(at(1), vec![held("jobs", "ada", 5)], None);
        board.take(at(2), Vec::new(), None);
        board.take(at(3), Vec::new(), None);
        assert_eq!((board.rows["jobs"].seat(at(3)), board.rows["jobs"].leader()), ("vacant", None));
    }

    #[test]
    fn a_record_that_states_no_lease_has_the_longest_of_the_store() {
        let mut board = Board::new(at(0));
        let mut bare = held("jobs", "go-1", 5);
        if let Entry::Live(record) = &mut bare.entry {
            (record.lease, record.stamp) = (None, None);
        }
        board.take(at(1), vec![bare], Some(Duration::from_secs(30)));
        assert_eq!(board.rows["jobs"].left(at(1)).unwrap().lease, Duration::from_secs(30));
    }
}

//! Elections that have observers: their last observation of a key, and the instants at which the key is read again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use incumbent_core::campaign::Leader;
use incumbent_core::record::Entry;
use incumbent_core::{Instant, Revision};

use crate::observation::Observation;
use crate::queue::Queue;

/// The assumed lease of a holder that states none, in a store without a maximum age.
const UNSTATED_LEASE: Duration = Duration::from_secs(30);
/// The interval between the reads of an election without a leader, because an open watch may miss its changes.
const VACANT: Duration = Duration::from_secs(30);
/// The delay before another read, after a failed read or while an overdue record still exists.
const AGAIN: Duration = Duration::from_millis(500);

/// An election that has observers, and its state as they know it.
pub(super) struct ObservedElection {
    election: Arc<str>,
    readers: Vec<Arc<Queue<Observation>>>,
    /// The last observation that was sent.
    reported: Option<Observation>,
    revision: Option<Revision>,
    /// The instant by which the record of that revision should have expired.
    due: Option<Instant>,
    /// The number of changes seen, which identifies an answer that the watch has overtaken.
    changes: u64,
    /// True if the last answer was older than the known revision.
    is_doubted: bool,
    reading: bool,
    /// True if the election has changed while it was being read, so that it must be read once more.
    changed_meanwhile: bool,
    /// True if renewals are not shown as changes, so that the entry is read once per lease.
    entry_stays: bool,
}

impl ObservedElection {
    /// `entry_stays` as [`Link::ENTRIES_STAY`](incumbent_store::link::Link::ENTRIES_STAY).
    pub(super) fn new(election: Arc<str>, entry_stays: bool) -> Self {
        Self {
            election,
            entry_stays,
            readers: Vec::new(),
            reported: None,
            revision: None,
            due: None,
            changes: 0,
            is_doubted: false,
            reading: false,
            changed_meanwhile: false,
        }
    }

    /// Adds an observer and sends it the last observation.
    pub(super) fn add(&mut self, reader: Arc<Queue<Observation>>) {
        if let Some(reported) = &self.reported {
            // The reader has not been returned to its owner yet, so no task waits for it.
            drop(reader.push(reported.clone()));
        }
        self.readers.push(reader);
    }

    /// Returns true if no observer is left.
    pub(super) fn is_unobserved(&mut self) -> bool {
        self.readers.retain(|reader| !reader.is_unsubscribed());
        self.readers.is_empty()
    }

    /// Ends the streams of all observers.
    pub(super) fn end(&self) -> Vec<Waker> {
        self.readers.iter().filter_map(|reader| reader.end()).collect()
    }

    /// Begins a read, unless one is in flight. Returns the number of changes, which shows whether the watch overtook
    /// the read.
    pub(super) fn begin_read(&mut self) -> Option<u64> {
        (!std::mem::replace(&mut self.reading, true)).then_some(self.changes)
    }

    /// Records a change after which the entry must be read.
    pub(super) fn note_change(&mut self) {
        self.changed_meanwhile |= self.reading;
    }

    /// Returns true if the finished read began before the last change.
    pub(super) fn wants_read(&mut self) -> bool {
        std::mem::take(&mut self.changed_meanwhile)
    }

    /// Processes the answer to a read. Returns when to read again, and the tasks to wake.
    pub(super) fn read(
        &mut self,
        now: Instant,
        begun_at: u64,
        answer: Option<&Entry>,
        max_age: Option<Duration>,
    ) -> (Option<Instant>, Vec<Waker>) {
        self.reading = false;
        let Some(entry) = answer else { return (Some(now + AGAIN), Vec::new()) };
        if begun_at != self.changes {
            // The watch was faster.
            return (self.due, Vec::new());
        }
        let is_older = entry.revision().is_some_and(|revision| Some(revision) < self.revision);
        if is_older && !self.is_doubted {
            // Either the server lags or the store was replaced. The next answer decides.
            self.is_doubted = true;
            return (Some(now + AGAIN), Vec::new());
        }
        let (due, woken) = self.changed(now, entry, max_age);
        (due.map(|due| due.max(now + AGAIN)), woken)
    }

    /// Processes the present entry. Returns when to check it again, and the tasks to wake.
    pub(super) fn changed(
        &mut self,
        now: Instant,
        entry: &Entry,
        max_age: Option<Duration>,
    ) -> (Option<Instant>, Vec<Waker>) {
        self.changes += 1;
        self.is_doubted = false;
        let record = entry.live();
        let is_new = self.reported.is_none() || entry.revision() != self.revision;
        if is_new || self.entry_stays || record.is_none() {
            self.revision = entry.revision();
            self.due = Some(
                now + record.map_or(VACANT, |record| record.lease.or(max_age).unwrap_or(UNSTATED_LEASE)),
            );
        }
        let leader = entry.live().map(Leader::of);
        if self.reported.as_ref().is_some_and(|reported| is_same(reported.leader.as_ref(), leader.as_ref())) {
            return (self.due, Vec::new());
        }
        let observation = Observation { election: Arc::clone(&self.election), leader, since: now };
        self.reported = Some(observation.clone());
        (self.due, self.readers.iter().filter_map(|reader| reader.push(observation.clone())).collect())
    }
}

/// Returns true if both are the same holder with the same metadata. The revision is ignored, because it changes with
/// every renewal.
fn is_same(one: Option<&Leader>, other: Option<&Leader>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            one.name == other.name && one.nonce == other.nonce && one.metadata == other.metadata
        }
        _ => false,
    }
}

/// The instants at which observed elections are read again, one for each election, ordered by time.
#[derive(Debug, Default)]
pub(super) struct Checks {
    at: HashMap<Arc<str>, Instant>,
    order: BTreeSet<(Instant, Arc<str>)>,
}

impl Checks {
    /// Sets the only time at which `key` is read again. With `None`, it is not read again.
    pub(super) fn set(&mut self, key: &Arc<str>, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.at.insert(Arc::clone(key), at),
            None => self.at.remove(key),
        };
        if let Some(before) = before {
            self.order.remove(&(before, Arc::clone(key)));
        }
        if let Some(at) = at {
            self.order.insert((at, Arc::clone(key)));
        }
    }

    /// The earliest instant.
    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Removes and returns the elections that are due.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Arc<str>> {
        let mut due = Vec::new();
        while let Some((_, key)) = self.order.first().filter(|(at, _)| *at <= now).cloned() {
            self.set(&key, None);
            due.push(key);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Subscription;
    use futures_util::{FutureExt, StreamExt};
    use incumbent_core::record::Record;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn live(name: &str, revision: u64) -> Entry {
        Entry::Live(Record {
            revision: Revision(revision),
            candidate: name.into(),
            write_id: None,
            lease: Some(Duration::from_secs(10)),
            term_info: None,
            metadata: Vec::new(),
            oversize: None,
        })
    }

    fn observed() -> (ObservedElection, Subscription<Observation>) {
        let (queue, subscription) = Queue::new();
        let mut election = ObservedElection::new("jobs".into(), false);
        election.add(queue);
        (election, subscription)
    }

    /// The observations that have not been read: the leader's name and the time of each.
    fn unread(subscription: &mut Subscription<Observation>) -> Vec<(Option<String>, Instant)> {
        let unread = std::iter::from_fn(|| subscription.next().now_or_never().flatten());
        unread.map(|seen| (seen.leader.map(|leader| leader.name), seen.since)).collect()
    }

    #[test]
    fn a_renewal_is_not_reported_and_puts_the_check_off() {
        let (mut election, mut reader) = observed();
        assert_eq!(election.changed(at(0), &live("a", 1), None).0, Some(at(10_000)));
        assert_eq!(election.changed(at(3_000), &live("a", 2), None).0, Some(at(13_000)));
        // The watch may report the same entry twice. The second report proves nothing new.
        assert_eq!(election.changed(at(4_000), &live("a", 2), None).0, Some(at(13_000)));
        assert_eq!(unread(&mut reader), [(Some("a".into()), at(0))]);
    }

    #[test]
    fn a_record_that_outlives_its_lease_is_read_again_and_again() {
        let (mut election, mut reader) = observed();
        let _ = election.changed(at(0), &live("a", 1), None);
        let begun = election.begin_read().unwrap();
        assert_eq!(election.begin_read(), None);
        assert_eq!(election.read(at(10_000), begun, Some(&live("a", 1)), None).0, Some(at(10_500)));
        let begun = election.begin_read().unwrap();
        assert_eq!(election.read(at(10_500), begun, Some(&Entry::Vacant), None).0, Some(at(40_500)));
        assert_eq!(unread(&mut reader), [(Some("a".into()), at(0)), (None, at(10_500))]);
    }

    #[test]
    fn an_entry_that_its_renewals_leave_as_it_is_is_looked_at_once_a_lease() {
        let mut election = ObservedElection::new("jobs".into(), true);
        for millis in [0, 10_000, 20_000] {
            let begun = election.begin_read().unwrap();
            let (check, _) = election.read(at(millis), begun, Some(&live("a", 1)), None);
            assert_eq!(check, Some(at(millis + 10_000)));
        }
    }

    #[test]
    fn an_election_without_a_leader_is_looked_at_now_and_then_whatever_the_watch_shows() {
        let (mut election, mut reader) = observed();
        for millis in [0, 30_000] {
            let begun = election.begin_read().unwrap();
            assert_eq!(
                election.read(at(millis), begun, Some(&Entry::Vacant), None).0,
                Some(at(millis + 30_000))
            );
        }
        let begun = election.begin_read().unwrap();
        assert_eq!(election.read(at(60_000), begun, Some(&live("a", 1)), None).0, Some(at(70_000)));
        assert_eq!(unread(&mut reader), [(None, at(0)), (Some("a".into()), at(60_000))]);
    }

    #[test]
    fn a_change_during_a_read_is_read_after_it_and_once() {
        let mut election = ObservedElection::new("jobs".into(), true);
        election.note_change();
        let begun = election.begin_read().unwrap();
        assert!(!election.wants_read(), "this read shows the change");
        election.note_change();
        election.note_change();
        assert_eq!(election.begin_read(), None);
        let _ = election.read(at(1), begun, Some(&live("a", 1)), None);
        assert!(election.wants_read());
        assert!(!election.wants_read());
    }

    #[test]
    fn an_answer_that_the_watch_has_overtaken_is_ignored() {
        let (mut election, mut reader) = observed();
        let begun = election.begin_read().unwrap();
        let _ = election.changed(at(1), &live("a", 7), None);
        assert_eq!(election.read(at(2), begun, Some(&Entry::Vacant), None).0, Some(at(10_001)));
        assert_eq!(unread(&mut reader), [(Some("a".into()), at(1))]);
    }

    #[test]
    fn an_answer_older_than_what_is_known_counts_when_it_comes_twice() {
        let (mut election, mut reader) = observed();
        let _ = election.changed(at(0), &live("a", 7), None);
        let begun = election.begin_read().unwrap();
        assert_eq!(election.read(at(1), begun, Some(&live("b", 3)), None).0, Some(at(501)));
        assert_eq!(unread(&mut reader), [(Some("a".into()), at(0))]);
        let begun = election.begin_read().unwrap();
        assert_eq!(election.read(at(501), begun, Some(&live("b", 3)), None).0, Some(at(10_501)));
        assert_eq!(unread(&mut reader), [(Some("b".into()), at(501))]);
    }

    #[test]
    fn a_read_without_an_answer_is_repeated() {
        let (mut election, mut reader) = observed();
        let begun = election.begin_read().unwrap();
        assert_eq!(election.read(at(0), begun, None, None).0, Some(at(500)));
        assert!(election.begin_read().is_some());
        assert_eq!(unread(&mut reader), []);
    }

    #[test]
    fn a_holder_that_states_no_lease_has_the_stores() {
        let (mut election, _reader) = observed();
        let mut entry = live("a", 1);
        if let Entry::Live(record) = &mut entry {
            record.lease = None;
        }
        assert_eq!(election.changed(at(0), &entry, Some(Duration::from_secs(5))).0, Some(at(5_000)));
    }

    #[test]
    fn an_election_is_unobserved_when_its_last_observer_is_gone() {
        let (mut election, reader) = observed();
        assert!(!election.is_unobserved());
        drop(reader);
        assert!(election.is_unobserved());
    }

    #[test]
    fn the_earliest_check_comes_first_and_a_newer_time_replaces_an_older() {
        let at = Instant::from_nanos;
        let (jobs, mail): (Arc<str>, Arc<str>) = ("jobs".into(), "mail".into());
        let mut checks = Checks::default();
        checks.set(&jobs, Some(at(5)));
        checks.set(&mail, Some(at(3)));
        checks.set(&jobs, Some(at(2)));
        assert_eq!(checks.next(), Some(at(2)));
        assert_eq!(checks.take_due(at(1)), []);
        assert_eq!(checks.take_due(at(2)), std::slice::from_ref(&jobs));
        checks.set(&jobs, Some(at(4)));
        checks.set(&jobs, None);
        assert_eq!(checks.take_due(at(9)), [mail]);
        assert_eq!(checks.next(), None);
    }
}

//! The key as one campaign knows it: the observed entry, when it was first observed, the win delay that follows from
//! both, and the read in flight.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use super::io::ReadId;
use crate::record::{Entry, Metadata, Record};
use crate::time::Instant;
use crate::token::{Incarnation, Revision};

/// The instant before which the win of a new holder is not reported.
///
/// An instant on our own clock, attached to every write that acquires or keeps the lease. It follows the record through
/// retakes, and into the release of a holder that never led.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Wait {
    pub(super) until: Instant,
    /// Also wait until a renewal later than the acquire is acknowledged. If the acquire replaced a foreign tombstone,
    /// the server's clean-up may erase the acquire that the server has just acknowledged.
    pub(super) renewal: bool,
    /// Also wait for the settings' delay from the first observation of our record. A leader that this candidate never
    /// observed may renew until the store applies the acquire.
    pub(super) delayed: bool,
}

impl Wait {
    pub(super) const fn new(until: Instant, renewal: bool) -> Self {
        Self { until, renewal, delayed: false }
    }

    /// Combines the wait for an observed record with the wait for the key, and keeps the key's delay.
    pub(super) fn and(self, of_the_key: Self) -> Self {
        Self::new(self.until.max(of_the_key.until), self.renewal || of_the_key.renewal)
    }

    /// The part of the wait that is left.
    pub(super) fn owed(self, now: Instant) -> Duration {
        self.until.since(now)
    }
}

/// A read whose answer is awaited.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct PendingRead {
    id: ReadId,
    pub(super) sent: Instant,
    /// The highest revision known when the read was sent; a lower answer is stale.
    pub(super) mark: Revision,
    /// The incarnation known when the read was sent; the answer counts for no other.
    pub(super) incarnation: Incarnation,
}

/// The newest entry observed under the key, and the reads of it.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct KeyView {
    entry: Option<Entry>,
    /// When this exact revision, or this absence, was first observed.
    since: Instant,
    /// The wait owed by an acquire over the observed entry.
    wait: Wait,
    /// The lease of the last holder observed.
    holder: Option<Duration>,
    /// The number of the last read.
    reads: ReadId,
    pending: Option<Box<PendingRead>>,
    /// A read whose time limit has passed. Its answer still counts if it comes over the same connection.
    late: Option<Box<PendingRead>>,
    /// When a read was last answered.
    last_read: Instant,
}

impl KeyView {
    pub(super) fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    pub(super) fn record(&self) -> Option<&Record> {
        self.entry.as_ref().and_then(Entry::live)
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        self.entry.as_ref().and_then(Entry::revision)
    }

    pub(super) fn first_observed(&self) -> Instant {
        self.since
    }

    /// The wait owed by an acquire over what is observed now.
    pub(super) fn wait(&self) -> Wait {
        self.wait
    }

    /// Whether anything is known about the key.
    pub(super) fn is_known(&self) -> bool {
        self.entry.is_some() || !self.saw_no_holder()
    }

    /// Whether no record was ever observed, so no previous leader is known.
    pub(super) fn saw_no_holder(&self) -> bool {
        self.holder.is_none()
    }

    /// The lease of the last holder observed, or `default`.
    pub(super) fn holder_lease(&self, default: Duration) -> Duration {
        self.holder.unwrap_or(default)
    }

    /// How long the observed record may remain unchanged: the lease that it states, or that of the last holder
    /// observed, or `default`.
    pub(super) fn entry_lease(&self, default: Duration) -> Duration {
        self.record().and_then(|record| record.lease).unwrap_or_else(|| self.holder_lease(default))
    }

    /// Forgets every observation, because the store was replaced. A read in flight remains, and so does the wait: the
    /// watch may have shown the new store before an inspection did, and the record that it showed may vanish before
    /// it is shown again.
    pub(super) fn forget(&mut self) {
        let wait = Wait::new(self.wait.until, false);
        *self = Self {
            wait,
            reads: self.reads,
            pending: self.pending.take(),
            late: None,
            last_read: self.last_read,
            ..Self::default()
        };
    }

    /// Forgets the entry, so that it is read again, but keeps the waits.
    pub(super) fn forget_entry(&mut self) {
        self.entry = None;
    }

    /// Observes a record of our own, whose wait is kept with the attempt that wrote it.
    pub(super) fn observe_own(&mut self, record: Record, now: Instant) {
        if self.revision() != Some(record.revision) {
            self.since = now;
        }
        self.holder = self.holder.or(record.lease);
        self.entry = Some(Entry::Live(record));
    }

    /// The name and the metadata of the observed record, which is about to be replaced.
    pub(super) fn take_texts(&mut self) -> Option<(String, Metadata)> {
        match &mut self.entry {
            Some(Entry::Live(record)) => {
                Some((core::mem::take(&mut record.candidate), core::mem::take(&mut record.metadata)))
            }
            _ => None,
        }
    }

    /// Notes that the observed entry is our own release, which owed this wait.
    pub(super) fn owes(&mut self, wait: Wait) {
        self.wait.until = self.wait.until.min(wait.until);
    }

    /// Notes that a holder with this lease was shown before the campaign began.
    pub(super) fn recall_holder(&mut self, lease: Duration) {
        self.holder = Some(lease);
    }

    /// Makes an acquire wait at least until `until`.
    pub(super) fn wait_until(&mut self, until: Instant) {
        self.wait.until = self.wait.until.max(until);
    }

    /// Extends the wait after a deletion to the store's raised maximum age, because a deleted holder that stated no
    /// lease was assumed to have the old age.
    pub(super) fn wait_for_raised_age(&mut self, age: Duration) {
        if self.wait.renewal {
            self.wait.until = self.wait.until.max(self.since + age);
        }
    }

    /// Observes what another candidate left under the key.
    ///
    /// A first observation belongs to one revision: it is kept as long as that revision is observed, and another
    /// revision starts its own. `default` is the lease of a holder that does not state one.
    pub(super) fn observe(
        &mut self,
        entry: Entry,
        incarnation: Incarnation,
        default: Duration,
        now: Instant,
    ) {
        let same = self.entry.as_ref().is_some_and(|known| known.revision() == entry.revision());
        if same {
            self.entry = Some(entry);
            return;
        }
        self.since = now;
        match &entry {
            Entry::Live(record) => {
                let lease = record.lease.unwrap_or(default);
                // The previous holder may have renewed unobserved until this holder acquired, and its lease may be
                // longer.
                let before = self.record().filter(|before| !before.has_the_holder_of(record));
                let longest = lease.max(before.and_then(|before| before.lease).unwrap_or_default());
                self.holder = Some(lease);
                self.wait = Wait::new(self.wait.until.max(now + longest), false);
            }
            // The holder itself deleted its record by compare-and-delete, so every lease observed before is over.
            Entry::Released(release) if release.incarnation == incarnation => {
                self.wait = Wait::new(now + release.owed, false);
            }
            Entry::Released(_) | Entry::Deleted { .. } => {
                let stated = match &entry {
                    Entry::Deleted { lease, .. } => lease.unwrap_or_default(),
                    _ => Duration::ZERO,
                };
                let lease = self.holder_lease(default).max(default).max(stated);
                let until = now + lease;
                self.wait = Wait::new(self.wait.until.max(until), true);
            }
            // The wait remains: our own clock decides when the last observed record has run out, not the store's clock.
            Entry::Expired { .. } | Entry::Vacant => self.wait.renewal = false,
        }
        self.entry = Some(entry);
    }

    /// Starts a read and returns its number, unless a read is in flight.
    pub(super) fn start_read(
        &mut self,
        mark: Revision,
        incarnation: Incarnation,
        now: Instant,
    ) -> Option<ReadId> {
        if self.is_reading() {
            return None;
        }
        self.reads.0 += 1;
        self.pending = Some(Box::new(PendingRead { id: self.reads, sent: now, mark, incarnation }));
        Some(self.reads)
    }

    pub(super) fn is_reading(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether a read with this number was ever requested.
    pub(super) fn was_asked(&self, read: ReadId) -> bool {
        read.0 != 0 && read <= self.reads
    }

    /// Ends the read with this number if its answer still counts; also returns whether it is late.
    pub(super) fn end_read(&mut self, read: ReadId) -> Option<(PendingRead, bool)> {
        let awaited = self.pending.take_if(|pending| pending.id == read).map(|pending| (*pending, false));
        awaited.or_else(|| self.late.take_if(|late| late.id == read).map(|late| (*late, true)))
    }

    /// Stops waiting for the read in flight. Its answer still counts if it comes.
    pub(super) fn stop_waiting(&mut self) -> Option<PendingRead> {
        let pending = self.pending.take()?;
        self.late = Some(pending.clone());
        Some(*pending)
    }

    /// Stops waiting for the read in flight. Its answer no longer counts.
    pub(super) fn abandon_read(&mut self) -> Option<PendingRead> {
        self.late = None;
        self.pending.take().map(|pending| *pending)
    }

    /// Notes that a read was answered at `now`.
    pub(super) fn was_read(&mut self, now: Instant) {
        self.last_read = now;
    }

    pub(super) fn last_read(&self) -> Instant {
        self.last_read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Release;
    use alloc::vec::Vec;

    const INCARNATION: Incarnation = Incarnation(1);
    const LEASE: Duration = Duration::from_secs(30);

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn live(revision: u64, lease: Option<u64>) -> Entry {
        Entry::Live(Record {
            revision: Revision(revision),
            candidate: "other".into(),
            write_id: None,
            lease: lease.map(Duration::from_secs),
            term_info: None,
            metadata: Vec::new(),
            oversize: None,
        })
    }

    fn deleted(revision: u64) -> Entry {
        Entry::Deleted { revision: Revision(revision), lease: None }
    }

    fn released(revision: u64, owed: u64, incarnation: Incarnation) -> Entry {
        Entry::Released(Release {
            revision: Revision(revision),
            write_id: None,
            owed: Duration::from_secs(owed),
            incarnation,
            successor: None,
        })
    }

    fn waits(observed: &[(u64, Entry)]) -> Wait {
        let mut key = KeyView::default();
        for (secs, entry) in observed {
            key.observe(entry.clone(), INCARNATION, LEASE, at(*secs));
        }
        key.wait()
    }

    #[test]
    fn absence_never_preceded_by_a_record_waits_for_nothing() {
        assert_eq!(waits(&[(5, Entry::Vacant)]), Wait::default());
        assert_eq!(waits(&[(5, Entry::Expired { revision: Revision(3) })]), Wait::default());
    }

    #[test]
    fn expiry_waits_from_the_first_observation_of_the_last_record_for_its_holders_lease() {
        let marker = Entry::Expired { revision: Revision(5) };
        let expected = Wait::new(at(1 + 40), false);
        assert_eq!(waits(&[(1, live(4, Some(40))), (9, live(4, Some(40))), (12, marker)]), expected);
        assert_eq!(waits(&[(1, live(4, Some(40))), (12, Entry::Vacant)]), expected);
    }

    #[test]
    fn a_holder_that_follows_unobserved_upon_one_with_a_longer_lease_leaves_that_one_to_wait_for() {
        let by = |name: &str, revision, lease| match live(revision, Some(lease)) {
            Entry::Live(record) => Entry::Live(Record { candidate: name.into(), ..record }),
            other => other,
        };
        let follows =
            |second: &str| waits(&[(1, by("a", 4, 40)), (20, by(second, 7, 5)), (22, by(second, 8, 5))]);
        assert_eq!(follows("b"), Wait::new(at(20 + 40), false));
        assert_eq!(follows("a"), Wait::new(at(1 + 40), false));
    }

    #[test]
    fn a_release_of_this_incarnation_ends_every_lease_observed_before() {
        let expected = Wait::new(at(20 + 2), false);
        assert_eq!(
            waits(&[(1, live(4, None)), (10, deleted(5)), (20, released(6, 2, INCARNATION))]),
            expected
        );
    }

    #[test]
    fn a_release_of_another_incarnation_is_a_foreign_tombstone() {
        let expected = Wait::new(at(20 + 30), true);
        assert_eq!(waits(&[(20, released(6, 0, Incarnation(2)))]), expected);
    }

    #[test]
    fn a_foreign_tombstone_waits_from_its_own_first_observation_and_wants_a_renewal() {
        let expected = Wait::new(at(10 + 40), true);
        assert_eq!(waits(&[(1, live(4, Some(40))), (10, deleted(5)), (30, deleted(5))]), expected);
    }

    #[test]
    fn a_tombstone_that_says_the_deleted_holders_lease_is_waited_for_as_long_by_one_that_never_observed_it() {
        let said = Entry::Deleted { revision: Revision(5), lease: Some(Duration::from_secs(50)) };
        assert_eq!(waits(&[(10, said)]), Wait::new(at(10 + 50), true));
    }

    #[test]
    fn a_tombstone_after_an_absence_starts_its_own_first_observation() {
        assert_eq!(waits(&[(1, Entry::Vacant), (50, deleted(9))]), Wait::new(at(80), true));
    }

    #[test]
    fn another_revision_starts_its_own_first_observation() {
        assert_eq!(waits(&[(1, live(4, None)), (7, live(5, None))]), Wait::new(at(37), false));
        assert_eq!(waits(&[(1, deleted(4)), (7, deleted(5))]), Wait::new(at(37), true));
    }

    #[test]
    fn the_holders_lease_counts_and_never_less_than_the_default_after_a_deletion() {
        assert_eq!(waits(&[(0, live(4, Some(5))), (2, deleted(5))]), Wait::new(at(32), true));
    }
}

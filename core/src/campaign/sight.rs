//! What a candidate has seen of the key, when it first saw it, and until when somebody else may
//! therefore believe it leads.

use core::time::Duration;

use crate::record::{Entry, Record};
use crate::time::Instant;
use crate::token::{Incarnation, Revision};

/// Until when a new holder is not told that it leads.
///
/// An instant on our own clock, attached to every write that takes or keeps the seat: it goes
/// with the record, through retakes, and into the release of a holder that never got to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Wait {
    pub(super) until: Instant,
    /// And not before a renewal later than the acquire is acknowledged: over somebody else's
    /// tombstone the server's own clean-up may erase a write it has just acknowledged.
    pub(super) renewal: bool,
}

impl Wait {
    /// Both waits together.
    pub(super) fn and(self, other: Self) -> Self {
        Self { until: self.until.max(other.until), renewal: self.renewal || other.renewal }
    }

    /// How much of the wait is left.
    pub(super) fn owed(self, now: Instant) -> Duration {
        self.until.since(now)
    }
}

/// The newest thing seen under the key.
#[derive(Clone, Debug, Hash, Default)]
pub(super) struct Sight {
    entry: Option<Entry>,
    /// When this very revision, or this absence, was first seen.
    since: Instant,
    /// The wait of whoever takes the seat from what is seen.
    wait: Wait,
    /// The lease of the last holder seen.
    holder: Option<Duration>,
}

impl Sight {
    pub(super) fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref()
    }

    pub(super) fn record(&self) -> Option<&Record> {
        self.entry.as_ref().and_then(Entry::live)
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        self.entry.as_ref().and_then(Entry::revision)
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// The wait of an acquire that takes the seat from what is seen now.
    pub(super) fn wait(&self) -> Wait {
        self.wait
    }

    /// Whether no record was ever seen, so that nothing is known of a previous leader.
    pub(super) fn is_cold(&self) -> bool {
        self.holder.is_none()
    }

    /// The lease of the last holder seen, or `default`.
    pub(super) fn holder_lease(&self, default: Duration) -> Duration {
        self.holder.unwrap_or(default)
    }

    /// How long the record that is there may live unchanged, where it says so; else the lease of the last holder seen, or
    /// `default`.
    pub(super) fn lives(&self, default: Duration) -> Duration {
        self.record().and_then(|record| record.lease).unwrap_or_else(|| self.holder_lease(default))
    }

    /// Forgets everything: the store is another one.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Forgets what is there, so that it is looked at anew, and keeps the waits.
    pub(super) fn look_again(&mut self) {
        self.entry = None;
    }

    /// Notes a record of our own, whose wait is kept with the attempt that wrote it.
    pub(super) fn own(&mut self, record: Record, now: Instant) {
        if self.revision() != Some(record.revision) {
            self.since = now;
        }
        self.holder = self.holder.or(record.lease);
        self.entry = Some(Entry::Live(record));
    }

    /// What is there is a release of our own, which owed this wait.
    pub(super) fn owes(&mut self, wait: Wait) {
        self.wait.until = self.wait.until.min(wait.until);
    }

    /// Whoever takes the seat waits at least until then.
    pub(super) fn wait_until(&mut self, until: Instant) {
        self.wait.until = self.wait.until.max(until);
    }

    /// Notes what somebody else left under the key. A first sight belongs to one revision: it
    /// is kept while that revision is seen again, and starts anew with another. `default` is
    /// the lease of a holder that does not say its own.
    pub(super) fn other(&mut self, entry: Entry, incarnation: Incarnation, default: Duration, now: Instant) {
        let same = self.entry.as_ref().is_some_and(|seen| seen.revision() == entry.revision());
        if same {
            self.entry = Some(entry);
            return;
        }
        self.since = now;
        match &entry {
            Entry::Live(record) => {
                let lease = record.lease.unwrap_or(default);
                // Whoever was there before may have renewed unseen until this one came, and have a longer lease.
                let before = self.record().filter(|before| !before.has_the_holder_of(record));
                let longest = lease.max(before.and_then(|before| before.lease).unwrap_or_default());
                self.holder = Some(lease);
                self.wait = Wait { until: self.wait.until.max(now + longest), renewal: false };
            }
            // A compare-and-delete by the holder itself: whatever was seen before is over.
            Entry::Released(release) if release.incarnation == incarnation => {
                self.wait = Wait { until: now + release.owed, renewal: false };
            }
            Entry::Released(_) | Entry::Deleted { .. } => {
                let said = match &entry {
                    Entry::Deleted { lease, .. } => lease.unwrap_or_default(),
                    _ => Duration::ZERO,
                };
                let lease = self.holder_lease(default).max(default).max(said);
                let until = now + lease;
                self.wait = Wait { until: self.wait.until.max(until), renewal: true };
            }
            // The last record seen runs out by our own clock, whatever the store's says.
            Entry::Expired { .. } | Entry::Vacant => self.wait.renewal = false,
        }
        self.entry = Some(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Release;
    use alloc::vec::Vec;

    const LIFE: Incarnation = Incarnation(1);
    const LEASE: Duration = Duration::from_secs(30);

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn live(revision: u64, lease: Option<u64>) -> Entry {
        Entry::Live(Record {
            revision: Revision(revision),
            candidate: "other".into(),
            stamp: None,
            lease: lease.map(Duration::from_secs),
            claim: None,
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
            stamp: None,
            owed: Duration::from_secs(owed),
            incarnation,
            successor: None,
        })
    }

    fn waits(seen: &[(u64, Entry)]) -> Wait {
        let mut sight = Sight::default();
        for (secs, entry) in seen {
            sight.other(entry.clone(), LIFE, LEASE, at(*secs));
        }
        sight.wait()
    }

    #[test]
    fn absence_never_preceded_by_a_record_waits_for_nothing() {
        assert_eq!(waits(&[(5, Entry::Vacant)]), Wait::default());
        assert_eq!(waits(&[(5, Entry::Expired { revision: Revision(3) })]), Wait::default());
    }

    #[test]
    fn expiry_waits_from_the_first_sight_of_the_last_record_for_its_holders_lease() {
        let marker = Entry::Expired { revision: Revision(5) };
        let expected = Wait { until: at(1 + 40), renewal: false };
        assert_eq!(waits(&[(1, live(4, Some(40))), (9, live(4, Some(40))), (12, marker)]), expected);
        assert_eq!(waits(&[(1, live(4, Some(40))), (12, Entry::Vacant)]), expected);
    }

    #[test]
    fn a_holder_that_follows_unseen_upon_one_with_a_longer_lease_leaves_that_one_to_wait_for() {
        let by = |name: &str, revision, lease| match live(revision, Some(lease)) {
            Entry::Live(record) => Entry::Live(Record { candidate: name.into(), ..record }),
            other => other,
        };
        let follows =
            |second: &str| waits(&[(1, by("a", 4, 40)), (20, by(second, 7, 5)), (22, by(second, 8, 5))]);
        assert_eq!(follows("b"), Wait { until: at(20 + 40), renewal: false });
        assert_eq!(follows("a"), Wait { until: at(1 + 40), renewal: false });
    }

    #[test]
    fn a_release_of_this_life_certifies_whatever_was_seen_before() {
        let expected = Wait { until: at(20 + 2), renewal: false };
        assert_eq!(waits(&[(1, live(4, None)), (10, deleted(5)), (20, released(6, 2, LIFE))]), expected);
    }

    #[test]
    fn a_release_of_another_life_is_a_foreign_tombstone() {
        let expected = Wait { until: at(20 + 30), renewal: true };
        assert_eq!(waits(&[(20, released(6, 0, Incarnation(2)))]), expected);
    }

    #[test]
    fn a_foreign_tombstone_waits_from_its_own_first_sight_and_wants_a_renewal() {
        let expected = Wait { until: at(10 + 40), renewal: true };
        assert_eq!(waits(&[(1, live(4, Some(40))), (10, deleted(5)), (30, deleted(5))]), expected);
    }

    #[test]
    fn a_tombstone_that_says_the_deleted_holders_lease_is_waited_for_as_long_by_one_that_never_saw_it() {
        let said = Entry::Deleted { revision: Revision(5), lease: Some(Duration::from_secs(50)) };
        assert_eq!(waits(&[(10, said)]), Wait { until: at(10 + 50), renewal: true });
    }

    #[test]
    fn a_tombstone_after_an_absence_starts_its_own_first_sight() {
        assert_eq!(waits(&[(1, Entry::Vacant), (50, deleted(9))]), Wait { until: at(80), renewal: true });
    }

    #[test]
    fn another_revision_starts_its_own_first_sight() {
        assert_eq!(waits(&[(1, live(4, None)), (7, live(5, None))]), Wait { until: at(37), renewal: false });
        assert_eq!(waits(&[(1, deleted(4)), (7, deleted(5))]), Wait { until: at(37), renewal: true });
    }

    #[test]
    fn the_holders_lease_counts_and_never_less_than_the_default_after_a_deletion() {
        assert_eq!(waits(&[(0, live(4, Some(5))), (2, deleted(5))]), Wait { until: at(32), renewal: true });
    }
}

//! Equality of two campaigns, for programs that explore all that can happen to them.

use core::hash::{Hash, Hasher};

use super::Campaign;

impl Campaign {
    /// Feeds a hasher with all that decides what this campaign will do, its future inputs being equal.
    ///
    /// Left out is what cannot decide that: its settings, which never change; the latest reading of a clock that only goes
    /// forward; and what it reported about warnings and other leaders. Left out too is the state of its random numbers:
    /// what they have decided already is in its timers.
    ///
    /// Call it when [`poll`](Self::poll) has been drained.
    pub fn fingerprint(&self, hasher: &mut impl Hasher) {
        // All fields by name, so that a new one is not forgotten.
        let Self {
            rules: _,
            rng: _,
            now,
            lease,
            stage,
            intent,
            candidacy,
            store,
            key,
            attempts,
            timers,
            reported: _,
            outputs: _,
        } = self;
        (lease, stage, intent, store, key, attempts, timers).hash(hasher);
        candidacy.hash_at(*now, hasher);
    }
}

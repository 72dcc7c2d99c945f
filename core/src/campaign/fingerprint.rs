//! When two campaigns are the same, for programs that explore all that can happen to them.

use core::hash::{Hash, Hasher};

use super::Campaign;
use crate::time::Instant;

impl Campaign {
    /// Feeds a hasher with all that decides what this campaign will do, its future inputs being equal.
    ///
    /// Left out is what cannot decide that: its settings, which never change; the latest reading of a clock
    /// that only goes forward; and what it was told of, and told, about warnings and other leaders. Left out
    /// too is the state of its random numbers: what they have decided already is in its timers.
    ///
    /// Call it when [`poll`](Self::poll) has been drained.
    pub fn fingerprint(&self, hasher: &mut impl Hasher) {
        // All fields by name, so that a new one is not forgotten.
        let Self {
            rules: _,
            nonce,
            rng: _,
            now,
            lease,
            stage,
            in_race,
            closing,
            healthy,
            splayed,
            sight,
            life,
            ledger,
            timers,
            reads,
            reading,
            looked,
            inspecting,
            watching,
            witnessed,
            reconnecting,
            failures,
            inspections_failed,
            handler_failures,
            not_before,
            resting_until,
            burnt,
            races_lost,
            jitter,
            leader: _,
            told: _,
            outputs: _,
        } = self;
        // What is over holds nothing back any more, whenever it was.
        let ahead = |at: &Instant| if at <= now { Instant::ZERO } else { *at };
        (nonce, lease, stage, in_race, closing, healthy, splayed, sight, life, ledger).hash(hasher);
        (timers, reads, reading, looked, inspecting, watching, witnessed, reconnecting).hash(hasher);
        (failures, inspections_failed, handler_failures, burnt).hash(hasher);
        (ahead(not_before), ahead(resting_until), races_lost, jitter).hash(hasher);
    }
}

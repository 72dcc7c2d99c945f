//! What a candidate waits for while no candidate leads.

use core::time::Duration;

use super::forecast::Vacant;
use super::timers::Timer;
use super::{Campaign, Stage, pace};
use crate::candidacy::{Obstacle, Waiting};
use crate::time::Instant;

impl Waiting for Campaign {
    /// A holder's record says whether its win was reported; a bare one is other software's, which leads by it.
    fn knows_a_leader(&self) -> bool {
        if let Some(holder) = self.holder() {
            return holder.term.is_some();
        }
        let Some(record) = self.key.record().filter(|record| !self.is_ours(record)) else { return false };
        let lease = self.key.entry_lease(self.lease) + self.rules.store.granularity;
        self.now < self.key.first_observed() + lease
            && record.term_info.is_none_or(|info| info.led_for.is_some())
    }

    fn obstacle(&self) -> Obstacle {
        let left = |until: Instant| until.since(self.now);
        if let Some(holder) = self.holder() {
            let (trusted_at, waited) = (self.store.trusted_at(), holder.wait.until);
            return match left(trusted_at.max(waited)) {
                Duration::ZERO => Obstacle::Unproven,
                left if trusted_at >= waited && !self.reported.reset => {
                    Obstacle::NewStore { left, can_be_stated: true }
                }
                left => Obstacle::FormerLeader { left },
            };
        }
        let other = self.key.record().filter(|record| !self.is_ours(record));
        let rests_until = self.candidacy.earliest(Timer::Acquire);
        match other {
            _ if self.stays_out() => Obstacle::Barred,
            _ if self.store.failures() > 0 || !matches!(self.stage, Stage::Candidate) => Obstacle::Unanswered,
            Some(record) if record.term_info.is_some_and(|info| info.led_for.is_none()) => {
                Obstacle::Holder { name: record.candidate.clone() }
            }
            Some(record) => Obstacle::Unexpired { name: record.candidate.clone() },
            None if rests_until > self.now => Obstacle::Resting { left: left(rests_until) },
            None => Obstacle::Unanswered,
        }
    }

    /// After a crash or an operator's deletion, whichever takes longer; a renewal later, others hear of the win. In a new
    /// store no candidate leads before the store may be trusted.
    fn worst_fail_over(&self, since: Instant) -> Duration {
        let longest = self.longest_lease();
        let new_store = self.store.trusted_at().since(since).min(longest);
        new_store
            + Vacant::at_most(&self.rules, longest).worst()
            + self.least_delay()
            + pace::renew_every(self.lease)
    }
}

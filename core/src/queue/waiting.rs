//! What a candidate waits for while no candidate leads.

use core::time::Duration;

use super::settings::EXPIRED;
use super::timers::Timer;
use super::{Campaign, Placed, Stage};
use crate::candidacy::{Obstacle, Waiting};
use crate::time::Instant;

impl Waiting for Campaign {
    /// The first place leads, as far as another candidate can know: until then the proof that showed it counts.
    fn knows_a_leader(&self) -> bool {
        let other = self.leader().is_some_and(|leader| leader.nonce != Some(self.nonce));
        match self.placed() {
            Some(Placed { term: Some(_), .. }) => true,
            Some(placed) => other && placed.deadline.is_some_and(|deadline| deadline > self.now),
            None => other,
        }
    }

    fn obstacle(&self) -> Obstacle {
        let left = |until: Instant| until.since(self.now);
        match &self.stage {
            Stage::Placed(placed) if placed.first => {
                match self.timers.get(Timer::Owed).filter(|until| *until > self.now) {
                    None => Obstacle::Unproven,
                    Some(until) if self.store.trusted_at() >= until && !self.reported.reset => {
                        Obstacle::NewStore { left: left(until), can_be_stated: true }
                    }
                    Some(until) => Obstacle::FormerLeader { left: left(until) },
                }
            }
            Stage::Placed(placed) if placed.deadline.is_some_and(|deadline| deadline > self.now) => {
                Obstacle::Ahead
            }
            Stage::Entering(_) if self.is_barred() => Obstacle::Barred,
            Stage::Entering(_) if self.resting_until() > self.now => {
                Obstacle::Resting { left: left(self.resting_until()) }
            }
            _ => Obstacle::Unanswered,
        }
    }

    fn worst_fail_over(&self, _: Instant) -> Duration {
        // A lease is waited for in any case.
        let delay = self.rules.win_delay.least(Duration::ZERO);
        // Where a disappearance may have come too early, the next leader waits for a lease after it.
        let longest = self.store.longest();
        longest + EXPIRED + self.attempt_limit() + longest + delay
    }
}

impl Campaign {
    /// The end of a rest, after the user's handler failed or this candidate gave way.
    fn resting_until(&self) -> Instant {
        self.giving_way.rest_until(self.now).unwrap_or_default().max(self.rest_until)
    }
}

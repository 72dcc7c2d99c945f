//! What a candidate waits for while no candidate leads.

use core::time::Duration;

use super::timers::Timer;
use super::{Campaign, Stage};
use crate::candidacy::{Obstacle, Waiting};
use crate::time::Instant;

/// The brokers' own session timeout of a member by KIP-848, where they say nothing else
/// (`group.consumer.session.timeout.ms`).
const BROKERS_SESSION: Duration = Duration::from_secs(45);

impl Campaign {
    /// The time after which the group removes a member that it does not hear.
    pub(super) fn session(&self) -> Duration {
        self.rules.client.session.unwrap_or(BROKERS_SESSION)
    }
}

impl Waiting for Campaign {
    fn knows_a_leader(&self) -> bool {
        self.owner().is_some_and(|owner| owner.term.is_some()) || self.leader().is_some()
    }

    fn obstacle(&self) -> Obstacle {
        match &self.stage {
            Stage::Member => Obstacle::Unassigned,
            Stage::Away => Obstacle::Resting { left: self.rest_until.since(self.now) },
            Stage::Owner(owner) if owner.is_unread() => Obstacle::Unread,
            Stage::Owner(_) => match self.timers.get(Timer::Owed).map(|until| until.since(self.now)) {
                None | Some(Duration::ZERO) => Obstacle::Unproven,
                Some(left) if !self.log.saw_others() => Obstacle::NewStore { left, can_be_stated: false },
                Some(left) => Obstacle::FormerLeader { left },
            },
            _ => Obstacle::Unanswered,
        }
    }

    /// The coordinator notices a crash after the session; then the group settles, and the new owner waits the lease out.
    fn worst_fail_over(&self, _: Instant) -> Duration {
        // A lease is waited for in any case.
        let delay = self.rules.win_delay.least(Duration::ZERO);
        self.session() + 2 * self.log.longest() + self.attempt_limit() + delay
    }
}

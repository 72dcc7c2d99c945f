//! Overload: requests wait for too long, which candidates report once until none waits.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::wishes::Class;
use super::{CampaignId, Session};
use crate::campaign::{Event, Warning};
use crate::candidacy::Rule;
use crate::time::Instant;

/// At most so many candidates report one episode: reports are work, too.
const REPORTS: usize = 64;

impl<R: Rule> Session<R> {
    /// Begins an episode where a request has waited for a third of its candidate's lease, and ends it where none waits.
    pub(super) fn observe_overload(&mut self) {
        if self.wishes.is_empty() {
            self.overloaded = false;
        }
        if self.overloaded {
            return;
        }
        let waits: Vec<_> = Class::ALL.into_iter().filter_map(|class| self.longest_wait(class)).collect();
        if !waits.iter().any(|(waited, lease)| *waited >= *lease / 3) {
            return;
        }
        self.overloaded = true;
        let load = self.load();
        let warning = Warning::Overloaded {
            waiting: load.waiting as u64,
            waited: waits.iter().map(|(waited, _)| *waited).max().unwrap_or_default(),
            answer_time: load.answer_time,
        };
        let waiting = self.candidates.iter().filter(|(_, candidate)| candidate.wish.is_some());
        for (id, candidate) in waiting.take(REPORTS) {
            self.outputs.push_back(candidate.report(id, vec![Event::Warning(warning.clone())]));
        }
    }

    /// The time for which the first request of a class has waited, and the lease of its candidate.
    fn longest_wait(&mut self, class: Class) -> Option<(Duration, Duration)> {
        let candidates = &self.candidates;
        let (id, by): (CampaignId, Instant) = self.wishes.first(class, |id| candidates.get(&id)?.wish)?;
        let campaign = self.campaign(id)?;
        let lease = campaign.lease_time();
        let since = match class {
            // It was due a third of the lease after the instant from which its deadline counts.
            Class::Renewal => (by + campaign.margin()).before(lease - lease / 3),
            Class::Release | Class::Read | Class::Acquire => by,
        };
        Some((self.now.since(since), lease))
    }
}

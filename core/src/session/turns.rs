//! The turns of campaigns that wait: renewals first, then releases, reads and acquires.

use super::wishes::Class;
use super::{CampaignId, Session, Timer};
use crate::candidacy::Rule;
use crate::time::Instant;

impl<R: Rule> Session<R> {
    /// The store answered a request, or will not.
    pub(super) fn answered(&mut self, id: CampaignId, answer: &R::Answer) {
        if let Some((ticket, of_store)) = R::answers(answer) {
            self.window.ended(id, ticket, of_store, self.now);
        }
    }

    /// The campaign whose request may leave now, if any may.
    ///
    /// While others wait, a renewal that cannot be answered in time is dropped, and its term runs out: a store that is too
    /// slow for all would otherwise answer each of them a moment too late.
    pub(super) fn next_turn(&mut self) -> Option<CampaignId> {
        while !self.wishes.is_empty() && self.window.places() > 0 {
            let (id, too_late) = self.first_wish()?;
            if let Some(candidate) = self.candidates.get_mut(&id) {
                candidate.wish = None;
            }
            self.wishes.left();
            let usual = self.window.usual();
            let takes = self.campaign(id).map_or(usual, |campaign| R::renewal_takes(campaign, usual));
            if self.wishes.is_empty() || self.now + takes < too_late {
                return Some(id);
            }
        }
        None
    }

    /// The first campaign that waits, and the time from which an answer would come too late.
    ///
    /// A release comes before a renewal that has a third of its lease left: terms that end must not keep their elections
    /// from other candidates, nor the living ones from renewing.
    fn first_wish(&mut self) -> Option<(CampaignId, Instant)> {
        let (wishes, candidates) = (&mut self.wishes, &self.candidates);
        let mut first = |class| wishes.first(class, |id| candidates.get(&id)?.wish);
        let is_near = |(id, by): (CampaignId, Instant)| {
            let lease = candidates.get(&id).and_then(|candidate| candidate.lease_time).unwrap_or_default();
            by.before(lease / 3) <= self.now
        };
        let renewal = first(Class::Renewal);
        if let Some(renewal) = renewal.filter(|renewal| is_near(*renewal)) {
            return Some(renewal);
        }
        let other = |(id, _)| (id, Instant::NEVER);
        first(Class::Release)
            .map(other)
            .or(renewal)
            .or_else(|| first(Class::Read).map(other))
            .or_else(|| first(Class::Acquire).map(other))
    }

    /// Where campaigns wait, a place becomes free when a request outlasts its limit.
    pub(super) fn set_turn(&mut self) {
        let at = self.window.first_limit();
        if self.wishes.is_empty() || at == Instant::NEVER {
            self.timers.stop_shared(Timer::Turn);
        } else {
            self.timers.set(Timer::Turn, at);
        }
    }
}

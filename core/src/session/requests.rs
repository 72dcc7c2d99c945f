//! A session's requests: those in flight, and the turns of waiting campaigns. Renewals come first, then releases, reads
//! and acquires. If a request waits too long, candidates report the overload; they report it again only after a time in
//! which no request waited.

use alloc::vec::Vec;
use core::time::Duration;

use super::CampaignId;
use super::candidates::Candidates;
use super::window::{LastAnswers, Load, Ticket, Window};
use super::wishes::{Class, Queued, Wish, Wishes};
use crate::campaign::Warning;
use crate::candidacy::Rule;
use crate::time::Instant;

/// The requests in flight, and the campaigns that wait for a place.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    window: Window,
    wishes: Wishes,
    /// Whether a request has waited too long, and at least one request has been waiting ever since.
    overloaded: bool,
}

impl Requests {
    /// Creates the requests of a session on a store that accepts at most `most` at a time.
    pub(super) fn new(most: u32) -> Self {
        Self { window: Window::new(most), wishes: Wishes::default(), overloaded: false }
    }

    /// Sets the number of requests that the store accepts at a time from now on.
    pub(super) fn bound(&mut self, most: u32) {
        self.window.bound(most);
    }

    /// Notes the time. Returns whether campaigns wait.
    pub(super) fn pass(&mut self, now: Instant) -> bool {
        self.window.pass(now);
        !self.wishes.is_empty()
    }

    /// Whether campaigns wait.
    pub(super) fn are_waiting(&self) -> bool {
        !self.wishes.is_empty()
    }

    /// The places for a campaign that need not wait its turn. There are none while other campaigns wait.
    pub(super) fn places(&self) -> u32 {
        if self.wishes.is_empty() { self.window.places() } else { 0 }
    }

    pub(super) fn last_answers(&self) -> LastAnswers {
        self.window.last_answers()
    }

    pub(super) fn load(&self) -> Load {
        self.window.load(self.wishes.len())
    }

    /// A request leaves.
    pub(super) fn sent(&mut self, id: CampaignId, ticket: Ticket, limit: Duration, now: Instant) {
        self.window.sent(id, ticket, limit, now);
    }

    /// Notes that the store answered a request, or will not answer it.
    pub(super) fn answered<R: Rule>(&mut self, id: CampaignId, answer: &R::Answer, now: Instant) {
        if let Some((ticket, of_store)) = R::answers(answer) {
            self.window.ended(id, ticket, of_store, now);
        }
    }

    /// Forgets the requests in flight after the connection was replaced, because the old one may never answer them.
    pub(super) fn reconnected(&mut self) {
        self.window.clear();
    }

    /// Replaces a campaign's wish `before` by `wish`, or removes it. Returns the wish's place.
    pub(super) fn set_wish(
        &mut self,
        id: CampaignId,
        wish: Option<Wish>,
        before: Option<Queued>,
    ) -> Option<Queued> {
        self.wishes.set(id, wish, before)
    }

    /// Removes the wish of a campaign that is over.
    pub(super) fn forget(&mut self, wish: Option<Queued>) {
        if wish.is_some() {
            self.wishes.left();
        }
    }

    /// The campaign whose request may be sent now, if there is one.
    ///
    /// While others wait, a renewal that cannot be answered in time is dropped, and its term runs out. Otherwise a
    /// store that is too slow for all renewals would answer each of them a moment too late.
    pub(super) fn next_turn<R: Rule>(
        &mut self,
        candidates: &mut Candidates<R>,
        now: Instant,
    ) -> Option<CampaignId> {
        while !self.wishes.is_empty() && self.window.places() > 0 {
            let (id, too_late) = self.first_wish(candidates, now)?;
            let candidate = candidates.get_mut(&id);
            self.wishes.left();
            let usual = self.window.usual();
            let takes = candidate.map_or(usual, |candidate| {
                candidate.wish = None;
                candidate.campaign().map_or(usual, |campaign| R::renewal_takes(campaign, usual))
            });
            if self.wishes.is_empty() || now + takes < too_late {
                return Some(id);
            }
        }
        None
    }

    /// The first waiting campaign, and the time from which an answer would come too late.
    ///
    /// A release goes ahead of a renewal that has more than a third of its lease left, because an ended term must not
    /// block its election. Any other renewal goes first, because releases must not keep other terms from renewing.
    fn first_wish<R: Rule>(
        &mut self,
        candidates: &Candidates<R>,
        now: Instant,
    ) -> Option<(CampaignId, Instant)> {
        let mut first = |class| self.wishes.first(class, |id| candidates.get(&id)?.wish);
        let is_near = |(id, by): (CampaignId, Instant)| {
            let lease = candidates.get(&id).and_then(|candidate| candidate.lease_time).unwrap_or_default();
            by.before(lease / 3) <= now
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

    /// When the next request outlasts its limit, which frees a place for a waiting campaign.
    pub(super) fn next_place(&self) -> Option<Instant> {
        let at = self.window.first_limit();
        (!self.wishes.is_empty() && at < Instant::NEVER).then_some(at)
    }

    /// Begins an overload when a request has waited for a third of its candidate's lease, and ends it when no request
    /// waits. At the beginning, returns the warning for the candidates whose requests wait.
    pub(super) fn observe_overload<R: Rule>(
        &mut self,
        candidates: &Candidates<R>,
        now: Instant,
    ) -> Option<Warning> {
        if self.wishes.is_empty() {
            self.overloaded = false;
        }
        if self.overloaded {
            return None;
        }
        let waits = Class::ALL.into_iter().filter_map(|class| self.longest_wait(class, candidates, now));
        let waits: Vec<_> = waits.collect();
        if !waits.iter().any(|(waited, lease)| *waited >= *lease / 3) {
            return None;
        }
        self.overloaded = true;
        let load = self.load();
        Some(Warning::Overloaded {
            waiting: load.waiting as u64,
            waited: waits.iter().map(|(waited, _)| *waited).max().unwrap_or_default(),
            answer_time: load.answer_time,
        })
    }

    /// How long the first request of a class has waited, and its candidate's lease.
    fn longest_wait<R: Rule>(
        &mut self,
        class: Class,
        candidates: &Candidates<R>,
        now: Instant,
    ) -> Option<(Duration, Duration)> {
        let (id, by) = self.wishes.first(class, |id| candidates.get(&id)?.wish)?;
        let campaign = candidates.get(&id)?.campaign()?;
        let lease = campaign.lease_time();
        let since = match class {
            // The deadline counts from the newest proof. The renewal was due a third of the lease after that proof.
            Class::Renewal => (by + campaign.margin()).before(lease - lease / 3),
            Class::Release | Class::Read | Class::Acquire => by,
        };
        Some((now.since(since), lease))
    }
}

//! Campaigns that have begun enter the race: when the watch has shown what there is, and not too many at once.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use super::Fed;
use super::{CampaignId, Session, Timer};
use crate::candidacy::Rule;

/// The number of campaigns whose first question to the store may be open at a time.
const AT_ONCE: usize = 1_000;
/// The time after which further campaigns enter, where none of these is answered.
const ANSWERED: Duration = Duration::from_secs(1);
/// The time for which campaigns wait for the watch to show all there is, before they read their keys. Where it comes
/// later, that costs them time and nothing else.
const SHOWN: Duration = Duration::from_millis(100);

/// The campaigns that have begun, and enter the race when they may.
///
/// Each asks the store something when it enters. Where a hundred thousand ask at once, the store comes to the last when
/// these have given up, ask for another connection, and ask again.
#[derive(Clone, Debug, Default)]
pub(super) struct Starting {
    /// They wait for the watch to show what there is of their elections.
    unshown: Vec<CampaignId>,
    waiting: VecDeque<CampaignId>,
    /// The number of campaigns whose first question is not answered.
    asking: usize,
}

/// The first question of a campaign that enters the race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// It may ask.
    Started,
    /// It has asked.
    Asked,
    /// It was answered, or the campaign has not entered.
    Over,
}

impl<R: Rule> Session<R> {
    /// A campaign has begun, and enters the race by [`start_some`](Self::start_some).
    pub(super) fn starts_when_it_may(&mut self, id: CampaignId) {
        if !self.waits_for_the_watch(id) {
            return self.starting.waiting.push_back(id);
        }
        self.timers.set_first(Timer::Shown, self.now + SHOWN);
        self.starting.unshown.push(id);
    }

    fn waits_for_the_watch(&self, id: CampaignId) -> bool {
        let candidate = self.candidates.get(&id).filter(|_| R::watch_shows_all(&self.store));
        candidate.is_some_and(|candidate| self.watch.is_yet_to_show(&candidate.election))
    }

    /// The watch has shown more elections, or shows nothing any more.
    pub(super) fn start_what_was_shown(&mut self) {
        let unshown = core::mem::take(&mut self.starting.unshown);
        let (unshown, shown): (Vec<_>, Vec<_>) =
            unshown.into_iter().partition(|id| self.waits_for_the_watch(*id));
        self.starting.waiting.extend(shown);
        if unshown.is_empty() {
            self.timers.stop_shared(Timer::Shown);
        }
        self.starting.unshown = unshown;
    }

    /// The watch has not shown all there is in time.
    pub(super) fn start_without_the_watch(&mut self) {
        self.starting.waiting.extend(self.starting.unshown.drain(..));
    }

    /// None of the first questions was answered for a while.
    pub(super) fn start_without_answers(&mut self) {
        self.starting.asking = 0;
    }

    /// As many campaigns as may enter the race. Returns whether any does.
    pub(super) fn start_some(&mut self) -> bool {
        if self.starting.waiting.is_empty() {
            return false;
        }
        let free = AT_ONCE.saturating_sub(self.starting.asking).min(self.starting.waiting.len());
        let next: Vec<_> = self.starting.waiting.drain(..free).collect();
        if next.is_empty() {
            self.timers.set_first(Timer::Answered, self.now + ANSWERED);
        } else {
            self.timers.stop_shared(Timer::Answered);
        }
        next.iter().for_each(|id| self.start(*id));
        !next.is_empty()
    }

    /// A campaign enters the race. Where the watch has shown all there is of its election, and that is nothing, its key is
    /// vacant: the compare of the acquire proves that, and a read may be as old by the time that the acquire arrives.
    fn start(&mut self, id: CampaignId) {
        let Some(candidate) = self.candidates.get_mut(&id) else { return };
        candidate.first = First::Started;
        let is_vacant = self.watch.has_shown_nothing_of(&candidate.election);
        if let Some(nothing) = self.campaign(id).filter(|_| is_vacant).and_then(R::shown_nothing) {
            self.deliveries.push_back((id, Fed::<R>::Watched(nothing)));
        }
        self.deliveries.push_back((id, Fed::<R>::Campaign));
    }

    /// A campaign asks the store something, or is answered. Only the first of these counts.
    pub(super) fn first_question(&mut self, id: CampaignId, before: First, now: First) {
        let candidate = self.candidates.get_mut(&id);
        let Some(candidate) = candidate.filter(|candidate| candidate.first == before) else { return };
        candidate.first = now;
        let asking = self.starting.asking;
        self.starting.asking = if now == First::Asked { asking + 1 } else { asking.saturating_sub(1) };
    }
}

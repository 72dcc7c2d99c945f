//! Campaigns that have begun enter the race: when the watch has shown what there is, and not too many at once.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use super::candidate::Candidate;
use super::candidates::Candidates;
use super::timers::{Timer, Timers};
use super::watch::Watch;
use super::{CampaignId, Deliveries, Fed};
use crate::candidacy::Rule;
use crate::time::Instant;

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
    /// The campaign that began last.
    newest: CampaignId,
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

impl Starting {
    /// A campaign has begun. Returns the campaign that began before.
    pub(super) fn began(&mut self, id: CampaignId) -> CampaignId {
        core::mem::replace(&mut self.newest, id)
    }

    /// A campaign that has begun enters the race by [`start_some`](Self::start_some). `watch` is one that says when it has
    /// shown all there is.
    pub(super) fn add<R: Rule>(
        &mut self,
        id: CampaignId,
        candidates: &Candidates<R>,
        watch: Option<&Watch>,
        timers: &mut Timers<R::Timer>,
        now: Instant,
    ) {
        if !is_unshown(id, candidates, watch) {
            return self.waiting.push_back(id);
        }
        timers.set_first(Timer::Shown, now + SHOWN);
        self.unshown.push(id);
    }

    /// The watch has shown more elections, or shows nothing any more.
    pub(super) fn watch_showed<R: Rule>(
        &mut self,
        candidates: &Candidates<R>,
        watch: Option<&Watch>,
        timers: &mut Timers<R::Timer>,
    ) {
        let unshown = core::mem::take(&mut self.unshown);
        let (unshown, shown): (Vec<_>, Vec<_>) =
            unshown.into_iter().partition(|id| is_unshown(*id, candidates, watch));
        self.waiting.extend(shown);
        if unshown.is_empty() {
            timers.stop_shared(Timer::Shown);
        }
        self.unshown = unshown;
    }

    /// The watch has not shown all there is in time.
    pub(super) fn start_without_the_watch(&mut self) {
        self.waiting.extend(self.unshown.drain(..));
    }

    /// None of the first questions was answered for a while.
    pub(super) fn start_without_answers(&mut self) {
        self.asking = 0;
    }

    /// As many campaigns as may enter the race. Returns whether any does.
    pub(super) fn start_some<R: Rule>(
        &mut self,
        candidates: &mut Candidates<R>,
        watch: &Watch,
        timers: &mut Timers<R::Timer>,
        deliveries: &mut Deliveries<R>,
        now: Instant,
    ) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let free = AT_ONCE.saturating_sub(self.asking).min(self.waiting.len());
        if free == 0 {
            timers.set_first(Timer::Answered, now + ANSWERED);
            return false;
        }
        timers.stop_shared(Timer::Answered);
        for id in self.waiting.drain(..free) {
            if let Some(candidate) = candidates.get_mut(&id) {
                start(candidate, watch, deliveries);
            }
        }
        true
    }

    /// A campaign asks the store something, or is answered. Only the first of these counts.
    pub(super) fn first_question<R: Rule>(
        &mut self,
        candidate: Option<&mut Candidate<R>>,
        before: First,
        now: First,
    ) {
        let Some(candidate) = candidate.filter(|candidate| candidate.first == before) else { return };
        candidate.first = now;
        let asking = self.asking;
        self.asking = if now == First::Asked { asking + 1 } else { asking.saturating_sub(1) };
    }
}

/// Whether the watch is yet to show what there is of a campaign's election.
fn is_unshown<R: Rule>(id: CampaignId, candidates: &Candidates<R>, watch: Option<&Watch>) -> bool {
    let candidate = candidates.get(&id).zip(watch);
    candidate.is_some_and(|(candidate, watch)| watch.is_yet_to_show(&candidate.election))
}

/// A campaign enters the race. Where the watch has shown all there is of its election, and that is nothing, its key is
/// vacant: the compare of the acquire proves that, and a read may be as old by the time that the acquire arrives.
fn start<R: Rule>(candidate: &mut Candidate<R>, watch: &Watch, deliveries: &mut Deliveries<R>) {
    candidate.first = First::Started;
    let is_vacant = watch.has_shown_nothing_of(&candidate.election);
    if let Some(nothing) = candidate.campaign().filter(|_| is_vacant).and_then(R::shown_nothing) {
        deliveries.push_back((candidate.id, Fed::<R>::Watched(nothing)));
    }
    deliveries.push_back((candidate.id, Fed::<R>::Campaign));
}

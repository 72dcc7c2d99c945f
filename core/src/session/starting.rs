//! The rule for when campaigns that have begun enter the race: once the watch has shown their elections, and not too
//! many at once.

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

/// The number of campaigns whose first question to the store may be unanswered at a time.
const AT_ONCE: usize = 1_000;
/// The time without an answer to a first question after which further campaigns enter.
const ANSWERED: Duration = Duration::from_secs(1);
/// The time for which campaigns wait for the watch to show everything before they read their keys. If the watch takes
/// longer, they have lost only this time.
const SHOWN: Duration = Duration::from_millis(100);

/// The campaigns that have begun and will enter the race.
///
/// Each campaign asks the store something when it enters. If a hundred thousand asked at once, the last ones would give
/// up, ask for another connection and ask again before the store reached them.
#[derive(Clone, Debug, Default)]
pub(super) struct Starting {
    /// The last campaign that began.
    newest: CampaignId,
    /// Campaigns that wait for the watch to show their elections.
    unshown: Vec<CampaignId>,
    waiting: VecDeque<CampaignId>,
    /// The number of campaigns with an unanswered first question.
    asking: usize,
}

/// The first question of a campaign that enters the race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The campaign may ask.
    Started,
    /// The campaign has asked.
    Asked,
    /// The question was answered, or the campaign has not entered.
    Over,
}

impl Starting {
    /// Notes that a campaign has begun. Returns the campaign that began before it.
    pub(super) fn began(&mut self, id: CampaignId) -> CampaignId {
        core::mem::replace(&mut self.newest, id)
    }

    /// Queues a campaign that has begun; it enters the race in [`start_some`](Self::start_some). `watch` is the watch,
    /// if it reports when it has shown everything.
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

    /// Lets campaigns enter whose elections the watch has now shown, or that no watch will show any more.
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

    /// Lets all waiting campaigns enter, because the watch did not show everything in time.
    pub(super) fn start_without_the_watch(&mut self) {
        self.waiting.extend(self.unshown.drain(..));
    }

    /// Lets further campaigns enter, because none of the first questions has been answered for a while.
    pub(super) fn start_without_answers(&mut self) {
        self.asking = 0;
    }

    /// Lets as many campaigns enter the race as are allowed. Returns whether any campaign entered.
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

    /// Notes that a campaign asks the store something, or is answered. Only its first question counts.
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

/// Whether the watch has not shown a campaign's election yet.
fn is_unshown<R: Rule>(id: CampaignId, candidates: &Candidates<R>, watch: Option<&Watch>) -> bool {
    let candidate = candidates.get(&id).zip(watch);
    candidate.is_some_and(|(candidate, watch)| watch.is_yet_to_show(&candidate.election))
}

/// Lets a campaign enter the race. If the watch has shown its election completely and found no record, its key is
/// vacant. The campaign then acquires without a read: the acquire's compare proves the vacancy, and a read would be no
/// newer by the time the acquire arrives.
fn start<R: Rule>(candidate: &mut Candidate<R>, watch: &Watch, deliveries: &mut Deliveries<R>) {
    candidate.first = First::Started;
    let is_vacant = watch.has_shown_nothing_of(&candidate.election);
    if let Some(nothing) = candidate.campaign().filter(|_| is_vacant).and_then(R::shown_nothing) {
        deliveries.push_back((candidate.id, Fed::<R>::Watched(nothing)));
    }
    deliveries.push_back((candidate.id, Fed::<R>::Campaign));
}

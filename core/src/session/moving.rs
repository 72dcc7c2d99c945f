//! Tracks which campaigns still keep alive a shared companions' lease that should run out.
//!
//! Each campaign decides for itself when it has left that lease. The session passes on which lease to leave, and
//! reports when no campaign is on it any more.

use alloc::vec::Vec;

use super::candidate::Candidate;
use super::candidates::Candidates;
use super::{CampaignId, Deliveries, Fed, feed_all};
use crate::candidacy::Rule;
use crate::queue::{LeaseId, Told};

/// The leases that companions must leave, or whose end a campaign waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaving(Vec<Former>);

#[derive(Clone, Debug)]
struct Former {
    lease: LeaseId,
    /// The lease to which companions move, once known.
    to: Option<LeaseId>,
    /// The campaigns that may keep the lease alive.
    kept_by: Vec<CampaignId>,
    /// The campaigns that learn when no campaign keeps the lease alive any more.
    stranded: Vec<CampaignId>,
}

impl Leaving {
    /// Notes that a campaign's companion cannot be deleted, so that its lease has to run out.
    pub(super) fn stranded<R: Rule>(
        &mut self,
        id: CampaignId,
        on: LeaseId,
        candidates: &Candidates<R>,
        deliveries: &mut Deliveries<R>,
    ) {
        let former = self.former(on, candidates);
        if !former.stranded.contains(&id) {
            former.stranded.push(id);
        }
        self.left_by_all::<R>(deliveries);
    }

    /// Notes that the connection got another lease, because a campaign asked for it. Every campaign learns of that
    /// lease once.
    pub(super) fn moves<R: Rule>(
        &mut self,
        id: CampaignId,
        (from, to): (LeaseId, LeaseId),
        candidates: &Candidates<R>,
        deliveries: &mut Deliveries<R>,
    ) {
        let former = self.former(from, candidates);
        let is_news = former.to.replace(to) != Some(to);
        if !former.stranded.contains(&id) {
            former.stranded.push(id);
        }
        if let Some(told) = R::of_queues(Told::Move { from, to }).filter(|_| is_news) {
            feed_all(candidates, deliveries, || Fed::<R>::Told(told.clone()));
        }
        self.left_by_all::<R>(deliveries);
    }

    /// Checks which leases a campaign still keeps alive, after it took a step or is over.
    pub(super) fn may_have_left<R: Rule>(
        &mut self,
        id: CampaignId,
        candidates: &Candidates<R>,
        deliveries: &mut Deliveries<R>,
    ) {
        if self.0.is_empty() {
            return;
        }
        let campaign = candidates.get(&id).and_then(Candidate::campaign);
        for former in &mut self.0 {
            if !campaign.is_some_and(|campaign| R::keeps_alive(campaign, former.lease)) {
                former.kept_by.retain(|kept_by| *kept_by != id);
            }
        }
        self.left_by_all::<R>(deliveries);
    }

    fn left_by_all<R: Rule>(&mut self, deliveries: &mut Deliveries<R>) {
        for former in self.0.extract_if(.., |former| former.kept_by.is_empty()) {
            let left = R::of_queues(Told::Left(former.lease)).map(Fed::<R>::Told);
            let stranded = former.stranded.into_iter();
            deliveries.extend(stranded.filter_map(|id| Some((id, left.clone()?))));
        }
    }

    fn former<R: Rule>(&mut self, lease: LeaseId, candidates: &Candidates<R>) -> &mut Former {
        let known = self.0.iter().position(|former| former.lease == lease);
        let place = known.unwrap_or_else(|| {
            let keeps = |candidate: &Candidate<R>| {
                candidate.campaign().is_some_and(|campaign| R::keeps_alive(campaign, lease))
            };
            let kept_by = candidates.iter().filter(|(_, candidate)| keeps(candidate)).map(|(id, _)| id);
            self.0.push(Former { lease, to: None, kept_by: kept_by.collect(), stranded: Vec::new() });
            self.0.len() - 1
        });
        &mut self.0[place]
    }
}

//! The lease that the companions of a connection share: who still keeps one alive that is to run out.
//!
//! Each campaign decides for itself when it has left such a lease. The session passes on which one to leave, and says when no
//! campaign is on it any more.

use alloc::vec::Vec;

use super::{CampaignId, Fed, Session, Stage};
use crate::candidacy::{Candidacy, Rule};
use crate::queue::{LeaseId, Told};

/// The leases that companions are to leave, or that someone waits for to be left.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaving(Vec<Former>);

#[derive(Clone, Debug)]
struct Former {
    lease: LeaseId,
    /// The lease to move to, once that is known.
    to: Option<LeaseId>,
    /// The campaigns that may keep it alive.
    kept_by: Vec<CampaignId>,
    /// The campaigns whose companion hangs on it.
    stranded: Vec<CampaignId>,
}

impl<R: Rule> Session<R> {
    /// The companion of a campaign cannot be deleted, and its lease is to run out.
    pub(super) fn stranded(&mut self, id: CampaignId, on: LeaseId) {
        let former = self.former(on);
        if !former.stranded.contains(&id) {
            former.stranded.push(id);
        }
        self.left_by_all();
    }

    /// The connection has another lease, as a campaign asked: every campaign learns of it, once.
    pub(super) fn moves(&mut self, id: CampaignId, from: LeaseId, to: LeaseId) {
        let former = self.former(from);
        let is_news = former.to.replace(to) != Some(to);
        if !former.stranded.contains(&id) {
            former.stranded.push(id);
        }
        if let Some(told) = R::of_queues(Told::Move { from, to }).filter(|_| is_news) {
            self.feed_all(|| Fed::<R>::Told(told.clone()));
        }
        self.left_by_all();
    }

    /// A campaign took a step, or is over.
    pub(super) fn may_have_left(&mut self, id: CampaignId) {
        if self.leaving.0.is_empty() {
            return;
        }
        let campaign = self.candidates.get(&id).and_then(|candidate| candidate.campaign());
        for former in &mut self.leaving.0 {
            if !campaign.is_some_and(|campaign| R::keeps_alive(campaign, former.lease)) {
                former.kept_by.retain(|kept_by| *kept_by != id);
            }
        }
        self.left_by_all();
    }

    fn left_by_all(&mut self) {
        for former in self.leaving.0.extract_if(.., |former| former.kept_by.is_empty()) {
            let left = R::of_queues(Told::Left(former.lease)).map(Fed::<R>::Told);
            let stranded = former.stranded.into_iter();
            self.deliveries.extend(stranded.filter_map(|id| Some((id, left.clone()?))));
        }
    }

    fn former(&mut self, lease: LeaseId) -> &mut Former {
        let known = self.leaving.0.iter().position(|former| former.lease == lease);
        let place = known.unwrap_or_else(|| {
            let keeps = |candidate: &super::Candidate<R>| {
                candidate.campaign().is_some_and(|campaign| R::keeps_alive(campaign, lease))
            };
            let kept_by = self.candidates.iter().filter(|(_, candidate)| keeps(candidate)).map(|(id, _)| id);
            let kept_by = kept_by.collect();
            self.leaving.0.push(Former { lease, to: None, kept_by, stranded: Vec::new() });
            self.leaving.0.len() - 1
        });
        &mut self.leaving.0[place]
    }
}

impl<R: Rule> super::Candidate<R> {
    fn campaign(&self) -> Option<&Candidacy<R>> {
        match &self.stage {
            Stage::Running(campaign) => Some(campaign),
            Stage::Entering(_) => None,
        }
    }
}

//! What an operator asks of candidates, beside the election's key.

use incumbent_core::Revision;
use incumbent_core::campaign::{Input, State, check_name};
use incumbent_core::record::Entry;

use super::Hub;
use crate::Result;
use crate::hub::CampaignId;
use crate::store::request::{self, AcceptReset, HandOver, Request};

impl Hub {
    /// Refuses keys that no election of this store can have.
    pub(super) fn check_election(&self, key: &str) -> Result<()> {
        request::check_election(key)?;
        self.errands.adapter.check_key(key)
    }

    /// Takes in what the watch tells of a key that is no election here. Each request is heard once by each campaign.
    pub(super) fn asked(&mut self, key: &str, entry: &Entry) {
        let Some(record) = entry.live() else { return };
        let Some((election, request)) = request::read(key, &record.candidate) else { return };
        for id in self.elections.get(election).cloned().unwrap_or_default() {
            match &request {
                Request::HandOver(request) => self.asked_to_hand_over(id, record.revision, request),
                Request::AcceptReset(request) => self.asked_to_accept(id, record.revision, request),
            }
        }
    }

    /// A request names the campaign that it is for, so it says nothing to a successor.
    fn asked_to_hand_over(&mut self, id: CampaignId, revision: Revision, request: &HandOver) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        if slot.nonce() != Some(request.leader) || slot.heard.replace(revision) == Some(revision) {
            return;
        }
        let (election, candidate, to) = (&*slot.standing.election, &*slot.standing.candidate, &*request.to);
        let holds = matches!(slot.state(), State::Leading | State::Holding);
        let can_be = check_name(to).is_ok() && self.errands.adapter.check_name(to).is_ok();
        if !holds || !can_be || candidate == to {
            tracing::debug!(election, candidate, "an operator's request to hand over means nothing here");
            return;
        }
        tracing::info!(election, candidate, to, "hands over, as an operator asks");
        self.feed(id, Input::HandOver(request.to.clone()));
    }

    /// A request names the tokens that may be forgotten and the incarnation in which tokens may start again, so it says
    /// nothing of a later reset.
    fn asked_to_accept(&mut self, id: CampaignId, revision: Revision, request: &AcceptReset) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let accepts = slot.accepts(revision, request, self.incarnation);
        let (election, candidate, seen) = (&*slot.standing.election, &*slot.standing.candidate, request.seen);
        if !accepts {
            tracing::debug!(election, candidate, %seen, "an operator's acceptance of a reset is not about this one");
            return;
        }
        tracing::warn!(election, candidate, %seen, "tokens start again below this one, as an operator accepts");
        self.feed(id, Input::Accept);
    }
}

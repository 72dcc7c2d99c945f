//! Who of this store's candidates stands, and who asks for it.

use std::sync::Arc;

use super::Hub;
use crate::hub::wakes::Sleeper;
use crate::hub::{Answer, CampaignId};
use crate::store::CandidateInfo;
use crate::store::roll::{Registration, together};

impl Hub {
    /// Takes in whether a candidate stands in its election, after a step of its campaign.
    pub(super) fn stand(&mut self, id: CampaignId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let stands = slot.stands();
        if std::mem::replace(&mut slot.enrolled, stands) == stands {
            return;
        }
        if stands {
            let (election, name) = (Arc::clone(&slot.standing.election), slot.standing.candidate.clone());
            self.roll
                .enter(id, Registration { election, name, nonce: slot.nonce(), since: self.clock.now() });
        } else {
            self.roll.leave(id);
        }
        self.enlist();
    }

    /// Tells the adapter of a change of the roll, unless it is being told of one: then as soon as that is done.
    pub(super) fn enlist(&mut self) {
        self.enlisting.change();
        self.enlist_now();
    }

    fn enlist_now(&mut self) {
        if self.enlisting.begin() {
            self.under_way.push(self.errands.enlist(&self.roll));
        }
    }

    pub(super) fn enlisted(&mut self, told: bool) {
        let again = self.enlisting.ended(told).map(|wait| self.clock.now() + wait);
        self.wakes.set(Sleeper::Roll, again);
        self.enlist_now();
    }

    pub(super) fn candidates(&mut self, election: Option<String>, reply: Answer<Option<Vec<CandidateInfo>>>) {
        if let Err(error) = election.as_deref().map_or(Ok(()), |key| self.check_election(key)) {
            return drop(reply.send(Err(error)));
        }
        let (adapter, own) = (Arc::clone(&self.errands.adapter), self.roll.clone());
        let ask = async move {
            let heard = adapter.candidates().await?;
            Ok(heard.map(|heard| together(own.call(), heard, election.as_deref())))
        };
        self.under_way.push(self.errands.answer(reply, ask));
    }
}

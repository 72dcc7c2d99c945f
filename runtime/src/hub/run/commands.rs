//! Candidates entering, and the commands of their handles.

use std::sync::Arc;

use incumbent_core::campaign::{State, check_name};
use incumbent_core::session::{self, Input};

use super::Hub;
use crate::driver::{Command, Leave};
use crate::hub::slot::{Slot, draw};
use crate::hub::{CampaignId, Enter};
use crate::store::registry::Registration;
use crate::{Error, ErrorKind, Result};

impl Hub {
    pub(super) fn enter(&mut self, enter: Enter) {
        match self.admit(&enter) {
            Ok(admitted) => {
                self.slots.insert(enter.id, Slot::new(enter));
                self.feed(Input::Enter(Box::new(admitted)));
            }
            // A caller that is gone needs no answer.
            Err(error) => drop(enter.reply.send(Err(error))),
        }
    }

    fn admit(&self, enter: &Enter) -> Result<session::Enter> {
        if self.closing.is_some() {
            let message = "the store is closing; open it again with `Store::open`";
            return Err(Error::new(ErrorKind::Closed, message));
        }
        let election = Arc::clone(&enter.standing.election);
        self.check_election(&election)?;
        self.errands.adapter.check_name(&enter.standing.candidate)?;
        let settings = enter.options.settings();
        let (nonce, seed) = draw(&settings.name, &election, self.clock.now())?;
        Ok(session::Enter { id: enter.id, election, settings, nonce, seed, fail_fast: self.fail_fast })
    }

    pub(super) fn command(&mut self, id: CampaignId, command: Command) {
        // Where the campaign is gone, a waiting caller sees its answer dropped.
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let campaign = self.session.campaign(id);
        let token = campaign.and_then(|campaign| campaign.lease()).map(|lease| lease.token);
        let command = match command {
            Command::Resign(leave) => return self.leave(id, session::Command::Resign, leave),
            Command::HandOver(to, leave) => {
                let rules = || {
                    check_name(&to).map_err(|refused| Error::new(ErrorKind::InvalidName, refused.to_string()))
                };
                if let Err(error) = self.errands.adapter.check_name(&to).and_then(|()| rules()) {
                    return leave.refuse(&error);
                }
                if campaign.is_none_or(|campaign| campaign.state() != State::Leading) {
                    return leave.refuse(&Error::new(ErrorKind::NotLeader, "only the leader can hand over"));
                }
                return self.leave(id, session::Command::HandOver(to), leave);
            }
            Command::Close(leave) => {
                slot.closes(leave.done);
                self.close_campaign(id);
                // Not before the drain was reported: a caller inside the drained work looks for it.
                let _ = leave.begun.send(Ok(()));
                return;
            }
            Command::Abandon(driver) => {
                slot.kept = Some(driver);
                session::Command::Close
            }
            Command::Health(is_well) => {
                slot.is_well = is_well;
                session::Command::Health(slot.is_healthy())
            }
            Command::Turns(turns) => {
                slot.turns = turns;
                session::Command::Health(slot.is_healthy())
            }
            Command::Accept => session::Command::Accept,
            Command::Drained(of) if slot.term == Some(of) => session::Command::Drained,
            Command::HandlerFailed(of) if token == Some(of) => session::Command::HandlerFailed,
            // For a term that is over.
            Command::Drained(_) | Command::HandlerFailed(_) => return,
        };
        self.feed(Input::Command { id, command });
    }

    fn leave(&mut self, id: CampaignId, command: session::Command, leave: Leave) {
        self.feed(Input::Command { id, command });
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.leaves(leave);
            slot.settle(state(&self.session, id));
        }
    }

    pub(super) fn close_campaign(&mut self, id: CampaignId) {
        self.feed(Input::Command { id, command: session::Command::Close });
    }

    /// Registers or removes a candidate.
    pub(super) fn stands(&mut self, id: CampaignId, stands: bool) {
        if !stands {
            return self.roll.leave(id);
        }
        let Some(slot) = self.slots.get(&id) else { return };
        let (election, name) = (Arc::clone(&slot.standing.election), slot.standing.candidate.clone());
        let nonce = self.session.campaign(id).map(|campaign| campaign.nonce());
        self.roll.enter(id, Registration { election, name, nonce, since: self.clock.now() });
    }

    /// Ends a campaign; it is forgotten as soon as its handlers have returned.
    pub(super) fn over(&mut self, id: CampaignId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        slot.end();
        slot.settle(State::Closed);
        self.under_way.push(self.errands.join(id, slot.standing.tasks.clone()));
    }

    pub(super) fn joined(&mut self, id: CampaignId) {
        if let Some(mut slot) = self.slots.remove(&id) {
            slot.ended();
        }
    }
}

/// The state of a campaign; one that has not begun, or is over, neither drains nor releases.
pub(super) fn state(session: &session::Session, id: CampaignId) -> State {
    session.campaign(id).map_or(State::Idle, |campaign| campaign.state())
}

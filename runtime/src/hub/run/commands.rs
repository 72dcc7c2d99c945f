//! What a candidate's handles ask of its campaign.

use incumbent_core::campaign::{Input, State, check_name};

use super::Hub;
use crate::driver::{Command, Leave};
use crate::hub::CampaignId;
use crate::hub::slot::Stage;
use crate::{Error, ErrorKind};

impl Hub {
    pub(super) fn command(&mut self, id: CampaignId, command: Command) {
        // Where there is no such campaign any more, what waits for an answer sees it dropped.
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let token = slot.lease().map(|lease| lease.token);
        let last = slot.term;
        match command {
            Command::Resign(leave) => {
                self.feed(id, Input::Resign);
                self.leaves(id, leave);
            }
            Command::HandOver(to, leave) => {
                let rules = || {
                    check_name(&to).map_err(|refused| Error::new(ErrorKind::InvalidName, refused.to_string()))
                };
                if let Err(error) = self.errands.adapter.check_name(&to).and_then(|()| rules()) {
                    return leave.refuse(&error);
                }
                if slot.state() != State::Leading {
                    return leave.refuse(&Error::new(ErrorKind::NotLeader, "only the leader can hand over"));
                }
                self.feed(id, Input::HandOver(to));
                self.leaves(id, leave);
            }
            Command::Close(leave) => {
                slot.closes(leave.done);
                self.close_campaign(id);
                // Not before the drain was told: whoever waits inside of it looks for that.
                let _ = leave.begun.send(Ok(()));
            }
            Command::Abandon(driver) => {
                slot.kept = Some(driver);
                self.close_campaign(id);
            }
            Command::Health(is_well) => {
                slot.is_well = is_well;
                let health = slot.health();
                self.feed(id, health);
            }
            Command::Turns(turns) => {
                slot.turns = turns;
                let health = slot.health();
                self.feed(id, health);
            }
            Command::Accept => self.feed(id, Input::Accept),
            Command::Drained(of) if last == Some(of) => self.feed(id, Input::Drained),
            Command::HandlerFailed(of) if token == Some(of) => self.feed(id, Input::HandlerFailed),
            // Of a term that is over.
            Command::Drained(_) | Command::HandlerFailed(_) => {}
        }
    }

    fn leaves(&mut self, id: CampaignId, leave: Leave) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.leaves(leave);
            slot.settle();
        }
    }

    pub(super) fn close_campaign(&mut self, id: CampaignId) {
        match self.slots.get(&id).map(|slot| &slot.stage) {
            Some(Stage::Racing(_)) => self.feed(id, Input::Close),
            Some(Stage::Entering(_)) => self.over(id),
            Some(Stage::Over) | None => {}
        }
    }
}

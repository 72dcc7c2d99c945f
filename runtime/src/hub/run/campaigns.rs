//! The campaigns of this store: they enter, are fed, and what they ask for is done.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::campaign::{Input, Output, State, Warning};
use incumbent_core::store::{Action, Fault, StoreInfo, Write};

use super::Hub;
use crate::hub::slot::{Begin, Slot, Stage};
use crate::hub::wakes::Sleeper;
use crate::hub::{CampaignId, Enter};
use crate::{Error, ErrorKind};

impl Hub {
    pub(super) fn enter(&mut self, enter: Enter) {
        let checked = if self.closing.is_some() {
            Err(Error::new(ErrorKind::Closed, "the store is closing; open it again with `Store::open`"))
        } else {
            self.check_election(&enter.standing.election)
                .and_then(|()| self.errands.adapter.check_name(&enter.standing.candidate))
        };
        if let Err(error) = checked {
            return drop(enter.reply.send(Err(error)));
        }
        let id = enter.id;
        self.elections.entry(Arc::clone(&enter.standing.election)).or_default().push(id);
        self.slots.insert(id, Slot::new(enter));
        self.want_watch();
        self.inspection.want(id, self.clock.now());
        self.inspect();
    }

    /// The first answer of the store to a candidate that wants to campaign.
    pub(super) fn entered(&mut self, id: CampaignId, result: &Result<StoreInfo, Fault>) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let again = match result {
            Ok(info) => match slot.begin(self.capabilities, info) {
                Begin::Now => {
                    if let Some(flaw) = &self.flaw {
                        slot.report(Warning::Store(flaw.clone()));
                    }
                    let health = slot.health();
                    self.feed(id, health);
                    if let Some(since) = self.watch.since() {
                        self.feed(id, Input::Watching { since });
                    }
                    return self.feed(id, Input::Campaign);
                }
                Begin::Running => return,
                Begin::Later(at) => Some(at),
                Begin::Never => None,
            },
            Err(fault) => slot.not_yet(fault.clone(), self.fail_fast),
        };
        match again {
            Some(at) => self.wakes.set(Sleeper::Campaign(id), Some(at)),
            None => self.over(id),
        }
    }

    /// Feeds a campaign, and does what it asks for until it asks for nothing more.
    pub(super) fn feed(&mut self, id: CampaignId, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let Some(slot) = self.slots.get_mut(&id) else { return };
            if !matches!(slot.stage, Stage::Racing(_)) {
                return;
            }
            let step = slot.step(input);
            self.wakes.set(Sleeper::Campaign(id), step.wake);
            inputs.extend(step.drained.then_some(Input::Drained));
            for output in step.outputs {
                inputs.extend(self.carry_out(id, output));
            }
        }
        self.settle(id);
    }

    /// Does one thing a campaign asks for. What can be answered at once is.
    fn carry_out(&mut self, id: CampaignId, output: Output) -> Option<Input> {
        let now = self.clock.now();
        let slot = self.slots.get_mut(&id)?;
        let key = &slot.standing.election;
        match output {
            Output::Write(write) => {
                slot.patience = patience(&write).unwrap_or(slot.patience);
                slot.last_sent = now;
                self.under_way.push(self.errands.write(id, key, write, slot.patience));
            }
            Output::Read(read) => {
                slot.last_sent = now;
                self.under_way.push(self.errands.read(id, key, read, slot.patience));
            }
            Output::Inspect { since } => {
                self.inspection.want(id, since);
                self.inspect();
            }
            Output::Reconnect => {
                // What it complains of may have been cured for another campaign already.
                if self.reconnected.is_some_and(|at| slot.last_sent < at) {
                    return Some(Input::Reconnected);
                }
                self.reconnect();
            }
            // The step has dealt with both.
            Output::Event(_) | Output::WakeAt(_) => {}
        }
        None
    }

    /// Feeds every campaign of the store.
    pub(super) fn feed_all(&mut self, input: &Input) {
        let ids: Vec<_> = self.slots.keys().copied().collect();
        ids.into_iter().for_each(|id| self.feed(id, input.clone()));
    }

    fn settle(&mut self, id: CampaignId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        slot.settle();
        if slot.state() == State::Closed {
            return self.over(id);
        }
        self.stand(id);
    }

    /// A campaign is over: it is forgotten as soon as its handlers have returned.
    pub(super) fn over(&mut self, id: CampaignId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        slot.end();
        slot.settle();
        self.wakes.set(Sleeper::Campaign(id), None);
        self.inspection.forget(id);
        if let Some(campaigns) = self.elections.get_mut(&slot.standing.election) {
            campaigns.retain(|other| *other != id);
            if campaigns.is_empty() {
                self.elections.remove(&slot.standing.election);
            }
        }
        self.under_way.push(self.errands.join(id, slot.standing.tasks.clone()));
        self.stand(id);
    }

    pub(super) fn joined(&mut self, id: CampaignId) {
        if let Some(mut slot) = self.slots.remove(&id) {
            slot.ended();
        }
    }
}

/// How long the answer to a write can matter: a lease.
fn patience(write: &Write) -> Option<Duration> {
    match &write.action {
        Action::Acquire(put) | Action::Renew(put) => Some(put.lease),
        Action::Release { .. } => None,
    }
}

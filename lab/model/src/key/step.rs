//! The effect of each action in a key's worlds.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::campaign::{Answer, Input, Request};
use incumbent_core::candidacy::Early as _;
use incumbent_core::record::Entry;
use incumbent_core::store::{Action as Put, Expect, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::{Instant, Revision};

use super::action::{Action, Unresolved};
use super::message::{Body, Message};
use super::process::Process;
use super::world::Watch;
use super::{Key, invariants};
use crate::clock::LEASE;
use crate::property::Property;
use crate::step::{Step, bit};

/// What happens to an answer.
#[derive(Clone, Copy)]
enum Fate {
    Arrives,
    Lost,
    Late,
}

impl Step<'_, Key> {
    pub(super) fn carry_out(&mut self, action: Action) {
        let (now, until) = (self.state.now, self.until());
        match action {
            Action::Deliver(place) => {
                if let Some(seen) = self.node(place).watched.pop_front() {
                    self.handle(place, Input::Watched((*seen.entry).clone()));
                }
            }
            Action::Expire => {
                let reported = self.state.store.bucket.expire(self.world, now);
                if reported {
                    self.changed();
                }
            }
            Action::Arrive(index) => {
                let message = self.state.store.net.remove(index);
                self.arrive(&message, Fate::Arrives);
            }
            Action::Begin(place) => {
                let since = self.clock(place);
                self.begin(place);
                self.handle(place, Input::Watching { since });
            }
            Action::Lose(index) => drop(self.state.store.net.remove(index)),
            Action::LoseAnswer(index) => {
                let message = self.state.store.net.remove(index);
                self.arrive(&message, Fate::Lost);
            }
            Action::Hold(index) => {
                let message = self.state.store.net.remove(index);
                self.state.store.send(message.late(until));
            }
            Action::HoldAnswer(index) => {
                let message = self.state.store.net.remove(index);
                self.arrive(&message, Fate::Late);
            }
            Action::Copy(index) => {
                let message = self.state.store.net.remove(index);
                self.state.store.send(message.late(until));
                self.arrive(&message, Fate::Arrives);
            }
            Action::Unresolved(index, unresolved) => self.answer_unresolved(index, unresolved),
            Action::Stale(index) => self.lag(index),
            Action::Stall(place) => self.node(place).stalled = Some(until),
            Action::Delete => {
                self.state.store.bucket.delete(self.world, now);
                self.changed();
            }
            // No watch shows it.
            Action::Purge => self.state.store.bucket.purge(self.world, now),
            Action::Seize => {
                self.state.store.bucket.seize(self.world, now);
                self.changed();
            }
            Action::Close(place) => {
                self.node(place).closing = true;
                self.handle(place, Input::Close);
            }
            Action::Recreate => self.state.store.bucket.recreate(now),
            // The candidate gets a new watch, as over a new connection, because what it knows of the store was true
            // only over the old one.
            Action::Deny(place) => {
                self.node(place).denied = true;
                let since = self.clock(place);
                self.handle(place, Input::Watching { since });
            }
        }
    }

    /// Delivers a message.
    fn arrive(&mut self, message: &Message, fate: Fate) {
        let (place, process) = (message.node, message.process);
        match &message.body {
            Body::Write(write, sent) => {
                let outcome = self.write(place, process, write, *sent);
                let applied = matches!(outcome, Outcome::Applied { .. });
                self.answer(place, process, Body::Wrote(write.attempt, outcome), fate);
                if applied {
                    self.changed();
                }
            }
            Body::Read(read) => {
                let seen = self.state.store.bucket.seen().clone();
                self.answer(place, process, Body::Found(*read, seen), fate);
            }
            Body::Inspect(asked_at) => {
                let info = self.store_info(*asked_at);
                self.answer(place, process, Body::Inspected(info), fate);
            }
            answer => self.answer(place, process, answer.clone(), Fate::Arrives),
        }
    }

    /// The store compares and writes.
    fn write(&mut self, place: usize, process: u8, write: &Write, sent: Instant) -> Outcome {
        let outcome = self.state.store.bucket.write(self.world, self.state.now, write);
        if let Outcome::Applied { revision, .. } = outcome
            && self.state.nodes[place].process == process
        {
            let node = self.node(place);
            node.own |= bit(revision.0);
            if !matches!(write.action, Put::Release { .. }) {
                node.proven = node.proven.max(Some(sent));
            }
        }
        outcome
    }

    /// Sends an answer to a process, which may have ended or be stopped.
    fn answer(&mut self, place: usize, process: u8, body: Body, fate: Fate) {
        let node = &self.state.nodes[place];
        if node.process != process || node.campaign.is_none() {
            return;
        }
        let late = match fate {
            Fate::Lost => return,
            Fate::Late => Some(self.until()),
            Fate::Arrives if node.is_paused() => None,
            Fate::Arrives => {
                let input = match body {
                    Body::Wrote(attempt, outcome) => Input::Answered(Answer::Wrote { attempt, outcome }),
                    Body::Found(read, seen) => {
                        Input::Answered(Answer::Read { read, result: Ok((*seen.entry).clone()) })
                    }
                    Body::Inspected(info) => Input::Inspected(Ok(info)),
                    Body::Write(..) | Body::Read(_) | Body::Inspect(_) => return,
                };
                return self.handle(place, input);
            }
        };
        let message = Message::new(place, process, body);
        self.state.store.send(late.map_or_else(|| message.clone(), |until| message.late(until)));
    }

    /// Sends an answer that does not report the outcome of a write.
    fn answer_unresolved(&mut self, index: usize, unresolved: Unresolved) {
        let message = self.state.store.net.remove(index);
        let Body::Write(write, sent) = &message.body else { return };
        let outcome = match unresolved {
            Unresolved::Busy => Outcome::Busy,
            Unresolved::NotSent => Outcome::NotSent,
            Unresolved::Applied | Unresolved::Later => Outcome::Unknown,
        };
        let applied = unresolved == Unresolved::Applied
            && matches!(self.write(message.node, message.process, write, *sent), Outcome::Applied { .. });
        if unresolved == Unresolved::Later {
            self.state.store.send(message.late(self.until()));
        }
        let answer = Body::Wrote(write.attempt, outcome);
        self.answer(message.node, message.process, answer, Fate::Arrives);
        if applied {
            self.changed();
        }
    }

    /// Lets a lagging server answer with the previous state.
    fn lag(&mut self, index: usize) {
        let message = self.state.store.net.remove(index);
        let Some(before) = self.state.store.bucket.before().cloned() else { return };
        let answer = match &message.body {
            Body::Read(read) => Body::Found(*read, before),
            Body::Write(write, _) => {
                let current = before.entry.revision().unwrap_or_default();
                let expected = match write.expect {
                    Expect::Absent => Revision(0),
                    Expect::Revision(revision) => revision,
                };
                // If the lagging server's entry is the expected one, it would accept the write, but it finds no server
                // that agrees.
                let held = current == expected;
                let outcome = if held { Outcome::Busy } else { Outcome::Refused { current } };
                Body::Wrote(write.attempt, outcome)
            }
            _ => return,
        };
        self.answer(message.node, message.process, answer, Fate::Arrives);
    }

    /// Sends the present entry to the watches.
    fn changed(&mut self) {
        let seen = self.state.store.bucket.seen().clone();
        for place in 0..self.state.nodes.len() {
            let now = self.clock(place);
            if let Some(early) = &mut self.node(place).early {
                early.observe(&seen.entry, now);
                continue;
            }
            let node = &self.state.nodes[place];
            if node.campaign.is_none()
                || node.watches != self.state.store.bucket.incarnation
                || !self.world.is_watching(place)
            {
                continue;
            }
            if self.world.watch == Watch::Loose || node.is_paused() || !node.watched.is_empty() {
                self.node(place).watched.push_back(seen.clone());
            } else {
                self.handle(place, Input::Watched((*seen.entry).clone()));
            }
        }
    }

    /// Forgets what an ended process knew, and the answers to it.
    pub(super) fn forget(&mut self, place: usize) {
        let node = self.node(place);
        **node = Process { process: node.process, ..Process::default() };
        self.state.store.net.retain(|message| message.node != place || !message.body.is_answer());
    }

    /// Shows the present entry to the watch of a candidate that enters.
    pub(super) fn watch_first(&mut self, place: usize) {
        let (seen, now) = (self.state.store.bucket.seen().clone(), self.clock(place));
        let early = self.node(place).early.get_or_insert_default();
        if *seen.entry != Entry::Vacant {
            early.observe(&seen.entry, now);
        }
    }

    /// Begins a candidate's campaign with the result of an inspection.
    fn begin(&mut self, place: usize) {
        let now = self.clock(place);
        let info = self.store_info(now);
        let world = self.world;
        let incarnation = self.state.store.bucket.incarnation;
        let node = self.node(place);
        node.begin(world, place, &info, now);
        node.watches = incarnation;
        if node.campaign.is_none() {
            return self.check(place, Property::Contract, Err("cannot begin".into()));
        }
        self.handle(place, Input::Campaign);
    }

    pub(super) fn start(&mut self, place: usize) {
        self.begin(place);
        let mut inputs = VecDeque::new();
        self.begin_watch(place, &mut inputs);
        for input in inputs {
            self.handle(place, input);
        }
    }

    fn store_info(&self, asked_at: Instant) -> StoreInfo {
        let age = match self.state.store.bucket.made {
            None => Duration::from_secs(3600),
            Some(made) => Duration::from_secs((self.state.now - made).into()),
        };
        StoreInfo {
            asked_at,
            incarnation: self.state.store.bucket.incarnation,
            age: Some(age),
            never_used: false,
            max_age: (self.world.leases != [LEASE; 3]).then(|| self.world.longest()),
            newest: Some(self.state.store.bucket.newest()),
        }
    }

    /// Begins a watch, which first reports the present entry.
    pub(super) fn begin_watch(&mut self, place: usize, inputs: &mut VecDeque<Input>) {
        if !self.world.is_watching(place) {
            return;
        }
        let (seen, incarnation, since) =
            (self.state.store.bucket.seen().clone(), self.state.store.bucket.incarnation, self.clock(place));
        let loose = self.world.watch == Watch::Loose;
        let node = self.node(place);
        node.watched.clear();
        node.watches = incarnation;
        inputs.push_back(Input::Watching { since });
        if *seen.entry != Entry::Vacant {
            if loose {
                node.watched.push_back(seen);
            } else {
                inputs.push_back(Input::Watched((*seen.entry).clone()));
            }
        }
    }

    /// Notes an input of a candidate.
    pub(super) fn note_input(&mut self, place: usize, input: &Input, inputs: &mut VecDeque<Input>) {
        match input {
            Input::Inspected(Ok(info)) => {
                let another = self.state.nodes[place].knows != info.incarnation;
                let node = self.node(place);
                node.asked = node.asked.max(info.asked_at);
                node.shown = node.shown.max(info.asked_at);
                if another {
                    (node.knows, node.known) = (info.incarnation, Revision(0));
                    self.begin_watch(place, inputs);
                }
            }
            Input::Watched(entry) | Input::Answered(Answer::Read { result: Ok(entry), .. }) => {
                let node = self.node(place);
                node.known = node.known.max(entry.revision().unwrap_or_default());
            }
            Input::Answered(Answer::Wrote { outcome: Outcome::Refused { current }, .. }) => {
                let node = self.node(place);
                node.known = node.known.max(*current);
            }
            Input::Answered(Answer::Wrote { attempt, outcome: Outcome::Applied { revision, .. } }) => {
                let node = self.node(place);
                node.known = node.known.max(*revision);
                if node.acquires & bit(attempt.0) != 0 {
                    node.acknowledged |= bit(revision.0);
                }
            }
            _ => {}
        }
    }

    /// Checks a candidate's request, and sends it.
    pub(super) fn ask(&mut self, place: usize, request: Request) {
        let now = self.clock(place);
        let body = match request {
            Request::Write(write) => {
                let node = &self.state.nodes[place];
                let compared = invariants::deletes_are_compared(node, &write);
                let over = invariants::released_is_over(node, &write);
                self.check(place, Property::I7, compared);
                self.check(place, Property::I8, over);
                let node = self.node(place);
                node.asked = now;
                if matches!(write.action, Put::Acquire(_)) {
                    node.acquires |= bit(write.attempt.0);
                }
                Body::Write(Arc::new(write), now)
            }
            Request::Read(read) => {
                self.node(place).reading = Some((read, now));
                Body::Read(read)
            }
        };
        let process = self.state.nodes[place].process;
        self.state.store.send(Message::new(place, process, body));
    }

    /// Answers an inspection at once, unless it is denied or can go wrong.
    pub(super) fn inspect(&mut self, place: usize, inputs: &mut VecDeque<Input>) {
        let now = self.clock(place);
        if self.world.inspections_fail {
            // This question replaces the candidate's previous one.
            let stale = |message: &Message| {
                message.node == place && message.held.is_none() && matches!(message.body, Body::Inspect(_))
            };
            self.state.store.net.retain(|message| !stale(message));
            let process = self.state.nodes[place].process;
            self.state.store.send(Message::new(place, process, Body::Inspect(now)));
        } else if self.state.nodes[place].denied {
            let fault = Fault { kind: FaultKind::Denied, detail: "permission denied".into() };
            inputs.push_back(Input::Inspected(Err(fault)));
        } else {
            inputs.push_back(Input::Inspected(Ok(self.store_info(now))));
        }
    }
}

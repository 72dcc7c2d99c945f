//! The effects of each action.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::campaign::{Answer, Event, Input, Output, Request, State as CampaignState};
use incumbent_core::candidacy::Early as _;
use incumbent_core::record::Entry;
use incumbent_core::store::{Action as Put, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::{Instant, Revision};

use crate::action::{Action, Unresolved};
use crate::clock::LEASE;
use crate::message::{Body, Message};
use crate::node::{Node, bit, name};
use crate::path;
use crate::property::{Property, proof_of};
use crate::state::State;
use crate::world::{Watch, World};

/// The state after an action. Its outputs are written down where that is wanted.
pub(crate) fn step(world: &World, state: &State, action: Action, log: Option<&mut Vec<String>>) -> State {
    let state = State { passed: false, ..state.clone() };
    let mut step = Step { world, state, log, touched: 0 };
    step.act(action);
    step.state.check_step(world);
    for (place, node) in step.state.nodes.iter_mut().enumerate() {
        if step.touched & bit(place as u64) != 0 {
            Arc::make_mut(node).seal();
        }
    }
    step.state
}

struct Step<'a> {
    world: &'a World,
    state: State,
    log: Option<&'a mut Vec<String>>,
    /// The candidates whose digests are old: one bit each.
    touched: u64,
}

/// The fate of an answer.
#[derive(Clone, Copy)]
enum Fate {
    Arrives,
    Lost,
    Late,
}

impl Step<'_> {
    fn act(&mut self, action: Action) {
        match action {
            Action::Pass(tick) => {
                self.state.now = tick;
                self.state.passed = true;
                if self.state.store.erasing().is_some_and(|until| until < tick) {
                    self.state.store.spare();
                }
            }
            Action::Wake(place) => self.handle(place, Input::Tick),
            Action::Drained(place) => {
                self.node(place).draining = false;
                self.handle(place, Input::Drained);
            }
            Action::Deliver(place) => {
                if let Some(seen) = self.node(place).watched.pop_front() {
                    self.handle(place, Input::Watched((*seen.entry).clone()));
                }
            }
            Action::Expire => {
                let reported = self.state.store.expire(self.world, self.state.now);
                if reported {
                    self.changed();
                }
            }
            Action::Arrive(place) => {
                let message = self.state.net.remove(place);
                self.arrive(&message, Fate::Arrives);
            }
            Action::Begin(place) => {
                let since = self.clock(place);
                self.begin(place);
                self.handle(place, Input::Watching { since });
            }
            _ => self.go_wrong(action),
        }
    }

    /// Carries out an action that costs some of the budget.
    fn go_wrong(&mut self, action: Action) {
        let now = self.state.now;
        let until = now + self.world.hold;
        let left = &mut self.state.left;
        let spent = match action {
            Action::Lose(_) | Action::LoseAnswer(_) => &mut left.lose,
            Action::Hold(_) | Action::HoldAnswer(_) | Action::Stall(_) => &mut left.hold,
            Action::Copy(_) => &mut left.copy,
            Action::Unresolved(..) => &mut left.unresolved,
            Action::Stale(_) => &mut left.stale,
            Action::Crash(_) => &mut left.crash,
            Action::Start(_) => &mut left.start,
            Action::Pause(_) => &mut left.pause,
            Action::Delete => &mut left.delete,
            Action::Purge => &mut left.purge,
            Action::Seize => &mut left.seize,
            Action::Resign(_) => &mut left.resign,
            Action::HandOver(_) => &mut left.hand_over,
            Action::Close(_) => &mut left.close,
            Action::Recreate => &mut left.recreate,
            Action::Deny(_) => &mut left.deny,
            _ => &mut 0,
        };
        *spent = spent.saturating_sub(1);
        match action {
            Action::Lose(place) => drop(self.state.net.remove(place)),
            Action::LoseAnswer(place) => {
                let message = self.state.net.remove(place);
                self.arrive(&message, Fate::Lost);
            }
            Action::Hold(place) => {
                let message = self.state.net.remove(place);
                self.state.send(message.late(until));
            }
            Action::HoldAnswer(place) => {
                let message = self.state.net.remove(place);
                self.arrive(&message, Fate::Late);
            }
            Action::Copy(place) => {
                let message = self.state.net.remove(place);
                self.state.send(message.late(until));
                self.arrive(&message, Fate::Arrives);
            }
            Action::Unresolved(place, unresolved) => self.answer_unresolved(place, unresolved),
            Action::Stale(place) => self.lag(place),
            Action::Stall(place) => self.node(place).stalled = Some(until),
            Action::Crash(place) => self.die(place),
            Action::Start(place) if self.world.enters => self.enter(place),
            Action::Start(place) => self.start(place),
            Action::Pause(place) => self.node(place).paused = Some(until),
            Action::Resume(place) => self.node(place).paused = None,
            Action::Delete => {
                self.state.store.delete(self.world, now);
                self.changed();
            }
            // No watch shows it.
            Action::Purge => self.state.store.purge(self.world, now),
            Action::Seize => {
                self.state.store.seize(self.world, now);
                self.changed();
            }
            Action::Resign(place) => self.handle(place, Input::Resign),
            Action::HandOver(place) => {
                let next = name((place + 1) % self.world.candidates);
                self.handle(place, Input::HandOver(next.into()));
            }
            Action::Close(place) => {
                self.node(place).closing = true;
                self.handle(place, Input::Close);
            }
            Action::Recreate => self.state.store.recreate(now),
            // With a new connection: what it knew of the store was true of the one before.
            Action::Deny(place) => {
                self.node(place).denied = true;
                let since = self.clock(place);
                self.handle(place, Input::Watching { since });
            }
            _ => {}
        }
    }

    fn node(&mut self, place: usize) -> &mut Node {
        self.touched |= bit(place as u64);
        Arc::make_mut(&mut self.state.nodes[place])
    }

    fn clock(&self, place: usize) -> Instant {
        self.world.clock(place).at(self.state.now)
    }

    fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(text());
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
                let seen = self.state.store.seen().clone();
                self.answer(place, process, Body::Found(*read, seen), fate);
            }
            Body::Inspect(asked_at) => {
                let info = self.store_info(*asked_at);
                self.answer(place, process, Body::Inspected(info), fate);
            }
            answer => self.answer(place, process, answer.clone(), Fate::Arrives),
        }
    }

    /// Lets the store compare and write.
    fn write(&mut self, place: usize, process: u8, write: &Write, sent: Instant) -> Outcome {
        let outcome = self.state.store.write(self.world, self.state.now, write);
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

    /// Sends an answer to a process, which may be gone, or stopped.
    fn answer(&mut self, place: usize, process: u8, body: Body, fate: Fate) {
        let node = &self.state.nodes[place];
        if node.process != process || node.campaign.is_none() {
            return;
        }
        let late = match fate {
            Fate::Lost => return,
            Fate::Late => Some(self.state.now + self.world.hold),
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
        self.state.send(late.map_or_else(|| message.clone(), |until| message.late(until)));
    }

    /// Sends an answer that does not report the outcome of a write.
    fn answer_unresolved(&mut self, place: usize, unresolved: Unresolved) {
        let message = self.state.net.remove(place);
        let Body::Write(write, sent) = &message.body else { return };
        let outcome = match unresolved {
            Unresolved::Busy => Outcome::Busy,
            Unresolved::NotSent => Outcome::NotSent,
            Unresolved::Applied | Unresolved::Later => Outcome::Unknown,
        };
        let applied = unresolved == Unresolved::Applied
            && matches!(self.write(message.node, message.process, write, *sent), Outcome::Applied { .. });
        if unresolved == Unresolved::Later {
            self.state.send(message.late(self.state.now + self.world.hold));
        }
        let answer = Body::Wrote(write.attempt, outcome);
        self.answer(message.node, message.process, answer, Fate::Arrives);
        if applied {
            self.changed();
        }
    }

    /// Lets a server that lags answer with the former state.
    fn lag(&mut self, place: usize) {
        let message = self.state.net.remove(place);
        let Some(before) = self.state.store.before().cloned() else { return };
        let answer = match &message.body {
            Body::Read(read) => Body::Found(*read, before),
            Body::Write(write, _) => {
                let current = before.entry.revision().unwrap_or_default();
                let expected = match write.expect {
                    incumbent_core::store::Expect::Absent => Revision(0),
                    incumbent_core::store::Expect::Revision(revision) => revision,
                };
                // It would take the write, and finds no server to agree with.
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
        let seen = self.state.store.seen().clone();
        for place in 0..self.state.nodes.len() {
            let now = self.clock(place);
            if let Some(early) = &mut self.node(place).early {
                early.observe(&seen.entry, now);
                continue;
            }
            let node = &self.state.nodes[place];
            if node.campaign.is_none()
                || node.watches != self.state.store.incarnation
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

    fn die(&mut self, place: usize) {
        self.node(place).end();
        self.state.net.retain(|message| message.node != place || !message.body.is_answer());
    }

    /// A candidate enters, and its watch shows what is there.
    fn enter(&mut self, place: usize) {
        let (seen, now) = (self.state.store.seen().clone(), self.clock(place));
        let early = self.node(place).early.get_or_insert_default();
        if *seen.entry != Entry::Vacant {
            early.observe(&seen.entry, now);
        }
    }

    /// The campaign of a candidate begins with what was inspected.
    fn begin(&mut self, place: usize) {
        let now = self.clock(place);
        let info = self.store_info(now);
        let world = self.world;
        let incarnation = self.state.store.incarnation;
        let node = self.node(place);
        node.begin(world, place, &info, now);
        node.watches = incarnation;
        if node.campaign.is_none() {
            let verdict = Err(format!("{} cannot begin", name(place)));
            return self.state.check(Property::Contract, verdict);
        }
        self.handle(place, Input::Campaign);
    }

    fn start(&mut self, place: usize) {
        self.begin(place);
        let mut inputs = VecDeque::new();
        self.begin_watch(place, &mut inputs);
        for input in inputs {
            self.handle(place, input);
        }
    }

    fn store_info(&self, asked_at: Instant) -> StoreInfo {
        let age = match self.state.store.made {
            None => Duration::from_secs(3600),
            Some(made) => Duration::from_secs((self.state.now - made).into()),
        };
        StoreInfo {
            asked_at,
            incarnation: self.state.store.incarnation,
            age: Some(age),
            never_used: false,
            max_age: (self.world.leases != [LEASE; 3]).then(|| self.world.longest()),
            newest: Some(self.state.store.newest()),
        }
    }

    /// Begins a watch, which first reports the present entry.
    fn begin_watch(&mut self, place: usize, inputs: &mut VecDeque<Input>) {
        if !self.world.is_watching(place) {
            return;
        }
        let (seen, incarnation, since) =
            (self.state.store.seen().clone(), self.state.store.incarnation, self.clock(place));
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

    /// Hands an input to a campaign, and carries out its outputs; immediate answers follow.
    fn handle(&mut self, place: usize, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            if self.state.broken.is_some() || self.state.nodes[place].campaign.is_none() {
                return;
            }
            let now = self.clock(place);
            let proof = proof_of(&self.state.nodes[place], &input, now);
            self.note(|| format!("{} {}", name(place), path::received(&input)));
            self.note_input(place, &input, &mut inputs);
            let node = self.node(place);
            let Some(campaign) = &mut node.campaign else { return };
            if let Err(misuse) = campaign.handle(now, input) {
                return self.state.check(Property::Contract, Err(format!("{}: {misuse}", name(place))));
            }
            self.drain(place, &mut inputs);
            self.state.check_node(self.world, place, &proof);
            let campaign = self.state.nodes[place].campaign.as_ref();
            if campaign.is_some_and(|campaign| campaign.state() == CampaignState::Closed) {
                self.die(place);
            }
        }
    }

    /// Notes an input of a candidate.
    fn note_input(&mut self, place: usize, input: &Input, inputs: &mut VecDeque<Input>) {
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

    /// Carries out all outputs of a campaign.
    fn drain(&mut self, place: usize, inputs: &mut VecDeque<Input>) {
        let now = self.clock(place);
        let clock = self.world.clock(place);
        loop {
            let node = self.node(place);
            let process = node.process;
            let Some(campaign) = &mut node.campaign else { return };
            let output = campaign.poll();
            self.note(|| path::emitted(self.world, place, &output));
            match output {
                Output::WakeAt(wake) => {
                    self.node(place).wakes = wake.map_or(crate::clock::Tick::MAX, |wake| clock.when(wake.at));
                    return;
                }
                Output::Ask(Request::Write(write)) => {
                    self.state.check_write(place, &write);
                    let node = self.node(place);
                    node.asked = now;
                    if matches!(write.action, Put::Acquire(_)) {
                        node.acquires |= bit(write.attempt.0);
                    }
                    self.state.send(Message::new(place, process, Body::Write(Arc::new(write), now)));
                }
                Output::Ask(Request::Read(read)) => {
                    self.node(place).reading = Some((read, now));
                    self.state.send(Message::new(place, process, Body::Read(read)));
                }
                Output::Inspect { .. } if self.world.inspections_fail => {
                    // The newest question replaces the one before.
                    let stale = |message: &Message| {
                        message.node == place
                            && message.held.is_none()
                            && matches!(message.body, Body::Inspect(_))
                    };
                    self.state.net.retain(|message| !stale(message));
                    self.state.send(Message::new(place, process, Body::Inspect(now)));
                }
                Output::Inspect { .. } if self.state.nodes[place].denied => {
                    let fault = Fault { kind: FaultKind::Denied, detail: "permission denied".into() };
                    inputs.push_back(Input::Inspected(Err(fault)));
                }
                Output::Inspect { .. } => inputs.push_back(Input::Inspected(Ok(self.store_info(now)))),
                Output::Reconnect => {
                    inputs.push_back(Input::Reconnected);
                    self.begin_watch(place, inputs);
                }
                Output::Event(event) => self.react(place, &event),
            }
        }
    }

    fn react(&mut self, place: usize, event: &Event) {
        match event {
            Event::Won(term) => {
                self.state.check_won(self.world, place, *term);
                self.state.largest_reported = self.state.largest_reported.max(Some(term.token));
                self.state.terms = self.state.terms.saturating_add(1);
                let node = self.node(place);
                (node.term, node.draining) = (Some(*term), false);
            }
            Event::Lost { term, reason } => {
                self.state.check_lost(self.world, place, *term, *reason);
                self.node(place).term = None;
            }
            Event::Draining { .. } => self.node(place).draining = true,
            // Its work may go on after the drain's deadline, until it can release nothing any more.
            Event::StateChanged(state)
                if !matches!(state, CampaignState::Draining | CampaignState::Releasing) =>
            {
                self.node(place).draining = false;
            }
            _ => {}
        }
    }
}

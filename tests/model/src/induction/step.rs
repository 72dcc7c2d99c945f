//! The effects of each action.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::campaign::{Event, State as Stand};
use incumbent_core::induction::{
    Answer, Campaign, Failure, Input, Kind, Loss, Membership, Output, Publish, Record, Request as Asked,
    Shown, TOPIC, TopicId,
};
use incumbent_core::record::{Attempt, Nonce, WriteId};
use incumbent_core::{Instant, Revision};

use super::action::{Action, enabled, is_known};
use super::state::{CANDIDATES, Request, State, clock, name, topic};
use super::world::{Budget, InductionPart, InductionWorld};

/// The state in which a world begins: the first candidate leads, the second is a member.
pub(crate) fn begin(world: &InductionWorld) -> State {
    let mut state = State::new(world);
    for candidate in 0..CANDIDATES {
        let mut step = Step { world, state, log: &mut Vec::new() };
        step.hand(candidate, Input::Campaign);
        state = step.state;
        loop {
            let mut actions = Vec::new();
            enabled(&state, &mut actions);
            let next = actions
                .iter()
                .find(|action| matches!(action, Action::Serve(_) | Action::Wake(_) | Action::Assign(0)));
            let stands = state.nodes[candidate].campaign.as_ref().map(Campaign::state);
            let wanted = if candidate == 0 { Stand::Leading } else { Stand::Waiting };
            match next {
                Some(action) => state = step_quietly(world, &state, *action),
                None if stands == Some(wanted) => break,
                None => state = step_quietly(world, &state, Action::Pass),
            }
        }
    }
    let begun = state.now;
    state.left = world.budget;
    state.horizon = begun + world.horizon;
    state
}

fn step_quietly(world: &InductionWorld, state: &State, action: Action) -> State {
    step(world, state, action, &mut Vec::new())
}

/// The state after an action; what the candidates take and ask for goes to the log.
pub(crate) fn step(world: &InductionWorld, state: &State, action: Action, log: &mut Vec<String>) -> State {
    let mut step = Step { world, state: state.clone(), log };
    step.spend(action);
    step.act(action);
    step.judge();
    step.state
}

struct Step<'a> {
    world: &'a InductionWorld,
    state: State,
    log: &'a mut Vec<String>,
}

impl Step<'_> {
    fn spend(&mut self, action: Action) {
        let Budget { lose, late, pause, remove, replace, revoke, resign, fail, crash, remake } =
            &mut self.state.left;
        let spent = match action {
            Action::Lose(_) | Action::LoseAnswer(_) => lose,
            Action::Delay(_) => late,
            Action::Pause(_) => pause,
            Action::Remove(_) => remove,
            Action::Replace => replace,
            Action::Revoke => revoke,
            Action::Resign(_) => resign,
            Action::Fail(_) => fail,
            Action::Crash(_) => crash,
            Action::Remake => remake,
            _ => return,
        };
        *spent = spent.saturating_sub(1);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Pass => self.state.now += 1,
            Action::Wake(candidate) => self.hand(candidate, Input::Tick),
            Action::Serve(candidate) => {
                if let Some(request) = self.state.nodes[candidate].requests.pop_front() {
                    let answer = self.serve(candidate, request);
                    self.answer(candidate, answer);
                }
            }
            Action::Lose(candidate) => drop(self.state.nodes[candidate].requests.pop_front()),
            Action::LoseAnswer(candidate) => {
                if let Some(request) = self.state.nodes[candidate].requests.pop_front() {
                    self.serve(candidate, request);
                }
            }
            Action::Delay(candidate) => {
                if let Some(request) = self.state.nodes[candidate].requests.pop_front() {
                    self.state.late.push((candidate, request));
                }
            }
            Action::Land(place) => {
                let (candidate, request) = self.state.late.remove(place);
                let is_commit = matches!(request, Request::Commit(..));
                let answer = self.serve(candidate, request);
                if is_commit && self.state.nodes[candidate].campaign.is_some() {
                    self.answer(candidate, answer);
                }
            }
            Action::Assign(candidate) => {
                self.state.coordinator.owner = Some(candidate);
                self.assign(candidate);
            }
            Action::Remove(candidate) => self.remove(candidate),
            Action::Replace => {
                if let Some(owner) = self.state.coordinator.owner {
                    let other = 1 - owner;
                    self.state.coordinator.members[owner] = None;
                    self.state.coordinator.owner = Some(other);
                    self.join(other);
                    self.assign(other);
                }
            }
            Action::Notice(candidate) => self.state.nodes[candidate].client.joined = false,
            Action::Report(candidate) => {
                self.hand(candidate, Answer::GroupLost(Loss::Rejoins));
                self.join(candidate);
            }
            Action::Revoke => {
                if let Some(owner) = self.state.coordinator.owner {
                    self.state.nodes[owner].client.revoking = true;
                    self.answer(owner, Answer::Revoked);
                }
            }
            Action::Pause(candidate) => self.state.nodes[candidate].paused = true,
            Action::Resume(candidate) => {
                self.state.nodes[candidate].paused = false;
                for input in std::mem::take(&mut self.state.nodes[candidate].inbox) {
                    self.hand(candidate, input);
                }
            }
            Action::Crash(candidate) => {
                let node = &mut self.state.nodes[candidate];
                (node.campaign, node.term, node.paused, node.wakes) = (None, None, false, None);
                node.failed = false;
                node.requests.clear();
                node.inbox.clear();
                node.client.joined = false;
            }
            Action::Resign(candidate) => self.hand(candidate, Input::Resign),
            Action::Fail(candidate) => {
                self.state.nodes[candidate].failed = true;
                self.hand(candidate, Input::HandlerFailed);
            }
            Action::Drained(candidate) => {
                self.state.nodes[candidate].failed = false;
                self.hand(candidate, Input::Drained);
            }
            Action::Remake => {
                self.state.topic += 1;
                self.state.log.clear();
                for candidate in 0..CANDIDATES {
                    self.read(candidate, Shown::Gap);
                }
            }
        }
    }

    // ---- the coordinator ----

    fn assign(&mut self, candidate: usize) {
        let client = &mut self.state.nodes[candidate].client;
        client.assigned = client.member;
        let member = member_id(client.member);
        self.answer(candidate, Answer::Assigned { member });
    }

    fn remove(&mut self, candidate: usize) {
        self.state.coordinator.members[candidate] = None;
        if self.state.coordinator.owner == Some(candidate) {
            self.state.coordinator.owner = None;
        }
    }

    /// Joins under a new member id.
    fn join(&mut self, candidate: usize) {
        let client = &mut self.state.nodes[candidate].client;
        client.member += 1;
        (client.joined, client.revoking, client.out) = (true, false, false);
        self.state.coordinator.members[candidate] = Some(client.member);
    }

    fn leave(&mut self, candidate: usize) {
        if is_known(&self.state, candidate) {
            self.remove(candidate);
        }
        let client = &mut self.state.nodes[candidate].client;
        (client.joined, client.revoking, client.out) = (false, false, true);
    }

    fn yields(&mut self, candidate: usize) {
        let known = is_known(&self.state, candidate);
        let client = &mut self.state.nodes[candidate].client;
        let pending = std::mem::take(&mut client.revoking);
        match (pending, client.joined) {
            (true, true) if known && self.state.coordinator.owner == Some(candidate) => {
                self.state.coordinator.owner = None;
            }
            (true, false) => self.join(candidate),
            _ => {}
        }
    }

    fn commit(&mut self, candidate: usize, metadata: String) -> Result<Membership, Failure> {
        let client = self.state.nodes[candidate].client;
        let empty = self.state.coordinator.members.iter().all(Option::is_none);
        let accepted = is_known(&self.state, candidate) || (!client.joined && empty);
        let without = self.world.without;
        if !accepted && without != Some(InductionPart::Commit) {
            return Err(Failure::GroupLost(Loss::Rejoins));
        }
        if accepted {
            self.state.coordinator.committed = metadata;
        }
        let trusted = matches!(without, Some(InductionPart::Commit | InductionPart::Membership));
        let (member, generation) = match trusted {
            true => (client.assigned, 1),
            false => (client.member, if client.joined { 1 } else { -1 }),
        };
        Ok(Membership { member: member_id(member), generation, owns: trusted || client.joined })
    }

    // ---- the log and the topic ----

    fn serve(&mut self, candidate: usize, request: Request) -> Answer {
        match request {
            Request::Publish(publish) => {
                let attempt = publish.attempt;
                let offset = self.append(candidate, &publish);
                Answer::Published { attempt, result: Ok(offset) }
            }
            Request::Commit(attempt, metadata) => {
                Answer::Committed { attempt, result: self.commit(candidate, metadata) }
            }
            Request::Inspect(asked_at) => self.inspect(candidate, asked_at),
        }
    }

    /// Appends a record, which every reader reads at once: reading later only makes waits longer.
    fn append(&mut self, writer: usize, publish: &Publish) -> Revision {
        let headers = publish.headers.iter().map(|(name, text)| (&**name, text.as_str()));
        let offset = self.state.next();
        let value = publish.value(Duration::ZERO);
        let record = Record::decode(offset, value.as_bytes(), headers);
        self.state.log.push(record.clone());
        let (topic, node) = (self.state.topic, &mut self.state.nodes[writer]);
        if record.kind == Kind::Claim {
            node.claims.push((offset, topic, number(record.topic)));
        }
        for reader in 0..CANDIDATES {
            if reader != writer
                && record.kind == Kind::Claim
                && self.world.without == Some(InductionPart::Claims)
            {
                self.read(reader, Shown::Record(Record { kind: Kind::Heartbeat, ..record.clone() }));
            } else if reader == writer || self.world.without != Some(InductionPart::Log) {
                self.read(reader, Shown::Record(record.clone()));
            } else if self.state.nodes[reader].campaign.is_some() {
                // A heartbeat of its own in place of it.
                let nonce = Nonce(reader as u128 + 1);
                let own = Record {
                    offset,
                    name: name(reader).into(),
                    write_id: Some(WriteId { nonce, attempt: Attempt(0) }),
                    kind: Kind::Heartbeat,
                    lease: None,
                    term_info: None,
                    topic: None,
                    metadata: Vec::new(),
                };
                self.read(reader, Shown::Record(own));
            }
        }
        offset
    }

    fn read(&mut self, reader: usize, shown: Shown) {
        if self.state.nodes[reader].campaign.is_some() {
            self.answer(reader, shown);
        }
    }

    fn inspect(&self, candidate: usize, asked_at: Instant) -> Answer {
        let number = match self.world.without {
            Some(InductionPart::Topic) => self.state.nodes[candidate].knows,
            _ => self.state.topic,
        };
        Answer::Inspected(Ok(topic(number, asked_at)))
    }

    // ---- the candidates ----

    /// Delivers an input, or leaves it for a process that is stopped.
    fn answer(&mut self, candidate: usize, input: impl Into<Input>) {
        if self.state.nodes[candidate].paused {
            self.state.nodes[candidate].inbox.push_back(input.into());
        } else {
            self.hand(candidate, input);
        }
    }

    /// Hands an input to a campaign, and puts what it asks for under way.
    fn hand(&mut self, candidate: usize, input: impl Into<Input>) {
        let now = clock(self.state.now);
        let mut inputs = VecDeque::from([input.into()]);
        while let Some(input) = inputs.pop_front() {
            self.log.push(format!("{} takes {input:?}", name(candidate)));
            let node = &mut self.state.nodes[candidate];
            let Some(campaign) = &mut node.campaign else { return };
            if let Err(misuse) = campaign.handle(now, input) {
                self.state.broken = Some(("contract", format!("{}: {misuse}", name(candidate))));
                return;
            }
            loop {
                let node = &mut self.state.nodes[candidate];
                let Some(campaign) = &mut node.campaign else { return };
                let output = campaign.poll();
                match output {
                    Output::WakeAt(wake) => {
                        let second = 1_000_000_000;
                        let tick = |at: u64| (at.div_ceil(second)).saturating_sub(3600);
                        node.wakes = wake.map(|wake| {
                            u32::try_from(tick(wake.at.as_nanos())).unwrap_or(u32::MAX).max(self.state.now)
                        });
                        break;
                    }
                    Output::Event(event) => {
                        self.log.push(format!("{} reports {event:?}", name(candidate)));
                        self.event(candidate, &event);
                    }
                    Output::Ask(asked) => {
                        self.log.push(format!("{} asks for {asked:?}", name(candidate)));
                        inputs.extend(self.ask(candidate, asked, now));
                    }
                    other @ (Output::Inspect { .. } | Output::Reconnect) => {
                        unreachable!("no candidate of a group wants {other:?}")
                    }
                }
            }
            self.judge();
        }
    }

    /// Puts a request under way, or returns its answer.
    fn ask(&mut self, candidate: usize, asked: Asked, now: Instant) -> Option<Input> {
        let requests = &mut self.state.nodes[candidate].requests;
        match asked {
            Asked::Publish(mut publish) => {
                if matches!(publish.kind, Kind::Release { .. }) {
                    self.releases(candidate, &mut publish);
                }
                self.state.nodes[candidate].requests.push_back(Request::Publish(publish));
            }
            Asked::Commit { attempt, metadata, .. } => requests.push_back(Request::Commit(attempt, metadata)),
            // At once: another order makes only what is known later.
            Asked::Committed { number } => {
                let result = Ok(self.state.coordinator.committed.clone());
                return Some(Answer::CommittedToken { number, result }.into());
            }
            Asked::Inspect if self.world.budget.remake > 0 => requests.push_back(Request::Inspect(now)),
            Asked::Inspect => return Some(self.inspect(candidate, now).into()),
            // Only a candidate that rests asks: what it looks for is in the simulator.
            Asked::Members => {}
            Asked::Join => self.join(candidate),
            Asked::Yield => self.yields(candidate),
            Asked::Leave => {
                self.leave(candidate);
                return Some(Answer::Left.into());
            }
        }
        None
    }

    /// A release names the topic in which its term's claim lies.
    fn releases(&mut self, candidate: usize, publish: &mut Publish) {
        let topics = publish.headers.iter_mut().filter(|(name, _)| name == TOPIC);
        let mut named = None;
        for (_, text) in topics {
            if self.world.without == Some(InductionPart::Release) {
                *text = TopicId(self.state.topic.into()).to_string();
            }
            named = number(text.parse().ok());
        }
        let led_in = self.state.nodes[candidate].led_in;
        if named != led_in && self.state.broken.is_none() {
            let says = format!("{} led in topic {led_in:?} and releases {named:?}", name(candidate));
            self.state.broken = Some(("I8", says));
        }
    }

    fn event(&mut self, candidate: usize, event: &Event) {
        let node = &mut self.state.nodes[candidate];
        let verdict = match event {
            Event::Won(term) => {
                let alternates = node.term.replace(*term).is_none();
                let grows = self.state.won.is_none_or(|won| won < term.token);
                self.state.won = self.state.won.max(Some(term.token));
                let claim =
                    node.claims.iter().rev().copied().find(|(offset, ..)| *offset == term.token.sequence);
                node.led_in = claim.map(|(_, topic, _)| topic);
                let is_known = claim.is_some_and(|(_, topic, named)| named == Some(topic));
                match (alternates, grows, is_known) {
                    (false, ..) => Some(("I5", "won twice")),
                    (true, false, _) => Some(("I4", "a token that is not larger")),
                    (true, true, false) => Some(("I12", "won in a topic that it takes for another")),
                    (true, true, true) => None,
                }
            }
            Event::Lost { term, .. } => {
                (node.term.take() != Some(*term)).then_some(("I5", "lost what was not won"))
            }
            _ => None,
        };
        if let (Some((property, says)), None) = (verdict, &self.state.broken) {
            self.state.broken = Some((property, format!("{} {says}", name(candidate))));
        }
    }

    fn judge(&mut self) {
        if self.state.broken.is_some() {
            return;
        }
        let now = clock(self.state.now);
        for candidate in 0..CANDIDATES {
            let node = &mut self.state.nodes[candidate];
            let Some(lease) = node.campaign.as_ref().and_then(Campaign::lease) else { continue };
            if now >= lease.deadline {
                node.lapsed = Some(lease.token);
            } else if node.lapsed == Some(lease.token) {
                let says = format!("{} leads again in a term whose deadline had passed", name(candidate));
                self.state.broken = Some(("I3", says));
                return;
            }
        }
        if self.state.leaders().len() > 1 {
            self.state.broken = Some(("I1", String::from("a and b lead at once")));
        }
    }
}

/// The number of a topic.
fn number(id: Option<TopicId>) -> Option<u8> {
    id.and_then(|id| u8::try_from(id.0).ok())
}

fn member_id(number: u8) -> String {
    format!("m{number}")
}

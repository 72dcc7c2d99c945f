//! The effects of each action.

use std::collections::VecDeque;

use incumbent_core::campaign::{Event, State as Stand};
use incumbent_core::queue::{
    Answer, Change, Failure, Input, LeaseId, Output, Request as Wanted, Snapshot, Tell, Told, Write,
};
use incumbent_core::store::{Fault, FaultKind};

use super::action::{Action, enabled};
use super::state::{LEASE, Node, Request, State, Tick, name};
use super::world::{Budget, Part, QueueWorld};

/// The time after which another candidate leads where one can prove nothing.
const GIVES_WAY: Tick = 3 * LEASE;

/// The state in which a world begins: the first candidate leads, the second waits behind it, or has just entered
/// and is stopped.
pub(crate) fn begin(world: &QueueWorld) -> State {
    let mut state = State::new(world);
    for candidate in 0..state.nodes.len() {
        if world.foreign && candidate + 1 == state.nodes.len() {
            state.store.enter_foreign();
        }
        let mut step = Step { world, state, log: &mut Vec::new() };
        step.hand(candidate, Input::Campaign);
        state = step.state;
        // Everything that is due, until it waits.
        loop {
            // It has a place, and read nothing of the queue.
            let entered = matches!(state.nodes[candidate].requests.front(), Some(Request::KeepAlive(..)));
            if world.newcomer && candidate + 1 == state.nodes.len() && entered {
                state.nodes[candidate].paused = true;
                break;
            }
            let mut actions = Vec::new();
            enabled(&state, &mut actions);
            let next = actions.iter().find(|action| matches!(action, Action::Serve(_) | Action::Wake(_)));
            let stands = state.nodes[candidate].campaign.as_ref().map(incumbent_core::queue::Campaign::state);
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

fn step_quietly(world: &QueueWorld, state: &State, action: Action) -> State {
    step(world, state, action, &mut Vec::new())
}

/// The state after an action; what the candidates are told and ask for goes to the log.
pub(crate) fn step(world: &QueueWorld, state: &State, action: Action, log: &mut Vec<String>) -> State {
    let mut step = Step { world, state: state.clone(), log };
    step.spend(action);
    step.act(action);
    step.judge();
    step.state
}

struct Step<'a> {
    world: &'a QueueWorld,
    state: State,
    log: &'a mut Vec<String>,
}

impl Step<'_> {
    fn spend(&mut self, action: Action) {
        let Budget {
            lose,
            late,
            stale,
            pause,
            delete,
            revoke,
            elect,
            early,
            resign,
            crash,
            hand_over,
            moves,
            deny,
        } = &mut self.state.left;
        let spent = match action {
            Action::Lose(_) | Action::LoseAnswer(_) => lose,
            Action::Stale(_) => stale,
            Action::Delay(_) => late,
            Action::Elect => elect,
            Action::RevokeEarly(_) => early,
            Action::DeletePlace(_) => delete,
            Action::RevokePlace(_) => revoke,
            Action::Pause(_) => pause,
            Action::Crash(_) => crash,
            Action::Resign(_) => resign,
            Action::HandOver(_) => hand_over,
            Action::Move(_) => moves,
            Action::Deny(_) => deny,
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
                    let (answer, change) = self.serve(candidate, request);
                    self.show(&change);
                    self.answer(candidate, answer.into());
                }
            }
            Action::Lose(candidate) => drop(self.state.nodes[candidate].requests.pop_front()),
            Action::LoseAnswer(candidate) => {
                if let Some(request) = self.state.nodes[candidate].requests.pop_front() {
                    let (_, change) = self.serve(candidate, request);
                    self.show(&change);
                }
            }
            Action::Stale(candidate) => {
                let request = self.state.nodes[candidate].requests.pop_front();
                if let Some(Request::KeepAlive(lease, sent_at)) = request {
                    let result = Ok(self.state.store.keep_alive_from_memory());
                    self.answer(candidate, Answer::KeptAlive { lease, sent_at, result }.into());
                }
            }
            Action::Delay(candidate) => {
                if let Some(Request::Write(write)) = self.state.nodes[candidate].requests.pop_front() {
                    self.state.late.push((candidate, write));
                }
            }
            Action::Land(place) => {
                let (candidate, write) = self.state.late.remove(place);
                let (_, change) = self.write(candidate, &write);
                self.show(&change);
            }
            Action::Elect => self.state.store.elect(self.state.now),
            Action::Expire(lease) | Action::RevokeEarly(lease) | Action::RevokePlace(lease) => {
                let change = self.state.store.revoke(lease);
                self.show(&change);
            }
            Action::DeletePlace(place) => {
                let change = self.state.store.delete_place(place);
                self.show(&change);
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
                node.requests.clear();
                node.inbox.clear();
            }
            Action::Resign(candidate) => self.hand(candidate, Input::Resign),
            Action::HandOver(candidate) => {
                let successor = name(self.state.nodes.len() - 1).into();
                self.hand(candidate, Input::HandOver(successor));
            }
            Action::Drained(candidate) => self.hand(candidate, Input::Drained),
            Action::Deny(candidate) => self.state.nodes[candidate].denied = Some(self.state.now),
            Action::Move(candidate) => {
                if let Some(from) = self.state.nodes[candidate].shared {
                    let to = self.share(candidate);
                    self.hand(candidate, Input::Told(Told::Move { from, to }));
                }
            }
        }
    }

    fn write(&mut self, candidate: usize, write: &Write) -> (incumbent_core::queue::Outcome, Change) {
        self.state.store.write(candidate, write, self.world.without)
    }

    fn serve(&mut self, candidate: usize, request: Request) -> (Answer, Change) {
        let now = self.state.now;
        match request {
            Request::Grant(lease) => {
                self.state.store.grant(lease, now);
                (Answer::Granted { lease, result: Ok(super::state::LEASE_TIME) }, Change::default())
            }
            Request::KeepAlive(lease, sent_at) => {
                let result = Ok(self.state.store.keep_alive(lease, now, self.world.without));
                (Answer::KeptAlive { lease, sent_at, result }, Change::default())
            }
            Request::Read(read, _, sent_at) if self.state.nodes[candidate].denied.is_some() => {
                let fault = Fault { kind: FaultKind::Denied, detail: "permission denied".into() };
                let result = Err(Failure::Fault(fault));
                (Answer::Read { read, sent_at, result }, Change::default())
            }
            Request::Read(read, own, sent_at) => {
                let snapshot = self.read(candidate, own);
                (Answer::Read { read, sent_at, result: Ok(Box::new(snapshot)) }, Change::default())
            }
            Request::Write(write) => {
                let (outcome, change) = self.write(candidate, &write);
                (Answer::Wrote { attempt: write.attempt, outcome }, change)
            }
            Request::Revoke(lease) => {
                let change = self.state.store.revoke(lease);
                (Answer::Revoked { lease, result: Ok(()) }, change)
            }
        }
    }

    fn read(&mut self, candidate: usize, own: Option<LeaseId>) -> Snapshot {
        let node = &mut self.state.nodes[candidate];
        let shared = node.shared.unwrap_or(LeaseId(0));
        let mut snapshot = self.state.store.read(own, shared, self.world.without);
        if self.world.without == Some(Part::Keys) {
            // Once its keys were there, they are taken to be there.
            match &node.kept {
                Some(kept) if kept.place.as_ref().map(|place| place.lease) == Some(own) => {
                    snapshot.place.clone_from(&kept.place);
                    snapshot.companion.clone_from(&kept.companion);
                }
                _ if snapshot.place.is_some() => node.kept = Some(Box::new(snapshot.clone())),
                _ => {}
            }
            let created = snapshot.place.as_ref().map(|place| place.created);
            if node.term.is_some() {
                snapshot.places.retain(|place| Some(place.created) >= created);
                snapshot.companions.retain(|companion| Some(companion.created) >= created);
            }
        }
        snapshot
    }

    /// Another lease for the companions of a candidate's connection.
    fn share(&mut self, candidate: usize) -> LeaseId {
        let node = &mut self.state.nodes[candidate];
        node.shares += 1;
        let raft_term = self.state.store.raft_term(self.world.without);
        let lease = LeaseId::of_companions(raft_term, 0x100 * (candidate as u64 + 1) + node.shares);
        node.shared = Some(lease);
        self.state.store.grant(lease, self.state.now);
        lease
    }

    /// Delivers an answer, or leaves it for a process that is stopped.
    fn answer(&mut self, candidate: usize, input: Input) {
        if self.state.nodes[candidate].paused {
            self.state.nodes[candidate].inbox.push_back(input);
        } else {
            self.hand(candidate, input);
        }
    }

    /// Shows a change to every watch.
    fn show(&mut self, change: &Change) {
        let is_news =
            change.removed_places.len() + change.removed_companions.len() + change.rewritten_companions.len()
                > 0;
        for candidate in 0..self.state.nodes.len() {
            if self.world.watch && is_news && self.state.nodes[candidate].campaign.is_some() {
                self.answer(candidate, Input::Watched(change.clone()));
            }
        }
    }

    /// Hands an input to a campaign, and puts what it asks for under way.
    fn hand(&mut self, candidate: usize, input: Input) {
        let now = self.state.nodes[candidate].clock(self.state.now);
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let input = self.distort(input);
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
                if !matches!(output, Output::WakeAt(_)) {
                    self.log.push(format!("{} wants {output:?}", name(candidate)));
                }
                let wanted = match output {
                    Output::WakeAt(wake) => {
                        node.wakes = wake.map(|wake| node.tick(wake.at));
                        break;
                    }
                    Output::Ask(wanted) => wanted,
                    Output::Reconnect => {
                        inputs.push_back(Input::Reconnected);
                        continue;
                    }
                    Output::Event(event) => {
                        self.event(candidate, &event);
                        continue;
                    }
                    // A candidacy alone on its connection: no one else keeps its companion's lease alive.
                    Output::Tell(Tell::Stranded { on }) => {
                        inputs.push_back(Input::Told(Told::Left(on)));
                        continue;
                    }
                    Output::Tell(Tell::Move { from, to }) => {
                        inputs.extend([Told::Move { from, to }, Told::Left(from)].map(Input::Told));
                        continue;
                    }
                    Output::Inspect { .. } | Output::Tell(Tell::NotNext { .. }) => continue,
                };
                let request = match wanted {
                    Wanted::Grant { lease, .. } => Request::Grant(lease),
                    Wanted::Share { gone, .. } => {
                        let known = node.shared.filter(|shared| Some(*shared) != gone);
                        let lease = known.unwrap_or_else(|| self.share(candidate));
                        inputs.push_back(Answer::Shared { result: Ok(lease) }.into());
                        continue;
                    }
                    Wanted::KeepAlive { leases } => {
                        node.requests.extend(leases.iter().map(|lease| Request::KeepAlive(lease, now)));
                        continue;
                    }
                    Wanted::Read { read, own, .. } => Request::Read(read, own, now),
                    Wanted::Write(write) => Request::Write(write),
                    Wanted::Revoke { lease } => Request::Revoke(lease),
                };
                self.state.nodes[candidate].requests.push_back(request);
            }
            self.judge();
        }
    }

    /// Changes what a candidate is told, where a part of the rule is taken away: every keep-alive counts as answered in
    /// the store's present term.
    fn distort(&self, mut input: Input) -> Input {
        if let (
            Input::Answered(Answer::KeptAlive { result: Ok(answer), .. }),
            Some(Part::Keys | Part::RaftTerm),
        ) = (&mut input, self.world.without)
        {
            answer.raft_term = self.state.store.raft_term(self.world.without);
        }
        input
    }

    fn event(&mut self, candidate: usize, event: &Event) {
        let node = &mut self.state.nodes[candidate];
        let verdict = match event {
            Event::Won(term) => {
                let alternates = node.term.replace(*term).is_none();
                let grows = self.state.told.is_none_or(|told| told < term.token);
                self.state.told = self.state.told.max(Some(term.token));
                match (alternates, grows) {
                    (false, _) => Some(("I5", "won twice")),
                    (true, false) => Some(("I4", "a token that is not larger")),
                    (true, true) => None,
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
        let leaders = self.state.leaders();
        if leaders.len() > 1 && self.state.broken.is_none() {
            self.state.broken = Some(("I1", String::from("a and b lead at once")));
        }
        let denied = |node: &Node| node.denied.is_some_and(|since| self.state.now > since + GIVES_WAY);
        let is_due = self.world.gives_way && self.state.nodes.iter().any(denied);
        if is_due && leaders.is_empty() && self.state.broken.is_none() {
            let says = "a candidate that can prove nothing keeps every other from leading";
            self.state.broken = Some(("I17", String::from(says)));
        }
    }
}

//! A place in a queue, in small worlds.
//!
//! Two or three candidates of ours share an election in a store like etcd. Leases expire by themselves, and late. A
//! former leader of the store answers keep-alives, answers are lost, transactions are applied late, processes are
//! stopped, and clocks drift. There is a foreign candidate. An operator deletes a place, revokes the lease that it
//! shows, or asks for a hand-over. A lease is three ticks of the store's clock, with a margin only if clocks drift.
//! [`QueuePart`] disables one part of the rule by what the candidates are shown; then two candidates lead.

mod action;
mod etcd;
mod world;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Preset, ReadId, Settings};
use incumbent_core::queue::{
    self, Answer, Campaign, Change, Failure, Input, LeaseId, Request as Asked, Snapshot, Tell, Told, Write,
};
use incumbent_core::store::{Fault as StoreFault, FaultKind, StoreInfo};

use crate::action::{Action as Any, opening};
use crate::check::{Findings, explore};
use crate::clock::Tick;
use crate::node::{name, nonce};
use crate::property::Property;
use crate::state::State;
use crate::step::Step;
use crate::store::{ActionOf, Store};
use crate::world::{Fault, World};
use action::Action;
use etcd::{BIRTH, Etcd, LEASE, LEASE_TIME};
use world::Setting;
pub use world::{QueuePart, queue_worlds};

/// The time within which another candidate leads if one candidate can prove nothing.
const GIVES_WAY: Tick = 3 * LEASE;

/// The store: an etcd.
#[derive(Clone, Debug, Hash)]
pub struct Queue(Etcd);

/// A request that the store has not served yet.
#[derive(Clone, Debug)]
pub enum Request {
    Grant(LeaseId),
    KeepAlive(LeaseId, Instant),
    Read(ReadId, Option<LeaseId>, Instant),
    Write(Write),
    Revoke(LeaseId),
}

/// The state of a candidate's process other than its campaign.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// When the candidate's reads began to be denied.
    denied: Option<Tick>,
    /// The lease of the connection's companions, and how many such leases there have been.
    shared: Option<LeaseId>,
    shares: u64,
    /// The last snapshot that showed the candidate's own keys, for a rule without reads.
    kept: Option<Box<Snapshot>>,
}

impl Hash for Process {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.denied, self.shared, self.shares).hash(hasher);
    }
}

impl Store for Queue {
    type Rule = queue::Queue;
    type Setting = Setting;
    type Part = QueuePart;
    type Action = Action;
    type Request = Request;
    type Process = Process;
    type Proof = ();

    const PROPERTIES: &'static [Property] =
        &[Property::I1, Property::I2, Property::I4, Property::I5, Property::I17, Property::Contract];

    fn explore(world: &World<Self>, most: Option<usize>) -> Findings {
        explore(world, most)
    }

    fn new() -> Self {
        Self(Etcd::new())
    }

    fn enabled(_: &World<Self>, state: &State<Self>, actions: &mut Vec<ActionOf<Self>>) {
        action::enabled(state, actions);
    }

    fn costs(action: Action) -> Option<Fault> {
        action::costs(action)
    }

    fn opening(world: &World<Self>, state: &State<Self>, place: usize) -> Option<ActionOf<Self>> {
        let node = &state.nodes[place];
        if world.newcomer && place + 1 == state.nodes.len() {
            // By now the newcomer has a place, but has read nothing of the queue.
            let entered = matches!(node.requests.front(), Some(Request::KeepAlive(..)));
            if entered || node.is_paused() {
                return (!node.is_paused()).then_some(Any::Pause(place));
            }
        }
        opening(world, state, place, |_| false)
    }

    fn begins(state: &mut State<Self>) {
        // The last tick is explored too.
        state.ends += 1;
    }

    fn enter(step: &mut Step<'_, Self>, place: usize) {
        if step.world.foreign && place + 1 == step.world.candidates {
            step.state.store.0.enter_foreign();
        }
        let settings = Settings {
            preset: Preset::Test,
            lease: Some(LEASE_TIME),
            drift_ppm: 0,
            slack: Some(step.world.margin),
            splay: Some(Duration::ZERO),
            ..Settings::new(name(place))
        };
        let info = StoreInfo {
            asked_at: Instant::ZERO,
            incarnation: BIRTH,
            age: None,
            never_used: false,
            max_age: None,
            newest: None,
        };
        let (nonce, seed, now) = (nonce(place, 1), place as u64 + 1, step.clock(place));
        step.node(place).campaign = Campaign::new(settings, world::SERVER, &info, nonce, seed, now).ok();
        step.handle(place, Input::Campaign);
    }

    fn act(step: &mut Step<'_, Self>, action: Action) {
        match action {
            Action::Stale(place) => {
                if let Some(Request::KeepAlive(lease, sent_at)) = step.node(place).requests.pop_front() {
                    let result = Ok(step.state.store.0.keep_alive_from_memory());
                    step.deliver(place, Answer::KeptAlive { lease, sent_at, result }.into());
                }
            }
            Action::Elect => step.state.store.0.elect(step.state.now),
            Action::Expire(lease) | Action::RevokeEarly(lease) | Action::RevokePlace(lease) => {
                let change = step.state.store.0.revoke(lease);
                step.show(&change);
            }
            Action::DeletePlace(place) => {
                let change = step.state.store.0.delete_place(place);
                step.show(&change);
            }
            Action::Deny(place) => step.node(place).denied = Some(step.state.now),
            Action::Move(place) => {
                if let Some(from) = step.state.nodes[place].shared {
                    let to = step.share(place);
                    step.handle(place, Input::Told(Told::Move { from, to }));
                }
            }
        }
    }

    fn serve(step: &mut Step<'_, Self>, place: usize, request: Request) -> Input {
        let (now, without) = (step.state.now, step.world.without);
        let etcd = &mut step.state.store.0;
        let (answer, change) = match request {
            Request::Grant(lease) => {
                etcd.grant(lease, now);
                (Answer::Granted { lease, result: Ok(LEASE_TIME) }, Change::default())
            }
            Request::KeepAlive(lease, sent_at) => {
                let result = Ok(etcd.keep_alive(lease, now, without));
                (Answer::KeptAlive { lease, sent_at, result }, Change::default())
            }
            Request::Read(read, _, sent_at) if step.state.nodes[place].denied.is_some() => {
                let fault = StoreFault { kind: FaultKind::Denied, detail: "permission denied".into() };
                let result = Err(Failure::Fault(fault));
                (Answer::Read { read, sent_at, result }, Change::default())
            }
            Request::Read(read, own, sent_at) => {
                let snapshot = step.read(place, own);
                (Answer::Read { read, sent_at, result: Ok(Box::new(snapshot)) }, Change::default())
            }
            Request::Write(write) => {
                let (outcome, change) = etcd.write(place, &write, without);
                (Answer::Wrote { attempt: write.attempt, outcome }, change)
            }
            Request::Revoke(lease) => (Answer::Revoked { lease, result: Ok(()) }, etcd.revoke(lease)),
        };
        step.show(&change);
        answer.into()
    }

    /// Makes every keep-alive count as answered in the store's present term, if the comparison of raft terms is
    /// disabled.
    fn hears(step: &mut Step<'_, Self>, _: usize, input: &mut Input, _: &mut VecDeque<Input>) {
        let without = step.world.without;
        if let (
            Input::Answered(Answer::KeptAlive { result: Ok(answer), .. }),
            Some(QueuePart::Keys | QueuePart::RaftTerm),
        ) = (input, without)
        {
            answer.raft_term = step.state.store.0.raft_term(without);
        }
    }

    fn asks(step: &mut Step<'_, Self>, place: usize, asked: Asked, inputs: &mut VecDeque<Input>) {
        let now = step.clock(place);
        let request = match asked {
            Asked::Grant { lease, .. } => Request::Grant(lease),
            Asked::Share { gone, .. } => {
                let known = step.state.nodes[place].shared.filter(|shared| Some(*shared) != gone);
                let lease = known.unwrap_or_else(|| step.share(place));
                return inputs.push_back(Answer::Shared { result: Ok(lease) }.into());
            }
            Asked::KeepAlive { leases } => {
                let each = leases.iter().map(|lease| Request::KeepAlive(lease, now));
                return step.node(place).requests.extend(each);
            }
            Asked::Read { read, own, .. } => Request::Read(read, own, now),
            Asked::Write(write) => Request::Write(write),
            Asked::Revoke { lease } => Request::Revoke(lease),
        };
        step.node(place).requests.push_back(request);
    }

    /// Answers a notice to the connection. Each candidate is alone on its connection, so no other candidate keeps its
    /// companion's lease alive.
    fn tells(_: &mut Step<'_, Self>, _: usize, tell: Tell, inputs: &mut VecDeque<Input>) {
        match tell {
            Tell::Stranded { on } => inputs.push_back(Input::Told(Told::Left(on))),
            Tell::Move { from, to } => {
                inputs.extend([Told::Move { from, to }, Told::Left(from)].map(Input::Told));
            }
            Tell::NotNext { .. } => {}
        }
    }

    fn judge(step: &mut Step<'_, Self>) {
        let state = &step.state;
        let mut denied = state.nodes.iter().filter_map(|node| node.denied);
        let is_due = step.world.gives_way && denied.any(|since| state.now > since + GIVES_WAY);
        if is_due && state.leaders(step.world).next().is_none() {
            let says = "a candidate that can prove nothing keeps every other from leading";
            step.state.check(Property::I17, Err(says.into()));
        }
    }

    fn describe(_: &State<Self>, action: Action) -> String {
        match action {
            Action::Stale(place) => {
                format!("A FORMER LEADER of the store answers {}'s keep-alive", name(place))
            }
            Action::Expire(lease) => format!("the lease {lease} expires"),
            Action::Elect => "THE STORE ELECTS another leader".into(),
            Action::RevokeEarly(lease) => format!("THE STORE REVOKES the live lease {lease}"),
            Action::DeletePlace(place) => format!("AN OPERATOR DELETES the place {place}"),
            Action::RevokePlace(place) => format!("AN OPERATOR REVOKES the lease of the place {place}"),
            Action::Move(place) => format!("{}'s companions MOVE to another lease", name(place)),
            Action::Deny(place) => format!("{}'s READS ARE DENIED from now on", name(place)),
        }
    }
}

impl Step<'_, Queue> {
    fn read(&mut self, place: usize, own: Option<LeaseId>) -> Snapshot {
        let without = self.world.without;
        let shared = self.state.nodes[place].shared.unwrap_or(LeaseId(0));
        let mut snapshot = self.state.store.0.read(own, shared, without);
        if without == Some(QueuePart::Keys) {
            // Once the candidate's keys have been shown, every later read shows them.
            let node = self.node(place);
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

    /// Grants another lease for the companions of a candidate's connection.
    fn share(&mut self, place: usize) -> LeaseId {
        let raft_term = self.state.store.0.raft_term(self.world.without);
        let node = self.node(place);
        node.shares += 1;
        let lease = LeaseId::of_companions(raft_term, 0x100 * (place as u64 + 1) + node.shares);
        node.shared = Some(lease);
        self.state.store.0.grant(lease, self.state.now);
        lease
    }

    /// Shows a change to every watch.
    fn show(&mut self, change: &Change) {
        let removed = change.removed_places.len() + change.removed_companions.len();
        if !self.world.watch || removed + change.rewritten_companions.len() == 0 {
            return;
        }
        for place in 0..self.state.nodes.len() {
            if self.state.nodes[place].campaign.is_some() {
                self.deliver(place, Input::Watched(change.clone()));
            }
        }
    }
}

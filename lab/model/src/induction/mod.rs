//! Induction over a consumer group, in small worlds.
//!
//! Two candidates of ours share a group. The group's coordinator assigns, revokes and removes at any moment. A session
//! or rebalance timeout, an operator, and a second process with the same static id all have the same result: a former
//! member that does not know that it was removed. Records are appended even if a removed member writes them, or if they
//! are late. Commits are checked against the client's membership when they arrive, and a group without members accepts
//! those of a client without membership. A lease is three ticks of the clock, with no margin. [`InductionPart`]
//! disables one part of the rule by what the candidates are shown; then two candidates lead.

mod action;
mod coordinator;
mod log;
mod script;
mod world;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use incumbent_core::campaign::{Event, Preset, Settings};
use incumbent_core::induction::{
    self, Answer, Campaign, Input, Kind, Loss, Publish, Record, Request as Asked, Shown, Topic, TopicId,
};
use incumbent_core::record::Attempt;
use incumbent_core::{Instant, Revision, Token};

use crate::action::{Action as Any, opening};
use crate::check::{Findings, explore};
use crate::node::{name, nonce};
use crate::property::Property;
use crate::state::State;
use crate::step::Step;
use crate::store::{ActionOf, Store};
use crate::world::{Fault, World};
use action::Action;
use coordinator::Client;
pub use script::late_release;
pub use world::{InductionPart, induction_worlds};

/// The lease as the core counts it: three ticks.
const LEASE: Duration = Duration::from_secs(3);

const CANDIDATES: usize = 2;

/// The store: a consumer group with its coordinator, and the topic.
#[derive(Clone, Debug)]
pub struct Group {
    /// The member number of each candidate that is a member.
    members: [Option<u8>; CANDIDATES],
    /// The member that owns the partition.
    owner: Option<usize>,
    /// The metadata of the newest commit.
    committed: String,
    /// The number of the topic.
    topic: u8,
    log: Vec<Record>,
}

impl Hash for Group {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // What was read of the log is hashed with the campaigns.
        (self.members, self.owner, &self.committed, self.topic, self.log.len()).hash(hasher);
    }
}

/// A request that has not been served yet.
#[derive(Clone, Debug)]
pub enum Request {
    Publish(Publish),
    /// It states this token.
    Commit(Attempt, String),
    Inspect(Instant),
}

/// The state of a candidate's process other than its campaign.
#[derive(Clone, Debug, Default, Hash)]
pub struct Process {
    client: Client,
    /// The token of a term whose deadline has passed.
    lapsed: Option<Token>,
    /// The candidate's claims. Each has its offset, the topic to which it was appended, and the topic that it names.
    claims: Vec<(Revision, u8, Option<u8>)>,
    /// The topic that contains the claim of the candidate's newest term.
    led_in: Option<u8>,
}

impl Store for Group {
    type Rule = induction::Induction;
    type Setting = ();
    type Part = InductionPart;
    type Action = Action;
    type Request = Request;
    type Process = Process;
    type Proof = ();

    const PROPERTIES: &'static [Property] = &[
        Property::I1,
        Property::I2,
        Property::I3,
        Property::I4,
        Property::I5,
        Property::I8,
        Property::I12,
        Property::Contract,
    ];

    fn explore(world: &World<Self>, most: Option<usize>) -> Findings {
        explore(world, most)
    }

    fn new() -> Self {
        Self {
            members: [None; CANDIDATES],
            owner: None,
            committed: String::new(),
            topic: FIRST_TOPIC,
            log: Vec::new(),
        }
    }

    fn enabled(_: &World<Self>, state: &State<Self>, actions: &mut Vec<ActionOf<Self>>) {
        action::enabled(state, actions);
    }

    fn costs(action: Action) -> Option<Fault> {
        action::costs(action)
    }

    fn opening(world: &World<Self>, state: &State<Self>, place: usize) -> Option<ActionOf<Self>> {
        opening(world, state, place, |action| matches!(action, Any::Own(Action::Assign(0))))
    }

    fn begins(state: &mut State<Self>) {
        // The last tick is explored too.
        state.ends += 1;
    }

    fn enter(step: &mut Step<'_, Self>, place: usize) {
        if place == 0 {
            // All candidates read the log from its beginning.
            (0..CANDIDATES).for_each(|place| step.create(place));
        }
        step.handle(place, Input::Campaign);
    }

    fn act(step: &mut Step<'_, Self>, action: Action) {
        match action {
            Action::Assign(place) => {
                step.state.store.owner = Some(place);
                step.assign(place);
            }
            Action::Remove(place) => step.remove(place),
            Action::Replace => {
                if let Some(owner) = step.state.store.owner {
                    let other = 1 - owner;
                    step.state.store.members[owner] = None;
                    step.state.store.owner = Some(other);
                    step.join(other);
                    step.assign(other);
                }
            }
            Action::Notice(place) => step.node(place).client.joined = false,
            Action::Report(place) => {
                step.handle(place, Answer::GroupLost(Loss::Rejoins).into());
                step.join(place);
            }
            Action::Revoke => {
                if let Some(owner) = step.state.store.owner {
                    step.node(owner).client.revoking = true;
                    step.deliver(owner, Answer::Revoked.into());
                }
            }
            Action::Fail(place) => {
                step.node(place).working = true;
                step.handle(place, Input::HandlerFailed);
            }
            Action::Remake => {
                step.state.store.topic += 1;
                step.state.store.log.clear();
                for place in 0..CANDIDATES {
                    step.show(place, Shown::Gap);
                }
            }
        }
    }

    fn ended(step: &mut Step<'_, Self>, place: usize) {
        step.node(place).client.joined = false;
    }

    fn serve(step: &mut Step<'_, Self>, place: usize, request: Request) -> Input {
        let answer = match request {
            Request::Publish(publish) => {
                let attempt = publish.attempt;
                Answer::Published { attempt, result: Ok(step.append(place, &publish)) }
            }
            Request::Commit(attempt, metadata) => {
                Answer::Committed { attempt, result: step.commit(place, metadata) }
            }
            Request::Inspect(asked_at) => step.inspect(asked_at),
        };
        answer.into()
    }

    fn answers_late(request: &Request) -> bool {
        matches!(request, Request::Commit(..))
    }

    fn asks(step: &mut Step<'_, Self>, place: usize, asked: Asked, inputs: &mut VecDeque<Input>) {
        let now = step.clock(place);
        let request = match asked {
            Asked::Publish(mut publish) => {
                if matches!(publish.kind, Kind::Release { .. }) {
                    step.releases(place, &mut publish);
                }
                Request::Publish(publish)
            }
            Asked::Commit { attempt, metadata, .. } => Request::Commit(attempt, metadata),
            // This question is answered at once, because any other order only delays what the candidate learns.
            Asked::Committed { number } => {
                let result = Ok(step.state.store.committed.clone());
                return inputs.push_back(Answer::CommittedToken { number, result }.into());
            }
            Asked::Inspect if step.world.budget.has(Fault::Recreate) => Request::Inspect(now),
            Asked::Inspect => return inputs.push_back(step.inspect(now).into()),
            // Only a resting candidate asks this question. The simulator tests what it does with the answer.
            Asked::Members => return,
            Asked::Join => return step.join(place),
            Asked::Yield => return step.yields(place),
            Asked::Leave => {
                step.leave(place);
                return inputs.push_back(Answer::Left.into());
            }
        };
        step.node(place).requests.push_back(request);
    }

    fn reports(step: &mut Step<'_, Self>, place: usize, event: &Event) {
        let Event::Won(term) = event else { return };
        let node = step.node(place);
        let claim = node.claims.iter().rev().copied().find(|(offset, ..)| *offset == term.token.sequence);
        node.led_in = claim.map(|(_, topic, _)| topic);
        if claim.is_none_or(|(_, topic, named)| named != Some(topic)) {
            step.check(place, Property::I12, Err("won in a topic that it mistakes for another".into()));
        }
    }

    /// Checks that no term leads again after its deadline.
    fn judge(step: &mut Step<'_, Self>) {
        for place in 0..CANDIDATES {
            let (node, now) = (&step.state.nodes[place], step.clock(place));
            let Some(lease) = node.campaign.as_ref().and_then(Campaign::lease) else { continue };
            let has_lapsed = node.lapsed == Some(lease.token);
            if now >= lease.deadline && !has_lapsed {
                step.node(place).lapsed = Some(lease.token);
            } else if now < lease.deadline && has_lapsed {
                let says = "leads again in a term whose deadline had passed";
                step.check(place, Property::I3, Err(says.into()));
            }
        }
    }

    fn describe(_: &State<Self>, action: Action) -> String {
        match action {
            Action::Assign(place) => format!("the partition is assigned to {}", name(place)),
            Action::Remove(place) => format!("THE COORDINATOR REMOVES {}", name(place)),
            Action::Replace => "ANOTHER PROCESS TAKES the owner's static id".into(),
            Action::Notice(place) => format!("{}'s client learns that it is not a member", name(place)),
            Action::Report(place) => format!("{}'s client reports the loss, and joins again", name(place)),
            Action::Revoke => "THE PARTITION IS REVOKED".into(),
            Action::Fail(place) => format!("{}'s HANDLER FAILS", name(place)),
            Action::Remake => "THE TOPIC IS MADE AGAIN".into(),
        }
    }
}

impl Step<'_, Group> {
    fn create(&mut self, place: usize) {
        let settings = Settings {
            preset: Preset::Test,
            lease: Some(LEASE),
            drift_ppm: 0,
            slack: Some(Duration::ZERO),
            drain: Duration::from_secs(2),
            ..Settings::new(name(place))
        };
        // All wall clocks agree.
        let hour_ago = self.world.clock(place).at(0).before(Duration::from_secs(3600));
        let (group, topic) = (induction::Group::default(), topic(FIRST_TOPIC, hour_ago));
        let (nonce, seed) = (nonce(place, 1), place as u64 + 1);
        let campaign = Campaign::new(settings, group, topic, nonce, seed, hour_ago);
        self.node(place).campaign = campaign.ok();
    }
}

const FIRST_TOPIC: u8 = 1;

/// The answer to an inspection of the topic with this number.
fn topic(number: u8, asked_at: Instant) -> Topic {
    Topic { asked_at, id: Some(TopicId(number.into())), time_of_day: Duration::from_secs(number.into()) }
}

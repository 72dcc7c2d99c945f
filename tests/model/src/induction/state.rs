//! The whole state at one moment: candidates, the log, and the coordinator.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use incumbent_core::campaign::{Preset, Settings, Term};
use incumbent_core::induction::{Campaign, Group, Input, Publish, Record, Topic, TopicId};
use incumbent_core::record::{Attempt, Nonce};
use incumbent_core::{Instant, Revision, Token};

use super::world::{Budget, InductionWorld};
use crate::state::hasher;

pub(crate) type Tick = u32;

/// The lease as the core counts it: three ticks.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

pub(crate) const CANDIDATES: usize = 2;

pub(crate) fn name(candidate: usize) -> &'static str {
    ["a", "b"].get(candidate).copied().unwrap_or("?")
}

/// The clock of every candidate: an hour at tick 0.
pub(crate) fn clock(now: Tick) -> Instant {
    Instant::ZERO + Duration::from_secs(3600 + u64::from(now))
}

/// A request that was not served yet.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Publish(Publish),
    /// It states this token.
    Commit(Attempt, String),
    Inspect(Instant),
}

/// The membership, as the client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Client {
    /// The number of its member id.
    pub(crate) member: u8,
    /// It is a member, as far as it knows.
    pub(crate) joined: bool,
    /// It was told to leave, and does not join again by itself.
    pub(crate) out: bool,
    /// A revocation is pending: the client reports no loss meanwhile.
    pub(crate) revoking: bool,
    /// The number of its member id when the partition was assigned to it.
    pub(crate) assigned: u8,
}

/// A candidate with its client.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// `None` once its process has ended.
    pub(crate) campaign: Option<Campaign>,
    pub(crate) client: Client,
    pub(crate) wakes: Option<Tick>,
    pub(crate) paused: bool,
    /// Requests in the order in which they were sent.
    pub(crate) requests: VecDeque<Request>,
    /// What a stopped process has not taken yet.
    pub(crate) inbox: VecDeque<Input>,
    /// The term whose win it reported, and whose loss it did not report yet.
    pub(crate) term: Option<Term>,
    /// The token of a term whose deadline has passed.
    pub(crate) lapsed: Option<Token>,
    /// Its handler failed, and the work goes on.
    pub(crate) failed: bool,
    /// The offset of each of its claims, the topic in which that was appended, and the one that it names.
    pub(crate) claims: Vec<(Revision, u8, Option<u8>)>,
    /// The topic in which the claim of its newest term lies.
    pub(crate) led_in: Option<u8>,
    /// The topic that inspections name where they name none other.
    pub(crate) knows: u8,
}

/// The coordinator: the members that it has, and which of them owns the partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Coordinator {
    /// The member number of each candidate that is a member.
    pub(crate) members: [Option<u8>; CANDIDATES],
    pub(crate) owner: Option<usize>,
    /// The metadata of the newest commit.
    pub(crate) committed: String,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) now: Tick,
    pub(crate) coordinator: Coordinator,
    pub(crate) topic: u8,
    pub(crate) log: Vec<Record>,
    pub(crate) nodes: Vec<Node>,
    /// Requests that arrive later.
    pub(crate) late: Vec<(usize, Request)>,
    pub(crate) left: Budget,
    /// Nothing happens after that.
    pub(crate) horizon: Tick,
    /// The largest token of a reported win.
    pub(crate) won: Option<Token>,
    pub(crate) broken: Option<(&'static str, String)>,
}

impl State {
    pub(crate) fn new(_: &InductionWorld) -> Self {
        let node = |candidate: usize| {
            let settings = Settings {
                preset: Preset::Test,
                lease: Some(LEASE),
                drift_ppm: 0,
                slack: Some(Duration::ZERO),
                drain: Duration::from_secs(2),
                ..Settings::new(name(candidate))
            };
            let nonce = Nonce(candidate as u128 + 1);
            let campaign = Campaign::new(
                settings,
                Group::default(),
                topic(1, Instant::ZERO),
                nonce,
                candidate as u64 + 1,
                Instant::ZERO,
            );
            Node {
                campaign: campaign.ok(),
                client: Client { member: 0, joined: false, out: true, revoking: false, assigned: 0 },
                wakes: None,
                paused: false,
                requests: VecDeque::new(),
                inbox: VecDeque::new(),
                term: None,
                lapsed: None,
                failed: false,
                claims: Vec::new(),
                led_in: None,
                knows: 1,
            }
        };
        Self {
            now: 0,
            coordinator: Coordinator::default(),
            topic: 1,
            log: Vec::new(),
            nodes: (0..CANDIDATES).map(node).collect(),
            late: Vec::new(),
            left: Budget::default(),
            horizon: Tick::MAX,
            won: None,
            broken: None,
        }
    }

    /// The candidates whose `is_leader` answers yes now, stopped ones included.
    pub(crate) fn leaders(&self) -> Vec<usize> {
        let leads =
            |node: &Node| node.campaign.as_ref().is_some_and(|campaign| campaign.is_leader(clock(self.now)));
        (0..self.nodes.len()).filter(|candidate| leads(&self.nodes[*candidate])).collect()
    }

    /// The offset of the next record.
    pub(crate) fn next(&self) -> Revision {
        Revision(self.log.len() as u64)
    }

    fn digest(&self) -> u64 {
        let mut hasher = hasher();
        (self.now, &self.coordinator, self.topic, self.left, self.won, self.broken.is_some())
            .hash(&mut hasher);
        // What the readers took of the log is in the campaigns.
        self.log.len().hash(&mut hasher);
        if !self.late.is_empty() {
            format!("{:?}", self.late).hash(&mut hasher);
        }
        for node in &self.nodes {
            match &node.campaign {
                Some(campaign) => campaign.fingerprint(&mut hasher),
                None => hasher.write_u8(0),
            }
            (node.client, node.wakes, node.paused, node.term, node.lapsed).hash(&mut hasher);
            (node.failed, &node.claims, node.led_in).hash(&mut hasher);
            if !node.requests.is_empty() || !node.inbox.is_empty() {
                format!("{:?}{:?}", node.requests, node.inbox).hash(&mut hasher);
            }
            hasher.write_u8(9);
        }
        hasher.finish()
    }
}

/// The answer to an inspection of the topic with this number.
pub(crate) fn topic(number: u8, asked_at: Instant) -> Topic {
    Topic { asked_at, id: Some(TopicId(number.into())), time_of_day: Duration::from_secs(number.into()) }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.digest().hash(hasher);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

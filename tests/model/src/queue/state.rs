//! The whole state at one moment.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use incumbent_core::campaign::{Preset, ReadId, Settings, Term};
use incumbent_core::queue::{Campaign, Input, LeaseId, Snapshot, Write};
use incumbent_core::record::Nonce;
use incumbent_core::store::StoreInfo;
use incumbent_core::{Instant, Token};

use super::store::{BIRTH, Store};
use super::world::{Budget, QueueWorld, SERVER};
use crate::state::hasher;

pub(crate) type Tick = u32;

/// The lease, in ticks and as the core counts it.
pub(crate) const LEASE: Tick = 3;
pub(crate) const LEASE_TIME: Duration = Duration::from_secs(3);

/// The number by which the store knows the foreign candidate.
pub(crate) const FOREIGN: usize = 9;

pub(crate) fn name(candidate: usize) -> &'static str {
    ["a", "b", "c"].get(candidate).copied().unwrap_or("go")
}

/// A request that the store has not served yet.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Grant(LeaseId),
    KeepAlive(LeaseId, Instant),
    Read(ReadId, Option<LeaseId>, Instant),
    Write(Write),
    Revoke(LeaseId),
}

/// A candidate with its session.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// `None` once its process has ended.
    pub(crate) campaign: Option<Campaign>,
    pub(crate) wakes: Option<Tick>,
    pub(crate) paused: bool,
    /// When its reads began to be denied.
    pub(crate) denied: Option<Tick>,
    /// The rate of its clock, in thousandths of the store's.
    pub(crate) rate: u32,
    /// Requests in the order in which they were sent.
    pub(crate) requests: VecDeque<Request>,
    /// Answers that a stopped process has not taken yet.
    pub(crate) inbox: VecDeque<Input>,
    /// The lease of the connection's companions, and how many there were.
    pub(crate) shared: Option<LeaseId>,
    pub(crate) shares: u64,
    /// The term whose win it reported, and whose loss it did not report yet.
    pub(crate) term: Option<Term>,
    /// The last snapshot's own keys, for a rule without reads.
    pub(crate) kept: Option<Box<Snapshot>>,
}

impl Node {
    /// Its clock: an hour at tick 0, so that the store has been known for long.
    pub(crate) fn clock(&self, now: Tick) -> Instant {
        Instant::ZERO
            + Duration::from_secs(3600)
            + Duration::from_millis(u64::from(now) * u64::from(self.rate))
    }

    /// The first tick at which its clock shows that time.
    pub(crate) fn tick(&self, at: Instant) -> Tick {
        let millis = at.since(self.clock(0)).as_nanos().div_ceil(1_000_000);
        Tick::try_from(millis.div_ceil(self.rate.into())).unwrap_or(Tick::MAX)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) now: Tick,
    pub(crate) store: Store,
    pub(crate) nodes: Vec<Node>,
    /// Transactions that will be applied, and whose answer no candidate gets.
    pub(crate) late: Vec<(usize, Write)>,
    pub(crate) left: Budget,
    /// Nothing happens after that.
    pub(crate) horizon: Tick,
    pub(crate) told: Option<Token>,
    pub(crate) broken: Option<(&'static str, String)>,
}

impl State {
    pub(crate) fn new(world: &QueueWorld) -> Self {
        let node = |(candidate, rate): (usize, &u32)| {
            let settings = Settings {
                preset: Preset::Test,
                lease: Some(LEASE_TIME),
                drift_ppm: 0,
                slack: Some(world.margin),
                splay: Some(Duration::ZERO),
                ..Settings::new(name(candidate))
            };
            let info = StoreInfo {
                asked_at: Instant::ZERO,
                incarnation: BIRTH,
                age: None,
                never_used: false,
                max_age: None,
                newest: None,
            };
            let nonce = Nonce(candidate as u128 + 1);
            let mut node = Node {
                campaign: None,
                wakes: None,
                paused: false,
                denied: None,
                rate: *rate,
                requests: VecDeque::new(),
                inbox: VecDeque::new(),
                shared: None,
                shares: 0,
                term: None,
                kept: None,
            };
            let begins = node.clock(0);
            node.campaign = Campaign::new(settings, SERVER, &info, nonce, candidate as u64 + 1, begins).ok();
            node
        };
        Self {
            now: 0,
            store: Store::new(),
            nodes: world.rates.iter().enumerate().map(node).collect(),
            late: Vec::new(),
            left: Budget::default(),
            horizon: Tick::MAX,
            told: None,
            broken: None,
        }
    }

    /// The candidates whose `is_leader` answers yes now, stopped ones included.
    pub(crate) fn leaders(&self) -> Vec<usize> {
        let leads = |node: &Node| {
            node.campaign.as_ref().is_some_and(|campaign| campaign.is_leader(node.clock(self.now)))
        };
        (0..self.nodes.len()).filter(|candidate| leads(&self.nodes[*candidate])).collect()
    }

    fn digest(&self) -> u64 {
        let mut hasher = hasher();
        (self.now, &self.store, self.left, self.told, self.broken.is_some()).hash(&mut hasher);
        if !self.late.is_empty() {
            format!("{:?}", self.late).hash(&mut hasher);
        }
        for node in &self.nodes {
            match &node.campaign {
                Some(campaign) => campaign.fingerprint(&mut hasher),
                None => hasher.write_u8(0),
            }
            (node.wakes, node.paused, node.denied, node.shared, node.shares, node.term).hash(&mut hasher);
            if !node.requests.is_empty() || !node.inbox.is_empty() {
                format!("{:?}{:?}", node.requests, node.inbox).hash(&mut hasher);
            }
            hasher.write_u8(9);
        }
        hasher.finish()
    }
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

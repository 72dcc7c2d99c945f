//! The whole state at one moment, and digests, which are short names for long values: equal values have equal digests.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use ahash::{AHasher, RandomState};
use incumbent_core::Token;
use incumbent_core::campaign::State as Stage;

use crate::clock::Tick;
use crate::node::Node;
use crate::property::{Broken, Property};
use crate::store::Store;
use crate::world::{Budget, World};

/// The whole state at one moment. Parts that it shares with the previous state are not copied.
#[derive(Clone, Debug)]
pub struct State<S: Store> {
    pub(crate) now: Tick,
    /// After this, nothing happens.
    pub(crate) ends: Tick,
    pub(crate) store: S,
    pub(crate) nodes: Vec<Arc<Node<S>>>,
    /// The requests that arrive later, each with its candidate.
    pub(crate) late: Vec<(usize, S::Request)>,
    /// The faults that may still happen.
    pub(crate) left: Budget,
    /// The largest token that any candidate reported.
    pub(crate) largest_reported: Option<Token>,
    /// The broken property, if any. No further actions follow it.
    pub(crate) broken: Option<Arc<Broken>>,
}

impl<S: Store> State<S> {
    /// Creates a world at its beginning, without candidates or faults.
    pub(crate) fn empty(world: &World<S>) -> Self {
        Self {
            now: 0,
            ends: Tick::MAX,
            store: S::new(),
            nodes: (0..world.candidates).map(|_| Arc::new(Node::absent())).collect(),
            late: Vec::new(),
            left: Budget::NONE,
            largest_reported: None,
            broken: None,
        }
    }

    /// The candidates whose `is_leader` returns true now, including stopped ones.
    pub(crate) fn leaders(&self, world: &World<S>) -> impl Iterator<Item = usize> {
        let leads = |place: &usize| {
            let now = world.clock(*place).at(self.now);
            self.nodes[*place].campaign.as_ref().is_some_and(|campaign| campaign.is_leader(now))
        };
        (0..self.nodes.len()).filter(leads)
    }

    /// Returns true if a candidate leads, is not draining, and is not stopped.
    pub(crate) fn may_leave(&self, place: usize) -> bool {
        let node = &self.nodes[place];
        let leads = node.campaign.as_ref().is_some_and(|campaign| campaign.state() == Stage::Leading);
        leads && !node.is_paused()
    }

    /// Notes the first broken property.
    pub(crate) fn check(&mut self, property: Property, verdict: Result<(), String>) {
        if let (Err(says), None) = (verdict, &self.broken) {
            self.broken = Some(Arc::new(Broken { property, says }));
        }
    }

    fn digest(&self) -> u64 {
        let mut hasher = hasher();
        (self.now, &self.store, self.left, self.largest_reported, self.broken.is_some()).hash(&mut hasher);
        if !self.late.is_empty() {
            format!("{:?}", self.late).hash(&mut hasher);
        }
        for node in &self.nodes {
            hasher.write_u64(node.digest());
        }
        hasher.finish()
    }
}

impl<S: Store> Hash for State<S> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.digest().hash(hasher);
    }
}

impl<S: Store> PartialEq for State<S> {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

/// A hasher that gives equal results in every run on one machine.
pub(crate) fn hasher() -> AHasher {
    RandomState::with_seeds(0x1d, 0x2f, 0x35, 0x4b).build_hasher()
}

/// The digest of one value.
pub(crate) fn digest_of(value: &impl Hash) -> u64 {
    RandomState::with_seeds(0x1d, 0x2f, 0x35, 0x4b).hash_one(value)
}

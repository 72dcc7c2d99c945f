//! The whole state at one moment; and digests, short names of long values: equal values have the same.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use ahash::{AHasher, RandomState};
use incumbent_core::Token;

use crate::clock::Tick;
use crate::message::Message;
use crate::node::Node;
use crate::property::Broken;
use crate::store::Store;
use crate::world::{Budget, World};

/// The whole state at one moment. Parts shared with the former state are not copied.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) now: Tick,
    pub(crate) store: Store,
    /// The messages under way, in the order of their digests.
    pub(crate) net: Vec<Arc<Message>>,
    pub(crate) nodes: Vec<Arc<Node>>,
    /// The faults that may still happen.
    pub(crate) left: Budget,
    /// The number of terms reported.
    pub(crate) terms: u8,
    /// The largest token that any candidate reported.
    pub(crate) largest_reported: Option<Token>,
    /// A property that does not hold. Nothing happens after that.
    pub(crate) broken: Option<Arc<Broken>>,
    /// There are no further faults, and there is no horizon.
    pub(crate) fault_free: bool,
    /// Time has just passed.
    pub(crate) passed: bool,
}

impl State {
    /// A world at its beginning, without candidates.
    pub(crate) fn empty(world: &World) -> Self {
        Self {
            now: 0,
            store: Store::new(),
            net: Vec::new(),
            nodes: (0..world.candidates).map(|_| Arc::new(Node::absent())).collect(),
            left: world.budget,
            terms: 0,
            largest_reported: None,
            broken: None,
            fault_free: false,
            passed: true,
        }
    }

    /// Puts a message under way.
    pub(crate) fn send(&mut self, message: Message) {
        let place = self.net.partition_point(|other| other.digest() < message.digest());
        self.net.insert(place, Arc::new(message));
    }

    /// The candidates whose `is_leader` answers yes now, stopped ones included.
    pub(crate) fn leaders(&self, world: &World) -> impl Iterator<Item = usize> {
        let leads = |place: &usize| {
            let now = world.clock(*place).at(self.now);
            self.nodes[*place].campaign.as_ref().is_some_and(|campaign| campaign.is_leader(now))
        };
        (0..self.nodes.len()).filter(leads)
    }

    fn digest(&self) -> u64 {
        let mut hasher = hasher();
        (self.now, &self.store, &self.net, self.left, self.terms, self.largest_reported).hash(&mut hasher);
        for node in &self.nodes {
            hasher.write_u64(node.digest);
        }
        hasher.write_u8(
            u8::from(self.broken.is_some()) | u8::from(self.fault_free) << 1 | u8::from(self.passed) << 2,
        );
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

/// The same on every run of a machine.
pub(crate) fn hasher() -> AHasher {
    RandomState::with_seeds(0x1d, 0x2f, 0x35, 0x4b).build_hasher()
}

/// The digest of one value.
pub(crate) fn digest_of(value: &impl Hash) -> u64 {
    RandomState::with_seeds(0x1d, 0x2f, 0x35, 0x4b).hash_one(value)
}

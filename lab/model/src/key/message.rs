//! The messages under way between candidates and the store.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use incumbent_core::Instant;
use incumbent_core::campaign::ReadId;
use incumbent_core::record::Attempt;
use incumbent_core::store::{Outcome, StoreInfo, Write};

use super::bucket::Snapshot;
use crate::clock::Tick;
use crate::state::digest_of;

/// A request of a candidate, or an answer to one.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The index of the candidate.
    pub(crate) node: usize,
    /// The number of its process.
    pub(crate) process: u8,
    /// The latest time at which the message arrives, if it is late. It may arrive at any time until then.
    pub(crate) held: Option<Tick>,
    pub(crate) body: Body,
    digest: u64,
}

#[derive(Clone, Debug, Hash)]
pub(crate) enum Body {
    /// A write, with the sender's clock when it was sent.
    Write(Arc<Write>, Instant),
    Read(ReadId),
    Inspect(Instant),
    Wrote(Attempt, Outcome),
    Found(ReadId, Snapshot),
    Inspected(StoreInfo),
}

impl Body {
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Wrote(..) | Self::Found(..) | Self::Inspected(_))
    }
}

impl Message {
    pub(crate) fn new(node: usize, process: u8, body: Body) -> Self {
        let digest = digest_of(&(node, process, None::<Tick>, &body));
        Self { node, process, held: None, body, digest }
    }

    /// The same, late.
    pub(crate) fn late(&self, until: Tick) -> Self {
        let held = Some(until);
        let digest = digest_of(&(self.node, self.process, held, &self.body));
        Self { held, digest, ..self.clone() }
    }

    /// The key by which messages are sorted, because their order in the network means nothing.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }
}

impl Hash for Message {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.digest.hash(hasher);
    }
}

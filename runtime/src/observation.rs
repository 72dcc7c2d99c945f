//! An election as an observer sees it.

use std::collections::VecDeque;
use std::sync::Arc;

use incumbent_core::Instant;
use incumbent_core::campaign::Leader;

use crate::queue::QueueItem;

/// The leader of an election, as an observer sees it.
///
/// An observation shows the content of the store. A leader that crashed is shown until its record expires, and a
/// candidate that is shown as the holder may still be waiting until it may lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The election's key.
    pub election: Arc<str>,
    /// The holder, with the revision at which it was first observed and with its metadata; `None` while
    /// the election has no leader.
    pub leader: Option<Leader>,
    /// The time at which this state was first observed, on the store's clock.
    pub since: Instant,
}

impl QueueItem for Observation {
    fn shed(waiting: &mut VecDeque<Self>) -> u64 {
        waiting.pop_front().into_iter().count() as u64
    }
}

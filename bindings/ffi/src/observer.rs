//! Observers, which watch an election without taking part.

use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt;

use crate::Leader;
use crate::feed::Source;

/// The leader of an election, as the store shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The election's key.
    pub election: String,
    /// The leader; `None` while the key is free.
    pub leader: Option<Leader>,
    /// The time for which this state had lasted when the observation was taken.
    pub age: Duration,
}

impl Source<Observed> for incumbent::Observer {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Observed>> {
        self.poll_next_unpin(cx).map(|seen| {
            seen.map(|seen| Observed {
                age: self.age(&seen),
                election: seen.election.to_string(),
                leader: seen.leader.map(Leader::from),
            })
        })
    }

    fn missed(&self) -> u64 {
        0
    }
}

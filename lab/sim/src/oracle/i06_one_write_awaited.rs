//! I6.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Answer, Input, Output, Request};
use incumbent_core::record::Attempt;
use incumbent_core::store::Action;

use super::Oracle;
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct OneAwaited {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    latest: Instant,
    /// The write whose answer the campaign awaits, and the deadline of that answer.
    awaited: Option<(Attempt, Instant)>,
    closing: bool,
    /// The number of the last write.
    last: Attempt,
}

impl OneAwaited {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }
}

impl Oracle for OneAwaited {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I6",
            "At most one write is awaited, each has a new number, and after a close outside a term only the release is written.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Tick, Seen::Input, Seen::Asked]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => self.nodes[*node] = Node::default(),
            Observation::Input { node, clock, input } => {
                let node = &mut self.nodes[*node];
                node.latest = node.latest.max(*clock);
                match input {
                    Input::Answered(Answer::Wrote { attempt, .. })
                        if node.awaited.is_some_and(|(awaited, _)| awaited == *attempt) =>
                    {
                        node.awaited = None
                    }
                    Input::Close => node.closing = true,
                    _ => {}
                }
            }
            Observation::Output {
                node: place, campaign, output: Output::Ask(Request::Write(write)), ..
            } => {
                let node = &mut self.nodes[*place];
                // The limit is a twelfth of the lease, within its bounds (DESIGN.md, Times).
                let limit =
                    (campaign.lease_time() / 12).clamp(Duration::from_millis(250), Duration::from_secs(2));
                if let Some((attempt, until)) = node.awaited
                    && node.latest < until
                {
                    return Err(format!("c{place} sends {:?} and awaits {attempt:?}", write.attempt));
                }
                let release = matches!(write.action, Action::Release { .. });
                if node.closing && !release && campaign.lease().is_none() {
                    return Err(format!("c{place} is closing but sends {write:?}"));
                }
                if write.attempt <= node.last {
                    return Err(format!("c{place} sends {:?} after {:?}", write.attempt, node.last));
                }
                node.last = write.attempt;
                node.awaited = Some((write.attempt, node.latest + limit));
            }
            _ => {}
        }
        Ok(())
    }
}

//! I17 in a queue.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::queue::{self, Action, Answer, Input, LeaseId, Output, Request};

use super::Oracle;
use crate::kind::Kind;
use crate::observation::{Observation, Seen, View};

/// The time allowed for a removal that is not answered at once.
const REMOVAL: Duration = Duration::from_secs(8);

/// Follows the answered keep-alives and the reads of each place.
#[derive(Debug)]
pub(super) struct GivesWay {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The lease of the last place that the candidate asked the store to create.
    lease: Option<LeaseId>,
    /// Since when keep-alives of the lease were answered without a long pause although no read showed the place.
    since: Option<Instant>,
    kept: Instant,
}

impl Node {
    fn keeps(&mut self, now: Instant, lease: Duration) {
        // Longer pauses are caused by the store or the process, and do not count.
        let pause = lease / 3 + (lease / 12).clamp(Duration::from_millis(250), Duration::from_secs(2));
        if now.since(self.kept) > pause {
            self.since = Some(now);
        }
        self.kept = now;
    }
}

impl GivesWay {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }

    /// Returns the longest time for which a candidate may keep a place without a proof.
    ///
    /// Rounds without answers to keep-alives count for less than they take, because it is unknown whether the
    /// keep-alives were sent. If messages are lost all the time, these are a third of the rounds. If messages take up
    /// to twelve seconds, they are half.
    fn most(lease: Duration, delayed: bool) -> Duration {
        let rounds = if delayed { lease * 3 } else { lease * 19 / 9 };
        rounds * 102 / 100 + REMOVAL
    }
}

impl Oracle<queue::Queue> for GivesWay {
    fn states(&self) -> (&'static str, &'static str) {
        ("I17", "A candidate leaves a place that is kept alive but cannot be proved for a lease.")
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Input, Seen::Asked]
    }

    fn observe(
        &mut self,
        view: &View<'_>,
        observation: &Observation<'_, queue::Queue>,
    ) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => self.nodes[*node] = Node::default(),
            Observation::Output { node, output: Output::Ask(Request::Write(write)), .. } => {
                let node = &mut self.nodes[*node];
                match write.action {
                    Action::Enter { lease, .. } if node.lease != Some(lease) => {
                        *node = Node { lease: Some(lease), ..Node::default() };
                    }
                    Action::Leave { .. } => *node = Node::default(),
                    _ => {}
                }
            }
            Observation::Input { node: place, input: Input::Answered(answer), .. } => {
                let node = &mut self.nodes[*place];
                match answer {
                    Answer::Read { result: Ok(snapshot), .. } if snapshot.place.is_some() => {
                        node.since = Some(view.now);
                    }
                    Answer::KeptAlive { lease, result: Ok(answer), .. }
                        if node.lease == Some(*lease) && !answer.ttl.is_zero() =>
                    {
                        let lease = view.plan.settings[*place].lease;
                        node.keeps(view.now, lease);
                        let kept = view.now.since(node.since.unwrap_or(view.now));
                        if kept > Self::most(lease, view.plan.has(Kind::Delay)) {
                            return Err(format!(
                                "c{place} kept its place alive for {kept:?}, but no read showed it"
                            ));
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}

//! I9 and I12 over a consumer group.

use std::time::Duration;

use incumbent_core::campaign::{Event, Reason};
use incumbent_core::induction::{self, Answer, Failure, Input};
use incumbent_core::record::Nonce;
use incumbent_core::{Instant, Revision};

use super::Oracle;
use crate::observation::{Observation, Seen, View};

/// How much longer than a lease a leader may rely on a topic that is gone. It asks for the topic's id once a second.
const NOTICE: Duration = Duration::from_secs(5);

/// Knows what happened to each candidate's membership, and when the topic was recreated.
#[derive(Debug)]
pub(super) struct NoneWithoutCause {
    nodes: Vec<Node>,
    /// When the current topic was created, unless it is the first.
    remade: Option<Instant>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    latest: Instant,
    deadline: Option<Instant>,
    /// The reasons given by its user's requests and its client's reports since it won.
    caused: Vec<Reason>,
    /// When it won its present term.
    won: Option<Instant>,
    nonce: Option<Nonce>,
    /// The offset of the candidate's newest record, and when the log first accepted a record of the candidate at a
    /// lower offset.
    appended: Option<Revision>,
    lower: Option<Instant>,
}

impl NoneWithoutCause {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count], remade: None }
    }

    fn is_caused(&self, node: usize, reason: Reason) -> bool {
        let node = &self.nodes[node];
        match reason {
            Reason::Expired => node.deadline.is_some_and(|at| node.latest >= at),
            // The candidate may have claimed leadership in the previous topic.
            Reason::StoreReset => self.remade.is_some(),
            reason => node.caused.contains(&reason),
        }
    }
}

impl Oracle<induction::Induction> for NoneWithoutCause {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I9, I12",
            "A term ends for what its client reported, for its topic or its deadline, or as its user asked; it ends when its topic \
             is another.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Tick, Seen::Input, Seen::Handled, Seen::Reported, Seen::Applied, Seen::Remade]
    }

    fn observe(
        &mut self,
        view: &View<'_>,
        observation: &Observation<'_, induction::Induction>,
    ) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() };
            }
            Observation::Applied { nonce, revision, .. } => {
                let node = self.nodes.iter_mut().find(|node| node.nonce == Some(*nonce));
                let Some(node) = node else { return Ok(()) };
                let before = node.appended.replace(*revision);
                if before.is_some_and(|before| *revision <= before) {
                    node.lower.get_or_insert(view.now);
                }
            }
            Observation::Remade { .. } => self.remade = Some(view.now),
            Observation::Input { node, clock, input } => {
                let node = &mut self.nodes[*node];
                node.latest = node.latest.max(*clock);
                node.caused.extend(match input {
                    Input::Resign => Some(Reason::Resigned),
                    Input::Close => Some(Reason::Closed),
                    Input::Health(false) => Some(Reason::Unhealthy),
                    Input::HandlerFailed => Some(Reason::HandlerFailed),
                    Input::Answered(
                        Answer::Revoked
                        | Answer::GroupLost(_)
                        | Answer::Assigned { .. }
                        | Answer::Committed { result: Err(Failure::GroupLost(_)), .. },
                    ) => Some(Reason::Revoked),
                    _ => None,
                });
            }
            Observation::Handled { node, campaign, lease, .. } => {
                let place = *node;
                let node = &mut self.nodes[place];
                node.deadline = lease.map(|lease| lease.deadline).or(node.deadline);
                // Without topic ids, and without a record at a lower offset, no leader can know that the topic was
                // recreated.
                let known = if view.plan.group.has_ids { self.remade } else { node.lower };
                let before = node.won.zip(known).filter(|(won, known)| won < known);
                let limit = view.plan.lease * 102 / 100 + NOTICE;
                if campaign.is_leader(node.latest)
                    && before.is_some_and(|(_, known)| view.now.since(known) > limit)
                    && !view.promises.excuses(view.now, place)
                {
                    return Err(format!("c{place} leads in a topic that is gone"));
                }
            }
            Observation::Output { node, output, .. } => match output.event() {
                Some(Event::Won(_)) => {
                    let node = &mut self.nodes[*node];
                    node.caused.clear();
                    (node.won, node.lower) = (Some(view.now), None);
                }
                Some(Event::Lost { reason, .. }) => {
                    if !self.is_caused(*node, *reason) {
                        return Err(format!("c{node} lost ({reason}), but nothing had happened"));
                    }
                    self.nodes[*node].won = None;
                }
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}

//! I3.

use std::collections::VecDeque;

use incumbent_core::campaign::Output;
use incumbent_core::record::{Attempt, Nonce};
use incumbent_core::{Incarnation, Instant};

use super::Oracle;
use super::known::lease_end;
use crate::moment::{Moment, View};

/// Knows from the store itself which attempts were applied, and in which life.
pub(super) struct DeadlineFromTheSend {
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    nonce: Option<Nonce>,
    sent: VecDeque<(Attempt, Instant)>,
    /// When the newest applied attempt was sent, by the candidate's clock, and the life that took it.
    applied: Vec<(Incarnation, Instant)>,
    latest: Instant,
}

impl DeadlineFromTheSend {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: (0..count).map(|_| Node::default()).collect() }
    }
}

impl Oracle for DeadlineFromTheSend {
    fn states(&self) -> (&'static str, &'static str) {
        ("I3", "A deadline derives only from when an attempt that was applied was sent.")
    }

    fn see(&mut self, _: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() };
            }
            Moment::Hands { node, clock, .. } => {
                let node = &mut self.nodes[*node];
                node.latest = node.latest.max(*clock);
            }
            Moment::Says { node, output: Output::Write(write), .. } => {
                let node = &mut self.nodes[*node];
                if node.sent.len() == 256 {
                    node.sent.pop_front();
                }
                node.sent.push_back((write.attempt, node.latest));
            }
            Moment::Applied { nonce, attempt, life, .. } => {
                let Some(node) = self.nodes.iter_mut().find(|node| node.nonce == Some(*nonce)) else {
                    return Ok(());
                };
                let sent = node.sent.iter().find(|(sent, _)| sent == attempt).map(|(_, at)| *at);
                let Some(sent) = sent else { return Ok(()) };
                match node.applied.iter_mut().find(|(known, _)| known == life) {
                    Some((_, newest)) => *newest = sent.max(*newest),
                    None => node.applied.push((*life, sent)),
                }
            }
            Moment::Stands { node, campaign, .. } => {
                let Some(lease) = campaign.lease() else { return Ok(()) };
                let life = lease.token.incarnation;
                let newest = self.nodes[*node].applied.iter().find(|(known, _)| *known == life);
                let Some((_, newest)) = newest else {
                    return Err(format!("c{node} leads and no write of it was ever applied"));
                };
                let latest = lease_end(campaign, *newest);
                if lease.deadline > latest {
                    return Err(format!(
                        "c{node} counts on {:?}, and its newest applied write allows {latest:?}",
                        lease.deadline
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

//! I3.

use std::collections::VecDeque;

use incumbent_core::campaign::{Input, Output};
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
    /// When the newest applied attempt was sent, by the candidate's clock.
    applied: Option<Instant>,
    /// For each life of the store: when the newest question was asked whose answer proves it, an inspection or
    /// a write that this life took.
    shown: Vec<(Incarnation, Instant)>,
    latest: Instant,
}

impl Node {
    fn shows(&mut self, life: Incarnation, asked_at: Instant) {
        match self.shown.iter_mut().find(|(known, _)| *known == life) {
            Some((_, newest)) => *newest = asked_at.max(*newest),
            None => self.shown.push((life, asked_at)),
        }
    }
}

impl DeadlineFromTheSend {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: (0..count).map(|_| Node::default()).collect() }
    }
}

impl Oracle for DeadlineFromTheSend {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I3",
            "A deadline derives only from when an attempt was sent that was applied, and a question that proved the life.",
        )
    }

    fn see(&mut self, _: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() };
            }
            Moment::Hands { node, clock, input } => {
                let node = &mut self.nodes[*node];
                node.latest = node.latest.max(*clock);
                if let Input::Inspected(Ok(facts)) = input {
                    node.shows(facts.incarnation, facts.asked_at);
                }
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
                node.applied = node.applied.max(Some(sent));
                node.shows(*life, sent);
            }
            Moment::Stands { node, campaign, .. } => {
                let Some(lease) = campaign.lease() else { return Ok(()) };
                let seen = &self.nodes[*node];
                let Some(applied) = seen.applied else {
                    return Err(format!("c{node} leads and no write of it was ever applied"));
                };
                let shown = seen.shown.iter().find(|(life, _)| *life == lease.token.incarnation);
                let latest = lease_end(campaign, applied.min(shown.map_or(Instant::ZERO, |(_, at)| *at)));
                if lease.deadline > latest {
                    return Err(format!(
                        "c{node} counts on {:?}, and what was proved allows {latest:?}",
                        lease.deadline
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

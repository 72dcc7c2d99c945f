//! I12.

use incumbent_core::campaign::{Input, Output};
use incumbent_core::{Incarnation, Instant};

use super::Oracle;
use super::known::{Told, told};
use crate::moment::{Moment, View};

pub(super) struct AnotherLife {
    nodes: Vec<Node>,
}

#[derive(Clone, Default)]
struct Node {
    /// The life known, and when the inspection that showed it was asked for.
    life: Option<(Incarnation, Instant)>,
    /// The latest reading, and when the newest write was sent: once that is answered or seen, what was asked before
    /// it is old.
    latest: Instant,
    sent: Instant,
    /// Another life was just handed in.
    another: bool,
}

impl AnotherLife {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }
}

impl Oracle for AnotherLife {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I12",
            "Another life of the store ends the term, and nobody wins in one that is younger than a lease.",
        )
    }

    fn see(&mut self, view: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begins { node, .. } => self.nodes[*node] = Node::default(),
            Moment::Hands { node, clock, input } => {
                let node = &mut self.nodes[*node];
                node.another = false;
                node.latest = node.latest.max(*clock);
                if let Input::Inspected(Ok(facts)) = input {
                    let newer = node.life.is_none_or(|(_, asked_at)| facts.asked_at >= asked_at);
                    if newer {
                        node.another = facts.asked_at >= node.sent
                            && node.life.is_some_and(|(life, _)| life != facts.incarnation);
                        node.life = Some((facts.incarnation, facts.asked_at));
                    }
                }
            }
            Moment::Stands { node, campaign, .. } if self.nodes[*node].another => {
                if let Some(lease) = campaign.lease() {
                    return Err(format!("c{node} knows of another life and leads on: {lease:?}"));
                }
            }
            Moment::Says { node, campaign, output, .. } => {
                if let Output::Write(_) = output {
                    self.nodes[*node].sent = self.nodes[*node].latest;
                }
                let Some(Told::Won(term)) = told(output) else { return Ok(()) };
                if view.never_used || !view.promises.clocks() || !view.promises.one_leader(view.now) {
                    return Ok(());
                }
                // In a life that is over it leads no longer than its lease there lasts.
                if term.token.incarnation != view.life {
                    return Ok(());
                }
                // Its own clock may run fast by a hundredth.
                let age = view.now.since(view.made);
                if age < campaign.lease_time() * 98 / 100 {
                    return Err(format!("c{node} won {} in a life that is {age:?} old", term.token));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

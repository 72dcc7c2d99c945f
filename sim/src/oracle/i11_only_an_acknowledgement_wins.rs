//! I11.

use std::collections::VecDeque;

use incumbent_core::Revision;
use incumbent_core::campaign::{Input, Output};
use incumbent_core::record::Attempt;
use incumbent_core::store::{Action, Outcome};

use super::Oracle;
use super::known::{Told, told};
use crate::moment::{Moment, View};

pub(super) struct Acknowledged {
    nodes: Vec<Node>,
}

#[derive(Clone, Default)]
struct Node {
    acquires: VecDeque<Attempt>,
    acknowledged: VecDeque<Revision>,
}

impl Acknowledged {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }
}

fn keep<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == 256 {
        queue.pop_front();
    }
    queue.push_back(item);
}

impl Oracle for Acknowledged {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I11",
            "Only the acknowledgement of an acquire makes a winner; a read or the watch alone never does.",
        )
    }

    fn see(&mut self, _: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begins { node, .. } => self.nodes[*node] = Node::default(),
            Moment::Hands {
                node,
                input: Input::Wrote { attempt, outcome: Outcome::Applied { revision, .. } },
                ..
            } => {
                let node = &mut self.nodes[*node];
                if node.acquires.contains(attempt) {
                    keep(&mut node.acknowledged, *revision);
                }
            }
            Moment::Says { node: place, output, .. } => {
                let node = &mut self.nodes[*place];
                if let Output::Write(write) = output
                    && matches!(write.action, Action::Acquire(_))
                {
                    keep(&mut node.acquires, write.attempt);
                }
                if let Some(Told::Won(term)) = told(output)
                    && !node.acknowledged.contains(&term.token.sequence)
                {
                    return Err(format!("c{place} won {} without an acknowledgement", term.token));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

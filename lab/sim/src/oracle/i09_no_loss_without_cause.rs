//! The other half of I9: a stale answer, or an answer that only seems to be about another candidate, ends no term.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::campaign::{Event, Input, Output, Reason, Term};
use incumbent_core::record::{Entry, Nonce};
use incumbent_core::{Incarnation, Instant, Revision};

use super::Oracle;
use crate::observation::{Observation, Seen, View};

/// Knows from the store itself whether a holder's record was changed.
#[derive(Debug)]
pub(super) struct NoLossWithoutCause {
    nodes: Vec<Node>,
    /// When the store was last recreated or last went back.
    reset: Instant,
}

#[derive(Clone, Debug, Default)]
struct Node {
    nonce: Option<Nonce>,
    /// When the key last received an entry that is not a record of the candidate.
    disturbed: Instant,
    /// When each of the candidate's writes was applied, and in which incarnation.
    applied: VecDeque<(Incarnation, Revision, Instant)>,
    latest: Instant,
    deadline: Option<Instant>,
    /// The maximum age that the candidate's process saw last, and whether the input that was just given to the campaign
    /// shows a lower one.
    max_age: Option<Duration>,
    lowered: bool,
}

impl NoLossWithoutCause {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count], reset: Instant::ZERO }
    }

    fn check(&self, view: &View<'_>, place: usize, term: &Term, reason: Reason) -> Result<(), String> {
        let node = &self.nodes[place];
        let (incarnation, revision) = (term.token.incarnation, term.token.sequence);
        let taken = node.applied.iter().find(|(l, r, _)| (*l, *r) == (incarnation, revision));
        let Some(&(_, _, taken)) = taken else { return Ok(()) };
        if view.promises.is_regressed(view.now) || view.promises.is_misled(view.now, place) {
            return Ok(());
        }
        let touched = node.disturbed > taken || self.reset > taken;
        match reason {
            Reason::Usurped | Reason::Deleted if !touched => Err("no other write touched its record".into()),
            Reason::StoreReset if self.reset <= taken => Err("the store is the same".into()),
            // A lower maximum age in an inspection moves the deadline in the same step.
            Reason::Expired if !touched && !node.lowered => match node.deadline {
                Some(deadline) if node.latest < deadline => {
                    Err(format!("it is {:?}, and the deadline is {deadline:?}", node.latest))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl Oracle for NoLossWithoutCause {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I9",
            "Busy, Unknown, NotSent and stale answers neither win nor lose, and no term is lost without a cause.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[
            Seen::Begins,
            Seen::Tick,
            Seen::Input,
            Seen::Handled,
            Seen::Reported,
            Seen::Applied,
            Seen::Key,
            Seen::Remade,
        ]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() };
            }
            Observation::Remade { .. } => self.reset = view.now,
            Observation::Key { entry } => {
                let owner = match entry {
                    Entry::Live(record) => record.write_id.map(|write_id| write_id.nonce),
                    _ => None,
                };
                for node in self.nodes.iter_mut().filter(|node| node.nonce != owner || owner.is_none()) {
                    node.disturbed = view.now;
                }
            }
            Observation::Applied { nonce, incarnation, revision, .. } => {
                if let Some(node) = self.nodes.iter_mut().find(|node| node.nonce == Some(*nonce)) {
                    if node.applied.len() == 256 {
                        node.applied.pop_front();
                    }
                    node.applied.push_back((*incarnation, *revision, view.now));
                }
            }
            Observation::Input { node, clock, input } => {
                let node = &mut self.nodes[*node];
                node.latest = node.latest.max(*clock);
                node.lowered = false;
                if let Input::Inspected(Ok(info)) = input {
                    let before = std::mem::replace(&mut node.max_age, info.max_age);
                    node.lowered = before.zip(info.max_age).is_some_and(|(before, now)| now < before);
                }
            }
            Observation::Handled { node, lease: Some(lease), .. } => {
                self.nodes[*node].deadline = Some(lease.deadline);
            }
            Observation::Output { node, output: Output::Event(Event::Lost { term, reason }), .. } => {
                let checked = self.check(view, *node, term, *reason);
                return checked.map_err(|says| format!("c{node} lost {} ({reason}), but {says}", term.token));
            }
            _ => {}
        }
        Ok(())
    }
}

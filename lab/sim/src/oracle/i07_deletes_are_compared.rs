//! I7.

use std::collections::HashSet;

use incumbent_core::Revision;
use incumbent_core::campaign::{Output, Request};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Action, Expect};

use super::Oracle;
use crate::observation::{Observation, View};

/// Knows from the store itself which revisions are a candidate's own.
pub(super) struct Compared {
    nodes: Vec<(Option<Nonce>, HashSet<Revision>)>,
}

impl Compared {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![(None, HashSet::new()); count] }
    }
}

impl Oracle for Compared {
    fn states(&self) -> (&'static str, &'static str) {
        ("I7", "Every delete states a revision that the candidate itself wrote.")
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => self.nodes[*node] = (Some(*nonce), HashSet::new()),
            Observation::Applied { nonce, revision, .. } => {
                if let Some((_, own)) = self.nodes.iter_mut().find(|(known, _)| *known == Some(*nonce)) {
                    own.insert(*revision);
                }
            }
            Observation::Output { node, output: Output::Ask(Request::Write(write)), .. } => {
                let Action::Release { .. } = write.action else { return Ok(()) };
                let own = match write.expect {
                    Expect::Absent => false,
                    Expect::Revision(revision) => self.nodes[*node].1.contains(&revision),
                };
                if !own {
                    return Err(format!("c{node} deletes a record that is not its own: {:?}", write.expect));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

//! I7.

use std::collections::BTreeSet;

use incumbent_core::Revision;
use incumbent_core::campaign::{Output, Request};
use incumbent_core::record::Nonce;
use incumbent_core::store::{Action, Expect};

use super::Oracle;
use crate::observation::{Observation, Seen, View};

/// Knows from the store itself which revisions are a candidate's own.
#[derive(Debug)]
pub(super) struct Compared {
    nodes: Vec<(Option<Nonce>, BTreeSet<Revision>)>,
}

impl Compared {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![(None, BTreeSet::new()); count] }
    }
}

impl Oracle for Compared {
    fn states(&self) -> (&'static str, &'static str) {
        ("I7", "Every delete states a revision that the candidate itself wrote.")
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Asked, Seen::Applied]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => self.nodes[*node] = (Some(*nonce), BTreeSet::new()),
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

//! What a candidacy leaves behind in a queue.

use std::collections::{BTreeMap, BTreeSet};

use incumbent_core::campaign::{Event, State};
use incumbent_core::queue::{self, Action, Answer, Input, LeaseId, Outcome, Output, Request};
use incumbent_core::record::Attempt;

use super::Oracle;
use crate::etcd::Content;
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct NothingLeft {
    nodes: Vec<Node>,
    /// The leases of abandoned candidacies that left nothing behind, each with the name of its keys.
    over: BTreeMap<LeaseId, String>,
    /// The leases whose last deletion was denied, so that a place written by someone else may still exist.
    denied: BTreeSet<LeaseId>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The leases after which the keys of the candidate's candidacies are named.
    leases: BTreeSet<LeaseId>,
    /// The candidate's last deletion of both keys.
    deletion: Option<(Attempt, LeaseId)>,
    /// The leases of the candidate's newest candidacy and of the leading one.
    newest: Option<LeaseId>,
    leads: Option<LeaseId>,
    leaving: bool,
}

impl NothingLeft {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count], over: BTreeMap::new(), denied: BTreeSet::new() }
    }

    /// Checks what is left in the store. `extended` states whether a keep-alive that was in flight for long may have
    /// extended the lease of a companion that could not be deleted.
    fn check(&self, content: &Content, extended: bool) -> Result<(), String> {
        let left = self.over.iter().find(|(lease, key)| {
            content.leases.contains_key(lease)
                || content
                    .places
                    .get(*key)
                    .is_some_and(|place| place.lease.is_some() || !self.denied.contains(lease))
                || content.companions.contains_key(*key) && !(extended && self.denied.contains(lease))
        });
        match left {
            Some((lease, _)) => Err(format!(
                "the candidacy of lease {lease} was given up, but its keys are still there, or there again"
            )),
            None => Ok(()),
        }
    }
}

/// Notes that the candidacies of these leases left nothing behind.
fn leave(over: &mut BTreeMap<LeaseId, String>, leases: &mut BTreeSet<LeaseId>) {
    over.extend(std::mem::take(leases).into_iter().map(|lease| (lease, lease.to_string())));
}

impl Oracle<queue::Queue> for NothingLeft {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "leaving",
            "Keys are removed after the loss was reported; an abandoned candidacy leaves neither keys nor its lease, and \
             nothing of it comes back.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[
            Seen::Begins,
            Seen::Input,
            Seen::Asked,
            Seen::Reported,
            Seen::Drained,
            Seen::Stored,
            Seen::Remade,
            Seen::WentBack,
        ]
    }

    fn observe(
        &mut self,
        view: &View<'_>,
        observation: &Observation<'_, queue::Queue>,
    ) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => self.nodes[*node] = Node::default(),
            // Keys that a backup brings back do not count.
            Observation::WentBack | Observation::Remade { .. } => {
                self.over.clear();
                self.denied.clear();
                for node in &mut self.nodes {
                    node.leases.clear();
                }
            }
            Observation::Stored { content } => {
                return self.check(content, view.promises.is_extended(view.now));
            }
            Observation::Input {
                node, input: Input::Answered(Answer::Wrote { attempt, outcome }), ..
            } => {
                if let Some((_, lease)) = self.nodes[*node].deletion.filter(|(asked, _)| asked == attempt) {
                    match outcome {
                        Outcome::Failed(_) => self.denied.insert(lease),
                        Outcome::Applied { .. } | Outcome::Refused { .. } => self.denied.remove(&lease),
                    };
                }
            }
            Observation::Output { node: place, output, campaign } => {
                let node = &mut self.nodes[*place];
                match output {
                    Output::Ask(Request::Write(write)) => match &write.action {
                        Action::Enter { lease, .. } => {
                            node.leases.insert(*lease);
                            node.newest = Some(*lease);
                        }
                        // Keys of an earlier candidacy that a backup brought back may disappear at any time.
                        Action::Leave { lease, .. } if node.leads == Some(*lease) => {
                            return Err(format!("c{place} deletes its keys before it has reported its loss"));
                        }
                        Action::Leave { lease, .. } => node.deletion = Some((write.attempt, *lease)),
                        _ => {}
                    },
                    Output::WakeAt(_) if node.leaving && campaign.is_settled() => {
                        node.leaving = false;
                        leave(&mut self.over, &mut node.leases);
                    }
                    _ => {}
                }
                match output.event() {
                    Some(Event::Won(_)) => node.leads = node.newest,
                    Some(Event::Lost { .. }) => node.leads = None,
                    Some(Event::StateChanged(State::Releasing)) => node.leaving = true,
                    // The candidate closes after a while, even if there is still something to remove.
                    Some(Event::StateChanged(State::Closed)) => {}
                    Some(Event::StateChanged(_)) if node.leaving => {
                        node.leaving = false;
                        leave(&mut self.over, &mut node.leases);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}

//! I9 in a queue.

use std::collections::{BTreeMap, VecDeque};

use incumbent_core::campaign::{Event, Reason};
use incumbent_core::queue::{self, Action, Input, LeaseId, Output, Request};
use incumbent_core::record::Attempt;
use incumbent_core::{Incarnation, Instant, Revision};

use super::Oracle;
use crate::etcd::Content;
use crate::observation::{Observation, Seen, View};

/// The number of candidacies of one process that are remembered. They are the leading one, and those that the process
/// left or is about to take.
const REMEMBERED: usize = 4;

/// Knows from the store itself what happened to each candidate's keys and leases.
#[derive(Debug)]
pub(super) struct NoneWithoutCause {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    nonce: u128,
    latest: Instant,
    /// The entering transactions that were sent, with the leases of the place and of the companion.
    sent: BTreeMap<Attempt, [LeaseId; 2]>,
    /// The entering transactions that the store applied, newest last.
    candidacies: VecDeque<Candidacy>,
    /// Whether the store was reset since the process began.
    reset: bool,
    birth: Option<Incarnation>,
    revision: u64,
    /// What its user asked for.
    asked: Vec<Reason>,
    deadline: Option<Instant>,
}

/// Keys that the store created.
#[derive(Clone, Debug)]
struct Candidacy {
    /// The token's sequence.
    created: Revision,
    leases: [LeaseId; 2],
    /// The name of both keys.
    name: String,
    /// The leases to which the companion had moved before the store went back.
    undone: Vec<LeaseId>,
    /// What happened to it since.
    gone: bool,
    rewritten: bool,
    lease_gone: bool,
}

impl Candidacy {
    fn stored(&mut self, content: &Content, went_back: bool) {
        let (place, beside) = (content.places.get(&self.name), content.companions.get(&self.name));
        self.gone |= place.is_none() || beside.is_none();
        self.rewritten |= place.is_some_and(|place| place.modified != self.created.0)
            || beside.is_some_and(|beside| beside.created != self.created.0);
        let mut leases = self.leases.iter().chain(&self.undone);
        self.lease_gone |= leases.any(|lease| !content.leases.contains_key(lease));
        // The candidate's companion may have moved to another lease, which a store that went back does not have, or
        // does not have for long.
        let companion = beside.and_then(|beside| beside.lease).unwrap_or(self.leases[1]);
        let before = std::mem::replace(&mut self.leases[1], companion);
        if went_back && before != companion {
            self.undone.push(before);
        }
    }
}

impl Node {
    fn stored(&mut self, content: &Content) {
        let birth = content.birth.map(|birth| birth.incarnation);
        let went_back = content.revision < self.revision;
        self.reset |= self.birth.is_some() && birth != self.birth || went_back;
        (self.birth, self.revision) = (self.birth.or(birth), content.revision);
        for candidacy in &mut self.candidacies {
            candidacy.stored(content, went_back);
        }
    }

    fn applied(&mut self, attempt: Attempt, created: Revision) {
        let Some(leases) = self.sent.remove(&attempt) else { return };
        if self.candidacies.len() == REMEMBERED {
            self.candidacies.pop_front();
        }
        let (gone, rewritten, lease_gone) = (false, false, false);
        let (name, undone) = (leases[0].to_string(), Vec::new());
        self.candidacies.push_back(Candidacy { created, leases, name, undone, gone, rewritten, lease_gone });
    }

    /// Whether the term of the candidacy that was created at a revision may have ended for a reason.
    fn is_caused(&self, created: Revision, reason: Reason) -> bool {
        // A store that went back may create two candidacies at one revision. The term belongs to the newer one.
        let found = self.candidacies.iter().rev().find(|candidacy| candidacy.created == created);
        let did = |what: fn(&Candidacy) -> bool| found.is_some_and(what);
        match reason {
            Reason::Deleted => did(|candidacy| candidacy.gone),
            Reason::Usurped => self.reset || did(|candidacy| candidacy.rewritten),
            Reason::Expired => {
                did(|candidacy| candidacy.lease_gone) || self.deadline.is_some_and(|at| self.latest >= at)
            }
            Reason::StoreReset => self.reset,
            reason => self.asked.contains(&reason),
        }
    }
}

impl NoneWithoutCause {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }
}

impl Oracle<queue::Queue> for NoneWithoutCause {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I9",
            "A term ends only because of its keys, its leases, the store, its deadline or its user; errors and silence neither \
             win nor lose.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[
            Seen::Begins,
            Seen::Tick,
            Seen::Input,
            Seen::Handled,
            Seen::Asked,
            Seen::Reported,
            Seen::Applied,
            Seen::Stored,
        ]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_, queue::Queue>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: nonce.0, ..Node::default() };
            }
            Observation::Stored { content } => {
                for node in &mut self.nodes {
                    node.stored(content);
                }
            }
            Observation::Applied { nonce, attempt, revision, .. } => {
                if let Some(node) = self.nodes.iter_mut().find(|node| node.nonce == nonce.0) {
                    node.applied(*attempt, *revision);
                }
            }
            Observation::Input { node, clock, input } => {
                let node = &mut self.nodes[*node];
                node.latest = node.latest.max(*clock);
                let asked = match input {
                    Input::Resign => Reason::Resigned,
                    Input::HandOver(_) => Reason::HandedOver,
                    Input::Close => Reason::Closed,
                    Input::Health(false) => Reason::Unhealthy,
                    Input::HandlerFailed => Reason::HandlerFailed,
                    _ => return Ok(()),
                };
                node.asked.push(asked);
            }
            Observation::Handled { node, lease, .. } => {
                let node = &mut self.nodes[*node];
                node.deadline = lease.map(|lease| lease.deadline).or(node.deadline);
            }
            Observation::Output { node: place, output, .. } => {
                let node = &mut self.nodes[*place];
                if let Output::Ask(Request::Write(write)) = output
                    && let Action::Enter { lease, companion, .. } = write.action
                {
                    node.sent.insert(write.attempt, [lease, companion]);
                }
                match output.event() {
                    Some(Event::Won(_)) => {
                        node.asked.clear();
                    }
                    Some(Event::Lost { term, reason }) if !node.is_caused(term.token.sequence, *reason) => {
                        return Err(format!("c{place} lost ({reason}), but nothing had happened"));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}

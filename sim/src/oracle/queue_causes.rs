//! I9 in a queue.

use incumbent_core::campaign::{Event, Reason};
use incumbent_core::queue::{self, Action, Input, LeaseId, Output, Request};
use incumbent_core::{Incarnation, Instant, Revision};

use super::Oracle;
use crate::etcd::Content;
use crate::observation::{Observation, Observed, View};

/// Knows from the store itself what became of each candidate's keys and leases.
pub(super) struct NoneWithoutCause {
    nodes: Vec<Node>,
}

#[derive(Clone, Default)]
struct Node {
    nonce: u128,
    latest: Instant,
    /// Its last transaction that enters: the leases of the place and of the companion, and the revision once it is applied.
    entered: Option<(LeaseId, LeaseId)>,
    created: Option<Revision>,
    /// What happened to it since.
    gone: bool,
    rewritten: bool,
    lease_gone: bool,
    /// What happened to the store since the process began.
    reset: bool,
    birth: Option<Incarnation>,
    revision: u64,
    /// What its user asked for.
    asked: Vec<Reason>,
    deadline: Option<Instant>,
}

impl Node {
    fn stored(&mut self, content: &Content) {
        let birth = content.birth.map(|birth| birth.incarnation);
        self.reset |= self.birth.is_some() && birth != self.birth || content.revision < self.revision;
        (self.birth, self.revision) = (self.birth.or(birth), content.revision);
        let (Some((lease, companion)), Some(created)) = (self.entered, self.created) else { return };
        let name = lease.to_string();
        let (place, beside) = (content.places.get(&name), content.companions.get(&name));
        self.gone |= place.is_none() || beside.is_none();
        self.rewritten |= place.is_some_and(|place| place.modified != created.0)
            || beside.is_some_and(|beside| beside.created != created.0);
        self.lease_gone |= !content.leases.contains_key(&lease) || !content.leases.contains_key(&companion);
    }

    fn is_caused(&self, reason: Reason) -> bool {
        match reason {
            Reason::Deleted => self.gone,
            Reason::Usurped => self.rewritten || self.reset,
            Reason::Expired => self.lease_gone || self.deadline.is_some_and(|at| self.latest >= at),
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

impl Oracle<queue::Campaign> for NoneWithoutCause {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I9",
            "A term ends for what happened to its keys, its leases, the store or its deadline, or as its user asked; errors \
             and silence neither win nor lose.",
        )
    }

    fn observe(
        &mut self,
        _: &View<'_>,
        observation: &Observation<'_, queue::Campaign>,
    ) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: nonce.0, ..Node::default() };
            }
            Observation::Stored { content } => {
                for node in &mut self.nodes {
                    node.stored(content);
                }
            }
            Observation::Applied { nonce, revision, .. } => {
                let node = self.nodes.iter_mut().find(|node| node.nonce == nonce.0);
                // The first that is applied after it was sent; a companion is written again at a later one.
                if let Some(node) = node.filter(|node| node.entered.is_some()) {
                    node.created = node.created.or(Some(*revision));
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
            Observation::Handled { node, campaign, .. } => {
                let node = &mut self.nodes[*node];
                node.deadline = campaign.lease().map(|lease| lease.deadline).or(node.deadline);
            }
            Observation::Output { node: place, output, .. } => {
                let node = &mut self.nodes[*place];
                if let Output::Ask(Request::Write(write)) = output
                    && let Action::Enter { lease, companion, .. } = write.action
                    && node.entered != Some((lease, companion))
                {
                    (node.entered, node.created) = (Some((lease, companion)), None);
                    (node.gone, node.rewritten, node.lease_gone) = (false, false, false);
                }
                match queue::Campaign::event(output) {
                    Some(Event::Won(_)) => {
                        node.asked.clear();
                    }
                    Some(Event::Lost { reason, .. }) if !node.is_caused(*reason) => {
                        return Err(format!("c{place} lost ({reason}), and nothing had happened"));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}

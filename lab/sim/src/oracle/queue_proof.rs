//! I3 and I11 in a queue.

use std::collections::BTreeMap;

use incumbent_core::Instant;
use incumbent_core::campaign::Event;
use incumbent_core::queue::{self, LeaseId, Snapshot};

use super::Oracle;
use super::known::lease_end;
use crate::observation::{Observation, Seen, View};

/// Knows from the store itself which leases its leader extended, and what each linearised read showed.
#[derive(Debug)]
pub(super) struct FromAProof {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    nonce: u128,
    /// When the newest keep-alive that extended each lease was sent, by the candidate's clock.
    kept: BTreeMap<LeaseId, Instant>,
    /// The proofs, by the revision that created both keys. Each is the latest deadline, and whether any proof showed
    /// the keys in the first place.
    proofs: BTreeMap<u64, (Instant, bool)>,
}

impl Node {
    fn read(&mut self, snapshot: &Snapshot, view: &View<'_>, node: usize) {
        let (Some(place), Some(companion)) = (&snapshot.place, &snapshot.companion) else { return };
        let revision = place.created;
        let is_whole = companion.created == revision
            && place.modified == revision
            && companion.nonce.is_some_and(|nonce| nonce.0 == self.nonce);
        let kept = |lease: Option<LeaseId>| self.kept.get(&lease?).copied();
        let (Some(of_place), Some(of_companion)) = (kept(place.lease), kept(companion.lease)) else { return };
        if !is_whole {
            return;
        }
        let lease = view.plan.settings[node].lease;
        let deadline = lease_end(of_place.min(of_companion), lease, Some(Default::default()));
        let first = snapshot.places.iter().all(|place| place.created >= revision)
            && snapshot.companions.iter().all(|companion| companion.created >= revision);
        let proof = self.proofs.entry(revision.0).or_default();
        *proof = (proof.0.max(deadline), proof.1 || first);
    }
}

impl FromAProof {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }
}

impl Oracle<queue::Queue> for FromAProof {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I3",
            "A deadline derives only from the send of keep-alives that the store's leader answered, and from a later read \
             of both keys; a win, from a read that showed them first in both queues.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Handled, Seen::Reported, Seen::Kept, Seen::Read]
    }

    fn observe(
        &mut self,
        view: &View<'_>,
        observation: &Observation<'_, queue::Queue>,
    ) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: nonce.0, ..Node::default() };
            }
            Observation::Kept { node, lease, sent_at } => {
                let kept = self.nodes[*node].kept.entry(*lease).or_default();
                *kept = (*kept).max(*sent_at);
            }
            Observation::Read { node, snapshot } => self.nodes[*node].read(snapshot, view, *node),
            Observation::Handled { node, lease, .. } => {
                let Some(lease) = lease else { return Ok(()) };
                let proof = self.nodes[*node].proofs.get(&lease.token.sequence.0);
                let latest = proof.map_or(Instant::ZERO, |proof| proof.0);
                if lease.deadline > latest {
                    return Err(format!(
                        "c{node} has the deadline {:?}, but what was proved allows at most {latest:?}",
                        lease.deadline
                    ));
                }
            }
            Observation::Output { node, output, .. } => {
                if let Some(Event::Won(term)) = output.event() {
                    let proof = self.nodes[*node].proofs.get(&term.token.sequence.0);
                    if !proof.is_some_and(|proof| proof.1) {
                        return Err(format!(
                            "c{node} won with {}, but its place was never the first",
                            term.token
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

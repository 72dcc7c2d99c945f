//! I10.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Output, State};
use incumbent_core::record::{Entry, Nonce};

use super::Oracle;
use super::known::Work;
use crate::kind::Kind;
use crate::observation::{Observation, Seen, View};

/// Checks the times without faults, both between the faults of the script and after them, while every candidate can
/// reach the store.
#[derive(Debug)]
pub(super) struct OrphansGo {
    /// The number of active faults, and since when there have been none.
    faults: u32,
    undisturbed: Option<Instant>,
    nodes: Vec<Node>,
    /// The owner of the record under the key.
    owner: Option<Nonce>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    nonce: Option<Nonce>,
    /// Since when the candidate has not believed that it holds the key although its record is there.
    orphaned: Option<Instant>,
    /// Whether it believes that it holds the key.
    held: bool,
    /// The work of the candidate's term. The release waits for its end.
    work: Work,
}

impl OrphansGo {
    pub(super) fn new(count: usize) -> Self {
        Self { faults: 0, undisturbed: None, nodes: vec![Node::default(); count], owner: None }
    }

    fn check(&mut self, view: &View<'_>) -> Result<(), String> {
        let Some(undisturbed) = self.undisturbed else { return Ok(()) };
        // It takes a lease until a candidate accepts that the store went back.
        if view.promises.is_regressed(view.now) {
            return Ok(());
        }
        // A delayed message or a slow write may still be in flight when its fault is over.
        if view.promises.is_delayed(view.now) {
            self.undisturbed = Some(view.now);
            return Ok(());
        }
        // The bound is at least the sum of the time of a store without a leader, a slow write, and an answer in flight.
        let bound = (view.plan.lease / 2).max(Duration::from_secs(12));
        for (place, node) in self.nodes.iter_mut().enumerate() {
            let works = node.work == Work::Ends;
            if node.nonce.is_none() || node.nonce != self.owner || node.held || works {
                node.orphaned = None;
                continue;
            }
            let since = *node.orphaned.get_or_insert(view.now);
            // No win is reported before the incarnation of the store is a lease old.
            let lasted = view.now.since(since.max(undisturbed).max(view.made + view.plan.lease));
            // In a bucket with markers, an orphan near its expiry waits for the marker.
            if lasted >= bound && !view.plan.markers {
                return Err(format!("the orphan of c{place} has been there for {lasted:?}"));
            }
        }
        Ok(())
    }
}

/// Whether a fault keeps a candidate from the store.
fn keeps_away(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Resign
            | Kind::Illness
            | Kind::Handler
            | Kind::Close
            | Kind::Crash
            | Kind::Drift
            | Kind::ClockBack
            | Kind::Skew
            | Kind::Delete
            | Kind::Overwrite
    )
}

impl Oracle for OrphansGo {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I10",
            "A candidate's own orphan never blocks the election for a full lease once the store is reachable.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[
            Seen::Begins,
            Seen::Ends,
            Seen::Tick,
            Seen::Input,
            Seen::Handled,
            Seen::Reported,
            Seen::Key,
            Seen::Fault,
            Seen::Quiet,
        ]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Quiet => (self.faults, self.undisturbed) = (0, Some(view.now)),
            Observation::Fault { kind, .. } if !keeps_away(*kind) => {}
            Observation::Fault { begins: true, .. } => {
                (self.faults, self.undisturbed) = (self.faults + 1, None)
            }
            Observation::Fault { begins: false, .. } => {
                self.faults = self.faults.saturating_sub(1);
                self.undisturbed = (self.faults == 0).then_some(view.now);
            }
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() };
            }
            Observation::Ends { node } => self.nodes[*node] = Node::default(),
            Observation::Key { entry } => {
                // Any change restarts the time of an orphan.
                self.owner = match entry {
                    Entry::Live(record) => record.write_id.map(|write_id| write_id.nonce),
                    _ => None,
                };
                self.nodes.iter_mut().for_each(|node| node.orphaned = None);
                return self.check(view);
            }
            Observation::Input { node, input, .. } => {
                let node = &mut self.nodes[*node];
                if node.work == Work::Ends {
                    // Until now the release waited for the work to end.
                    node.orphaned = None;
                }
                node.work.observe_input(input);
            }
            Observation::Output { node, output: Output::Event(event), .. } => {
                self.nodes[*node].work.observe_event(event)
            }
            Observation::Handled { node, campaign, .. } => {
                let held = matches!(campaign.state(), State::Holding | State::Leading | State::Draining);
                self.nodes[*node].held = held;
                return self.check(view);
            }
            _ => {}
        }
        Ok(())
    }
}

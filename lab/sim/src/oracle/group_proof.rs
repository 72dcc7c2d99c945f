//! I3 and I11 over a consumer group.

use std::collections::BTreeMap;

use incumbent_core::campaign::Event;
use incumbent_core::induction::{self, Kind, Output, Request};
use incumbent_core::record::{Attempt, Nonce};
use incumbent_core::{Instant, Revision, Token};

use super::Oracle;
use super::known::lease_end;
use crate::observation::{Observation, Seen, View};

/// The number of a candidate's records to keep. With goNELI in the group a candidate publishes ten a second, and a
/// record may be proved a lease later.
const KEPT: usize = 4_096;

/// Knows from the log and the coordinator themselves which records were appended, and which commits were accepted after
/// that.
#[derive(Debug)]
pub(super) struct FromACommit {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    nonce: Option<Nonce>,
    latest: Instant,
    /// The records, by number, that it published and that the proof of a newer record does not cover.
    sent: BTreeMap<Attempt, Sent>,
    /// The newest record that was appended and then committed by a member of the group.
    proven: Option<Sent>,
    /// The term whose deadline has passed.
    stood: Option<(Token, Instant)>,
    lapsed: Option<Token>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    claims: bool,
    offset: Option<Revision>,
    /// Whether the commit of the record was requested after the record was appended.
    in_order: bool,
}

impl FromACommit {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }

    fn of(&mut self, nonce: Nonce) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|node| node.nonce == Some(nonce))
    }
}

impl Node {
    fn output(&mut self, output: &Output) {
        match output {
            Output::Ask(Request::Publish(publish)) => {
                let (at, claims) = (self.latest, publish.kind == Kind::Claim);
                let sent = Sent { at, claims, offset: None, in_order: false };
                self.sent.insert(publish.attempt, sent);
                while self.sent.len() > KEPT {
                    self.sent.pop_first();
                }
            }
            Output::Ask(Request::Commit { attempt, .. }) => {
                if let Some(sent) = self.sent.get_mut(attempt) {
                    sent.in_order |= sent.offset.is_some();
                }
            }
            _ => {}
        }
    }

    /// Whether the win is based on the candidate's own claim, and on a proof of that record or a later one.
    fn has_won(&self, token: Token) -> bool {
        let mut claims = self.sent.values().filter(|sent| sent.claims);
        let proven = self.proven.and_then(|proven| proven.offset);
        claims.any(|sent| sent.offset == Some(token.sequence)) && proven >= Some(token.sequence)
    }
}

impl Oracle<induction::Induction> for FromACommit {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I3",
            "A deadline derives only from the send of an appended record whose commit a coordinator then accepted from a \
             present member; a win, from its own claim; no ended term continues.",
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
            Seen::Committed,
        ]
    }

    fn observe(
        &mut self,
        view: &View<'_>,
        observation: &Observation<'_, induction::Induction>,
    ) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() };
            }
            Observation::Input { node, clock, .. } => {
                let node = &mut self.nodes[*node];
                node.latest = node.latest.max(*clock);
                let lapsed = node.stood.filter(|(_, deadline)| node.latest >= *deadline);
                node.lapsed = lapsed.map(|(token, _)| token).or(node.lapsed);
            }
            Observation::Applied { nonce, attempt, revision, .. } => {
                if let Some(sent) = self.of(*nonce).and_then(|node| node.sent.get_mut(attempt)) {
                    sent.offset = Some(*revision);
                }
            }
            Observation::Committed { nonce, attempt } => {
                let Some(node) = self.of(*nonce) else { return Ok(()) };
                let sent = node.sent.get(attempt).copied().filter(|sent| sent.in_order);
                if sent.is_some_and(|sent| node.proven.is_none_or(|proven| sent.at > proven.at)) {
                    node.proven = sent;
                }
            }
            Observation::Handled { node: place, lease, .. } => {
                let node = &mut self.nodes[*place];
                node.stood = lease.map(|lease| (lease.token, lease.deadline));
                let Some((token, deadline)) = node.stood else { return Ok(()) };
                let lease = view.plan.settings[*place].lease;
                let proven = node.proven.map(|proven| lease_end(proven.at, lease, Some(Default::default())));
                if proven.is_none_or(|latest| deadline > latest) {
                    return Err(format!(
                        "c{place} has the deadline {deadline:?}, but what was proved allows at most {proven:?}"
                    ));
                }
                if node.lapsed == Some(token) {
                    return Err(format!(
                        "c{place} leads again with {token}, although its deadline had passed"
                    ));
                }
            }
            Observation::Output { node: place, output, .. } => {
                let node = &mut self.nodes[*place];
                node.output(output);
                if let Some(Event::Won(term)) = output.event()
                    && !node.has_won(term.token)
                {
                    return Err(format!("c{place} won with {}, but its claim was not proved", term.token));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

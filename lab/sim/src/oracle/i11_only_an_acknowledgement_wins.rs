//! I11.

use std::collections::VecDeque;

use incumbent_core::campaign::{Answer, Event, Input, Output, Request, State, Warning};
use incumbent_core::record::{Attempt, Nonce};
use incumbent_core::store::{Action, Outcome};
use incumbent_core::{Incarnation, Instant, Revision, Token};

use super::Oracle;
use super::known::{ReportedTerm, reported_term};
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct Acknowledged {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    acquires: VecDeque<Attempt>,
    /// The acknowledged acquires, each with its revision and when it was first acknowledged.
    acknowledged: VecDeque<(Attempt, Revision, Instant)>,
    latest: Instant,
    /// When the newest inspection was requested, and the candidate's newest record that the watch showed.
    asked: Instant,
    shown: Revision,
    nonce: Option<Nonce>,
    /// The incarnations and revisions at which the candidate's acquires were really applied.
    applied: VecDeque<(Incarnation, Revision)>,
    incarnation: Option<Incarnation>,
    /// The first write that was sent in this incarnation.
    first: Option<Attempt>,
    /// The highest revision of this incarnation from the watch or an acknowledgement.
    known: Revision,
    /// Whether the revision that was just acknowledged is below the known one.
    late: bool,
    held: bool,
}

impl Node {
    fn observe_input(&mut self, clock: Instant, input: &Input) {
        self.latest = self.latest.max(clock);
        self.late = false;
        if let Input::Inspected(Ok(info)) = input {
            self.asked = self.asked.max(info.asked_at);
        }
        match input {
            Input::Inspected(Ok(info)) if self.incarnation != Some(info.incarnation) => {
                (self.incarnation, self.known, self.first) = (Some(info.incarnation), Revision(0), None);
                self.shown = Revision(0);
            }
            Input::Watched(entry) => {
                let revision = entry.revision().unwrap_or_default();
                self.known = self.known.max(revision);
                let write_id = entry.live().and_then(|record| record.write_id);
                if write_id.is_some_and(|write_id| Some(write_id.nonce) == self.nonce) {
                    // A store that goes back may later show an earlier revision.
                    self.shown = self.shown.max(revision);
                }
            }
            Input::Answered(Answer::Wrote { attempt, outcome: Outcome::Applied { revision, .. } }) => {
                // A write sent in another incarnation proves nothing about this one.
                if self.first.is_some_and(|first| *attempt >= first) {
                    self.late = *revision < self.known;
                    self.known = self.known.max(*revision);
                }
                // A second copy of the acknowledgement shows nothing new.
                let is_first =
                    !self.acknowledged.iter().any(|(known, at, _)| (known, at) == (attempt, revision));
                if self.acquires.contains(attempt) && is_first {
                    keep(&mut self.acknowledged, (*attempt, *revision, self.latest));
                }
            }
            _ => {}
        }
    }

    fn won(&self, view: &View<'_>, place: usize, token: Token) -> Result<(), String> {
        let acknowledged =
            self.acknowledged.iter().rev().find(|(_, revision, _)| *revision == token.sequence);
        let Some((_, _, since)) = acknowledged else {
            return Err(format!("won {token} without an acknowledgement"));
        };
        let known = view.promises.is_misled(view.now, place)
            || self.applied.contains(&(token.incarnation, token.sequence));
        if !known {
            return Err(format!(
                "won {token}, but its acquire was applied in another incarnation of the store"
            ));
        }
        let confirmed = view.plan.acked || self.shown >= token.sequence || self.asked >= *since;
        if !confirmed {
            return Err(format!("won {token}, but nothing later shows in which incarnation of the store"));
        }
        Ok(())
    }
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
            "A candidate wins only by the acknowledgement of an acquire, never by a read or the watch alone.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Tick, Seen::Input, Seen::Handled, Seen::Asked, Seen::Reported, Seen::Applied]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() };
            }
            Observation::Input { node, clock, input } => self.nodes[*node].observe_input(*clock, input),
            Observation::Applied { nonce, attempt, incarnation, revision } => {
                let node = self.nodes.iter_mut().find(|node| node.nonce == Some(*nonce));
                if let Some(node) = node.filter(|node| node.acquires.contains(attempt)) {
                    keep(&mut node.applied, (*incarnation, *revision));
                }
            }
            Observation::Handled { node: place, campaign, .. } => {
                let node = &mut self.nodes[*place];
                let holds = matches!(campaign.state(), State::Holding | State::Leading | State::Draining);
                let held = std::mem::replace(&mut node.held, holds);
                if node.late && holds && !held {
                    return Err(format!(
                        "c{place} became the holder by an acknowledgement that was out of date"
                    ));
                }
            }
            Observation::Output { node: place, output, .. } => {
                let node = &mut self.nodes[*place];
                if let Output::Ask(Request::Write(write)) = output {
                    node.first.get_or_insert(write.attempt);
                    if matches!(write.action, Action::Acquire(_)) {
                        keep(&mut node.acquires, write.attempt);
                    }
                }
                if let Output::Event(Event::Warning(Warning::StoreReset { .. })) = output {
                    node.known = Revision(0);
                }
                if let Some(ReportedTerm::Won(term)) = reported_term(output) {
                    return node.won(view, *place, term.token).map_err(|says| format!("c{place} {says}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

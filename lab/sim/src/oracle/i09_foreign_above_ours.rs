//! I9.

use incumbent_core::campaign::{Answer, Event, Input, Output, Reason};
use incumbent_core::record::{Entry, Nonce};
use incumbent_core::store::Outcome;
use incumbent_core::{Incarnation, Instant, Revision};

use super::Oracle;
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct ForeignAboveOurs {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    nonce: Option<Nonce>,
    latest: Instant,
    /// The highest revision that was given to the campaign in the incarnation that it knows.
    known: Revision,
    /// The known incarnation, and when the request whose answer showed it was sent.
    incarnation: Option<(Incarnation, Instant)>,
    blind: bool,
    /// The revision of a foreign record, tombstone or marker above all of these, if one was just given to the campaign.
    foreign: Option<Revision>,
    /// Whether the input that was just given to the campaign proves nothing.
    proves_nothing: bool,
    deadline: Option<Instant>,
}

impl ForeignAboveOurs {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }
}

impl Node {
    fn observe_input(&mut self, input: &Input) {
        (self.foreign, self.proves_nothing) = (None, false);
        match input {
            // The candidate now knows another incarnation, and its next term shows that incarnation.
            Input::Inspected(Ok(info)) => {
                // An answer to an older request shows nothing new.
                if self.incarnation.is_some_and(|(_, asked_at)| info.asked_at < asked_at) {
                    return;
                }
                if self.incarnation.is_some_and(|(incarnation, _)| incarnation != info.incarnation) {
                    (self.blind, self.known) = (true, Revision(0));
                }
                self.incarnation = Some((info.incarnation, info.asked_at));
            }
            Input::Watched(entry) => {
                let writer = match entry {
                    Entry::Live(record) => record.write_id,
                    Entry::Released(release) => release.write_id,
                    Entry::Vacant | Entry::Deleted { .. } | Entry::Expired { .. } => None,
                };
                let revision = entry.revision().filter(|revision| *revision > self.known);
                if writer.map(|write_id| write_id.nonce) != self.nonce && !self.blind {
                    self.foreign = revision;
                }
                self.known = self.known.max(entry.revision().unwrap_or_default());
            }
            Input::Answered(Answer::Read { result: Ok(entry), .. }) => {
                self.known = self.known.max(entry.revision().unwrap_or_default())
            }
            Input::Answered(Answer::Wrote { outcome, .. }) => match outcome {
                Outcome::Applied { revision, .. } => self.known = self.known.max(*revision),
                Outcome::Refused { current } => self.known = self.known.max(*current),
                Outcome::Conflict | Outcome::Busy | Outcome::NotSent | Outcome::Unknown => {
                    self.proves_nothing = true;
                }
                Outcome::Failed(_) => {}
            },
            _ => {}
        }
    }
}

impl Oracle for ForeignAboveOurs {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I9",
            "A foreign record, tombstone or marker above ours ends the term at once. Busy, Unknown and NotSent neither win nor lose.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Tick, Seen::Input, Seen::Handled, Seen::Reported]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() }
            }
            Observation::Input { node, clock, input } => {
                let node = &mut self.nodes[*node];
                node.latest = node.latest.max(*clock);
                node.observe_input(input);
            }
            Observation::Handled { node: place, lease, .. } => {
                let node = &mut self.nodes[*place];
                if let (Some(revision), Some(lease)) = (node.foreign, lease) {
                    return Err(format!(
                        "c{place} saw an entry that is not its own at {} but keeps leading: {lease:?}",
                        revision.0
                    ));
                }
                if !node.proves_nothing {
                    node.deadline = lease.map(|lease| lease.deadline);
                }
            }
            Observation::Output { node: place, output: Output::Event(event), .. } => {
                let node = &mut self.nodes[*place];
                let in_time = node.deadline.is_some_and(|deadline| node.latest < deadline);
                if let Event::Won(term) = event
                    && node.blind
                {
                    (node.blind, node.known) = (false, node.known.max(term.token.sequence));
                }
                match event {
                    Event::Won(_) if node.proves_nothing && node.deadline.is_some() => {
                        return Err(format!("c{place} won from an answer that proves nothing"));
                    }
                    Event::Lost { reason, .. }
                        if node.proves_nothing
                            && in_time
                            && *reason != Reason::Expired
                            && !reason.may_drain() =>
                    {
                        return Err(format!("c{place} lost ({reason}) from an answer that proves nothing"));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }
}

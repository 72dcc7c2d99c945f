//! I12.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::campaign::{Answer, Event, Input, Output, Request, State, Warning};
use incumbent_core::record::Attempt;
use incumbent_core::store::{Expect, Outcome};
use incumbent_core::{Incarnation, Instant, Revision};

use super::Oracle;
use super::known::{ReportedTerm, reported_term};
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct AnotherIncarnation {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The known incarnation, and when the inspection that showed it was requested.
    incarnation: Option<(Incarnation, Instant)>,
    /// The latest reading of the clock, and when the newest write was sent. Once the write is answered or observed, an
    /// answer to an earlier request is out of date.
    latest: Instant,
    wrote: Instant,
    /// Whether an input of another incarnation was just given to the campaign.
    another: bool,
    /// The highest revision from the watch or an acknowledgement, and the candidate's writes.
    known: Revision,
    sent: VecDeque<Sent>,
    /// The incarnation of the revision that was just acknowledged, if the store states it, and whether that revision is
    /// below the known one.
    acknowledged: Option<Incarnation>,
    went_back: bool,
    /// Whether the candidate held the key before and after this step, and when it reported that the store went back.
    held: (bool, bool),
    said: Option<Instant>,
    /// Whether an inspection of an incarnation other than the last one was just given to the campaign.
    changed: bool,
    /// It knew another incarnation before.
    remembers: bool,
}

/// A write that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    attempt: Attempt,
    /// The revision that it replaces.
    expected: Revision,
    at: Instant,
    /// The highest revision known then.
    mark: Revision,
    /// When a later write was acknowledged that has overtaken this one.
    overtaken: Option<Instant>,
}

impl Node {
    fn acknowledge(
        &mut self,
        attempt: Attempt,
        revision: Revision,
        incarnation: Option<Incarnation>,
        lease: Duration,
    ) {
        // A write sent in another incarnation proves nothing about this one.
        let Some(sent) = self.sent.iter().find(|sent| sent.attempt == attempt).copied() else { return };
        // The answer shows the incarnation just as an inspection sent at the same time would.
        if let Some((known, shown)) = &mut self.incarnation
            && incarnation == Some(*known)
        {
            *shown = (*shown).max(sent.at);
        }
        self.acknowledged = incarnation;
        // A lease after the write was overtaken, no leader counts on an undone lease.
        let is_over = sent.overtaken.is_some_and(|overtaken| self.latest >= overtaken + lease);
        self.went_back = revision <= sent.mark && !is_over;
        self.known = if self.went_back { revision } else { self.known.max(revision) };
        for earlier in self.sent.iter_mut().filter(|sent| sent.attempt < attempt && sent.expected < revision)
        {
            earlier.overtaken.get_or_insert(self.latest);
        }
    }
}

impl AnotherIncarnation {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }
}

impl Oracle for AnotherIncarnation {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I12",
            "Another incarnation of the store, or a lower acknowledgement, ends the term. No candidate wins in an incarnation younger than a lease.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Tick, Seen::Input, Seen::Handled, Seen::Asked, Seen::Reported]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => self.nodes[*node] = Node::default(),
            Observation::Input { node, clock, input } => {
                let node = &mut self.nodes[*node];
                (node.another, node.changed) = (false, false);
                (node.acknowledged, node.went_back) = (None, false);
                node.latest = node.latest.max(*clock);
                if let Input::Inspected(Ok(info)) = input {
                    let newer = node.incarnation.is_none_or(|(_, asked_at)| info.asked_at >= asked_at);
                    if newer {
                        node.another = info.asked_at >= node.wrote
                            && node
                                .incarnation
                                .is_some_and(|(incarnation, _)| incarnation != info.incarnation);
                        node.changed =
                            node.incarnation.is_some_and(|(incarnation, _)| incarnation != info.incarnation);
                        node.remembers |= node.changed;
                        if node.changed {
                            (node.known, node.sent) = (Revision(0), VecDeque::new());
                        }
                        node.incarnation = Some((info.incarnation, info.asked_at));
                    }
                }
                match input {
                    Input::Watched(entry) => {
                        node.known = node.known.max(entry.revision().unwrap_or_default());
                    }
                    Input::Answered(Answer::Wrote {
                        attempt,
                        outcome: Outcome::Applied { revision, incarnation },
                    }) => {
                        node.acknowledge(*attempt, *revision, *incarnation, view.plan.lease);
                    }
                    _ => {}
                }
            }
            Observation::Handled { node: place, campaign, lease, .. } => {
                let node = &mut self.nodes[*place];
                let holds = matches!(campaign.state(), State::Holding | State::Leading | State::Draining);
                node.held = (node.held.1, holds);
                let Some(lease) = lease else { return Ok(()) };
                if node.another
                    || node.acknowledged.is_some_and(|incarnation| incarnation != lease.token.incarnation)
                {
                    return Err(format!(
                        "c{place} knows of another incarnation but keeps leading: {lease:?}"
                    ));
                }
                if node.went_back {
                    return Err(format!(
                        "c{place} received the acknowledgement of a lower revision but keeps leading: {lease:?}"
                    ));
                }
            }
            Observation::Output { node, campaign, output, .. } => {
                if let Output::Ask(Request::Write(write)) = output {
                    let node = &mut self.nodes[*node];
                    node.wrote = node.latest;
                    if node.sent.len() == 64 {
                        node.sent.pop_front();
                    }
                    let expected = match write.expect {
                        Expect::Absent => Revision(0),
                        Expect::Revision(revision) => revision,
                    };
                    node.sent.push_back(Sent {
                        attempt: write.attempt,
                        expected,
                        at: node.latest,
                        mark: node.known,
                        overtaken: None,
                    });
                }
                if let Output::Event(Event::Warning(Warning::StoreReset { .. })) = output {
                    let node = &mut self.nodes[*node];
                    (node.known, node.sent) = (Revision(0), VecDeque::new());
                    // A holder may have released a lease whose token is too small.
                    if !node.changed && !node.held.0 && campaign.state() != State::Releasing {
                        node.said = Some(node.latest);
                    }
                }
                let Some(ReportedTerm::Won(term)) = reported_term(output) else { return Ok(()) };
                let seen = &self.nodes[*node];
                if let Some(since) = seen.said.map(|said| seen.latest.since(said))
                    && since < campaign.lease_time()
                {
                    return Err(format!(
                        "c{node} won {} only {since:?} after the store went back",
                        term.token
                    ));
                }
                let excused = view.promises.excuses(view.now, *node) || !view.promises.one_leader(view.now);
                // An operator's statement about a new incarnation applies to candidates that knew no earlier one.
                if view.never_used && !seen.remembers || excused {
                    return Ok(());
                }
                // In a former incarnation a candidate leads at most for the lease that it had there.
                if term.token.incarnation != view.incarnation {
                    return Ok(());
                }
                // The candidate's own clock may run fast by a hundredth.
                let age = view.now.since(view.made);
                if age < campaign.lease_time() * 98 / 100 {
                    return Err(format!("c{node} won {} in an incarnation that is {age:?} old", term.token));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

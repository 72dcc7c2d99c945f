//! The rules of DESIGN.md, Leaving on one's own will.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::{Event, Input, Output, Request, State};
use incumbent_core::store::Action;

use super::Oracle;
use super::known::Work;
use crate::observation::{Observation, Seen, View};

/// The longest time for which a close waits for the release.
const CLOSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Leaving {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    latest: Instant,
    leads: bool,
    /// Whether the candidate was just asked to leave, or its handler just failed.
    asked: bool,
    failed: bool,
    draining: Option<Instant>,
    /// Since when the candidate should be leaving.
    closing: Option<Instant>,
    unhealthy: bool,
    work: Work,
    /// When the candidate lost its last term.
    lost: Instant,
}

impl Leaving {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }
}

impl Node {
    fn observe_input(&mut self, clock: Instant, input: &Input) {
        self.latest = self.latest.max(clock);
        (self.asked, self.failed) = (false, false);
        self.work.observe_input(input);
        match input {
            Input::Resign | Input::HandOver(_) => self.asked = self.leads,
            Input::Health(healthy) => {
                self.unhealthy = !healthy;
                self.asked = self.leads && !healthy;
            }
            Input::Close => {
                self.asked = self.leads;
                self.closing = self.closing.or(Some(self.latest));
            }
            Input::HandlerFailed => self.failed = self.leads,
            _ => {}
        }
    }

    fn observe_event(&mut self, event: &Event) -> Result<(), &'static str> {
        self.work.observe_event(event);
        match event {
            Event::Won(_) if self.unhealthy => return Err("wins while unhealthy"),
            Event::Draining { until, .. } => self.draining = Some(*until),
            Event::Lost { reason, .. } => {
                if reason.may_drain() && self.draining.is_none() {
                    return Err("left without time to finish its work");
                }
                self.draining = None;
                self.lost = self.latest;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Oracle for Leaving {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "leaving",
            "A leader that is asked to leave drains for a bounded time and leaves; a failed handler ends the term; a close \
             ends; nothing is released before the work of the term has ended.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Tick, Seen::Input, Seen::Handled, Seen::Asked, Seen::Reported, Seen::Drained]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => self.nodes[*node] = Node::default(),
            Observation::Input { node, clock, input } => self.nodes[*node].observe_input(*clock, input),
            Observation::Handled { node: place, campaign, lease, .. } => {
                let node = &mut self.nodes[*place];
                let led = std::mem::replace(&mut node.leads, lease.is_some());
                if led && !node.leads {
                    node.closing = node.closing.map(|_| node.latest);
                }
                if node.leads && node.draining.is_some_and(|until| node.latest >= until) {
                    return Err(format!("c{place} drains beyond its time"));
                }
                let over = node.closing.is_some_and(|since| node.latest >= since + CLOSE);
                if over && !node.leads && campaign.state() != State::Closed {
                    return Err(format!("c{place} is closing but still {:?}", campaign.state()));
                }
            }
            Observation::Output { node, output: Output::Event(event), .. } => {
                return self.nodes[*node].observe_event(event).map_err(|says| format!("c{node} {says}"));
            }
            Observation::Output { node: place, campaign, output: Output::Ask(Request::Write(write)) } => {
                let node = &self.nodes[*place];
                // After the end of the lease there is nothing left that a candidate could wait for.
                let lasts = node.latest < node.lost + campaign.lease_time();
                let waits = campaign.state() == State::Releasing && node.work == Work::Ends && lasts;
                if waits && matches!(write.action, Action::Release { .. }) {
                    return Err(format!(
                        "c{place} releases its lease while the work of its term is still running"
                    ));
                }
                if waits {
                    return Err(format!(
                        "c{place} lost its term and its work is still running, but it sends {write:?}"
                    ));
                }
            }
            Observation::Output { node: place, output: Output::WakeAt(_), .. } => {
                let node = &self.nodes[*place];
                if node.leads && node.asked && node.draining.is_none() {
                    return Err(format!("c{place} was asked to leave but keeps leading"));
                }
                if node.leads && node.failed {
                    return Err(format!("c{place} keeps leading although its handler failed"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

//! I3.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::campaign::{Answer, Input, Lease, Output, Request};
use incumbent_core::record::{Attempt, Entry, Nonce};
use incumbent_core::store::{Outcome, StoreInfo};
use incumbent_core::{Incarnation, Instant, Revision, Token};

use super::Oracle;
use super::known::lease_end;
use crate::observation::{Observation, Seen, View};

/// The number of attempts that a campaign remembers.
const REMEMBERED: usize = 128;

/// Knows from the store itself which attempts were applied, and in which incarnation.
#[derive(Debug)]
pub(super) struct DeadlineFromTheSend {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    attempt: Attempt,
    at: Instant,
    /// The term in which the write was sent.
    term: Option<Token>,
}

#[derive(Debug, Default)]
struct Node {
    nonce: Option<Nonce>,
    sent: VecDeque<Sent>,
    /// When the newest applied attempt was sent, by the candidate's clock.
    applied: Option<Instant>,
    /// For each incarnation of the store, when the newest request was sent whose answer proves that incarnation. Such a
    /// request is an inspection, or a write that was applied in the incarnation.
    shown: Vec<(Incarnation, Instant)>,
    /// The newest inspection that was given to the campaign.
    inspected: Option<(Incarnation, Instant)>,
    /// The longest lease that is possible with the maximum ages that were given to the campaign.
    lease: Duration,
    /// The skew in the candidate's settings, if they state one.
    skew: Option<Duration>,
    latest: Instant,
    /// Its last lease.
    stood: Option<Lease>,
    /// The term whose deadline has passed.
    lapsed: Option<Token>,
    /// An attempt of the present term whose acknowledgement was just given to the campaign.
    acknowledged: Option<Sent>,
    /// The newest record of the candidate that was given to the campaign, in the known incarnation. An earlier applied
    /// write proves nothing about this record, because the key may have been deleted in between.
    own: Revision,
}

impl Node {
    fn shows(&mut self, incarnation: Incarnation, asked_at: Instant) {
        match self.shown.iter_mut().find(|(known, _)| *known == incarnation) {
            Some((_, newest)) => *newest = asked_at.max(*newest),
            None => self.shown.push((incarnation, asked_at)),
        }
    }

    fn find(&self, attempt: Attempt) -> Option<Sent> {
        self.sent.iter().rev().find(|sent| sent.attempt == attempt).copied()
    }

    /// Returns the write of an attempt, if a campaign still remembers that write.
    fn find_remembered(&self, attempt: Attempt) -> Option<Sent> {
        self.sent.iter().rev().take(REMEMBERED).find(|sent| sent.attempt == attempt).copied()
    }

    fn inspect(&mut self, info: &StoreInfo, configured: Duration) {
        self.shows(info.incarnation, info.asked_at);
        let newest = self.inspected.is_none_or(|(_, before)| info.asked_at >= before);
        if newest {
            if self.inspected.is_some_and(|(incarnation, _)| incarnation != info.incarnation) {
                self.own = Revision(0);
            }
            self.inspected = Some((info.incarnation, info.asked_at));
        }
        let lease = info.max_age.map_or(configured, |age| age.min(configured));
        // An inspection requested before the newest write may be older than the state that the write proved. It then
        // does not count.
        let counts = newest && self.sent.back().is_none_or(|sent| info.asked_at >= sent.at);
        self.lease = if counts { lease } else { lease.max(self.lease) };
    }

    fn observe_input(&mut self, clock: Instant, input: &Input, configured: Duration) {
        self.latest = self.latest.max(clock);
        self.acknowledged = None;
        let lapsed = self.stood.filter(|lease| self.latest >= lease.deadline);
        self.lapsed = lapsed.map(|lease| lease.token).or(self.lapsed);
        match input {
            Input::Inspected(Ok(info)) => self.inspect(info, configured),
            Input::Watched(Entry::Live(record))
            | Input::Answered(Answer::Read { result: Ok(Entry::Live(record)), .. })
                if record.write_id.map(|write_id| write_id.nonce) == self.nonce =>
            {
                self.own = self.own.max(record.revision);
            }
            Input::Answered(Answer::Wrote { attempt, outcome: Outcome::Applied { revision, .. } })
                if lapsed.is_none() && *revision >= self.own =>
            {
                let term = self.stood.map(|lease| lease.token);
                self.own = *revision;
                self.acknowledged =
                    self.find_remembered(*attempt).filter(|sent| term.is_some() && sent.term == term);
            }
            _ => {}
        }
    }

    /// Checks a reported lease. `own` is the lease time that the campaign reports to be in force.
    fn check(&self, lease: Lease, own: Duration) -> Result<(), String> {
        let Lease { token, deadline } = lease;
        let Some(applied) = self.applied else {
            return Err("leads, but no write of it was ever applied".into());
        };
        let shown = self.shown.iter().find(|(incarnation, _)| *incarnation == token.incarnation);
        let proven = applied.min(shown.map_or(Instant::ZERO, |(_, at)| *at));
        let latest = lease_end(proven, self.lease, self.skew);
        if deadline > latest {
            return Err(format!(
                "has the deadline {deadline:?}, but what was proved allows at most {latest:?}"
            ));
        }
        if self.lapsed == Some(token) {
            return Err(format!("leads again with {token}, although its deadline had passed"));
        }
        // An answer counts no matter when it arrives.
        let shown = self.inspected.filter(|(incarnation, _)| *incarnation == token.incarnation);
        if let (Some(sent), Some((_, shown))) = (self.acknowledged, shown) {
            let least = lease_end(sent.at.min(shown), own, self.skew);
            if deadline < least {
                return Err(format!(
                    "has the deadline {deadline:?}, although {:?} allows {least:?}",
                    sent.attempt
                ));
            }
        }
        Ok(())
    }
}

impl DeadlineFromTheSend {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: (0..count).map(|_| Node::default()).collect() }
    }
}

impl Oracle for DeadlineFromTheSend {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I3",
            "A deadline derives only from the send of an applied attempt, whenever its answer came, and of a question that \
             proved the incarnation; no ended term continues.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Tick, Seen::Input, Seen::Handled, Seen::Asked, Seen::Applied]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                let lease = view.plan.settings[*node].lease;
                let skew = view.plan.skew_of(*node);
                self.nodes[*node] = Node { nonce: Some(*nonce), lease, skew, ..Node::default() };
            }
            Observation::Input { node, clock, input } => {
                self.nodes[*node].observe_input(*clock, input, view.plan.settings[*node].lease);
            }
            Observation::Output { node, output: Output::Ask(Request::Write(write)), .. } => {
                let node = &mut self.nodes[*node];
                if node.sent.len() == 256 {
                    node.sent.pop_front();
                }
                let term = node.stood.map(|lease| lease.token);
                node.sent.push_back(Sent { attempt: write.attempt, at: node.latest, term });
            }
            Observation::Applied { nonce, attempt, incarnation, .. } => {
                let Some(node) = self.nodes.iter_mut().find(|node| node.nonce == Some(*nonce)) else {
                    return Ok(());
                };
                let Some(sent) = node.find(*attempt) else { return Ok(()) };
                node.applied = node.applied.max(Some(sent.at));
                node.shows(*incarnation, sent.at);
            }
            Observation::Handled { node: place, campaign, lease, .. } => {
                let node = &mut self.nodes[*place];
                node.stood = *lease;
                if let Some(lease) = node.stood {
                    node.check(lease, campaign.lease_time()).map_err(|says| format!("c{place} {says}"))?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

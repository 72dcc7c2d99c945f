//! One line for each change that a person cannot see: the wait for a leader, leading, and its end.
//!
//! A program reads the events of `--json` instead, so with `--json` no notices are written.

use std::time::Duration;

use incumbent::{Candidate, Leader, Reason, State};
use tokio::time::Instant;

use crate::stderr::notice;

/// The time after which a wait that no other line explains is reported. An acquire and the random wait before it take
/// less.
const UNEXPLAINED: Duration = Duration::from_secs(3);

/// The lines of one candidate.
pub(super) struct Notices {
    candidate: Option<Candidate>,
    /// The leader that the last line named.
    leader: Option<String>,
    /// The time at which an unexplained wait is reported.
    due: Option<Instant>,
    /// The time until which another line has explained every wait.
    explained: Option<Instant>,
}

impl Notices {
    /// Returns the notices of a candidate, or none without one.
    pub(super) fn new(candidate: Option<Candidate>) -> Self {
        let due = candidate.is_some().then(|| Instant::now() + UNEXPLAINED);
        Self { candidate, leader: None, due, explained: None }
    }

    /// Reports who leads, if this candidate waits for that leader.
    pub(super) fn leader_changed(&mut self, leader: Option<&Leader>) {
        let Some(candidate) = &self.candidate else { return };
        let other = leader.map(|leader| &leader.name).filter(|name| *name != candidate.name());
        if let Some(name) = other.filter(|name| self.leader.as_ref() != Some(*name)) {
            notice(format_args!("waiting for {}: {name} leads", candidate.election()));
        }
        self.leader = other.cloned();
        let waits = other.is_none() && !candidate.is_leader();
        self.due = waits.then(|| Instant::now() + UNEXPLAINED);
    }

    /// Reports that a term has begun.
    pub(super) fn won(&mut self) {
        let Some(candidate) = &self.candidate else { return };
        (self.leader, self.due) = (None, None);
        notice(format_args!("{} leads {}", candidate.name(), candidate.election()));
    }

    /// Reports that a term has ended.
    pub(super) fn lost(&mut self, reason: Reason) {
        let Some(candidate) = &self.candidate else { return };
        let (name, election) = (candidate.name(), candidate.election());
        notice(format_args!("{name} no longer leads {election}: {reason}"));
        self.due = (candidate.state() != State::Closed).then(|| Instant::now() + UNEXPLAINED);
    }

    /// Records that another line has just explained the wait.
    pub(super) fn explained(&mut self) {
        self.due = None;
    }

    /// Records that another line has just explained a wait of that length.
    pub(super) fn explained_for(&mut self, wait: Duration) {
        // The addition cannot overflow. A wait is a difference of the machines' instants, 584 years at most, which is
        // less than this clock can count.
        self.explained = Some(Instant::now() + wait + UNEXPLAINED);
    }

    /// The time at which an unexplained wait is reported.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.map(|due| self.explained.map_or(due, |explained| due.max(explained)))
    }

    /// Reports a wait that no other line explains.
    pub(super) fn unexplained(&mut self) {
        self.due = None;
        let Some(candidate) = &self.candidate else { return };
        let election = candidate.election();
        match candidate.state() {
            State::Holding => notice(format_args!(
                "waiting for {election}: {} has the lease, and will lead once the previous lease is certainly over",
                candidate.name()
            )),
            State::Waiting | State::Acquiring => notice(format_args!(
                "waiting for {election}: no candidate leads until the previous lease is certainly over and the store \
                 answers"
            )),
            // The candidate stays out, which the health check reports, or it has just begun or is leaving.
            State::Idle
            | State::Splaying
            | State::Leading
            | State::Draining
            | State::Releasing
            | State::Closed => {}
        }
    }
}

//! A candidate on a session, with what the session knows about it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::CampaignId;
use super::candidates::Slot;
use super::entering::Entering;
use super::io::{Enter, Output};
use super::starting::First;
use super::wishes::Queued;
use crate::campaign::{Event, Lease};
use crate::candidacy::{Candidacy, Rule, Vacancy};
use crate::time::Instant;
use crate::token::{Revision, Token};

/// The time limit of an answer for a campaign whose lease is not known yet.
const FIRST_LIMIT: Duration = Duration::from_secs(10);

/// A candidate on the session.
#[derive(Clone, Debug)]
pub(super) struct Candidate<R: Rule> {
    pub(super) id: CampaignId,
    /// The slot of the next candidate in the same election.
    pub(super) next: Slot,
    pub(super) election: Arc<str>,
    pub(super) stage: Stage<R>,
    pub(super) healthy: bool,
    /// How long an answer from the store to this candidate can matter.
    pub(super) limit: Duration,
    /// When the campaign last sent something.
    pub(super) last_sent: Instant,
    pub(super) campaigning: bool,
    pub(super) lease: Option<Lease>,
    pub(super) lease_time: Option<Duration>,
    pub(super) operator: Operator,
    pub(super) vacancy: Vacancy,
    pub(super) first: First,
    /// The request that waits for its turn.
    pub(super) wish: Option<Queued>,
}

#[derive(Clone, Debug)]
pub(super) enum Stage<R: Rule> {
    Entering(Box<Entering<R::Early>>),
    Running(Box<Candidacy<R>>),
}

/// An operator's requests to a candidate. Each request is considered a single time, though a new watch shows it again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operator {
    /// The last requests considered.
    hand_over: Option<Revision>,
    acceptance: Option<Revision>,
    /// The largest token that the candidate has observed, if it stays out because the store would give no larger one.
    barred_by: Option<Token>,
}

impl<R: Rule> Candidate<R> {
    pub(super) fn new(enter: Enter) -> Self {
        Self {
            id: enter.id,
            next: 0,
            election: Arc::clone(&enter.election),
            stage: Stage::Entering(Box::new(Entering::new(enter))),
            healthy: true,
            limit: FIRST_LIMIT,
            last_sent: Instant::ZERO,
            campaigning: false,
            lease: None,
            lease_time: None,
            operator: Operator::default(),
            vacancy: Vacancy::default(),
            first: First::Over,
            wish: None,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running(_))
    }

    pub(super) fn campaign(&self) -> Option<&Candidacy<R>> {
        match &self.stage {
            Stage::Running(campaign) => Some(campaign),
            Stage::Entering(_) => None,
        }
    }

    pub(super) fn report(&self, events: Vec<Event>) -> Output<R::Request, R::Timer> {
        Output::Report { id: self.id, lease: self.lease, lease_time: self.lease_time, events }
    }
}

impl Operator {
    /// Whether this hand-over differs from the last one considered.
    pub(super) fn asks_to_hand_over(&mut self, revision: Revision) -> bool {
        self.hand_over.replace(revision) != Some(revision)
    }

    /// Notes that the candidate stays out because of the token `by`, or, if that is `None`, that it no longer stays
    /// out.
    pub(super) fn bars(&mut self, by: Option<Token>) {
        self.barred_by = by;
    }

    /// Accepts that tokens up to `seen` are forgotten. Returns whether that lets the candidate in, which it does at
    /// most once. `is_here` states whether the request is about the present store.
    pub(super) fn accepts(&mut self, revision: Revision, seen: Token, is_here: bool) -> bool {
        let is_new = self.acceptance.replace(revision) != Some(revision);
        let is_named = self.barred_by.is_some_and(|barred_by| barred_by <= seen);
        let accepted = is_new && is_named && is_here;
        if accepted {
            self.barred_by = None;
        }
        accepted
    }
}

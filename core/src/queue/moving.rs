//! Moves the companions of a connection to another lease, for one of three reasons.
//!
//! The first reason is that the lease has to run out. All companions of a connection are attached to one lease, and the
//! rounds of all its candidates keep it alive. A companion that its owner cannot delete would block its election as
//! long as another candidate of the process lives. So the connection gets another lease, and its other candidates move
//! their companions there at once.
//!
//! The second reason is that the lease is of an earlier raft term: if its owner crashes, the next leader
//! [waits](super::line) one more lease. So after the store elects a leader, the connection gets a lease of the new
//! term, and each candidate moves its companion in its next rounds. If a candidate cannot move it, only the time of
//! that wait is lost.
//!
//! The third reason is a companion in the way that no process deletes: its candidate is over, but a store that went
//! back holds the companion again. The connection that owns the lease would keep it alive without end.
//!
//! A companion moves with a put that compares the revision that last wrote it. So of two puts for one companion, the
//! later one is refused.
//!
//! A move is proved like an entry. Until a read shows the companion on its new lease, the companion may be on either
//! lease. Each round keeps both alive, and the deadline counts only from a round that kept alive the very lease on
//! which its read shows the companion. There is one move at a time, so a companion is never on a third lease.
//!
//! The former lease runs out when no candidate keeps it alive any more. If no other lease can be had, or a companion
//! cannot be put on it, the former lease stays in use, and a warning reports what that costs.

use alloc::format;
use core::time::Duration;

use super::answers::Failure;
use super::io::{Action, LeaseId, Leases, Outcome, Request, Snapshot, Tell};
use super::settings::EXPIRED;
use super::turns::Wanted;
use super::{Keys, Purpose, Queue, Race};
use crate::campaign::{Warning, pace};
use crate::candidacy::{Candidacy, Stage};
use crate::store::Fault;
use crate::time::Instant;

/// A companion on its way to another lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Move {
    to: LeaseId,
    /// Whether a put was sent that may have been applied, or may still be.
    sent: bool,
    /// Whether a put before the last one was never answered.
    doubtful: bool,
}

impl Keys {
    pub(super) fn leases(&self) -> Leases {
        let moves_to = self.moves.map(|moves| moves.to);
        Leases { place: self.lease, companion: self.companion, moves_to }
    }

    /// The lease on which the companion may be for the longest time.
    pub(super) fn last_companion(&self) -> LeaseId {
        self.moves.filter(|moves| moves.sent).map_or(self.companion, |moves| moves.to)
    }

    /// Whether the companion may be on this lease.
    pub(super) fn has_companion_on(&self, lease: LeaseId) -> bool {
        self.companion == lease || self.moves.is_some_and(|moves| moves.to == lease)
    }
}

/// The state of a companion that could not be deleted, and is the first to be removed.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) enum Stranded {
    /// Other campaigns of the connection keep the companion's lease alive, or may start to do so.
    Kept {
        /// When to ask for another lease again.
        ask_at: Instant,
        /// Whether other candidates were found to use the lease, and a warning was reported.
        warned: bool,
        /// The connection has another lease.
        moved: bool,
    },
    /// No candidate keeps it alive.
    RunsOut {
        /// When the lease will have run out.
        at: Instant,
        /// Whether the store has left a request unanswered since then. It may have elected a new leader, which extends
        /// the lease.
        unanswered: bool,
    },
}

impl Candidacy<Queue> {
    /// Whether this campaign keeps a companions' lease alive, or will do so if an answer names the lease.
    pub fn keeps_companion_on(&self, lease: LeaseId) -> bool {
        match &self.stage {
            Stage::Racing(Race::Placed(placed)) => placed.keys.has_companion_on(lease),
            Stage::Racing(Race::Entering(entering)) => entering.has_companion_on(lease),
            _ => false,
        }
    }

    // ---- the connection's lease ----

    /// Asks for another lease to replace the lease `from`, for all companions of the connection.
    pub(super) fn ask_for_another(&mut self, from: LeaseId) {
        if self.own.shared.leaves.is_none() {
            self.own.shared.leaves = Some(from);
            self.send(Request::Share { gone: Some(from), ttl: self.lease });
        }
    }

    /// Notes that the connection has another lease, or cannot get one.
    pub(super) fn another_is_shared(&mut self, from: LeaseId, result: &Result<LeaseId, Failure>) {
        let of_ours = self.own.removal.hangs_on(from);
        match (result, &mut self.own.removal.stranded) {
            (Ok(to), stranded) if *to != from => {
                if let Some(Stranded::Kept { moved, .. }) = stranded {
                    *moved |= of_ours;
                }
                self.tell(Tell::Move { from, to: *to });
            }
            (Err(failure), Some(Stranded::Kept { warned: true, .. })) => self.lease_stays(
                failure,
                "A companion cannot be deleted and its lease stays in use because no other lease is available: this election \
                 has no leader",
            ),
            _ => {}
        }
    }

    pub(super) fn connection_moves(&mut self, from: LeaseId, to: LeaseId) {
        if self.own.shared.lease == Some(from) {
            self.own.shared.lease = Some(to);
        }
        // If another lease is known here, this campaign has another lease time and is not affected.
        if self.own.shared.lease.is_none_or(|shared| shared == to) {
            self.own.shared.gone = Some(from);
        }
        if self.placed().is_some_and(|placed| placed.keys.companion == from) {
            self.begin_round();
        }
    }

    /// Asks for a lease of this raft term, which a proof showed, if the companion's lease is of another term. It asks
    /// at each proof until the lease arrives. After a restore terms start again, so a lease of the former store may
    /// have a term that is still to come.
    pub(super) fn renew_shared(&mut self, raft_term: u64) {
        let Some(placed) = self.placed() else { return };
        let (companion, moves) = (placed.keys.companion, placed.keys.moves.is_some());
        let is_of_another = |lease: LeaseId| lease.raft_term() != raft_term;
        if !moves
            && is_of_another(companion)
            && self.own.shared.lease.is_none_or(is_of_another)
            && self.own.shared.leaves.is_none()
        {
            let gone = self.own.shared.lease.take().or(Some(companion));
            self.send(Request::Share { gone, ttl: self.lease });
        }
    }

    /// Asks for another lease if a companion without a place has been ahead for a lease. That companion may belong to a
    /// finished candidate of this connection, brought back by a store that went back. Then the connection itself keeps
    /// it alive, and it disappears with its lease once no candidate of the connection has a companion on that lease.
    pub(super) fn leave_the_lease_in_the_way(&mut self) {
        let (lease, now) = (self.lease, self.now);
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        if let Some(on) = placed.line.in_the_way(lease, now) {
            self.ask_for_another(on);
        }
    }

    // ---- a companion that moves ----

    /// Plans a move before a round: if the connection has another lease, the companion will move there once that lease
    /// is kept alive.
    pub(super) fn plan_move(&mut self) {
        let shared = self.own.shared.lease;
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let keys = &mut placed.keys;
        if keys.moves.is_none() {
            let to = shared.filter(|to| *to != keys.companion);
            keys.moves = to.map(|to| Move { to, sent: false, doubtful: false });
        }
    }

    /// Ends a move if a round kept both leases alive and its read shows the companion on the new one. Later writes of
    /// the companion use that lease.
    pub(super) fn end_move(&mut self, snapshot: &Snapshot) {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let keys = &mut placed.keys;
        let shown = snapshot.companion.as_ref().and_then(|companion| companion.lease);
        if let Some(moves) = keys.moves.take_if(|moves| shown == Some(moves.to)) {
            keys.companion = moves.to;
            self.own.reported.stays = false;
        }
    }

    /// Puts the companion onto the other lease, if a round kept that lease alive and the companion has not moved yet.
    pub(super) fn advance_move(&mut self, snapshot: &Snapshot) {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let keys = &mut placed.keys;
        let Some(companion) = keys.moves.and(snapshot.companion.as_ref()) else { return };
        keys.modified = companion.modified;
        self.put_companion();
    }

    pub(super) fn put_companion(&mut self) {
        if self.own.awaited.is_some() || !self.moves() || !self.may_ask(Wanted::Move) {
            return;
        }
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let keys = &mut placed.keys;
        let Some(moves) = &mut keys.moves else { return };
        moves.sent = true;
        let (to, modified, own) = (moves.to, keys.modified, keys.own());
        self.write(Purpose::Move, Action::Move { own, modified, to });
    }

    /// Whether the companion has to move to another lease.
    pub(super) fn moves(&self) -> bool {
        self.placed().is_some_and(|placed| placed.keys.moves.is_some())
    }

    pub(super) fn moved(&mut self, outcome: &Outcome) {
        match outcome {
            // A read will show where the companion is.
            Outcome::Applied { .. } | Outcome::Refused { .. } => self.begin_round(),
            // No put that names this lease can be applied any more.
            Outcome::Failed(Failure::LeaseGone) => {
                if let Stage::Racing(Race::Placed(placed)) = &mut self.stage
                    && let Some(moves) = placed.keys.moves.take()
                {
                    self.lease_is_gone(moves.to);
                    self.ask_for_another(moves.to);
                }
                self.begin_round();
            }
            // The next round sends the put again.
            Outcome::Failed(failure) => {
                let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
                let from = placed.keys.companion;
                let Some(moves) = &mut placed.keys.moves else { return };
                moves.doubtful |= failure.may_be_applied();
                moves.sent = moves.doubtful;
                if from.raft_term() < moves.to.raft_term() {
                    return;
                }
                self.lease_stays(
                    failure,
                    "A companion of another election cannot be deleted, and this candidate cannot leave the lease of that \
                     companion: the other election has no leader",
                );
            }
        }
    }

    /// Whether a put may have attached the companion to its new lease.
    pub(super) fn may_have_moved(&self) -> bool {
        self.placed().and_then(|placed| placed.keys.moves).is_some_and(|moves| moves.sent)
    }

    /// Handles the loss of the new lease. Returns whether the move is over, because no put was sent that may still be
    /// applied.
    pub(super) fn cannot_move(&mut self) -> bool {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return true };
        let Some(moves) = placed.keys.moves.take_if(|moves| !moves.sent) else {
            return placed.keys.moves.is_none();
        };
        self.lease_is_gone(moves.to);
        self.ask_for_another(moves.to);
        true
    }

    /// Warns that the former lease stays in use, and states what that costs.
    fn lease_stays(&mut self, failure: &Failure, cost: &str) {
        let Some(fault) = failure.fault() else { return };
        if !core::mem::replace(&mut self.own.reported.stays, true) {
            let detail = format!("{}. {cost} until this is fixed or the process ends", fault.detail);
            self.warn(Warning::Store(Fault { kind: fault.kind, detail }));
        }
    }

    // ---- a companion that cannot be deleted ----

    /// Notes that, by the store's answer, a companion could not be deleted. Returns whether the companion will
    /// certainly disappear anyway.
    pub(super) fn is_stranded(&mut self, on: LeaseId, asked: Instant, cause: &Fault) -> bool {
        let (lease, now) = (self.lease, self.now);
        match &mut self.own.removal.stranded {
            None => {
                self.own.removal.stranded =
                    Some(Stranded::Kept { ask_at: asked + lease, warned: false, moved: false });
                self.tell(Tell::Stranded { on });
            }
            Some(Stranded::Kept { ask_at, warned, .. }) if *ask_at <= now => {
                *ask_at = now + pace::renew_every(lease);
                if !core::mem::replace(warned, true) {
                    let detail = format!(
                        "{}. A companion of a former place could not be deleted for a whole lease and blocks this election; \
                         the other candidates of this process move to another lease, so that this one runs out",
                        cause.detail
                    );
                    self.warn(Warning::Store(Fault { kind: cause.kind, detail }));
                }
                self.ask_for_another(on);
            }
            Some(Stranded::Kept { .. }) => {}
            // This is the first answer after a silence, so the store has elected its leader by now.
            Some(Stranded::RunsOut { unanswered: true, .. }) => self.runs_out(lease),
            Some(Stranded::RunsOut { at, .. }) => return *at <= now,
        }
        false
    }

    /// Waits until the stranded companion's lease has run out, which takes `left` and the time in which a keep-alive
    /// may still be in flight.
    fn runs_out(&mut self, left: Duration) {
        let until = self.now + self.attempt_limit() + left + EXPIRED;
        self.own.removal.stranded = Some(Stranded::RunsOut { at: until, unanswered: false });
    }

    /// Whether the companion's lease should have run out by now. The store's next leader may have extended it.
    pub(super) fn has_run_out(&self) -> bool {
        matches!(self.own.removal.stranded, Some(Stranded::RunsOut { at, .. }) if at <= self.now)
    }

    /// Notes that the store did not answer. It may have elected a leader, which extends the lease before its first
    /// answer.
    pub(super) fn gave_no_answer(&mut self) {
        if let Some(Stranded::RunsOut { unanswered, .. }) = &mut self.own.removal.stranded {
            *unanswered = true;
        }
    }

    /// Waits a little longer, because a read still shows the companion.
    pub(super) fn runs_out_soon(&mut self) {
        self.runs_out(Duration::ZERO);
    }

    /// Notes that no candidate of the connection keeps this lease alive. The lease runs out once no candidate can start
    /// to do so, because the connection has another lease.
    pub(super) fn left_by_all(&mut self, lease: LeaseId) {
        if !self.own.removal.hangs_on(lease) {
            return;
        }
        match &mut self.own.removal.stranded {
            Some(Stranded::Kept { moved: true, .. }) => self.runs_out(self.lease),
            Some(Stranded::Kept { ask_at, .. }) => {
                *ask_at = self.now + pace::renew_every(self.lease);
                self.ask_for_another(lease);
            }
            _ => {}
        }
    }
}

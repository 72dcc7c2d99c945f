//! Giving way: a place that cannot be proved is left to others, and its candidate rests and probes.
//!
//! Keep-alives need no permission on the keys, and may be answered while reads are not. So a candidate whose proofs
//! fail could keep its place, and keep every candidate behind it from leading. After a lease without a proof it leaves
//! the queue. It does so whether it is first or not, because without reads it cannot know whether it is.
//!
//! A probe repeats the steps of a proof as far as possible without a place: keep-alives of a lease without keys and of
//! the companions' lease, then a read that names the keys of that lease. Nothing is put into the queue.

use alloc::boxed::Box;

use super::answers::Failure;
use super::io::{KeptAlive, LeaseId, Leases, Request, Snapshot};
use super::keeping::KeepAlives;
use super::leaving::Leftover;
use super::timers::Timer;
use super::turns::Wanted;
use super::{Queue, Race};
use crate::campaign::ReadId;
use crate::candidacy::{Candidacy, Stage, Step as Proof, Tried};
use crate::store::Fault;
use crate::time::Instant;

/// The probe of a candidate that rests.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Probe {
    /// The probe's own lease, which serves the whole rest.
    lease: Option<LeaseId>,
    granted: bool,
    step: Step,
}

#[derive(Clone, Debug, Default, Hash)]
enum Step {
    #[default]
    Idle,
    Granting,
    KeepingAlive(KeepAlives),
    /// The read that follows the keep-alives. A read without keep-alives only checks who is in the queue.
    Reading {
        read: ReadId,
        kept: Option<KeepAlives>,
    },
}

impl Probe {
    pub(super) fn is_under_way(&self) -> bool {
        !matches!(self.step, Step::Idle)
    }

    pub(super) fn is_of(&self, lease: LeaseId) -> bool {
        self.lease == Some(lease)
    }

    pub(super) fn keeps_alive(&self) -> bool {
        matches!(self.step, Step::KeepingAlive(_))
    }

    pub(super) fn reads(&self, read: ReadId) -> bool {
        matches!(self.step, Step::Reading { read: asked, .. } if asked == read)
    }

    pub(super) fn stop(&mut self) {
        self.step = Step::Idle;
    }

    /// The probe's lease, which is revoked when no more probes come.
    pub(super) fn leftover(&mut self) -> Option<Leftover> {
        self.lease.take().map(|lease| Leftover::unknown(lease, None, false))
    }
}

impl Candidacy<Queue> {
    /// Counts a step of a proof that was sent and failed, or was not answered in time. The candidate leaves its place
    /// after a lease without a proof.
    pub(super) fn step_failed(&mut self, step: Proof, tried: Tried, fault: Option<&Fault>) {
        let (lease, now) = (self.lease, self.now);
        if self.placed().is_none() {
            return;
        }
        self.giving_way.failed(step, tried, lease, now);
        if let Some(fault) = fault {
            self.giving_way.answered_with(fault, now);
        }
        // A leader does not give way here, because its term ends at its deadline.
        if self.giving_way.gives_way(lease) && self.term.is_none() {
            self.giving_way.withdraws(now);
            self.withdraw();
        }
    }

    /// Whether this candidate rests and must not enter. Sets the timer for the next probe, or for the end of the rest.
    pub(super) fn rests(&mut self) -> bool {
        let rests = self.giving_way.rests(self.now);
        match self.giving_way.wakes_at(self.now) {
            Some(at) => self.timers.set(Timer::Rest, at),
            None => self.timers.stop(Timer::Rest),
        }
        if !rests {
            self.own.probe.stop();
            if let Some(leftover) = self.own.probe.leftover() {
                self.own.removal.push(leftover);
                self.remove();
            }
        }
        rests
    }

    /// Probes when a probe is due. Always checks who is in the queue, because another candidate may have left, or the
    /// rest may be over.
    pub(super) fn probe(&mut self) {
        if !self.giving_way.rests(self.now) {
            return self.try_to_enter();
        }
        let can = matches!(self.stage, Stage::Racing(Race::Entering(_))) && !self.own.probe.is_under_way();
        if can && !self.may_ask(Wanted::Probe) {
            return;
        }
        let steps = self.giving_way.probe(self.lease, self.now);
        self.rests();
        if !can {
            return;
        }
        if steps.is_empty() {
            return self.probe_reads(None);
        }
        match self.own.probe.lease {
            Some(lease) if self.own.probe.granted => self.probe_keeps_alive(lease),
            _ => {
                let lease = self.draw_lease();
                self.own.probe = Probe { lease: Some(lease), granted: false, step: Step::Granting };
                self.await_probe();
                self.send(Request::Grant { lease, ttl: self.lease });
            }
        }
    }

    fn await_probe(&mut self) {
        self.timers.set(Timer::Answer, self.now + self.attempt_limit());
    }

    pub(super) fn probe_granted(&mut self, result: Result<core::time::Duration, Failure>) {
        if !matches!(self.own.probe.step, Step::Granting) {
            return;
        }
        match (result, self.own.probe.lease) {
            (Ok(_), Some(lease)) => {
                self.own.probe.granted = true;
                self.probe_keeps_alive(lease);
            }
            (Err(failure), _) => {
                self.own.probe.lease = None;
                self.try_another_member(&failure);
                self.probe_reads(None);
            }
            (Ok(_), None) => self.probe_reads(None),
        }
    }

    fn probe_keeps_alive(&mut self, lease: LeaseId) {
        let leases =
            Leases { place: lease, companion: self.own.shared.lease.unwrap_or(lease), moves_to: None };
        self.own.probe.step = Step::KeepingAlive(KeepAlives::new(leases, self.now));
        self.await_probe();
        self.send(Request::KeepAlive { leases });
    }

    pub(super) fn probe_kept_alive(
        &mut self,
        lease: LeaseId,
        sent_at: Instant,
        result: Result<KeptAlive, Failure>,
    ) {
        let now = self.now;
        let Step::KeepingAlive(keeping) = &mut self.own.probe.step else { return };
        if !keeping.expect(lease, sent_at) {
            return;
        }
        match result {
            Ok(answer) if !answer.ttl.is_zero() => {
                keeping.kept(lease, sent_at.min(now), answer);
                let kept = *keeping;
                if kept.are_answered() {
                    self.probe_reads(Some(kept));
                }
            }
            Ok(_) | Err(Failure::LeaseGone) => {
                if self.own.probe.is_of(lease) {
                    self.own.probe.lease = None;
                } else {
                    self.lease_is_gone(lease);
                }
                self.probe_reads(None);
            }
            Err(failure) => {
                self.try_another_member(&failure);
                self.probe_reads(None);
            }
        }
    }

    /// Reads the whole queue, like the first read of a candidacy.
    fn probe_reads(&mut self, kept: Option<KeepAlives>) {
        if kept.is_none() {
            self.giving_way.probed(Proof::KeepAlive, self.now, false, self.now);
        }
        let (read, own) = (self.own.round.next_read(self.now), self.own.probe.lease);
        self.own.probe.step = Step::Reading { read, kept };
        self.await_probe();
        self.send(Request::Read { read, own, whole: true });
    }

    pub(super) fn probe_read(&mut self, sent_at: Instant, result: Result<Box<Snapshot>, Failure>) {
        let now = self.now;
        let Step::Reading { kept, .. } = core::mem::take(&mut self.own.probe.step) else { return };
        self.timers.stop(Timer::Answer);
        match result {
            Ok(snapshot) => {
                let claimed = !snapshot.places.is_empty() || !snapshot.companions.is_empty();
                self.giving_way.others_claim(claimed, self.rules.worst_fail_over(), now);
                if let Some(kept) = kept {
                    let is_proof = kept.are_of(snapshot.raft_term);
                    self.giving_way.probed(Proof::KeepAlive, kept.began(), is_proof, now);
                    self.giving_way.probed(Proof::Read, sent_at, is_proof, now);
                }
            }
            Err(failure) => {
                self.try_another_member(&failure);
                self.giving_way.probed(Proof::Read, sent_at, false, now);
            }
        }
        self.try_to_enter();
    }

    pub(super) fn probe_timed_out(&mut self) {
        if let Step::KeepingAlive(kept) = &self.own.probe.step
            && self.is_stream_silent(kept.began())
        {
            self.reconnect();
        }
        self.try_another_member(&Failure::Unanswered);
        match core::mem::take(&mut self.own.probe.step) {
            Step::Reading { .. } => self.giving_way.probed(Proof::Read, self.now, false, self.now),
            // It is unknown whether the lease was granted; if it was, it runs out.
            Step::Granting => {
                self.own.probe.lease = None;
                self.probe_reads(None);
            }
            Step::Idle | Step::KeepingAlive(_) => self.probe_reads(None),
        }
    }
}

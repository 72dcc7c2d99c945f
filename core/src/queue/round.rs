//! A round: keep-alives of the leases of both keys, then a linearised read of the same raft term.
//!
//! A keep-alive alone proves nothing. It does not show whether the keys still exist, and a former leader that is paused
//! or isolated answers it from what it knows (measured: a resumed leader of 3.4.23 answered with a full time to live
//! for leases that another leader had revoked half a second before the keep-alive was sent). A linearised read is
//! answered by a majority. If its raft term is that of the keep-alives, no other leader was elected in between, so the
//! answers came from the leader that keeps the leases.
//!
//! The read may come late, and can follow the keep-alives of the previous round. So as long as the deadline of those
//! keep-alives has not passed, a change in the queue needs only a read. The deadline does not change.
//!
//! For the same reason a late answer counts: what it proves counts from the time when its request was sent. Late
//! keep-alives can be completed by their answers until the next round leaves, and a late read until a later one is
//! answered.

use alloc::boxed::Box;
use core::time::Duration;

use super::answers::{self, Failure};
use super::io::{KeptAlive, LeaseId, Request, Snapshot};
use super::keeping::KeepAlives;
use super::store_view::Sight;
use super::timers::Timer;
use super::turns::Wanted;
use super::{Queue, Race};
use crate::campaign::{ReadId, Reason, backoff, pace};
use crate::candidacy::{Candidacy, Stage, Step as Proof, Tried};
use crate::time::{Instant, nanos};
use crate::token::Revision;

/// The round under way, and the numbers of its reads.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Round {
    step: Step,
    last_read: ReadId,
    /// When it was asked for.
    asked: Instant,
    /// When the round's keep-alives were last sent.
    kept_asked: Instant,
    /// Whether the keep-alives were not answered in time, and are to be sent again. A late answer still counts.
    late: bool,
    /// The last read that was not answered in time. Its answer still counts.
    pub(super) given_up: Option<Box<GivenUp>>,
    /// The newest revision at which a change was seen. A read that does not show it must be followed by another read.
    pub(super) wanted: Revision,
    /// The number of rounds in a row whose read was from another raft term.
    other_terms: u32,
    /// The keep-alives of the newest proof.
    proven: Option<KeepAlives>,
    /// The connection has many campaigns.
    pub(super) is_one_of_many: bool,
}

/// A read that was not answered in time, and the keep-alives before it.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct GivenUp {
    read: ReadId,
    kept: KeepAlives,
    whole: bool,
    /// Whether the answer still counts, because the place is the same and no later read was answered.
    counts: bool,
}

#[derive(Clone, Debug, Default, Hash)]
enum Step {
    #[default]
    Idle,
    KeepingAlive(KeepAlives),
    Reading {
        read: ReadId,
        kept: KeepAlives,
        whole: bool,
    },
    /// A read of a candidate that has no place.
    Looking {
        read: ReadId,
    },
}

impl Round {
    pub(super) fn was_asked(&self, read: ReadId) -> bool {
        read <= self.last_read
    }

    pub(super) fn stop(&mut self) {
        (self.step, self.late, self.wanted, self.other_terms, self.proven) =
            (Step::Idle, false, Revision(0), 0, None);
        self.forget_late();
    }

    /// Notes that the answer to the abandoned read would show nothing new.
    fn forget_late(&mut self) {
        if let Some(given_up) = &mut self.given_up {
            given_up.counts = false;
        }
    }

    /// Whether the round's keep-alives are in flight and its read has not been sent yet.
    pub(super) fn keeps_alive(&self) -> bool {
        matches!(self.step, Step::KeepingAlive(_)) && !self.late
    }

    pub(super) fn next_read(&mut self, now: Instant) -> ReadId {
        (self.last_read, self.asked) = (ReadId(self.last_read.0 + 1), now);
        self.last_read
    }
}

impl Candidacy<Queue> {
    /// Begins a round, unless one is under way whose read has not been sent yet.
    pub(super) fn begin_round(&mut self) {
        if self.own.round.keeps_alive() {
            return;
        }
        let Some(placed) = self.placed() else { return };
        let deadline = placed.deadline.filter(|_| self.term.is_none());
        self.timers.stop(Timer::Round);
        if !self.may_ask(Wanted::Round) {
            // After the deadline this round waits like a read, because the leases may have run out, and a term has
            // ended.
            if let Some(deadline) = deadline.filter(|deadline| *deadline > self.now) {
                self.timers.set(Timer::Round, deadline);
            }
            return;
        }
        self.own.turns.waits.round_leaves(self.now);
        self.plan_move();
        let Some(placed) = self.placed() else { return };
        let leases = placed.keys.leases();
        self.timers.set(Timer::Answer, self.now + self.attempt_limit());
        self.own.round.step = match self.own.round.step {
            Step::KeepingAlive(kept) if kept.leases() == leases => Step::KeepingAlive(kept),
            _ => Step::KeepingAlive(KeepAlives::new(leases, self.now)),
        };
        (self.own.round.late, self.own.round.kept_asked) = (false, self.now);
        self.send(Request::KeepAlive { leases });
    }

    /// Whether a candidate with a place has a round under way or planned.
    pub(super) fn has_a_round(&self) -> bool {
        let waits = &self.own.turns.waits;
        self.placed().is_none()
            || self.timers.is_set(Timer::Round)
            || self.timers.is_set(Timer::Answer)
            || waits.contains(Wanted::Round)
            || waits.contains(Wanted::Confirm)
    }

    /// Reads the queue because of a change at this revision. If the deadline of the newest proof has not passed, its
    /// keep-alives serve this read; otherwise new ones are sent.
    pub(super) fn want_round(&mut self, revision: Revision) {
        self.own.round.wanted = self.own.round.wanted.max(revision);
        match self.own.round.step {
            Step::KeepingAlive(_) if self.own.round.late => self.confirm(),
            Step::Idle => self.confirm(),
            Step::Reading { .. } => {}
            _ => self.begin_round(),
        }
    }

    pub(super) fn confirm(&mut self) {
        let Some(placed) = self.placed() else { return };
        let leases = placed.keys.leases();
        let stands = placed.deadline.is_some_and(|deadline| deadline > self.now);
        match self.own.round.proven.filter(|kept| stands && kept.leases() == leases) {
            Some(kept) if self.may_ask(Wanted::Confirm) => {
                self.own.turns.waits.round_leaves(self.now);
                self.read_after(kept);
            }
            Some(_) => {}
            None => self.begin_round(),
        }
    }

    fn read_after(&mut self, kept: KeepAlives) {
        let (own, whole) = (kept.leases().place, self.wants_whole_queue());
        let read = self.own.round.next_read(self.now);
        self.own.round.step = Step::Reading { read, kept, whole };
        self.timers.set(Timer::Answer, self.now + self.attempt_limit());
        self.send(Request::Read { read, own: Some(own), whole });
    }

    /// Sets the next round to a multiple of a third of the lease, so that the rounds of all campaigns of a connection
    /// coincide and keep the companions' lease alive together. On a connection with many campaigns, rounds are spread
    /// over that third instead.
    fn round_later(&mut self) {
        let third = pace::renew_every(self.lease);
        let due = if self.own.round.is_one_of_many {
            pace::spread(self.now + third, self.nonce, self.lease)
        } else {
            let third = nanos(third).max(1);
            Instant::from_nanos((self.now.as_nanos() / third).saturating_add(1).saturating_mul(third))
        };
        self.timers.set(Timer::Round, due);
    }

    pub(super) fn kept_alive(
        &mut self,
        lease: LeaseId,
        sent_at: Instant,
        result: Result<KeptAlive, Failure>,
    ) {
        let now = self.now;
        let is_ours =
            self.placed().is_some_and(|placed| placed.keys.leases().iter().any(|of_ours| of_ours == lease));
        if is_ours && result.as_ref().is_ok_and(|answer| answer.ttl > Duration::ZERO) {
            self.giving_way.kept(self.lease, now);
        }
        let Step::KeepingAlive(mut keeping) = self.own.round.step else { return };
        if !keeping.expect(lease, sent_at) {
            return;
        }
        let leases = keeping.leases();
        match result {
            Ok(answer) if !answer.ttl.is_zero() => keeping.kept(lease, sent_at.min(now), answer),
            Ok(_) | Err(Failure::LeaseGone) if leases.moves_to == Some(lease) => match self.cannot_move() {
                true => keeping.moves_nowhere(),
                false => keeping.not_kept(lease),
            },
            // A read will show where the companion is.
            Ok(_) | Err(Failure::LeaseGone) if lease == leases.companion && self.may_have_moved() => {
                keeping.not_kept(lease);
            }
            // A loss needs no proof, so it does not wait for a read.
            Ok(_) | Err(Failure::LeaseGone) => {
                self.lease_is_gone(lease);
                return self.lose(Reason::Expired);
            }
            // The companion can still be moved off this lease.
            Err(Failure::Fault(_)) if lease == leases.companion && leases.moves_to.is_some() => {
                keeping.not_kept(lease);
            }
            // This round has already failed because it was late.
            Err(_) if self.own.round.late => return,
            Err(failure) => {
                let tried = Tried { asked: self.own.round.kept_asked, sent: sent_at };
                self.round_failed(&failure);
                self.step_failed(Proof::KeepAlive, tried, failure.fault());
                if failure.fault().is_some() && lease == leases.companion {
                    self.ask_for_another(lease);
                }
                return;
            }
        }
        match keeping.are_answered() {
            true => {
                if core::mem::take(&mut self.own.round.late) {
                    self.no_round_waits();
                }
                self.read_after(keeping);
            }
            false => self.own.round.step = Step::KeepingAlive(keeping),
        }
    }

    fn wants_whole_queue(&self) -> bool {
        let is_due = self.own.namesake.is_some_and(|namesake| namesake.is_due(self.now));
        match &self.stage {
            Stage::Racing(Race::Placed(placed)) => {
                !placed.line.is_known() || placed.hand_over.is_some() || is_due
            }
            _ => false,
        }
    }

    /// Reads without a place, to learn the store's revision.
    pub(super) fn look(&mut self) {
        if !self.may_ask(Wanted::Enter) {
            return;
        }
        let read = self.own.round.next_read(self.now);
        self.own.round.step = Step::Looking { read };
        self.timers.set(Timer::Answer, self.now + self.attempt_limit());
        self.send(Request::Read { read, own: None, whole: false });
    }

    pub(super) fn read_answered(
        &mut self,
        read: ReadId,
        sent_at: Instant,
        result: Result<Box<Snapshot>, Failure>,
    ) {
        let asked = self.own.turns.waits.without_wait(self.own.round.asked);
        let tried = Tried { asked, sent: sent_at };
        match self.own.round.step {
            Step::Reading { read: asked, kept, whole } if asked == read => {
                self.own.round.step = Step::Idle;
                match result {
                    Ok(snapshot) => {
                        self.own.round.forget_late();
                        self.round_ended(kept, tried, &snapshot, whole);
                    }
                    Err(failure) => {
                        if failure == Failure::Unanswered {
                            self.give_up(read, kept, whole);
                        }
                        self.round_failed(&failure);
                        self.step_failed(Proof::Read, tried, failure.fault());
                    }
                }
            }
            Step::Looking { read: asked } if asked == read => {
                self.own.round.stop();
                self.timers.stop(Timer::Answer);
                match result {
                    Ok(snapshot) => {
                        self.succeeded();
                        self.own.store.look(&snapshot);
                        self.plan();
                    }
                    Err(failure) => self.entering_failed(&failure),
                }
            }
            // The round gave up this read, and until now it was unknown whether the read had been sent.
            _ => match (result, self.own.round.given_up.as_deref().copied()) {
                (Err(failure), Some(given_up)) if given_up.read == read => {
                    self.step_failed(Proof::Read, tried, failure.fault());
                }
                (Ok(snapshot), Some(GivenUp { read: of, kept, whole, counts: true })) if of == read => {
                    self.own.round.given_up = None;
                    self.no_round_waits();
                    self.round_ended(kept, tried, &snapshot, whole);
                }
                _ => {}
            },
        }
    }

    fn give_up(&mut self, read: ReadId, kept: KeepAlives, whole: bool) {
        self.own.round.given_up = Some(Box::new(GivenUp { read, kept, whole, counts: true }));
    }

    /// Cancels the repetition of the round, which a late answer makes unnecessary.
    fn no_round_waits(&mut self) {
        self.own.turns.waits.round_leaves(self.now);
        self.timers.stop(Timer::Round);
    }

    pub(super) fn answer_timed_out(&mut self) {
        if self.own.probe.is_under_way() {
            return self.probe_timed_out();
        }
        match core::mem::take(&mut self.own.round.step) {
            Step::Idle => {}
            Step::Looking { .. } => self.entering_failed(&Failure::Unanswered),
            Step::Reading { read, kept, whole } => {
                self.give_up(read, kept, whole);
                self.round_failed(&Failure::Unanswered);
            }
            Step::KeepingAlive(kept) => {
                self.round_failed(&Failure::Unanswered);
                (self.own.round.step, self.own.round.late) = (Step::KeepingAlive(kept), true);
                // A silent stream blocks all requests behind it, for up to 7 s (measured).
                if self.is_stream_silent(kept.began()) {
                    self.reconnect();
                }
            }
        }
    }

    /// Handles a round without an answer, which neither wins nor loses. It is repeated until the deadline.
    fn round_failed(&mut self, failure: &Failure) {
        self.own.round.step = Step::Idle;
        self.timers.stop(Timer::Answer);
        self.own.turns.waits.round_leaves(self.now);
        self.failed(failure);
        let wait = backoff::standard(self.own.failures, &mut self.rng);
        self.timers.set(Timer::Round, self.now + wait);
    }

    /// An operation failed.
    pub(super) fn failed(&mut self, failure: &Failure) {
        self.own.failures = self.own.failures.saturating_add(1);
        match failure.fault() {
            Some(fault) => self.report_fault(fault.clone()),
            None if self.own.failures > 1 && matches!(failure, Failure::Unknown | Failure::Unanswered) => {
                self.report_fault(answers::unreachable());
            }
            None => {}
        }
        self.try_another_member(failure);
    }

    /// Connects again if that may help. If the store answers other requests it is only slow, and a new connection would
    /// add to its load, because everything in flight is lost.
    pub(super) fn try_another_member(&mut self, failure: &Failure) {
        let is_silent = *failure == Failure::Unanswered && self.is_silent();
        if is_silent || failure.wants_another_member() {
            self.reconnect();
        }
    }

    /// Notes that the store answered as it should.
    pub(super) fn succeeded(&mut self) {
        self.own.failures = 0;
        self.reports.is_well();
    }

    fn round_ended(&mut self, kept: KeepAlives, tried: Tried, snapshot: &Snapshot, whole: bool) {
        if matches!(self.own.round.step, Step::Idle) {
            self.timers.stop(Timer::Answer);
        }
        self.succeeded();
        self.giving_way.succeeded(Proof::Read, self.now);
        if !kept.are_of(snapshot.raft_term) {
            self.repeat_in_this_term();
            return self.step_failed(Proof::KeepAlive, Tried::at(kept.last_sent()), None);
        }
        self.own.round.other_terms = 0;
        let own = self.placed().map(|placed| placed.keys.revision);
        match self.own.store.sight(snapshot, own) {
            Sight::Same => {}
            Sight::Doubtful => {
                self.round_later();
                return self.reconnect();
            }
            Sight::Reset => return self.reset(snapshot.birth, snapshot.revision),
        }
        if let Some(reason) = self.missing(snapshot) {
            // The companion's lease exists, so another party deleted our companion, and perhaps also a leader's.
            self.own.owes_a_lease |= snapshot.companion.is_none();
            return self.lose(reason);
        }
        self.end_move(snapshot);
        let shown = snapshot.companion.as_ref().and_then(|companion| companion.lease);
        // A companion that is moving is on one of two leases, and the lease that it is on must have been kept alive.
        let kept_alive = shown.and_then(|shown| kept.answer(shown));
        let Some((since, ttl)) = kept_alive.and_then(|_| kept.since()) else {
            let wait = backoff::standard(1, &mut self.rng);
            self.timers.set(Timer::Round, self.now + wait);
            self.advance_move(snapshot);
            return self.step_failed(Proof::KeepAlive, Tried::at(kept.last_sent()), None);
        };
        if ttl < self.lease {
            self.report_short_ttl(ttl);
        }
        let lease = ttl.min(self.lease);
        self.own.round.proven = Some(kept);
        self.proven((since + lease).before(self.rules.margin.of(lease)), tried, snapshot, whole);
        self.advance_move(snapshot);
        self.renew_shared(snapshot.raft_term);
        if self.placed().is_none() {
            return;
        }
        // A round whose keep-alives were late is always repeated, because their answers may never come.
        if !matches!(self.own.round.step, Step::Idle) && !self.own.round.late {
            return;
        }
        if self.own.round.wanted > snapshot.revision {
            self.confirm();
        } else if !self.timers.is_set(Timer::Round) && !self.own.turns.waits.contains(Wanted::Round) {
            self.round_later();
        }
    }

    /// Repeats a round whose keep-alives are of another raft term than its read. The first repetition is at once,
    /// because the new leader should answer both requests. Further ones come a little later.
    fn repeat_in_this_term(&mut self) {
        self.own.round.other_terms = self.own.round.other_terms.saturating_add(1);
        match self.own.round.other_terms {
            1 => self.begin_round(),
            more => {
                let wait = backoff::standard(more - 1, &mut self.rng);
                self.timers.set(Timer::Round, self.now + wait);
            }
        }
    }
}

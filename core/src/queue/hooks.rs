//! What a queue adds to a candidate.

use alloc::string::String;
use core::time::Duration;

use super::settings::EXPIRED;
use super::timers::Timer;
use super::{
    Answer, Awaited, Campaign, Change, Failure, LeaseId, Outcome, Queue, Race, Request, Server, Tell, Told,
};
use crate::campaign::{InvalidSettings, Misuse, Reason, Settings, State};
use crate::candidacy::{Ended, Obstacle, Rule, Stage};
use crate::record::Nonce;
use crate::session::{LastAnswers, Ticket, Wish};
use crate::store::{Fault, StoreInfo};
use crate::time::Instant;

impl Rule for Queue {
    type Store = Server;
    type Settings = ();
    type Timer = Timer;
    type Request = Request;
    type Answer = Answer;
    type Shown = Change;
    type Early = ();
    type Told = Told;
    type Tell = Tell;
    type Race = Race;
    type Leaving = ();

    fn begin(
        settings: Settings,
        store: &Server,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Campaign, InvalidSettings> {
        // The birth record counts from its first sight, because it may have been written after the inspection was
        // requested.
        let info = StoreInfo { asked_at: now, ..*info };
        Campaign::new(settings, *store, &info, nonce, seed, now)
    }

    fn claim(campaign: &mut Campaign) {
        campaign.enter();
    }

    fn racing(campaign: &Campaign) -> State {
        match &campaign.stage {
            Stage::Racing(Race::Placed(placed)) if placed.first => State::Holding,
            Stage::Racing(Race::Entering(entering))
                if campaign.own.awaited.is_some() || campaign.waits_to_enter(entering) =>
            {
                State::Acquiring
            }
            _ => State::Waiting,
        }
    }

    fn deadline(campaign: &Campaign) -> Option<Instant> {
        campaign.term.and(campaign.placed()?.deadline)
    }

    fn lose(campaign: &mut Campaign, reason: Reason) {
        campaign.lose(reason);
    }

    fn give_up(campaign: &mut Campaign) {
        if campaign.placed().is_some_and(|placed| placed.first) {
            campaign.give_up_place();
        }
    }

    fn withdraw(campaign: &mut Campaign) {
        let sent = matches!(campaign.own.awaited, Some(Awaited::Write(..)));
        match &campaign.stage {
            Stage::Racing(Race::Placed(_)) => campaign.give_up_place(),
            Stage::Racing(Race::Entering(entering)) => {
                let leftover = entering.leftover(sent).or_else(|| campaign.own.probe.leftover());
                campaign.stop_entering();
                campaign.stage = Stage::Idle;
                if let Some(leftover) = leftover {
                    campaign.leave(leftover, false);
                }
            }
            Stage::Idle | Stage::Splaying => campaign.stage = Stage::Idle,
            Stage::Releasing(()) | Stage::Closed => {}
        }
    }

    fn hand_over(campaign: &mut Campaign, successor: String) {
        campaign.hand_over(successor);
    }

    fn departs(campaign: &mut Campaign, reason: Reason) {
        campaign.departs(reason);
    }

    fn leave_behind(campaign: &mut Campaign, ended: Ended) {
        campaign.leave_place(ended.working);
    }

    fn work_ended(campaign: &mut Campaign) {
        campaign.work_ended();
    }

    fn limit_close(campaign: &mut Campaign) {
        campaign.limit_close();
    }

    fn closes(campaign: &mut Campaign) {
        campaign.stop_entering();
    }

    fn is_settled(campaign: &Campaign) -> bool {
        campaign.own.removal.is_done()
    }

    fn check(campaign: &Campaign, answer: &Answer) -> Result<(), Misuse> {
        match answer {
            Answer::Wrote { attempt, .. } if *attempt > campaign.own.last_attempt => {
                Err(Misuse::UnknownAttempt(*attempt))
            }
            Answer::Read { read, .. } if !campaign.own.round.was_asked(*read) => {
                Err(Misuse::UnknownRead(*read))
            }
            _ => Ok(()),
        }
    }

    fn answered(campaign: &mut Campaign, answer: Answer) {
        campaign.store_answered(&answer);
        match answer {
            Answer::Granted { lease, result } if campaign.own.probe.is_of(lease) => {
                campaign.probe_granted(result);
            }
            Answer::Granted { lease, result } => campaign.granted(lease, result),
            Answer::Shared { result } => campaign.shared(result),
            Answer::KeptAlive { lease, sent_at, result } if campaign.own.probe.keeps_alive() => {
                campaign.probe_kept_alive(lease, sent_at, result);
            }
            Answer::KeptAlive { lease, sent_at, result } => campaign.kept_alive(lease, sent_at, result),
            Answer::Read { read, sent_at, result } if campaign.own.probe.reads(read) => {
                campaign.probe_read(sent_at, result);
            }
            Answer::Read { read, result, .. } if campaign.own.removal.reads(read) => campaign.checked(result),
            Answer::Read { read, sent_at, result } => campaign.read_answered(read, sent_at, result),
            Answer::Wrote { attempt, outcome } => campaign.wrote(attempt, outcome),
            Answer::Revoked { lease, result } => campaign.revoked(lease, result),
        }
    }

    fn shown(campaign: &mut Campaign, change: Change) {
        campaign.watched(&change);
    }

    /// What happened before the new watch is unknown.
    fn watching(campaign: &mut Campaign, _: Instant) {
        campaign.watch_gap();
    }

    fn inspected(campaign: &mut Campaign, result: Result<StoreInfo, Fault>) {
        campaign.inspected(result);
    }

    fn reconnected(campaign: &mut Campaign) {
        campaign.reconnected();
    }

    fn accept(campaign: &mut Campaign) {
        if campaign.own.store.is_barred() {
            campaign.own.store.forget_tokens();
            campaign.own.reported.barred = false;
            campaign.plan();
        }
    }

    fn told(campaign: &mut Campaign, told: Told) {
        match told {
            Told::Move { from, to } => campaign.connection_moves(from, to),
            Told::Left(lease) => campaign.left_by_all(lease),
        }
    }

    fn tick(campaign: &mut Campaign) {
        campaign.turn();
    }

    fn fire(campaign: &mut Campaign, timer: Timer) {
        match timer {
            Timer::Answer => campaign.answer_timed_out(),
            Timer::Write => campaign.write_timed_out(),
            Timer::Remove => campaign.removal_timed_out(),
            Timer::Release => campaign.work_ended(),
            Timer::HandOver => campaign.hand_over_timed_out(),
            Timer::Owed | Timer::Round => campaign.begin_round(),
            Timer::Retry => campaign.try_to_enter(),
            Timer::Rest => campaign.probe(),
            // Handled for every rule.
            Timer::Deadline | Timer::Close | Timer::Drain | Timer::Splay => {}
        }
    }

    /// Whether another candidate leads, as far as this candidate knows: the first place leads until the proof that
    /// showed it no longer counts.
    fn knows_a_leader(campaign: &Campaign) -> bool {
        let other = campaign.leader().is_some_and(|leader| leader.nonce != Some(campaign.nonce));
        let counts = |placed: &super::Placed| placed.deadline.is_some_and(|deadline| deadline > campaign.now);
        other && campaign.placed().is_none_or(counts)
    }

    fn obstacle(campaign: &Campaign) -> Obstacle {
        let left = |until: Instant| until.since(campaign.now);
        // A rest follows a failure of the user's handler, or giving way. This is when it ends.
        let rest =
            campaign.giving_way.rest_until(campaign.now).unwrap_or_default().max(campaign.past.rest_until);
        match &campaign.stage {
            Stage::Racing(Race::Placed(placed)) if placed.first => {
                match campaign.timers.get(Timer::Owed).filter(|until| *until > campaign.now) {
                    None => Obstacle::Unproven,
                    Some(until)
                        if campaign.own.store.trusted_at() >= until && !campaign.own.reported.reset =>
                    {
                        Obstacle::NewStore { left: left(until), can_be_stated: true }
                    }
                    Some(until) => Obstacle::FormerLeader { left: left(until) },
                }
            }
            Stage::Racing(Race::Placed(placed))
                if placed.deadline.is_some_and(|deadline| deadline > campaign.now) =>
            {
                Obstacle::Ahead
            }
            Stage::Racing(Race::Entering(_)) if campaign.is_barred() => Obstacle::Barred,
            Stage::Racing(Race::Entering(_)) if rest > campaign.now => Obstacle::Resting { left: left(rest) },
            _ => Obstacle::Unanswered,
        }
    }

    fn worst_fail_over(campaign: &Campaign, _: Instant) -> Duration {
        // A new leader waits for a lease in any case.
        let delay = campaign.rules.win_delay.least(Duration::ZERO);
        // If a key may have disappeared too early, the next leader waits for another lease.
        let longest = campaign.own.store.longest();
        longest + EXPIRED + campaign.attempt_limit() + longest + delay
    }

    fn not_known_yet(store: &Server) -> Option<Fault> {
        store.not_known_yet()
    }

    fn of_queues(told: Told) -> Option<Told> {
        Some(told)
    }

    fn keeps_alive(campaign: &Campaign, lease: LeaseId) -> bool {
        campaign.keeps_companion_on(lease)
    }

    /// A round consists of keep-alives and then a read. If answers came later than the limit, they waited behind more
    /// requests than are allowed now, and two requests of a round wait there.
    fn renewal_takes(campaign: &Campaign, usual: Duration) -> Duration {
        usual.min(campaign.attempt_limit()) * 2
    }

    fn check_bounds(campaign: &Campaign) {
        debug_assert!(campaign.has_a_round(), "I15: a candidate with a place has a round ahead");
        debug_assert!(
            !matches!(campaign.stage, Stage::Racing(_) | Stage::Releasing(()))
                || campaign.has_something_to_come(),
            "I15: a candidate in the race, or with keys to remove, awaits an answer or a timer"
        );
    }

    fn is_one_of_many(campaign: &mut Campaign) {
        campaign.own.round.is_one_of_many = true;
    }

    fn allow(campaign: &mut Campaign, places: u32, answered: LastAnswers) {
        campaign.own.turns.allow(places, answered);
    }

    fn wish(campaign: &Campaign) -> Option<Wish> {
        campaign.wish()
    }

    fn window(store: &Server) -> u32 {
        store.window()
    }

    /// The companions' lease is requested a single time for all candidates, and needs no place.
    fn ticket(campaign: &Campaign, request: &Request) -> Option<(Ticket, Duration)> {
        let ticket = match request {
            Request::Grant { lease, .. } => Ticket::Grant(lease.0),
            Request::Share { .. } => return None,
            Request::KeepAlive { leases } => Ticket::KeepAlive(leases.place.0),
            Request::Read { read, .. } => Ticket::Look(read.0),
            Request::Write(write) => Ticket::Transaction(write.attempt.0),
            Request::Revoke { lease } => Ticket::Revoke(lease.0),
        };
        Some((ticket, campaign.attempt_limit()))
    }

    fn answers(answer: &Answer) -> Option<(Ticket, bool)> {
        let (ticket, failure) = match answer {
            Answer::Granted { lease, result } => (Ticket::Grant(lease.0), result.as_ref().err()),
            Answer::Shared { .. } => return None,
            Answer::KeptAlive { lease, result, .. } => (Ticket::KeepAlive(lease.0), result.as_ref().err()),
            // This only informs the campaign that the read is late; the answer may still arrive.
            Answer::Read { result: Err(Failure::Unanswered), .. } => return None,
            Answer::Read { read, result, .. } => (Ticket::Look(read.0), result.as_ref().err()),
            Answer::Wrote { attempt, outcome } => {
                let failure = if let Outcome::Failed(failure) = outcome { Some(failure) } else { None };
                (Ticket::Transaction(attempt.0), failure)
            }
            Answer::Revoked { lease, result } => (Ticket::Revoke(lease.0), result.as_ref().err()),
        };
        Some((ticket, !matches!(failure, Some(Failure::Unknown | Failure::Unanswered))))
    }

    /// The campaign itself limits the wait for an answer, and then asks again. A candidacy's deletes are repeated for
    /// up to a lease, until they are answered. A read counts as failed once it has been in flight for its time limit,
    /// but its answer still counts.
    fn limit(campaign: &Campaign, request: &Request, _: Duration) -> Duration {
        match request {
            Request::Read { .. } => campaign.attempt_limit(),
            _ => campaign.lease_time(),
        }
    }

    #[cfg(feature = "testing")]
    fn fingerprint(campaign: &Campaign, hasher: &mut impl core::hash::Hasher) {
        use core::hash::Hash as _;

        // Lists every field, so that the compiler reports a new one.
        let Self {
            store,
            unborn,
            reconnecting,
            failures,
            shared,
            round,
            awaited,
            removal,
            last_attempt,
            owed,
            owes_a_lease,
            probe,
            turns,
            namesake,
            reported: _,
        } = &campaign.own;
        (store, unborn, reconnecting, failures, shared, round, awaited, removal).hash(hasher);
        (last_attempt, owed, owes_a_lease, probe, turns, namesake).hash(hasher);
    }
}

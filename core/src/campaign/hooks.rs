//! What the lease over a key adds to a candidate.

use alloc::string::String;
use core::convert::Infallible;
use core::time::Duration;

use super::attempts::Purpose;
use super::forecast::Vacant;
use super::releasing::Releasing;
use super::settings::Own;
use super::timers::Timer;
use super::{
    Answer, Campaign, EarlySights, InvalidSettings, KeyLease, Misuse, Race, Reason, Request, Settings, State,
    pace,
};
use crate::candidacy::{Ended, Obstacle, Rule, Stage};
use crate::record::{Entry, Nonce};
use crate::session::{LastAnswers, Ticket, Wish};
use crate::store::{Action, Capabilities, Fault, FaultKind, Outcome, StoreInfo};
use crate::time::Instant;
use crate::timers::Timers;

impl Rule for KeyLease {
    type Store = Capabilities;
    type Settings = Own;
    type Timer = Timer;
    type Request = Request;
    type Answer = Answer;
    type Shown = Entry;
    type Early = EarlySights;
    type Told = Infallible;
    type Tell = Infallible;
    type Race = Race;
    type Leaving = Releasing;

    fn begin(
        settings: Settings,
        store: &Capabilities,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Campaign, InvalidSettings> {
        Campaign::new(settings, *store, info, nonce, seed, now)
    }

    fn enters(campaign: &mut Campaign) {
        campaign.warn_of_a_short_lease();
    }

    fn claim(campaign: &mut Campaign) {
        campaign.become_candidate();
    }

    fn racing(campaign: &Campaign) -> State {
        match &campaign.stage {
            Stage::Racing(Race::Holder(_)) => State::Holding,
            _ if campaign.own.attempts.awaited() == Some(Purpose::Acquire) => State::Acquiring,
            _ => State::Waiting,
        }
    }

    fn deadline(campaign: &Campaign) -> Option<Instant> {
        campaign.holder().map(|holder| campaign.deadline_of(holder))
    }

    fn lose(campaign: &mut Campaign, reason: Reason) {
        campaign.lose(reason);
    }

    fn give_up(campaign: &mut Campaign) {
        campaign.give_up(None, false);
    }

    fn withdraw(campaign: &mut Campaign) {
        match campaign.holder() {
            Some(_) => campaign.give_up(None, false),
            None => campaign.stop_campaigning(),
        }
    }

    fn hand_over(campaign: &mut Campaign, successor: String) {
        match campaign.term {
            Some(_) => campaign.depart(Reason::HandedOver, Some(successor)),
            None => campaign.give_up(Some(successor), false),
        }
    }

    fn leave_behind(campaign: &mut Campaign, ended: Ended) {
        campaign.give_up(ended.successor, ended.working);
    }

    fn work_ended(campaign: &mut Campaign) {
        campaign.work_ended();
    }

    fn limit_close(campaign: &mut Campaign) {
        campaign.limit_close();
    }

    fn closes(campaign: &mut Campaign) {
        campaign.own.key.abandon_read();
        campaign.timers = Timers::default();
    }

    fn check(campaign: &Campaign, answer: &Answer) -> Result<(), Misuse> {
        match answer {
            Answer::Wrote { attempt, .. } if !campaign.own.attempts.was_sent(*attempt) => {
                Err(Misuse::UnknownAttempt(*attempt))
            }
            Answer::Read { read, .. } if !campaign.own.key.was_asked(*read) => {
                Err(Misuse::UnknownRead(*read))
            }
            _ => Ok(()),
        }
    }

    fn answered(campaign: &mut Campaign, answer: Answer) {
        campaign.store_answered(&answer);
        match answer {
            Answer::Wrote { attempt, outcome } => campaign.wrote(attempt, outcome),
            Answer::Read { read, result } => campaign.read_answered(read, result),
        }
    }

    fn shown(campaign: &mut Campaign, entry: Entry) {
        campaign.watched(entry);
    }

    fn watching(campaign: &mut Campaign, since: Instant) {
        campaign.watch_began(since);
    }

    fn inspected(campaign: &mut Campaign, result: Result<StoreInfo, Fault>) {
        campaign.inspected(result);
    }

    fn reconnected(campaign: &mut Campaign) {
        campaign.reconnected();
    }

    fn accept(campaign: &mut Campaign) {
        campaign.accept();
    }

    fn tick(campaign: &mut Campaign) {
        campaign.turn();
    }

    fn fire(campaign: &mut Campaign, timer: Timer) {
        match timer {
            Timer::Attempt => campaign.attempt_timed_out(),
            Timer::Read => campaign.read_timed_out(),
            Timer::Inspect => campaign.inspect_again(),
            Timer::Release => campaign.end_release(),
            Timer::Renew | Timer::Retry => campaign.act(),
            Timer::Acquire => campaign.acquire(),
            Timer::Poll => campaign.poll_key(),
            // Every input already checks whether the win can be reported. The other timers are the same for every rule.
            Timer::Win | Timer::Deadline | Timer::Close | Timer::Drain | Timer::Splay => {}
        }
    }

    /// Gives way or reports a win when due.
    fn conclude(campaign: &mut Campaign) {
        campaign.settle_claim();
        campaign.win();
        campaign.report_leader();
    }

    fn check_bounds(campaign: &Campaign) {
        debug_assert!(campaign.own.attempts.is_bounded(), "bound: remembered attempts are bounded");
        // A candidate that waits for a record with an endless lease relies on the watch alone.
        debug_assert!(
            !matches!(campaign.stage, Stage::Racing(Race::Holder(_)) | Stage::Releasing(_))
                || campaign.has_something_to_come(),
            "I15: a holder, or a candidate with a record to release, awaits an answer or a timer"
        );
    }

    /// A record shows whether its holder's win was reported. A bare value is from other software, which leads by it.
    fn knows_a_leader(campaign: &Campaign) -> bool {
        if campaign.holder().is_some() {
            return false;
        }
        let Some(record) = campaign.own.key.record().filter(|record| !campaign.is_ours(record)) else {
            return false;
        };
        let lease = campaign.own.key.entry_lease(campaign.lease) + campaign.rules.own.store.granularity;
        campaign.now < campaign.own.key.first_observed() + lease
            && record.term_info.is_none_or(|info| info.led_for.is_some())
    }

    fn obstacle(campaign: &Campaign) -> Obstacle {
        let left = |until: Instant| until.since(campaign.now);
        if let Some(holder) = campaign.holder() {
            let (trusted_at, waited) = (campaign.own.store.trusted_at(), holder.wait.until);
            return match left(trusted_at.max(waited)) {
                Duration::ZERO => Obstacle::Unproven,
                left if trusted_at >= waited && !campaign.own.reported.reset => {
                    Obstacle::NewStore { left, can_be_stated: true }
                }
                left => Obstacle::FormerLeader { left },
            };
        }
        let other = campaign.own.key.record().filter(|record| !campaign.is_ours(record));
        let rests_until = campaign.earliest(Timer::Acquire);
        match other {
            _ if campaign.stays_out() => Obstacle::Barred,
            _ if campaign.own.store.failures() > 0
                || !matches!(campaign.stage, Stage::Racing(Race::Candidate)) =>
            {
                Obstacle::Unanswered
            }
            Some(record) if record.term_info.is_some_and(|info| info.led_for.is_none()) => {
                Obstacle::Holder { name: record.candidate.clone() }
            }
            Some(record) => Obstacle::Unexpired { name: record.candidate.clone() },
            None if rests_until > campaign.now => Obstacle::Resting { left: left(rests_until) },
            None => Obstacle::Unanswered,
        }
    }

    /// The time after a crash or after an operator's deletion, whichever is longer. Other candidates learn of the win
    /// one renewal later. In a new store no candidate leads until the store may be trusted.
    fn worst_fail_over(campaign: &Campaign, since: Instant) -> Duration {
        let longest = campaign.longest_lease();
        let new_store = campaign.own.store.trusted_at().since(since).min(longest);
        new_store
            + Vacant::at_most(&campaign.rules, longest).worst()
            + campaign.least_delay()
            + pace::renew_every(campaign.lease)
    }

    fn recall(campaign: &mut Campaign, early: &EarlySights, info: &StoreInfo) {
        campaign.recall(early, info);
    }

    fn is_one_of_many(campaign: &mut Campaign) {
        campaign.own.is_one_of_many = true;
    }

    fn watch_shows_all(store: &Capabilities) -> bool {
        store.watch_shows_all
    }

    fn shown_nothing(campaign: &Campaign) -> Option<Entry> {
        (!campaign.own.key.is_known()).then_some(Entry::Vacant)
    }

    fn allow(campaign: &mut Campaign, places: u32, answered: LastAnswers) {
        campaign.own.turns.allow(places, answered);
    }

    fn wish(campaign: &Campaign) -> Option<Wish> {
        campaign.wish()
    }

    fn window(store: &Capabilities) -> u32 {
        store.window
    }

    fn ticket(campaign: &Campaign, request: &Request) -> Option<(Ticket, Duration)> {
        let ticket = match request {
            Request::Write(write) => Ticket::Write(write.attempt.0),
            Request::Read(read) => Ticket::Read(read.0),
        };
        Some((ticket, campaign.attempt_limit()))
    }

    fn answers(answer: &Answer) -> Option<(Ticket, bool)> {
        Some(match answer {
            Answer::Wrote { attempt, outcome } => {
                (Ticket::Write(attempt.0), !matches!(outcome, Outcome::NotSent | Outcome::Unknown))
            }
            Answer::Read { read, result } => {
                let unanswered = matches!(result, Err(fault) if fault.kind == FaultKind::Unreachable);
                (Ticket::Read(read.0), !unanswered)
            }
        })
    }

    /// The time until which the answer to a write can still matter for its lease.
    fn limit(_: &Campaign, request: &Request, before: Duration) -> Duration {
        match request {
            Request::Write(write) => match &write.action {
                Action::Acquire(put) | Action::Renew(put) => put.lease,
                Action::Release { .. } => before,
            },
            Request::Read(_) => before,
        }
    }

    #[cfg(feature = "testing")]
    fn fingerprint(campaign: &Campaign, hasher: &mut impl core::hash::Hasher) {
        use core::hash::Hash as _;

        // Lists every field, so that the compiler reports a new one.
        let Self { setbacks, store, key, attempts, reported: _, is_one_of_many, turns } = &campaign.own;
        (store, key, attempts, is_one_of_many, turns).hash(hasher);
        setbacks.hash_at(campaign.now, hasher);
    }
}

//! The lease campaign over a key-value store.
//!
//! A [`Campaign`] is one candidate's attempt to win and keep one election. It is fed with [`Input`]s and drained of
//! [`Output`]s; in between it does nothing.
//!
//! ```text
//!              campaign            splay over           acquire sent
//!      Idle ────────────▶ Splaying ──────────▶ Waiting ─────────────▶ Acquiring
//!        ▲                                      ▲  ▲ ▲                    │
//!        │ unhealthy                            │  │ └────────────────────┤ refused, no answer
//!        │                                      │  │                      │ applied
//!        │            released, or not ours     │  │ lost: usurped,       ▼
//!        └───────────── Releasing ──────────────┘  │ deleted, expired   Holding
//!                       │      ▲                   │                      │ the win delay is over:
//!                closed │      │ Lost is reported  ├──────────────────────┤ Won is reported
//!                       ▼      │                   │                      ▼
//!                    Closed    └──── Draining ◀────┴────────────────── Leading
//!                                       resign, hand over, unhealthy, close
//! ```
//!
//! # What makes it safe
//!
//! A record in the store lives for the lease `T` from when it is *applied*; the holder counts `T` from when it was *sent*,
//! which is earlier, and stops a margin `M` before that. So a holder that is cut off knows that its lease is over before
//! another candidate can acquire, with no message at all (C. Gray and D. Cheriton, "Leases", SOSP 1989).
//! [`Campaign::lease`] is that deadline, and comparing it with the clock is the only way to know the leader.
//!
//! A record does not protect against vanishing early: an operator deletes the key, purges the stream or replaces the store,
//! or a server's clock jumps. Then a new holder acquires, keeps the lease by renewals, and waits until every holder that it
//! observed before must have stopped: the win delay.
//!
//! A lease is released only once the work of its term is known to have ended ([`Input::Drained`]). Where a drain's time is
//! up before that, the term is lost all the same and nothing is renewed any more; the campaign is Releasing, and sends the
//! release when the work ends, or lets the lease run out.
//!
//! # Reading order
//!
//! 1. `io`, `event`, `settings`: what goes in and what comes out.
//! 2. This file: the parts of a campaign, and the way of an input through it.
//! 3. The parts, each a type with rules of its own: `store_view` (incarnation, marks, tokens, connection), `key` (the
//!    observed entry and the win delay that follows), `sights` (what was shown before the campaign began), `attempts` (the
//!    writes in flight), `timers`.
//! 4. The states: `candidate` decides when to acquire, `holder` keeps the lease and reports the win, `releasing` leaves.
//! 5. The requests: `turns` holds them back until their session has a place for them.
//! 6. The answers: `writes` sends and classifies, `reading` observes the key, `inspecting` the store; `retrying`,
//!    `yielding` and `barred` hold the rules for failures, for failures that last, and for tokens that would not grow.

mod attempts;
pub(crate) mod backoff;
mod barred;
mod candidate;
mod draw;
mod event;
mod forecast;
mod holder;
mod inspecting;
mod io;
mod key;
pub(crate) mod pace;
mod reading;
mod releasing;
mod reporting;
mod retrying;
mod settings;
mod sights;
mod store_view;
mod timers;
mod turns;
mod waiting;
mod writes;
mod yielding;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::time::Duration;

use oorandom::Rand64;

pub use backoff::Backoff;
pub use draw::{Identity, draw};
pub use event::{Event, Leader, Lease, Reason, State, Term, Warning};
pub use forecast::Forecast;
pub use io::{Answer, Input, Misuse, Output, ReadId, Request};
pub use settings::{InvalidSettings, Preset, Settings, WinDelay, check_name, default_margin};
pub(crate) use settings::{Margin, check_candidate, check_margin, refuse_bucket_settings};
pub use sights::EarlySights;
pub use timers::{Timer, Wake};

use crate::candidacy::GivingWay;
use crate::record::{Nonce, Record, WriteId};
use crate::store::{Capabilities, StoreInfo};
use crate::time::Instant;
use crate::token::Revision;
use attempts::{Attempts, Purpose, Sent};
use candidate::Candidacy;
use holder::Holder;
use key::KeyView;
use releasing::Releasing;
use reporting::Reported;
use settings::Rules;
use store_view::StoreView;
use timers::Timers;
use turns::Turns;

/// One candidate's running attempt to win and keep an election.
#[derive(Clone, Debug)]
pub struct Campaign {
    rules: Arc<Rules>,
    rng: Rand64,
    /// The latest reading of the caller's clock.
    now: Instant,
    /// The lease in force: the rules', or less where the store's maximum age was lowered.
    lease: Duration,
    stage: Stage,
    intent: Intent,
    candidacy: Candidacy,
    giving_way: GivingWay,
    store: StoreView,
    key: KeyView,
    attempts: Attempts,
    timers: Timers,
    reported: Reported,
    /// Its connection has many campaigns: it renews when few of them do.
    is_one_of_many: bool,
    turns: Turns,
    pub(crate) outputs: VecDeque<Output>,
}

/// The state of a campaign, with what means something in that state alone.
#[derive(Clone, Debug, Hash)]
enum Stage {
    Idle,
    Splaying,
    Candidate,
    Holder(Holder),
    Releasing(Releasing),
    Closed,
}

/// The wishes of the user and the health check, whatever the rule of the campaign.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Intent {
    /// Asked to campaign, and not yet to close.
    pub(crate) in_race: bool,
    pub(crate) closing: bool,
    pub(crate) healthy: bool,
}

impl Default for Intent {
    fn default() -> Self {
        Self { in_race: false, closing: false, healthy: true }
    }
}

impl Campaign {
    /// A campaign that has not begun; [`Input::Campaign`] begins it.
    ///
    /// `info` comes from an inspection of the store. `nonce` is used for no other campaign; `seed` decides every random
    /// choice, so that the same seed and inputs give the same outputs. [`draw`] makes both of random numbers of the
    /// operating system. `now` is a reading of the clock that all later inputs use. What a watch showed before belongs into
    /// [`recall`](Self::recall).
    ///
    /// # Errors
    ///
    /// Returns the setting that is incoherent, or that the store cannot keep.
    pub fn new(
        settings: Settings,
        store: Capabilities,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Self, InvalidSettings> {
        let rules = Rules::new(settings, store, info)?;
        let lease = rules.lease;
        let longest = info.max_age.map_or(lease, |age| age.max(lease));
        Ok(Self {
            rng: Rand64::new(seed.into()),
            now,
            lease,
            stage: Stage::Idle,
            intent: Intent::default(),
            candidacy: Candidacy::default(),
            giving_way: GivingWay::default(),
            store: StoreView::new(info, longest, rules.margin.skew(lease), now),
            key: KeyView::default(),
            attempts: Attempts::new(nonce),
            timers: Timers::default(),
            reported: Reported::nothing(),
            is_one_of_many: false,
            turns: Turns::default(),
            outputs: VecDeque::new(),
            rules: Arc::new(rules),
        })
    }

    /// Handles what happened at `now`. Call [`poll`](Self::poll) afterwards until it is drained.
    ///
    /// A call that brings nothing new does nothing. A `now` before an earlier one counts as the earlier.
    ///
    /// # Errors
    ///
    /// An answer to a question that was never asked, or a successor whose name no candidate can
    /// have, changes nothing and is returned.
    pub fn handle(&mut self, now: Instant, input: Input) -> Result<(), Misuse> {
        match &input {
            Input::Answered(Answer::Wrote { attempt, .. }) if !self.attempts.was_sent(*attempt) => {
                return Err(Misuse::UnknownAttempt(*attempt));
            }
            Input::Answered(Answer::Read { read, .. }) if !self.key.was_asked(*read) => {
                return Err(Misuse::UnknownRead(*read));
            }
            Input::HandOver(successor) if check_name(successor).is_err() => {
                return Err(Misuse::NotAName);
            }
            _ => {}
        }
        self.now = self.now.max(now);
        if matches!(self.stage, Stage::Closed) {
            return Ok(());
        }
        // First of all: nothing that arrives now can save a lease that is over.
        self.expire();
        self.dispatch(input);
        while let Some(timer) = self.timers.take_due(self.now) {
            self.fire(timer);
        }
        self.conclude();
        Ok(())
    }

    /// Returns what to do next. [`Output::WakeAt`] means drained: nothing more until an input, or that instant.
    #[must_use]
    pub fn poll(&mut self) -> Output {
        self.outputs.pop_front().unwrap_or_else(|| Output::WakeAt(self.timers.next()))
    }

    /// The right to lead: the candidate leads while its clock reads less than the deadline.
    ///
    /// `None` outside a reported term. Publish it after every [`handle`](Self::handle), *before* acting on its outputs: a
    /// release is sent only after the lease is gone from here.
    pub fn lease(&self) -> Option<Lease> {
        let holder = self.holder()?;
        holder.term.map(|term| Lease { token: term.token, deadline: self.deadline(holder) })
    }

    /// Whether the candidate leads at `now`.
    pub fn is_leader(&self, now: Instant) -> bool {
        self.lease().is_some_and(|lease| now < lease.deadline)
    }

    /// The state of the campaign.
    pub fn state(&self) -> State {
        match &self.stage {
            Stage::Idle => State::Idle,
            Stage::Splaying => State::Splaying,
            Stage::Candidate if self.attempts.awaited() == Some(Purpose::Acquire) => State::Acquiring,
            Stage::Candidate => State::Waiting,
            Stage::Holder(Holder { term: None, .. }) => State::Holding,
            Stage::Holder(Holder { departure: None, .. }) => State::Leading,
            Stage::Holder(_) => State::Draining,
            Stage::Releasing(_) => State::Releasing,
            Stage::Closed => State::Closed,
        }
    }

    /// The holder of the live record that this candidate observed last.
    pub fn leader(&self) -> Option<&Leader> {
        self.reported.leader.as_ref()
    }

    /// Keeps the other campaign's rules in place of its own, where they are the same.
    pub(crate) fn share_rules(&mut self, with: &Self) {
        if self.rules == with.rules {
            self.rules = Arc::clone(&with.rules);
        }
    }

    /// Its connection has many campaigns from now on.
    pub(crate) fn is_one_of_many(&mut self) {
        self.is_one_of_many = true;
    }

    /// Whether this candidate has observed its key, or knows of a holder.
    pub(crate) fn has_observed(&self) -> bool {
        self.key.is_known()
    }

    /// The candidate's name.
    pub fn name(&self) -> &str {
        &self.rules.name
    }

    /// The number that marks what this campaign writes; an operator's request names it.
    pub fn nonce(&self) -> Nonce {
        self.attempts.nonce()
    }

    /// The lease time in force.
    pub fn lease_time(&self) -> Duration {
        self.lease
    }

    /// The time that an operation may take before the campaign stops waiting for its answer.
    pub fn attempt_limit(&self) -> Duration {
        pace::attempt_limit(self.lease)
    }

    /// The margin between the deadline and the end of the lease.
    pub fn margin(&self) -> Duration {
        self.rules.margin.of(self.lease)
    }

    fn dispatch(&mut self, input: Input) {
        match input {
            Input::Tick => self.turn(),
            Input::Campaign => self.enter(),
            Input::Resign => self.leave(Reason::Resigned, None),
            Input::HandOver(successor) => self.leave(Reason::HandedOver, Some(successor)),
            Input::Close => self.close(),
            Input::Health(healthy) => self.health(healthy),
            Input::Drained => self.drained(),
            Input::HandlerFailed => self.handler_failed(),
            Input::Accept => self.accept(),
            Input::Answered(answer) => {
                self.store_answered(&answer);
                match answer {
                    Answer::Wrote { attempt, outcome } => self.wrote(attempt, outcome),
                    Answer::Read { read, result } => self.read_answered(read, result),
                }
            }
            Input::Inspected(result) => self.inspected(result),
            Input::Watched(entry) => self.watched(entry),
            Input::Watching { since } => self.watch_began(since),
            Input::Reconnected => self.reconnected(),
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Deadline => self.expire(),
            Timer::Attempt => self.attempt_timed_out(),
            Timer::Read => self.read_timed_out(),
            Timer::Inspect => self.inspect_again(),
            Timer::Close => self.closed(),
            Timer::Release => self.move_on(),
            Timer::Drain => self.end_drain(true),
            // Whether the win can be reported is checked after every input.
            Timer::Win => {}
            Timer::Renew | Timer::Retry => self.act(),
            Timer::Splay => self.become_candidate(),
            Timer::Acquire => self.acquire(),
            Timer::Poll => self.poll_key(),
        }
    }

    /// Does what the stage wants done next: at a renewal's time, after a failure, on a new connection.
    fn act(&mut self) {
        match &self.stage {
            Stage::Holder(holder) if holder.must_read => self.read(),
            Stage::Holder(_) => self.renew(),
            Stage::Releasing(_) => self.release(),
            Stage::Candidate => self.plan(),
            Stage::Idle | Stage::Splaying | Stage::Closed => {}
        }
    }

    /// Ends every call: gives way or reports a win where that is due, sets the deadline, reports what changed.
    fn conclude(&mut self) {
        self.settle_claim();
        self.win();
        self.set_deadline();
        self.report_changes();
    }

    fn holder(&self) -> Option<&Holder> {
        match &self.stage {
            Stage::Holder(holder) => Some(holder),
            _ => None,
        }
    }

    fn holder_mut(&mut self) -> Option<&mut Holder> {
        match &mut self.stage {
            Stage::Holder(holder) => Some(holder),
            _ => None,
        }
    }

    /// Whether this campaign wrote a record, as far as it can know.
    ///
    /// The nonce alone does not say: where random numbers repeat, another process has it too. So the name has to be ours,
    /// and the attempt one that was sent and that the store has not answered otherwise.
    fn is_ours(&self, record: &Record) -> bool {
        let Some(write_id) = record.write_id.filter(|write_id| write_id.nonce == self.attempts.nonce())
        else {
            return false;
        };
        let present = self.store.incarnation();
        record.candidate == self.rules.name
            && self.attempts.may_have_written(write_id.attempt, record, present)
    }

    /// The attempt that wrote a record of ours.
    ///
    /// `None` where it is forgotten, or was meant for another incarnation: by a revision that happened to match, it may
    /// have replaced any record, so nothing it knew holds.
    fn sent_as(&self, record: &Record) -> Option<Sent> {
        let sent = self.attempts.find(record.write_id.filter(|_| self.is_ours(record))?.attempt)?;
        (sent.incarnation == self.store.incarnation()).then_some(sent)
    }

    /// The observed record, where it is ours.
    fn own_record_observed(&self) -> Option<&Record> {
        self.key.record().filter(|record| self.is_ours(record))
    }

    /// The record that an attempt of ours leaves at `revision`, to be observed in place of the present one, whose texts it
    /// takes over where they are the same.
    fn own_record(&mut self, sent: &Sent, revision: Revision) -> Record {
        let (name, metadata) = (&self.rules.name, &self.rules.metadata);
        let before = self.key.take_texts().filter(|before| (&before.0, &before.1) == (name, metadata));
        let (candidate, metadata) = before.unwrap_or_else(|| (name.clone(), metadata.clone()));
        Record {
            revision,
            candidate,
            write_id: Some(WriteId { nonce: self.attempts.nonce(), attempt: sent.attempt }),
            lease: Some(sent.stated_lease),
            term_info: None,
            metadata,
            oversize: None,
        }
    }
}

#[cfg(feature = "testing")]
impl Campaign {
    /// Feeds a hasher with all that decides what this campaign will do, its future inputs being equal.
    ///
    /// Left out is what cannot decide that: its settings, which never change; the latest reading of a clock that only goes
    /// forward; and what it reported about warnings and other leaders. Left out too is the state of its random numbers:
    /// what they have decided already is in its timers.
    ///
    /// Call it when [`poll`](Self::poll) has been drained.
    pub fn fingerprint(&self, hasher: &mut impl core::hash::Hasher) {
        use core::hash::Hash as _;

        // All fields by name, so that a new one is not forgotten.
        let Self {
            rules: _,
            rng: _,
            now,
            lease,
            stage,
            intent,
            candidacy,
            giving_way,
            store,
            key,
            attempts,
            timers,
            reported: _,
            is_one_of_many,
            turns,
            outputs: _,
        } = self;
        (lease, stage, intent, giving_way, store, key, attempts, timers, is_one_of_many, turns).hash(hasher);
        candidacy.hash_at(*now, hasher);
    }
}

//! The second acquisition rule: a place in a queue, as etcd's elections keep it.
//!
//! A [`Campaign`] is one candidate's attempt to win and keep one election in a store whose standard election is a queue:
//! each candidate creates a key, and the one that was created first leads. Other clients' elections (`etcdctl elect`, Go's
//! `concurrency.Election`) share it.
//!
//! ```text
//!            campaign            splay over            place created
//!      Idle ──────────▶ Splaying ──────────▶ Acquiring ─────────────▶ Waiting ◀─┐ a candidate
//!        ▲                                    ▲     ▲                    │       │ is ahead
//!        │ unhealthy                          │     │ place lost         │ first ┘
//!        │                  nothing is left   │     └────────────────────┤
//!        └───────────── Releasing ────────────┘                       Holding
//!                       │      ▲                                         │ no wait is owed:
//!                closed │      │ Lost is reported                        ▼ Won is reported
//!                       ▼      └──── Draining ◀────────────────────── Leading
//!                    Closed             resign, hand over, unhealthy, close
//! ```
//!
//! # What makes it safe
//!
//! A candidacy has two keys, which one transaction creates. The **place**, attached to lease `A` of this candidacy alone,
//! stands in the standard queue among foreign candidates. The **companion**, attached to lease `B` of the connection,
//! stands in a queue of our own. A candidate leads only while it is first in both. When an operator deletes a place or
//! revokes the lease that it shows, the companion stays, and holds our other candidates back until its owner has reported
//! the loss and deletes it, or until `B` runs out.
//!
//! A **proof** is a round in which keep-alives of both leases are answered, and then a linearised read shows both keys
//! under the same raft term. The leases then live for `T` after the keep-alives were *answered*; the candidate counts `T`
//! from before they were *sent*, and stops a margin `M` sooner. Only a proof makes a leader, and only a proof extends its
//! deadline. Errors, silence and reads of another raft term do neither.
//!
//! The deletion of a key, its revocation and its expiry look alike to a watch, so a watch proves nothing here: it only
//! says when a round is worth its cost.
//!
//! Not defended against: an operator who deletes companions or the birth record, or revokes `B`, under a live leader; a
//! proxy that answers keep-alives from its own memory.
//!
//! # Reading order
//!
//! 1. `io`, `answers`, `settings`: what goes in and comes out, what the store's errors mean, what is refused.
//! 2. This file: the parts of a campaign, and the way of an input through it.
//! 3. `round`: the proof. `line`: who is ahead. `store_view`: incarnation, revisions, tokens.
//! 4. The states: `entering` creates the keys, `leading` wins, loses and hands over, `leaving` removes, `resting` leaves the
//!    queue to others where proofs fail, `moving` leaves the lease of companions to run out where one cannot be deleted.
//! 5. `turns`: what waits for a place among the requests of the connection.
//! 6. `observing`: the watch, the connection, and the reports. `warnings`: what a person should know.

mod answers;
mod entering;
mod io;
mod keeping;
mod leading;
mod leaving;
mod line;
mod moving;
mod observing;
mod resting;
mod round;
mod settings;
mod store_view;
mod timers;
mod turns;
mod waiting;
mod warnings;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use oorandom::Rand64;

pub use answers::{Code, Failure, Operation};
pub use io::{
    Action, Answer, Change, Companion, Input, KeptAlive, LeaseId, Leases, Outcome, Output, Own, Place,
    Request, Snapshot, Write,
};
pub use settings::{Server, check_priority, default_margin};
pub use timers::{Timer, Wake};

use crate::campaign::{
    Event, Intent, InvalidSettings, Leader, Lease, Misuse, Reason, Settings, State, Term, check_name, pace,
};
use crate::candidacy::GivingWay;
use crate::record::{Attempt, Nonce};
use crate::store::{FaultKind, StoreInfo};
use crate::time::Instant;
use crate::token::Revision;
use entering::{Entering, StepBehind};
use leading::HandOver;
use leaving::Removal;
use line::Line;
use moving::Move;
use resting::Probe;
use round::Round;
use settings::Rules;
use store_view::StoreView;
use timers::Timers;
use turns::Turns;
use warnings::Namesake;

/// One candidate's running attempt to win and keep an election in a queue.
#[derive(Clone, Debug)]
pub struct Campaign {
    rules: Arc<Rules>,
    nonce: Nonce,
    rng: Rand64,
    /// The latest reading of the caller's clock.
    now: Instant,
    stage: Stage,
    intent: Intent,
    splayed: bool,

    // The store.
    store: StoreView,
    /// The store has no birth record: it has to be inspected, which writes one.
    unborn: bool,
    /// A new connection was asked for.
    reconnecting: bool,
    /// Operations in a row that failed.
    failures: u32,
    /// The lease of this connection's companions, and the one before it that is gone.
    shared: Option<LeaseId>,
    gone: Option<LeaseId>,
    /// Another lease was asked for, in place of this one.
    leaves: Option<LeaseId>,

    // What is under way.
    round: Round,
    awaited: Option<Awaited>,
    removal: Removal,
    last_attempt: Attempt,

    // What holds a win back.
    /// No win is reported before.
    owed: Instant,
    /// The next candidacy waits a lease before it wins: another deleted our companion.
    owes_a_lease: bool,
    /// A candidate whose handler failed does not enter before.
    rest_until: Instant,
    /// Terms in a row that ended within a lease because the user's handler failed.
    handler_failures: u32,

    // What a candidate without proofs does.
    giving_way: GivingWay,
    probe: Probe,
    turns: Turns,

    /// Another campaign of this candidate's name, as observed last.
    namesake: Option<Namesake>,

    timers: Timers,
    reported: Reported,
    pub(crate) outputs: VecDeque<Output>,
}

/// The state of a campaign, with what means something in that state alone.
#[derive(Clone, Debug, Hash)]
enum Stage {
    Idle,
    Splaying,
    Entering(Entering),
    Placed(Box<Placed>),
    Releasing,
    Closed,
}

/// The leases and the creation of one place and its companion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Candidacy {
    /// The lease of the place, after which both keys are named.
    lease: LeaseId,
    /// The lease of the companion.
    companion: LeaseId,
    /// It is to be on another lease.
    moves: Option<Move>,
    /// The revision that wrote the companion last, as far as it was read.
    modified: Revision,
    /// The revision that created both keys: the token's sequence.
    revision: Revision,
    /// A transaction that creates the keys may still be applied, after these.
    doubtful: bool,
}

/// A candidate that has a place.
#[derive(Clone, Debug, Hash)]
struct Placed {
    candidacy: Candidacy,
    line: Line,
    /// `D`, from the newest proof.
    deadline: Option<Instant>,
    /// The newest proof showed this candidate first in both queues.
    first: bool,
    term: Option<Term>,
    /// Set while the leader drains.
    departure: Option<Reason>,
    hand_over: Option<HandOver>,
    /// The companion names a successor, or may.
    names_successor: bool,
    step: Option<StepBehind>,
    /// The leader and the successor that this candidate went to the end of the queue for.
    stepped_for: Option<(String, String)>,
}

/// The answer that a candidate waits for; those of rounds and removals are their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Awaited {
    Grant(LeaseId),
    Share,
    Write(Attempt, Purpose),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    Enter,
    StepBehind,
    Name,
    Move,
}

/// The last report of each kind, so that it is not repeated.
#[derive(Clone, Debug, Default)]
struct Reported {
    leader: Option<Leader>,
    state: Option<State>,
    fault: Option<FaultKind>,
    short_ttl: bool,
    reset: bool,
    barred: bool,
    /// The lease of the companions could not be left.
    stays: bool,
    place: Option<Revision>,
}

impl Campaign {
    /// A campaign that has not begun; [`Input::Campaign`] begins it.
    ///
    /// `info` comes from an inspection of the store, which writes the birth record where there is none. `nonce` is used for
    /// no other campaign; `seed` decides every random choice. `now` is a reading of the clock that all later inputs use.
    ///
    /// # Errors
    ///
    /// Returns the setting that is incoherent, or that the store cannot keep.
    pub fn new(
        settings: Settings,
        server: Server,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Self, InvalidSettings> {
        let rules = Rules::new(settings, server)?;
        Ok(Self {
            nonce,
            rng: Rand64::new(seed.into()),
            now,
            stage: Stage::Idle,
            intent: Intent::default(),
            splayed: false,
            store: StoreView::new(info, rules.lease, now),
            unborn: false,
            reconnecting: false,
            failures: 0,
            shared: None,
            gone: None,
            leaves: None,
            round: Round::default(),
            awaited: None,
            removal: Removal::default(),
            last_attempt: Attempt(0),
            owed: Instant::ZERO,
            owes_a_lease: false,
            rest_until: Instant::ZERO,
            handler_failures: 0,
            giving_way: GivingWay::default(),
            probe: Probe::default(),
            turns: Turns::default(),
            namesake: None,
            timers: Timers::default(),
            reported: Reported { state: Some(State::Idle), ..Reported::default() },
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
    /// An answer to a question that was never asked, or a successor whose name no candidate can have, changes nothing and
    /// is returned.
    pub fn handle(&mut self, now: Instant, input: Input) -> Result<(), Misuse> {
        match &input {
            Input::Answered(Answer::Wrote { attempt, .. }) if *attempt > self.last_attempt => {
                return Err(Misuse::UnknownAttempt(*attempt));
            }
            Input::Answered(Answer::Read { read, .. }) if !self.round.was_asked(*read) => {
                return Err(Misuse::UnknownRead(*read));
            }
            Input::HandOver(successor) if check_name(successor).is_err() => return Err(Misuse::NotAName),
            _ => {}
        }
        self.now = self.now.max(now);
        // First of all: nothing that arrives now can save a lease that is over.
        self.expire();
        self.dispatch(input);
        while let Some(timer) = self.timers.take_due(self.now) {
            self.fire(timer);
        }
        self.conclude();
        Ok(())
    }

    /// The servers of the store, as this campaign knows them.
    pub fn server(&self) -> Server {
        self.rules.server
    }

    /// Takes in what is known of the servers by now.
    pub fn set_server(&mut self, server: Server) {
        Arc::make_mut(&mut self.rules).server = server;
    }

    /// Returns what to do next. [`Output::WakeAt`] means drained: nothing more until an input, or that instant.
    #[must_use]
    pub fn poll(&mut self) -> Output {
        self.outputs.pop_front().unwrap_or_else(|| Output::WakeAt(self.timers.next()))
    }

    /// The right to lead: the candidate leads while its clock reads less than the deadline. `None` outside a reported term.
    ///
    /// Publish it after every [`handle`](Self::handle), *before* acting on its outputs: keys are removed only after the
    /// lease is gone from here.
    pub fn lease(&self) -> Option<Lease> {
        let placed = self.placed()?;
        placed.term.zip(placed.deadline).map(|(term, deadline)| Lease { token: term.token, deadline })
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
            Stage::Entering(entering) if self.awaited.is_some() || self.waits_to_enter(entering) => {
                State::Acquiring
            }
            Stage::Entering(_) => State::Waiting,
            Stage::Placed(placed) => match **placed {
                Placed { first: false, .. } => State::Waiting,
                Placed { term: None, .. } => State::Holding,
                Placed { departure: None, .. } => State::Leading,
                _ => State::Draining,
            },
            Stage::Releasing => State::Releasing,
            Stage::Closed => State::Closed,
        }
    }

    /// Whether the campaign is closed and nothing of it is left in the store. A campaign that is closed and not settled is
    /// driven on, or the connection's lease for companions is given up.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Closed) && self.removal.is_done()
    }

    /// Whether this leader waits for the successor of a [hand over](Input::HandOver) to be next in the queue.
    /// [`Output::NotNext`], a drain or the end of the term ends that.
    pub fn is_handing_over(&self) -> bool {
        self.placed().is_some_and(|placed| placed.hand_over.is_some())
    }

    /// The first place of the queue when it was read last.
    pub fn leader(&self) -> Option<&Leader> {
        self.reported.leader.as_ref()
    }

    /// The candidate's name, the value of its place.
    pub fn name(&self) -> &str {
        &self.rules.name
    }

    /// The number that marks this campaign's companion; an operator's request names it.
    pub fn nonce(&self) -> Nonce {
        self.nonce
    }

    /// What the companion publishes about the candidate.
    pub fn metadata(&self) -> &[(String, String)] {
        &self.rules.metadata
    }

    /// The lease time.
    pub fn lease_time(&self) -> Duration {
        self.rules.lease
    }

    /// The time that an operation may take before the campaign stops waiting for its answer.
    pub fn attempt_limit(&self) -> Duration {
        pace::attempt_limit(self.rules.lease)
    }

    /// The margin between the deadline and the end of the lease.
    pub fn margin(&self) -> Duration {
        self.rules.margin.of(self.rules.lease)
    }

    fn dispatch(&mut self, input: Input) {
        match input {
            Input::Tick => self.turn(),
            Input::Campaign => self.campaign(),
            Input::Resign => self.resign(),
            Input::HandOver(successor) => self.hand_over(successor),
            Input::Close => self.close(),
            Input::Health(healthy) => self.health(healthy),
            Input::Drained => {
                self.end_drain(false);
                self.work_ended();
            }
            Input::HandlerFailed => self.handler_failed(),
            Input::Accept => self.accept(),
            Input::Answered(answer) => self.take_answer(answer),
            Input::Watched(change) => self.watched(&change),
            Input::WatchGap => self.watch_gap(),
            Input::Inspected(result) => self.inspected(result),
            Input::Reconnected => self.reconnected(),
            Input::Move { from, to } => self.connection_moves(from, to),
            Input::Left(lease) => self.left_by_all(lease),
        }
    }

    fn take_answer(&mut self, answer: Answer) {
        self.store_answered(&answer);
        match answer {
            Answer::Granted { lease, result } if self.probe.is_of(lease) => self.probe_granted(result),
            Answer::Granted { lease, result } => self.granted(lease, result),
            Answer::Shared { result } => self.shared(result),
            Answer::KeptAlive { lease, sent_at, result } if self.probe.keeps_alive() => {
                self.probe_kept_alive(lease, sent_at, result);
            }
            Answer::KeptAlive { lease, sent_at, result } => self.kept_alive(lease, sent_at, result),
            Answer::Read { read, sent_at, result } if self.probe.reads(read) => {
                self.probe_read(sent_at, result);
            }
            Answer::Read { read, result, .. } if self.removal.reads(read) => self.checked(result),
            Answer::Read { read, sent_at, result } => self.read_answered(read, sent_at, result),
            Answer::Wrote { attempt, outcome } => self.wrote(attempt, outcome),
            Answer::Revoked { lease, result } => self.revoked(lease, result),
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Deadline => self.expire(),
            Timer::Answer => self.answer_timed_out(),
            Timer::Write => self.write_timed_out(),
            Timer::Remove => self.removal_timed_out(),
            Timer::Close => self.closed(),
            Timer::Release => self.work_ended(),
            Timer::Drain => self.end_drain(true),
            Timer::HandOver => self.hand_over_timed_out(),
            Timer::Owed | Timer::Round => self.begin_round(),
            Timer::Retry => self.try_to_enter(),
            Timer::Rest => self.probe(),
            Timer::Splay => self.enter(),
        }
    }

    /// Ends every call: sets the deadline, reports what changed.
    fn conclude(&mut self) {
        match self.lease() {
            Some(lease) => self.timers.set(Timer::Deadline, lease.deadline),
            None => self.timers.stop(Timer::Deadline),
        }
        let state = self.state();
        if self.reported.state.replace(state) != Some(state) {
            self.report(Event::StateChanged(state));
        }
    }

    // ---- commands ----

    fn campaign(&mut self) {
        self.intent.in_race = !self.intent.closing;
        if matches!(self.stage, Stage::Idle) && self.intent.in_race && self.intent.healthy {
            self.start();
        }
    }

    fn resign(&mut self) {
        match self.placed() {
            Some(Placed { term: Some(_), .. }) => self.depart(Reason::Resigned),
            Some(Placed { first: true, .. }) => self.give_up_place(),
            _ => {}
        }
    }

    fn health(&mut self, healthy: bool) {
        self.intent.healthy = healthy;
        match healthy {
            true if self.intent.in_race => self.campaign(),
            true => {}
            false => self.leave_race(Reason::Unhealthy),
        }
    }

    fn close(&mut self) {
        if matches!(self.stage, Stage::Closed) {
            return;
        }
        (self.intent.closing, self.intent.in_race) = (true, false);
        self.leave_race(Reason::Closed);
        match self.stage {
            Stage::Idle => self.closed(),
            Stage::Releasing => self.limit_close(),
            _ => {}
        }
    }

    /// A leader drains; a candidate leaves at once.
    fn leave_race(&mut self, reason: Reason) {
        let sent = matches!(self.awaited, Some(Awaited::Write(..)));
        match &self.stage {
            Stage::Placed(placed) if placed.term.is_some() => self.depart(reason),
            Stage::Placed(_) => self.give_up_place(),
            Stage::Entering(entering) => {
                let leftover = entering.leftover(sent).or_else(|| self.probe.leftover());
                self.stop_entering();
                self.stage = Stage::Idle;
                if let Some(leftover) = leftover {
                    self.leave(leftover, false);
                }
            }
            Stage::Splaying => {
                self.timers.stop(Timer::Splay);
                self.stage = Stage::Idle;
            }
            Stage::Idle | Stage::Releasing | Stage::Closed => {}
        }
    }

    fn accept(&mut self) {
        if self.store.is_barred() {
            self.store.forget_tokens();
            self.reported.barred = false;
            self.plan();
        }
    }

    fn placed(&self) -> Option<&Placed> {
        match &self.stage {
            Stage::Placed(placed) => Some(placed),
            _ => None,
        }
    }
}

#[cfg(feature = "testing")]
impl Campaign {
    /// Feeds a hasher with all that decides what this campaign will do, its future inputs being equal. Left out are its
    /// settings, its clock, its random numbers, and what it reported.
    ///
    /// Call it when [`poll`](Self::poll) has been drained.
    pub fn fingerprint(&self, hasher: &mut impl core::hash::Hasher) {
        use core::hash::Hash as _;

        // All fields by name, so that a new one is not forgotten.
        let Self {
            rules: _,
            nonce: _,
            rng: _,
            now: _,
            stage,
            intent,
            splayed,
            store,
            unborn,
            reconnecting,
            failures,
            shared,
            gone,
            leaves,
            round,
            awaited,
            removal,
            last_attempt,
            owed,
            owes_a_lease,
            rest_until,
            handler_failures,
            giving_way,
            probe,
            turns,
            namesake,
            timers,
            reported: _,
            outputs: _,
        } = self;
        (stage, intent, splayed, store, unborn, reconnecting, failures, shared, gone, leaves).hash(hasher);
        (round, awaited, removal, last_attempt, owed, owes_a_lease, rest_until, handler_failures)
            .hash(hasher);
        (giving_way, probe, turns, namesake, timers).hash(hasher);
    }
}

//! The lease campaign over a key-value store.
//!
//! A [`Campaign`] is one candidate's attempt to win and keep one election. It is fed with
//! [`Input`]s and drained of [`Output`]s; in between it does nothing.
//!
//! ```text
//!              campaign            splay over           acquire sent
//!      Idle ────────────▶ Splaying ──────────▶ Waiting ─────────────▶ Acquiring
//!        ▲                                      ▲  ▲ ▲                    │
//!        │ unhealthy                            │  │ └────────────────────┤ refused, no answer
//!        │                                      │  │                      │ applied
//!        │            given back, or not ours   │  │ lost: usurped,       ▼
//!        └───────────── Releasing ──────────────┘  │ deleted, expired   Holding
//!                       │      ▲                   │                      │ the win delay is over:
//!                closed │      │ Lost is told      ├──────────────────────┤ Won is told
//!                       ▼      │                   │                      ▼
//!                    Closed    └──── Draining ◀────┴────────────────── Leading
//!                                       resign, hand over, unhealthy, close
//! ```
//!
//! # What makes it safe
//!
//! A record in the store lives for the lease `T` from when it is *applied*; the holder counts `T`
//! from when it was *sent*, which is earlier, and stops a margin `M` before that. So a holder that
//! is cut off knows that its lease is over before anybody else can take the seat, with no message
//! at all (C. Gray and D. Cheriton, "Leases", SOSP 1989). [`Campaign::lease`] is that deadline, and
//! comparing it with the clock is the only way to know who leads.
//!
//! What a record does not protect against is that it vanishes early: somebody deletes the key, purges the
//! stream, replaces the store, or a server's clock jumps. Then a new holder takes the seat, keeps
//! it by renewals, and waits until whoever it has seen before must have stopped: the win delay.
//!
//! A seat is given back only once the work of its term is known to have ended ([`Input::Drained`]). Where a drain's
//! time is up before that, the term is lost all the same and nothing is renewed any more; the campaign is Releasing,
//! and sends the release when the work ends, or lets the lease run out.

mod answers;
mod backoff;
mod barred;
mod candidate;
mod draw;
mod event;
#[cfg(feature = "testing")]
mod fingerprint;
mod forecast;
mod holder;
mod inspecting;
mod io;
mod leaving;
mod ledger;
mod life;
mod pace;
mod reading;
mod retrying;
mod seat;
mod settings;
mod sight;
mod telling;
mod timers;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::time::Duration;

use oorandom::Rand64;

pub use backoff::Backoff;
pub use draw::{Identity, draw};
pub use event::{Event, Leader, Lease, Reason, State, Term, Warning};
pub use forecast::Forecast;
pub use io::{Input, Misuse, Output, ReadId};
pub use settings::{InvalidSettings, Preset, Settings, WinDelay, check_name, default_margin};
pub use timers::{Timer, Wake};

use crate::record::{Attempt, Nonce, Record, Release, Stamp};
use crate::store::{Capabilities, StoreInfo};
use crate::time::Instant;
use crate::token::Revision;
use ledger::{Answered, Ledger, Purpose, Sent};
use life::Life;
use reading::PendingRead;
use seat::{Leaving, Seat};
use settings::Rules;
use sight::Sight;
use telling::Told;
use timers::Timers;

/// One candidate's running attempt to win and keep an election.
#[derive(Clone, Debug)]
pub struct Campaign {
    rules: Arc<Rules>,
    nonce: Nonce,
    rng: Rand64,
    /// The latest reading of the caller's clock.
    now: Instant,
    /// The lease in force: the rules', or less where the store's maximum age was lowered.
    lease: Duration,
    stage: Stage,
    /// Asked to campaign, and not yet to close.
    in_race: bool,
    closing: bool,
    healthy: bool,
    splayed: bool,
    sight: Sight,
    life: Life,
    ledger: Ledger,
    timers: Timers,
    reads: ReadId,
    reading: Option<PendingRead>,
    /// When the last read was answered.
    looked: Instant,
    /// The inspection that is wanted: an answer asked for at this instant or later.
    inspecting: Option<Instant>,
    /// Since when the present watch stands.
    watching: Option<Instant>,
    /// The newest write of ours that the watch showed to be of the life of the store known.
    witnessed: Option<(Attempt, Revision)>,
    /// When a new connection was asked for that is not there yet.
    reconnecting: Option<Instant>,
    /// Failures in a row.
    failures: u32,
    /// Inspections that failed in a row.
    inspections_failed: u32,
    /// Terms in a row that ended within a lease because the user's handler failed.
    handler_failures: u32,
    /// A candidate that failed does nothing before this.
    not_before: Instant,
    /// A candidate whose handler failed does not campaign before this.
    resting_until: Instant,
    /// Acquires in a row of which no term came because their tokens were too small.
    burnt: u64,
    /// How many more races were lost than won.
    races_lost: u32,
    /// When the seat was first seen vacant, and how long after that this candidate tries to take it.
    jitter: Option<(Instant, Duration)>,
    leader: Option<Leader>,
    told: Told,
    outputs: VecDeque<Output>,
}

#[derive(Clone, Debug, Hash)]
enum Stage {
    Idle,
    Splaying,
    Candidate,
    Seated(Seat),
    Releasing(Leaving),
    Closed,
}

impl Campaign {
    /// A campaign that has not begun; [`Input::Campaign`] begins it.
    ///
    /// `info` come from an inspection of the store. `nonce` is used for no other campaign; `seed` decides
    /// every random choice, so that the same seed and inputs give the same outputs. [`draw`] makes both of
    /// random numbers of the operating system. `now` is a reading of the clock that all later inputs use.
    ///
    /// # Errors
    ///
    /// A setting that is incoherent, or that the store cannot keep, is refused.
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
        let life = Life::new(info, longest, rules.margin.skew(lease), now);
        Ok(Self {
            nonce,
            rng: Rand64::new(seed.into()),
            now,
            lease,
            stage: Stage::Idle,
            in_race: false,
            closing: false,
            healthy: true,
            splayed: false,
            sight: Sight::default(),
            life,
            ledger: Ledger::default(),
            timers: Timers::default(),
            reads: ReadId::default(),
            reading: None,
            looked: Instant::ZERO,
            inspecting: None,
            watching: None,
            witnessed: None,
            reconnecting: None,
            failures: 0,
            inspections_failed: 0,
            handler_failures: 0,
            not_before: Instant::ZERO,
            resting_until: Instant::ZERO,
            burnt: 0,
            races_lost: 0,
            jitter: None,
            leader: None,
            told: Told {
                state: State::Idle,
                fault: None,
                inspection: None,
                short_lease: false,
                markers: false,
                not_expiring: None,
                namesake: None,
                twin: false,
                oversize: false,
            },
            outputs: VecDeque::new(),
            rules: Arc::new(rules),
        })
    }

    /// Takes in what happened at `now`. Call [`poll`](Self::poll) afterwards until it is drained.
    ///
    /// A call that brings nothing new does nothing. A `now` before an earlier one counts as the earlier.
    ///
    /// # Errors
    ///
    /// An answer to a question that was never asked, or a successor whose name no candidate can
    /// have, changes nothing and is returned.
    pub fn handle(&mut self, now: Instant, input: Input) -> Result<(), Misuse> {
        match &input {
            Input::Wrote { attempt, .. } if !self.ledger.was_made(*attempt) => {
                return Err(Misuse::UnknownAttempt(*attempt));
            }
            Input::Read { read, .. } if read.0 == 0 || *read > self.reads => {
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
        self.take(input);
        while let Some(timer) = self.timers.take_due(self.now) {
            self.fire(timer);
        }
        self.settle();
        Ok(())
    }

    /// What to do next. [`Output::WakeAt`] means drained: nothing more until an input, or that instant.
    #[must_use]
    pub fn poll(&mut self) -> Output {
        self.outputs.pop_front().unwrap_or_else(|| Output::WakeAt(self.timers.next()))
    }

    /// The right to lead: the candidate leads while its clock reads less than the deadline.
    ///
    /// `None` outside a told term. Publish it after every [`handle`](Self::handle), *before* acting
    /// on its outputs: a seat is given back only after its lease is gone from here.
    pub fn lease(&self) -> Option<Lease> {
        let seat = self.seat()?;
        seat.term.map(|term| Lease { token: term.token, deadline: self.deadline(seat) })
    }

    /// Whether the candidate leads at `now`.
    pub fn is_leader(&self, now: Instant) -> bool {
        self.lease().is_some_and(|lease| now < lease.deadline)
    }

    /// Where the campaign stands.
    pub fn state(&self) -> State {
        match &self.stage {
            Stage::Idle => State::Idle,
            Stage::Splaying => State::Splaying,
            Stage::Candidate if self.ledger.awaited() == Some(Purpose::Acquire) => State::Acquiring,
            Stage::Candidate => State::Waiting,
            Stage::Seated(Seat { term: None, .. }) => State::Holding,
            Stage::Seated(Seat { leaving: None, .. }) => State::Leading,
            Stage::Seated(_) => State::Draining,
            Stage::Releasing(_) => State::Releasing,
            Stage::Closed => State::Closed,
        }
    }

    /// Who holds the seat, as far as this candidate has seen.
    pub fn leader(&self) -> Option<&Leader> {
        self.leader.as_ref()
    }

    /// The candidate's name.
    pub fn name(&self) -> &str {
        &self.rules.name
    }

    /// The number that marks what this campaign writes; an operator's request names it.
    pub fn nonce(&self) -> Nonce {
        self.nonce
    }

    /// The lease time in force.
    pub fn lease_time(&self) -> Duration {
        self.lease
    }

    /// How long the answer to a question is waited for, before it is asked again.
    pub fn attempt_limit(&self) -> Duration {
        pace::attempt_limit(self.lease)
    }

    /// The margin between the deadline and the end of the lease.
    pub fn margin(&self) -> Duration {
        self.rules.margin.of(self.lease)
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Tick => {}
            Input::Campaign => self.enter(),
            Input::Resign => self.leave(Reason::Resigned, None),
            Input::HandOver(successor) => self.leave(Reason::HandedOver, Some(successor)),
            Input::Close => self.close(),
            Input::Health(healthy) => self.health(healthy),
            Input::Drained => self.drained(),
            Input::HandlerFailed => self.handler_failed(),
            Input::Accept => self.accept(),
            Input::Wrote { attempt, outcome } => self.wrote(attempt, outcome),
            Input::Read { read, result } => self.read_answered(read, result),
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
            Timer::Release => self.go_on(),
            Timer::Drain => self.end_drain(true),
            // Whether the win can be told is looked at after every input.
            Timer::Win => {}
            Timer::Renew | Timer::Retry => self.act(),
            Timer::Splay => self.stand(),
            Timer::Acquire => self.acquire(),
            Timer::Poll => self.look(),
        }
    }

    /// Does what the stage wants done next: at a renewal's time, after a failure, on a new connection.
    fn act(&mut self) {
        match &self.stage {
            Stage::Seated(seat) if seat.check => self.read(),
            Stage::Seated(_) => self.renew(),
            Stage::Releasing(_) => self.release(),
            Stage::Candidate => self.plan(),
            Stage::Idle | Stage::Splaying | Stage::Closed => {}
        }
    }

    /// Draws the conclusions of an input: is the win due, who leads, what is there to tell.
    fn settle(&mut self) {
        self.win();
        self.set_deadline();
        self.tell_changes();
    }

    fn seat(&self) -> Option<&Seat> {
        match &self.stage {
            Stage::Seated(seat) => Some(seat),
            _ => None,
        }
    }

    fn seat_mut(&mut self) -> Option<&mut Seat> {
        match &mut self.stage {
            Stage::Seated(seat) => Some(seat),
            _ => None,
        }
    }

    /// Whether this campaign wrote a record, as far as it can know.
    ///
    /// The nonce alone does not say: where random numbers repeat, another process has it too. So the name has
    /// to be ours, and the attempt one that was made and that the store has not answered otherwise.
    fn is_ours(&self, record: &Record) -> bool {
        let Some(stamp) = record.stamp.filter(|stamp| stamp.nonce == self.nonce) else { return false };
        let present = self.life.incarnation();
        record.candidate == self.rules.name
            && self.ledger.may_have_left(stamp.attempt, record.revision, present)
    }

    /// Whether this campaign gave the seat up by this release. It holds back then; nothing else depends on it.
    fn is_our_release(&self, release: &Release) -> bool {
        let stamp = release.stamp.filter(|stamp| stamp.nonce == self.nonce);
        let sent = stamp.and_then(|stamp| self.ledger.find(stamp.attempt));
        sent.is_some_and(|sent| {
            sent.purpose == Purpose::Release && matches!(sent.answered, Answered::Open | Answered::At(_))
        })
    }

    /// The attempt that wrote a record of ours.
    ///
    /// `None` where it is forgotten, or was meant for another life of the store: by a revision
    /// that happened to match, it may have replaced anybody's record, so nothing it knew holds.
    fn sent_as(&self, record: &Record) -> Option<Sent> {
        let sent = self.ledger.find(record.stamp.filter(|_| self.is_ours(record))?.attempt)?;
        (sent.incarnation == self.life.incarnation()).then_some(sent)
    }

    /// The record that is there, where it is ours.
    fn own_record_seen(&self) -> Option<&Record> {
        self.sight.record().filter(|record| self.is_ours(record))
    }

    /// The record that an attempt of ours leaves at `revision`.
    fn own_record(&self, sent: &Sent, revision: Revision) -> Record {
        Record {
            revision,
            candidate: self.rules.name.clone(),
            stamp: Some(Stamp { nonce: self.nonce, attempt: sent.attempt }),
            lease: Some(sent.lives),
            claim: None,
            metadata: self.rules.metadata.clone(),
            oversize: None,
        }
    }
}

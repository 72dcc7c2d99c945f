//! The third acquisition rule: induction, as NELI has it, over a Kafka consumer group.
//!
//! A [`Campaign`] is one candidate's attempt to win and keep one election in a consumer group: the group assigns partition
//! zero of a leader topic to one member, and the member that owns it and proves it leads. NELI is E. Koutanov's
//! ("Non-Exclusive Leader Induction"); goNELI is its implementation, whose members can share the group.
//!
//! ```text
//!            campaign            splay over          assigned             a commit proved
//!      Idle ──────────▶ Splaying ──────────▶ Waiting ────────▶ Acquiring ────────────────▶ Holding
//!        ▲                                   ▲  ▲ ▲               ▲  │ revoked, lost           │ no wait is owed:
//!        │ unhealthy                rejoins  │  │ └───────────────┼──┘                        ▼ Won is reported
//!        │                                   │  │ yielded         └──── expired, reset ──── Leading
//!        └──────────────── Releasing ────────┘  │                                             │ revoked, resign,
//!                          │      ▲ ▲───────────┘                                             │ unhealthy, close
//!                   closed │      │ Lost is reported                                          ▼
//!                          ▼      └────────────────────────────────────────────────────── Draining
//!                       Closed
//! ```
//!
//! # What makes it safe
//!
//! Owning partition zero proves nothing about now, and neither does a heartbeat: no broker fences a plain producer or a
//! reader, so a removed member's heartbeats are appended, and come back to it, while another member owns the partition
//! (measured: for 6 s). Nor does the session timeout bound a lease: a member is removed as suddenly when the rebalance
//! timeout runs out, by an operator, or by a second member with the same static id (all measured).
//!
//! An acknowledged **offset commit** does: the coordinator applies it with all replicas, and refuses it from a client that
//! is no member of the present generation. So a renewal is two steps in this order: a heartbeat, handed over at `h` and
//! appended; *then* a commit of the offset after it. Where the commit is acknowledged, and the client, asked afterwards,
//! still has the member id of the assignment, a generation and partition zero, the candidate was a member after its heartbeat
//! was appended, and `D = h + T - M`.
//!
//! The coordinator says nothing about later, so the lease lies between candidates: every candidate reads the log, and a new owner
//! appends a **claim** and waits until `T` after the earlier of its assignment and its own first sight of the newest record
//! below the claim that it did not write. Every commit of another candidate was applied before the assignment, and its
//! heartbeat lies below the claim and was sent before that sight. Where the newest record is a release over whose term no
//! third candidate wrote, the leader before is known to have stopped, and nothing is waited for.
//!
//! The token is the offset of the claim, under an incarnation that is a number in the log: each claim copies the largest
//! below it, and the first of a topic takes the time of day, as does one behind records that were not read. Each commit states
//! the largest token known as its metadata, which a new owner reads before it claims: so tokens grow also where the log forgets.
//! The topic's id says whether the log is another: it is asked for between a claim and its win,
//! and each record names the one for which it was written: a producer hands on what it kept to whatever topic has the name by
//! then. What such a record says of offsets and of the incarnation is of the former log, and releases nothing.
//!
//! Not defended against: brokers that lose acknowledged writes; a retention shorter than a lease; leases that differ
//! between candidates of a group, as far as the log does not name them. `hand_over` and `evict` have no input here: the
//! group chooses its owner.
//!
//! # Reading order
//!
//! 1. `io`, `answers`, `settings`, `record`: what goes in and comes out, what the client's errors mean, what is refused,
//!    what lies in the log.
//! 2. This file: the parts of a campaign, and the way of an input through it.
//! 3. `log`: what was read, and what lies below a claim. `proof`: heartbeats and commits. `committed`: the token that the group
//!    keeps.
//! 4. The states: `owning` claims, wins and loses, `leaving` drains, releases and leaves.
//! 5. `observing`: the log, the topic, and the reports.

mod answers;
mod committed;
mod giving_way;
mod io;
mod leaving;
mod log;
mod observing;
mod owning;
mod proof;
mod record;
mod settings;
mod timers;
mod waiting;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use oorandom::Rand64;

pub use answers::{Failure, Loss, Operation, polled, read};
pub use io::{Answer, Connection, Input, Membership, Output, Publish, Request, Shown, Topic, TopicId};
pub use record::{KIND, Kind, PROVEN, Record, TOPIC, check_member_name, sanitise, value};
pub use settings::{ClientSettings, Group, Protocol};
pub use timers::{Timer, Wake};

use crate::campaign::{
    Event, Intent, InvalidSettings, Leader, Lease, Misuse, Reason, Settings, State, backoff, pace,
};
use crate::candidacy::GivingWay;
use crate::record::{Attempt, Nonce};
use crate::store::{Fault, FaultKind};
use crate::time::Instant;
use committed::OpenCommits;
use giving_way::Probe;
use leaving::Ending;
use log::Log;
use owning::Owner;
use proof::Proof;
use settings::Rules;
use timers::Timers;

/// One candidate's running attempt to win and keep an election in a consumer group.
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
    log: Log,
    /// The newest inspection of the topic.
    topic: Topic,
    /// It is not inspected before.
    inspects_from: Option<Instant>,

    // What is under way.
    proof: Proof,
    last_attempt: Attempt,
    open_commits: OpenCommits,
    /// The number of the newest question for the committed token.
    last_question: u64,
    /// Operations in a row that failed.
    failures: u32,
    /// The client has left the group.
    left: bool,

    // What holds a candidate back.
    /// It does not join before.
    rest_until: Instant,
    /// Clients in a row that died.
    deaths: u32,
    giving_way: GivingWay,
    /// The newest record of a probe.
    probe: Option<Probe>,
    /// Terms in a row that ended within a lease because the user's handler failed.
    handler_failures: u32,

    timers: Timers,
    reported: Reported,
    pub(crate) outputs: VecDeque<Output>,
}

/// The state of a campaign, with what means something in that state alone.
#[derive(Clone, Debug, Hash)]
enum Stage {
    Idle,
    Splaying,
    /// Out of the group, until it joins again.
    Away,
    /// A member, without partition zero.
    Member,
    Owner(Box<Owner>),
    Ending(Ending),
    /// The client leaves the group.
    Leaving,
    Closed,
}

/// The last report of each kind, so that it is not repeated.
#[derive(Clone, Debug, Default)]
struct Reported {
    leader: Option<Leader>,
    state: Option<State>,
    /// Since the last proof.
    faults: Vec<Fault>,
    inspection: Option<FaultKind>,
    twin: bool,
}

impl Campaign {
    /// A campaign that has not begun; [`Input::Campaign`] begins it.
    ///
    /// `topic` comes from an inspection of the leader topic; where it has no id, the campaign asks for one when it enters the
    /// race. Hand the topic's records in once its id was asked for, from the oldest that it has, in their order: those that
    /// were handed in before the first answer with an id count as not read. `nonce` is used for no other campaign; `seed` decides every random choice. `now` is a reading of
    /// the clock that all later inputs use.
    ///
    /// # Errors
    ///
    /// Returns the setting that is incoherent, or that a group cannot keep.
    pub fn new(
        settings: Settings,
        group: Group,
        topic: Topic,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Self, InvalidSettings> {
        let rules = Rules::new(settings, group)?;
        Ok(Self {
            nonce,
            rng: Rand64::new(seed.into()),
            now,
            stage: Stage::Idle,
            intent: Intent::default(),
            splayed: false,
            log: Log::new(rules.lease, now),
            topic,
            inspects_from: None,
            proof: Proof::default(),
            last_attempt: Attempt(0),
            open_commits: OpenCommits::default(),
            last_question: 0,
            failures: 0,
            left: true,
            rest_until: Instant::ZERO,
            deaths: 0,
            giving_way: GivingWay::default(),
            probe: None,
            handler_failures: 0,
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
    /// An answer to a record that was never published changes nothing and is returned.
    pub fn handle(&mut self, now: Instant, input: Input) -> Result<(), Misuse> {
        match &input {
            Input::Answered(Answer::Published { attempt, .. } | Answer::Committed { attempt, .. })
                if *attempt > self.last_attempt =>
            {
                return Err(Misuse::UnknownAttempt(*attempt));
            }
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

    /// Returns what to do next. [`Output::WakeAt`] means drained: nothing more until an input, or that instant.
    #[must_use]
    pub fn poll(&mut self) -> Output {
        self.outputs.pop_front().unwrap_or_else(|| Output::WakeAt(self.timers.next()))
    }

    /// The right to lead: the candidate leads while its clock reads less than the deadline. `None` outside a reported term.
    ///
    /// Publish it after every [`handle`](Self::handle), *before* acting on its outputs: a revocation is answered only after
    /// the lease is gone from here.
    pub fn lease(&self) -> Option<Lease> {
        let owner = self.owner()?;
        owner.term.zip(owner.deadline).map(|(term, deadline)| Lease { token: term.token, deadline })
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
            Stage::Away | Stage::Member => State::Waiting,
            Stage::Owner(owner) => match **owner {
                Owner { term: Some(_), departure: None, .. } => State::Leading,
                Owner { term: Some(_), .. } => State::Draining,
                Owner { deadline: Some(_), .. } => State::Holding,
                _ => State::Acquiring,
            },
            Stage::Ending(_) | Stage::Leaving => State::Releasing,
            Stage::Closed => State::Closed,
        }
    }

    /// Whether the campaign is closed and its client has left the group.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Closed) && self.left
    }

    /// The candidate that last wrote that it leads, until its lease has passed since that was first observed.
    pub fn leader(&self) -> Option<&Leader> {
        self.reported.leader.as_ref()
    }

    /// The candidate's name.
    pub fn name(&self) -> &str {
        &self.rules.name
    }

    /// The number that marks this campaign's records.
    pub fn nonce(&self) -> Nonce {
        self.nonce
    }

    /// The lease time.
    pub fn lease_time(&self) -> Duration {
        self.rules.lease
    }

    /// The time that an append or a commit may take before the campaign tries again.
    pub fn attempt_limit(&self) -> Duration {
        pace::attempt_limit(self.rules.lease)
    }

    /// The margin between the deadline and the end of the lease.
    pub fn margin(&self) -> Duration {
        self.rules.margin.of(self.rules.lease)
    }

    /// The settings of the client that follow from the candidate's.
    pub fn client_settings(&self) -> ClientSettings {
        self.rules.client
    }

    fn dispatch(&mut self, input: Input) {
        match input {
            Input::Tick => {}
            Input::Campaign => self.campaign(),
            Input::Resign => self.resign(),
            Input::Close => self.close(),
            Input::Health(healthy) => self.health(healthy),
            Input::Drained => self.drained(),
            Input::HandlerFailed => self.handler_failed(),
            Input::Answered(answer) => self.answered(answer),
            Input::Watched(Shown::Record(record)) => self.record(&record),
            Input::Watched(Shown::Gap) => self.gap(),
        }
    }

    fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::Assigned { member } => self.assigned(member),
            Answer::Revoked => self.revoked(),
            Answer::GroupLost(loss) => self.group_lost(loss),
            Answer::Left => self.has_left(),
            Answer::Published { attempt, result } => self.published(attempt, result),
            Answer::Committed { attempt, result } => {
                let waited = self.commit_answered(attempt);
                self.committed(attempt, result);
                if waited {
                    self.win();
                }
            }
            Answer::CommittedToken { number, result } => self.token_committed(number, result),
            Answer::Inspected(result) => self.inspected(result),
            Answer::Members(result) => self.members_counted(result),
            Answer::Denied(fault) => self.report_fault(fault),
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Deadline => self.expire(),
            Timer::Answer => self.answer_timed_out(),
            Timer::Release => self.release_ended(),
            Timer::Work => self.work_timed_out(),
            Timer::Close => self.leaving_timed_out(),
            Timer::Drain => self.end_drain(true),
            Timer::Owed => self.win(),
            Timer::Renew => self.renew(),
            Timer::Heartbeat => self.heartbeat(),
            Timer::Inspect => self.inspect(),
            Timer::Join => self.join_when_rested(),
            Timer::Vacant => self.report_leader(None),
            Timer::Splay => self.join(),
        }
    }

    /// Ends every call: sets the deadline, reports what changed.
    fn conclude(&mut self) {
        match self.owner().and_then(|owner| owner.deadline) {
            Some(deadline) => self.timers.set(Timer::Deadline, deadline),
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
            if self.topic.id.is_none() {
                self.inspect();
            }
            if !core::mem::replace(&mut self.splayed, true) {
                let splay = backoff::up_to(self.rules.splay, &mut self.rng);
                if !splay.is_zero() {
                    self.stage = Stage::Splaying;
                    return self.timers.set(Timer::Splay, self.now + splay);
                }
            }
            self.join_when_rested();
        }
    }

    fn join_when_rested(&mut self) {
        if self.giving_way.rests(self.now) {
            self.stage = Stage::Away;
            self.probe();
            let wakes = self.giving_way.wakes_at(self.now).unwrap_or(self.now);
            return self.timers.set(Timer::Join, wakes.max(self.rest_until));
        }
        if self.rest_until > self.now {
            self.stage = Stage::Away;
            return self.timers.set(Timer::Join, self.rest_until);
        }
        self.join();
    }

    fn join(&mut self) {
        self.left = false;
        self.open_commits.clear();
        self.stage = Stage::Member;
        self.ask(Request::Join);
    }

    fn resign(&mut self) {
        match self.owner() {
            Some(Owner { term: Some(_), .. }) => self.depart(Reason::Resigned),
            Some(_) => {
                self.rest_until = self.now + self.rules.lease;
                self.leave_partition(true);
            }
            None => {}
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
        match &self.stage {
            Stage::Idle => self.stage = Stage::Closed,
            Stage::Ending(_) => self.limit_work(),
            _ => {}
        }
    }

    /// A leader drains; a candidate leaves at once.
    fn leave_race(&mut self, reason: Reason) {
        match &self.stage {
            Stage::Owner(owner) if owner.term.is_some() => self.depart(reason),
            Stage::Owner(_) | Stage::Member => self.leave_partition(true),
            Stage::Splaying | Stage::Away => {
                self.timers.stop(Timer::Splay);
                self.timers.stop(Timer::Join);
                self.stage = Stage::Idle;
            }
            Stage::Idle | Stage::Ending(_) | Stage::Leaving | Stage::Closed => {}
        }
    }

    fn owner(&self) -> Option<&Owner> {
        match &self.stage {
            Stage::Owner(owner) => Some(owner),
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
            log,
            topic,
            inspects_from,
            proof,
            last_attempt,
            open_commits,
            last_question,
            failures,
            left,
            rest_until,
            deaths,
            giving_way,
            probe,
            handler_failures,
            timers,
            reported: _,
            outputs: _,
        } = self;
        (stage, intent, splayed, log, topic, inspects_from, proof, last_attempt, open_commits).hash(hasher);
        (last_question, failures, left).hash(hasher);
        (rest_until, deaths, giving_way, probe, handler_failures, timers).hash(hasher);
    }
}

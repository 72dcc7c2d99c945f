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
//! 2. [`candidacy`](crate::candidacy): the way of an input through a candidate, which is the same by every rule. `hooks`: what
//!    this rule adds to it. This file: what a candidate knows.
//! 3. `log`: what was read, and what lies below a claim. `proof`: heartbeats and commits. `committed`: the token that the group
//!    keeps.
//! 4. The states: `owning` claims, wins and loses, `leaving` drains, releases and leaves.
//! 5. `observing`: the log, the topic, and the reports.

mod answers;
mod committed;
mod giving_way;
mod hooks;
mod io;
mod leaving;
mod log;
mod observing;
mod owning;
mod proof;
mod record;
mod settings;
mod timers;

use alloc::boxed::Box;

pub use answers::{Failure, Loss, Operation, polled, read};
pub use io::{Answer, Connection, Input, Membership, Output, Publish, Request, Shown, Topic, TopicId};
pub use record::{KIND, Kind, PROVEN, Record, TOPIC, check_member_name, sanitise, value};
pub use settings::{ClientSettings, Group, Protocol};
pub use timers::{Timer, Wake};

use crate::campaign::{InvalidSettings, Settings};
use crate::candidacy::{Candidacy, Stage};
use crate::record::{Attempt, Nonce};
use crate::store::FaultKind;
use crate::time::Instant;
use committed::OpenCommits;
use giving_way::Probe;
use leaving::Ending;
use log::Log;
use owning::Owner;
use proof::Proof;

/// One candidate's running attempt to win and keep an election in a consumer group.
pub type Campaign = Candidacy<Induction>;

/// What a candidate knows that competes in a consumer group.
#[derive(Clone, Debug)]
pub struct Induction {
    log: Log,
    /// The newest inspection of the topic.
    topic: Topic,
    /// It is not inspected before.
    inspects_from: Option<Instant>,
    proof: Proof,
    last_attempt: Attempt,
    open_commits: OpenCommits,
    /// The number of the newest question for the committed token.
    last_question: u64,
    /// Operations in a row that failed.
    failures: u32,
    /// The client has left the group.
    left: bool,
    /// Clients in a row that died.
    deaths: u32,
    /// The newest record of a probe.
    probe: Option<Probe>,
    reported: Reported,
}

/// What a candidate in the race does.
#[derive(Clone, Debug, Hash)]
pub enum Race {
    /// Out of the group, until it joins again.
    Away,
    /// A member, without partition zero.
    Member,
    /// Partition zero is assigned to it.
    Owner(Box<Owner>),
}

/// What a candidate does that leaves.
#[derive(Clone, Debug, Hash)]
pub enum Leaving {
    /// It releases the term that it lost, and keeps the partition until then.
    Ending(Ending),
    /// Its client leaves the group.
    Group,
}

/// The last report of each kind, so that it is not repeated.
#[derive(Clone, Debug, Default)]
struct Reported {
    inspection: Option<FaultKind>,
    twin: bool,
}

impl Candidacy<Induction> {
    /// A campaign that has not begun; [`Input::Campaign`] begins it.
    ///
    /// `topic` comes from an inspection of the leader topic; where it has no id, the campaign asks for one when it enters the
    /// race. Hand the topic's records in once its id was asked for, from the oldest that it has, in their order: those that
    /// were handed in before the first answer with an id count as not read. `nonce` is used for no other campaign; `seed`
    /// decides every random choice. `now` is a reading of the clock that all later inputs use.
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
        let rules = settings::rules(settings, group)?;
        let own = Induction {
            log: Log::new(rules.lease, now),
            topic,
            inspects_from: None,
            proof: Proof::default(),
            last_attempt: Attempt(0),
            open_commits: OpenCommits::default(),
            last_question: 0,
            failures: 0,
            left: true,
            deaths: 0,
            probe: None,
            reported: Reported::default(),
        };
        Ok(Self::idle(rules, nonce, seed, now, own))
    }

    /// The settings of the client that follow from the candidate's.
    pub fn client_settings(&self) -> ClientSettings {
        self.rules.own.client
    }

    fn join_when_rested(&mut self) {
        if self.giving_way.rests(self.now) {
            self.stage = Stage::Racing(Race::Away);
            self.probe();
            let wakes = self.giving_way.wakes_at(self.now).unwrap_or(self.now);
            return self.timers.set(Timer::Join, wakes.max(self.past.rest_until));
        }
        if self.past.rest_until > self.now {
            self.stage = Stage::Racing(Race::Away);
            return self.timers.set(Timer::Join, self.past.rest_until);
        }
        self.own.left = false;
        self.own.open_commits.clear();
        self.stage = Stage::Racing(Race::Member);
        self.ask(Request::Join);
    }

    fn owner(&self) -> Option<&Owner> {
        match &self.stage {
            Stage::Racing(Race::Owner(owner)) => Some(owner),
            _ => None,
        }
    }
}

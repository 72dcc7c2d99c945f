//! The third acquisition rule: induction, as NELI has it, over a Kafka consumer group.
//!
//! A [`Campaign`] is one candidate's attempt to win and keep one election in a consumer group. The group assigns
//! partition zero of a leader topic to one member; the member that owns the partition, and proves it, leads. NELI
//! ("Non-Exclusive Leader Induction") is by E. Koutanov; goNELI is its implementation, whose members can share the
//! group.
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
//! Owning partition zero proves nothing about the present, and neither does a heartbeat. No broker fences a plain
//! producer or a reader, so the heartbeats of a removed member are appended and come back to it while another member
//! owns the partition (measured: for 6 s). Nor does the session timeout bound a lease: a member is removed just as
//! suddenly when the rebalance timeout runs out, by an operator, or by a second member with the same static id (all
//! measured).
//!
//! An acknowledged **offset commit** proves it: the coordinator applies it with all replicas, and refuses it from a
//! client that is not a member of the present generation. So a renewal is two steps in this order: a heartbeat, handed
//! over at `h` and appended; *then* a commit of the offset after it. If the commit is acknowledged, and the client,
//! asked afterwards, still has the member id of the assignment, a generation and partition zero, then the candidate was
//! a member after its heartbeat was appended, and `D = h + T - M`.
//!
//! The coordinator promises nothing about later, so candidates grant the lease to each other: every candidate reads the
//! log. A new owner appends a **claim**. It then waits until `T` after the earlier of two instants: its assignment, and
//! its first sight of the newest record of another writer below the claim. Every commit of another candidate was
//! applied before the assignment, and its heartbeat lies below the claim and was sent before that sight. If the newest
//! record is a release, and no third candidate wrote over its term, the previous leader is known to have stopped, and
//! the new owner does not wait.
//!
//! The token is the offset of the claim, under an incarnation that is a number in the log. Each claim copies the
//! largest incarnation below it. The first claim of a topic takes the time of day, and so does a claim after records
//! that were not read. Each commit states the largest known token in its metadata, which a new owner reads before it
//! claims, so tokens grow even if the log forgets. The topic's id shows whether the log is another. The owner asks for
//! it between claim and win, and each record names the topic that it was written for, because a producer delivers what
//! it kept to whatever topic has the name by then. The offsets and the incarnation in such a record belong to the
//! former log, and it releases nothing.
//!
//! Not defended against: brokers that lose acknowledged writes; a retention shorter than a lease; leases that differ
//! between candidates of a group and that the log does not state. `hand_over` and `evict` have no input here: the group
//! chooses its owner.
//!
//! # Reading order
//!
//! 1. `io`, `answers`, `settings`, `record`: what goes in and comes out, what the client's errors mean, what is refused,
//!    what lies in the log.
//! 2. [`candidacy`](crate::candidacy): how a candidate handles an input, the same for every rule. `hooks`: what this
//!    rule adds. This file: what a candidate knows.
//! 3. `log`: what was read, and what lies below a claim. `owner`, `ending`: an ownership and its end. `proof`: what was
//!    published under it, and what of that is proven. `committed`: the token that the group keeps.
//! 4. The states: `owning` claims, wins and loses, `proving` sends heartbeats and commits, `leaving` drains, releases and
//!    leaves.
//! 5. `observing`: the log, the topic, and the reports.

mod answers;
mod committed;
mod ending;
mod giving_way;
mod hooks;
mod io;
mod leaving;
mod log;
mod observing;
mod owner;
mod owning;
mod proof;
mod proving;
mod record;
mod settings;
mod timers;

use alloc::boxed::Box;

pub use answers::{Operation, polled, read};
pub use io::{Answer, Connection, Failure, Input, Loss, Membership, Output, Publish, Request, Shown, Topic};
pub use record::{KIND, Kind, PROVEN, Record, TOPIC, TopicId, check_member_name, sanitise, value};
pub use settings::{ClientSettings, Group, Protocol};
pub use timers::{Timer, Wake};

use crate::campaign::{InvalidSettings, Settings};
use crate::candidacy::{Candidacy, Stage};
use crate::record::{Attempt, Nonce};
use crate::store::FaultKind;
use crate::time::Instant;
use committed::OpenCommits;
use ending::Ending;
use log::Log;
use owner::Owner;
use proof::Proof;

/// One candidate's running attempt to win and keep an election in a consumer group.
pub type Campaign = Candidacy<Induction>;

/// What a candidate in a consumer group knows.
#[derive(Clone, Debug)]
pub struct Induction {
    log: Log,
    /// The newest inspection of the topic.
    topic: Topic,
    /// The next inspection is not sent before this instant.
    inspects_from: Option<Instant>,
    proof: Proof,
    last_attempt: Attempt,
    open_commits: OpenCommits,
    /// The number of the newest question for the committed token.
    last_question: u64,
    /// The number of operations that failed in a row.
    failures: u32,
    /// Whether the client has left the group.
    left: bool,
    /// The number of clients that died in a row.
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
    /// The candidate to which partition zero is assigned.
    Owner(Box<Owner>),
}

/// What a candidate does while it leaves.
#[derive(Clone, Debug, Hash)]
pub enum Leaving {
    /// The candidate releases its lost term, and keeps the partition until that is done.
    Ending(Ending),
    /// The candidate's client leaves the group.
    Group,
}

/// A record published to test whether it is appended and read back.
#[derive(Clone, Copy, Debug, Hash)]
struct Probe {
    attempt: Attempt,
    sent: Instant,
}

/// The last report of each kind, so that none is repeated.
#[derive(Clone, Debug, Default)]
struct Reported {
    inspection: Option<FaultKind>,
    twin: bool,
}

impl Candidacy<Induction> {
    /// Creates a campaign that has not begun; [`Input::Campaign`] begins it.
    ///
    /// `topic` comes from an inspection of the leader topic; if it has no id, the campaign asks for one when it enters
    /// the race. Once it has asked for the id, hand in the topic's records in order, from the oldest one available;
    /// records handed in before the first answer with an id count as not read. `nonce` must not be used for another
    /// campaign; `seed` decides every random choice. `now` is a reading of the clock that all later inputs use.
    ///
    /// # Errors
    ///
    /// Returns the setting that is inconsistent, or that a group cannot keep.
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

    /// The client's settings, derived from the candidate's.
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

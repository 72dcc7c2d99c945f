//! The second acquisition rule: a place in a queue, as etcd's elections keep it.
//!
//! A [`Campaign`] is one candidate's attempt to win and keep one election in a store whose standard election is a
//! queue: each candidate creates a key, and the candidate with the oldest key leads. Other clients' elections (`etcdctl
//! elect`, Go's `concurrency.Election`) share the queue.
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
//! A candidacy has two keys, created by one transaction. The **place** is attached to lease `A`, which belongs to this
//! candidacy alone, and waits in the standard queue among foreign candidates. The **companion** is attached to the
//! connection's lease `B`, and waits in a queue of our own. A candidate leads only while it is first in both. When an
//! operator deletes a place or revokes the lease that it shows, the companion remains, and holds our other candidates
//! back until its owner has reported the loss and deletes it, or until `B` runs out.
//!
//! A **proof** is a round in which keep-alives of both leases are answered, and then a linearised read shows both keys
//! under the same raft term. The leases then live for `T` after the keep-alives were *answered*; the candidate counts
//! `T` from before they were *sent*, and stops a margin `M` sooner. Only a proof makes a leader, and only a proof
//! extends its deadline. Errors, silence and reads of another raft term do neither.
//!
//! To a watch, the deletion of a key, its revocation and its expiry look alike. So a watch proves nothing here: it only
//! shows when a round is worth its cost.
//!
//! Not defended against: an operator who deletes companions or the birth record, or revokes `B`, under a live leader; a
//! proxy that answers keep-alives from its own memory.
//!
//! # Reading order
//!
//! 1. `io`, `answers`, `settings`: what goes in and comes out, what the store's errors mean, what is refused.
//! 2. [`candidacy`](crate::candidacy): how a candidate handles an input, the same for every rule. `hooks`: what this
//!    rule adds. This file: what a candidate knows.
//! 3. `round`: the proof. `line`: who is ahead. `store_view`: incarnation, revisions, tokens.
//! 4. The states: `entering` creates the keys, `leading` wins, loses and hands over, `leaving` removes, `resting`
//!    leaves the queue to others if proofs fail, `moving` lets the lease of a companion that cannot be deleted run out.
//! 5. `turns`: what waits for a place among the connection's requests.
//! 6. `observing`: the watch, the connection, and the reports. `warnings`: what a person should know.

mod answers;
mod entering;
mod hooks;
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
mod warnings;

use alloc::boxed::Box;
use alloc::string::String;

pub use answers::{Code, Failure, Operation};
pub use io::{
    Action, Answer, Change, Companion, Input, KeptAlive, LeaseId, Leases, Outcome, Output, Own, Place,
    Request, Snapshot, Tell, Told, Write,
};
pub use settings::{Server, check_priority, default_margin};
pub use timers::{Timer, Wake};

use crate::campaign::{InvalidSettings, Settings};
use crate::candidacy::{Candidacy, Stage};
use crate::record::{Attempt, Nonce};
use crate::store::StoreInfo;
use crate::time::Instant;
use crate::token::Revision;
use entering::{Entering, StepBehind};
use leading::HandOver;
use leaving::Removal;
use line::Line;
use moving::Move;
use resting::Probe;
use round::Round;
use store_view::StoreView;
use turns::Turns;
use warnings::Namesake;

/// One candidate's running attempt to win and keep an election in a queue.
pub type Campaign = Candidacy<Queue>;

/// What a candidate in a queue knows.
#[derive(Clone, Debug)]
pub struct Queue {
    store: StoreView,
    /// Whether the store has no birth record; an inspection will write one.
    unborn: bool,
    /// A new connection was requested.
    reconnecting: bool,
    /// The number of operations that failed in a row.
    failures: u32,
    shared: Shared,
    round: Round,
    awaited: Option<Awaited>,
    removal: Removal,
    last_attempt: Attempt,
    /// No win is reported before this instant.
    owed: Instant,
    /// Whether the next candidacy waits for a lease before it wins, because another party deleted our companion.
    owes_a_lease: bool,
    probe: Probe,
    turns: Turns,
    /// Another campaign with this candidate's name, as last observed.
    namesake: Option<Namesake>,
    reported: Reported,
}

/// The lease for this connection's companions.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Shared {
    /// The connection's known lease for companions.
    lease: Option<LeaseId>,
    /// The previous lease, which is gone.
    gone: Option<LeaseId>,
    /// A lease that another lease was requested to replace.
    leaves: Option<LeaseId>,
}

/// The state of a candidate in the race.
#[derive(Clone, Debug, Hash)]
pub enum Race {
    /// The candidate has no place yet.
    Entering(Entering),
    /// The candidate has a place.
    Placed(Box<Placed>),
}

/// The leases and the revisions of one place and its companion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Keys {
    /// The lease of the place, after which both keys are named.
    lease: LeaseId,
    /// The lease of the companion.
    companion: LeaseId,
    /// The move of the companion to another lease, if it has to move.
    moves: Option<Move>,
    /// The revision that last wrote the companion, as far as known.
    modified: Revision,
    /// The revision that created both keys. It is the token's sequence.
    revision: Revision,
    /// Whether a transaction that creates the keys may still be applied later.
    doubtful: bool,
}

/// A candidate that has a place.
#[derive(Clone, Debug, Hash)]
pub struct Placed {
    keys: Keys,
    line: Line,
    /// `D`, from the newest proof.
    deadline: Option<Instant>,
    /// Whether the newest proof showed this candidate first in both queues.
    first: bool,
    hand_over: Option<HandOver>,
    /// Whether the companion names a successor, or may name one.
    names_successor: bool,
    step: Option<StepBehind>,
    /// The leader and the successor for which this candidate went to the end of the queue.
    stepped_for: Option<(String, String)>,
}

/// The answer that a candidate waits for. Rounds and removals keep track of their own answers.
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

/// The last report of each kind, so that none is repeated.
#[derive(Clone, Debug, Default)]
struct Reported {
    short_ttl: bool,
    reset: bool,
    barred: bool,
    /// Whether the failure of a move to another companions' lease was reported.
    stays: bool,
    place: Option<Revision>,
}

impl Candidacy<Queue> {
    /// Creates a campaign that has not begun; [`Input::Campaign`] begins it.
    ///
    /// `info` comes from an inspection of the store, which writes the birth record if there is none. `nonce` must not
    /// be used for another campaign; `seed` decides every random choice. `now` is a reading of the clock that all later
    /// inputs use.
    ///
    /// # Errors
    ///
    /// Returns the setting that is inconsistent, or that the store cannot keep.
    pub fn new(
        settings: Settings,
        server: Server,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Self, InvalidSettings> {
        let rules = settings::rules(settings, server)?;
        let own = Queue {
            store: StoreView::new(info, rules.lease, now),
            unborn: false,
            reconnecting: false,
            failures: 0,
            shared: Shared::default(),
            round: Round::default(),
            awaited: None,
            removal: Removal::default(),
            last_attempt: Attempt(0),
            owed: Instant::ZERO,
            owes_a_lease: false,
            probe: Probe::default(),
            turns: Turns::default(),
            namesake: None,
            reported: Reported::default(),
        };
        Ok(Self::idle(rules, nonce, seed, now, own))
    }

    /// Whether this leader is waiting for the successor of a [hand-over](Input::HandOver) to be next in the queue.
    /// [`Tell::NotNext`], a drain or the end of the term ends the wait.
    pub fn is_handing_over(&self) -> bool {
        self.placed().is_some_and(|placed| placed.hand_over.is_some())
    }

    fn placed(&self) -> Option<&Placed> {
        match &self.stage {
            Stage::Racing(Race::Placed(placed)) => Some(placed),
            _ => None,
        }
    }
}

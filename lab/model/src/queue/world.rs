//! The worlds of a queue: the setting that distinguishes them, and what may happen in each.

use std::time::Duration;

use incumbent_core::queue::Server;

use super::Queue;
use crate::clock::Tick;
use crate::world::Fault::{
    Crash, Delete, Deny, Elect, HandOver, Late, Lose, Move, Pause, Resign, RevokeEarly, RevokeLease, Stale,
};
use crate::world::{Budget, Fault, World};

/// A part of the rule, which is disabled by showing the candidates false states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueuePart {
    /// A round consists only of its keep-alives: its read shows both keys and the raft term as they should be.
    Keys,
    /// The read's raft term is not compared.
    RaftTerm,
    /// No candidate sees another's companion.
    Companion,
    /// The companion is attached to the lease of the place.
    CompanionsLease,
    /// No answer shows that the store elected another leader, so every lease looks as if it was granted since then.
    Elections,
}

/// What distinguishes one world of a queue from another.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Whether a foreign candidate has its place before the last candidate of ours.
    pub(super) foreign: bool,
    /// Whether the last candidate of ours has just entered when the exploration begins, and is stopped. Otherwise it
    /// has read the queue by then.
    pub(super) newcomer: bool,
    pub(super) margin: Duration,
    pub(super) watch: bool,
    /// Whether nothing except a denial keeps the candidates from leading.
    pub(super) gives_way: bool,
}

const PLAIN: Setting =
    Setting { foreign: false, newcomer: false, margin: Duration::ZERO, watch: true, gives_way: false };

pub(super) const SERVER: Server = Server { shortest: Some(Duration::from_secs(1)) };

/// The drifts of the clocks: the leader's is 9 % slow, and that of the next candidate 9 % fast. In a lease of three
/// seconds, half a second of margin allows for that, since `2.5 / 0.91` is no longer than `3 / 1.09`.
const DRIFTING: [i32; 3] = [-90_000, 90_000, 0];
const MARGIN: Duration = Duration::from_millis(500);

impl World<Queue> {
    /// Removes the margin of the candidates before the end of a lease.
    #[must_use]
    pub fn without_a_margin(mut self) -> Self {
        self.setting.margin = Duration::ZERO;
        self
    }
}

/// A world of two candidates in which only the horizon limits late transactions and stopped processes.
fn world<const N: usize>(
    name: &'static str,
    about: &'static str,
    horizon: Tick,
    faults: [(Fault, u8); N],
    setting: Setting,
) -> World<Queue> {
    World {
        name,
        about,
        candidates: 2,
        led: true,
        drift: [0; 3],
        horizon,
        hold: Tick::MAX,
        budget: Budget::of(faults),
        without: None,
        setting,
    }
}

/// All worlds of a queue. Small ones come first.
pub fn queue_worlds() -> Vec<World<Queue>> {
    vec![
        world("queue", "nothing goes wrong", 9, [], PLAIN),
        world(
            "queue crash",
            "a process ends, and an operator deletes a place",
            9,
            [(Crash, 1), (Delete, 1)],
            PLAIN,
        ),
        world("queue loss", "requests and answers are lost", 6, [(Lose, 2)], PLAIN),
        world(
            "queue operator",
            "an operator deletes a place and revokes the lease of a place",
            6,
            [(Delete, 1), (RevokeLease, 1)],
            PLAIN,
        ),
        world(
            "queue resign",
            "the leader resigns, and a transaction is applied late",
            7,
            [(Resign, 1), (Late, 1)],
            PLAIN,
        ),
        world("queue stop", "processes are stopped", 4, [(Pause, 2)], PLAIN),
        world(
            "queue stale",
            "a former leader of the store answers keep-alives, and a process is stopped",
            4,
            [(Stale, 2), (Pause, 1)],
            PLAIN,
        ),
        world(
            "queue early",
            "the store elects another leader, and revokes live leases that are older than its term",
            3,
            [(Elect, 1), (RevokeEarly, 2)],
            PLAIN,
        ),
        world(
            "queue early twice",
            "the store elects other leaders, and revokes live leases that are older than their terms",
            1,
            [(Elect, 2), (RevokeEarly, 2)],
            PLAIN,
        ),
        world(
            "queue early operator",
            "the store elects another leader and revokes a live lease, and an operator deletes a place",
            2,
            [(Elect, 1), (RevokeEarly, 1), (Delete, 1)],
            PLAIN,
        ),
        world(
            "queue early newcomer",
            "a candidate is stopped before its first read, the store elects another leader, and revokes live leases",
            2,
            [(Elect, 1), (RevokeEarly, 2)],
            Setting { newcomer: true, ..PLAIN },
        ),
        world(
            "queue unwatched",
            "no watch works, an operator deletes a place, and a process is stopped",
            5,
            [(Delete, 1), (Pause, 1)],
            Setting { watch: false, ..PLAIN },
        ),
        World {
            drift: DRIFTING,
            ..world(
                "queue drift",
                "the leader's clock is slow and the next one's fast, a process is stopped, and an answer is lost",
                5,
                [(Pause, 1), (Lose, 1)],
                Setting { margin: MARGIN, ..PLAIN },
            )
        },
        World {
            drift: DRIFTING,
            ..world(
                "queue early drift",
                "the store elects another leader and revokes a live lease, under the same clocks",
                8,
                [(Elect, 1), (RevokeEarly, 1)],
                Setting { margin: MARGIN, ..PLAIN },
            )
        },
        World {
            candidates: 3,
            ..world(
                "queue hand over",
                "the leader hands over to the third candidate, and the second steps behind",
                2,
                [(HandOver, 1)],
                PLAIN,
            )
        },
        world(
            "queue foreign",
            "the leader hands over past a foreign candidate, and an operator deletes a place",
            5,
            [(HandOver, 1), (Delete, 1)],
            Setting { foreign: true, ..PLAIN },
        ),
        world(
            "queue move",
            "the companions of a connection move to another lease, a put of a companion is lost, and an operator deletes a place",
            4,
            [(Move, 1), (Lose, 1), (Delete, 1)],
            PLAIN,
        ),
        world(
            "queue move late",
            "the companions of a connection move twice, and a put of a companion is applied late",
            4,
            [(Move, 2), (Late, 1)],
            PLAIN,
        ),
        world(
            "queue denied",
            "the reads of a candidate are denied permanently, a request or an answer is lost, and another leads within three leases",
            12,
            [(Deny, 1), (Lose, 1)],
            Setting { gives_way: true, ..PLAIN },
        ),
        world(
            "queue denied late",
            "the reads of a candidate are denied permanently, a transaction is applied late, and an operator deletes a place",
            6,
            [(Deny, 1), (Late, 1), (Delete, 1)],
            PLAIN,
        ),
        World {
            candidates: 3,
            ..world(
                "queue third",
                "three candidates, a process ends, and an operator deletes a place",
                3,
                [(Crash, 1), (Delete, 1)],
                PLAIN,
            )
        },
    ]
}

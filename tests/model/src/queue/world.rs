//! The worlds: what may happen in each, and how often.

use incumbent_core::queue::Server;
use std::time::Duration;

/// How often each thing may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Requests or answers that are lost.
    pub(crate) lose: u8,
    /// Transactions that are applied later, without an answer.
    pub(crate) late: u8,
    /// Keep-alives that a former leader of the store answers.
    pub(crate) stale: u8,
    /// Processes that are stopped for a while.
    pub(crate) pause: u8,
    /// Places that an operator deletes.
    pub(crate) delete: u8,
    /// Leases of places that an operator revokes.
    pub(crate) revoke: u8,
    /// Elections of another leader of the store.
    pub(crate) elect: u8,
    /// Live leases that the store revokes, of those that were granted before an election.
    pub(crate) early: u8,
    /// Leaders that are asked to resign.
    pub(crate) resign: u8,
    /// Processes that end.
    pub(crate) crash: u8,
    /// Leaders that are asked to hand over to the last candidate.
    pub(crate) hand_over: u8,
    /// Connections that leave the lease of their companions for another.
    pub(crate) moves: u8,
    /// Candidates whose reads are denied for good.
    pub(crate) deny: u8,
}

/// A part of the rule, taken away by showing the candidates something else than what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A round is the keep-alives alone: the read shows both keys and the raft term as they should be.
    Keys,
    /// The read's raft term is not compared.
    RaftTerm,
    /// No candidate sees another's companion.
    Companion,
    /// The companion is attached to the lease of the place.
    CompanionsLease,
    /// No answer shows that the store elected another leader: every lease looks as if it was granted since.
    Elections,
}

/// A small world.
#[derive(Clone, Debug)]
pub struct QueueWorld {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) horizon: u32,
    pub(crate) budget: Budget,
    /// The candidates of ours, each by the rate of its clock in thousandths of the store's.
    pub(crate) rates: &'static [u32],
    /// A foreign candidate stands before the last of ours.
    pub(crate) foreign: bool,
    /// The last of ours has just entered when the exploration begins, and is stopped; otherwise it has read the queue by then.
    pub(crate) newcomer: bool,
    pub(crate) margin: Duration,
    pub(crate) watch: bool,
    /// Whether nothing but a denial keeps the candidates from leading.
    pub(crate) gives_way: bool,
    pub(crate) without: Option<Part>,
}

pub(crate) const SERVER: Server = Server { shortest: Some(Duration::from_secs(1)) };

/// Clocks that keep time, of three candidates.
const THREE: &[u32] = &[1000; 3];

/// The leader's clock is slow by 9 % and the next one's fast by as much: what half a second of margin allows for in a lease
/// of three, since `2.5 / 0.91` is no longer than `3 / 1.09`.
const DRIFTING: &[u32] = &[910, 1090];
const MARGIN: Duration = Duration::from_millis(500);

impl QueueWorld {
    /// The name, as a command line spells it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What happens.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// The same world with one part of the rule taken away.
    #[must_use]
    pub fn without(mut self, part: Part) -> Self {
        self.without = Some(part);
        self
    }

    /// The same world, whose candidates leave no margin before the end of a lease.
    #[must_use]
    pub fn without_a_margin(mut self) -> Self {
        self.margin = Duration::ZERO;
        self
    }
}

/// All worlds, small ones first.
pub fn queue_worlds() -> Vec<QueueWorld> {
    let world = |name, about, horizon, budget| QueueWorld {
        name,
        about,
        horizon,
        budget,
        rates: &[1000, 1000],
        foreign: false,
        newcomer: false,
        margin: Duration::ZERO,
        watch: true,
        gives_way: false,
        without: None,
    };
    let none = Budget::default();
    vec![
        world("queue", "nothing goes wrong", 9, none),
        world(
            "queue crash",
            "a process ends, and an operator deletes a place",
            9,
            Budget { crash: 1, delete: 1, ..none },
        ),
        world("queue loss", "requests and answers are lost", 6, Budget { lose: 2, ..none }),
        world(
            "queue operator",
            "an operator deletes a place and revokes the lease of one",
            6,
            Budget { delete: 1, revoke: 1, ..none },
        ),
        world(
            "queue resign",
            "the leader resigns, and a transaction is applied late",
            7,
            Budget { resign: 1, late: 1, ..none },
        ),
        world("queue stop", "processes are stopped", 4, Budget { pause: 2, ..none }),
        world(
            "queue stale",
            "a former leader of the store answers keep-alives, and a process is stopped",
            4,
            Budget { stale: 2, pause: 1, ..none },
        ),
        world(
            "queue early",
            "the store elects another leader, and revokes live leases that are older than that",
            3,
            Budget { elect: 1, early: 2, ..none },
        ),
        world(
            "queue early twice",
            "the store elects other leaders, and revokes live leases that are older",
            1,
            Budget { elect: 2, early: 2, ..none },
        ),
        world(
            "queue early operator",
            "the store elects another leader and revokes a live lease, and an operator deletes a place",
            2,
            Budget { elect: 1, early: 1, delete: 1, ..none },
        ),
        QueueWorld {
            newcomer: true,
            ..world(
                "queue early newcomer",
                "a candidate is stopped before its first read, the store elects another leader, and revokes live leases",
                2,
                Budget { elect: 1, early: 2, ..none },
            )
        },
        QueueWorld {
            watch: false,
            ..world(
                "queue unwatched",
                "no watch works, an operator deletes a place, and a process is stopped",
                5,
                Budget { delete: 1, pause: 1, ..none },
            )
        },
        QueueWorld {
            rates: DRIFTING,
            margin: MARGIN,
            ..world(
                "queue drift",
                "the leader's clock is slow and the next one's fast, a process is stopped, and an answer is lost",
                5,
                Budget { pause: 1, lose: 1, ..none },
            )
        },
        QueueWorld {
            rates: DRIFTING,
            margin: MARGIN,
            ..world(
                "queue early drift",
                "the store elects another leader and revokes a live lease, under the same clocks",
                8,
                Budget { elect: 1, early: 1, ..none },
            )
        },
        QueueWorld {
            rates: THREE,
            ..world(
                "queue hand over",
                "the leader hands over to the third, and the second steps behind",
                2,
                Budget { hand_over: 1, ..none },
            )
        },
        QueueWorld {
            foreign: true,
            ..world(
                "queue foreign",
                "the leader hands over past a foreign candidate, and an operator deletes a place",
                5,
                Budget { hand_over: 1, delete: 1, ..none },
            )
        },
        world(
            "queue move",
            "the companions of a connection move to another lease, a put of one is lost, and an operator deletes a place",
            4,
            Budget { moves: 1, lose: 1, delete: 1, ..none },
        ),
        world(
            "queue move late",
            "the companions of a connection move twice, and a put of one is applied late",
            4,
            Budget { moves: 2, late: 1, ..none },
        ),
        QueueWorld {
            gives_way: true,
            ..world(
                "queue denied",
                "the reads of a candidate are denied for good, a request or an answer is lost, and another leads within three leases",
                12,
                Budget { deny: 1, lose: 1, ..none },
            )
        },
        world(
            "queue denied late",
            "the reads of a candidate are denied for good, a transaction is applied late, and an operator deletes a place",
            6,
            Budget { deny: 1, late: 1, delete: 1, ..none },
        ),
        QueueWorld {
            rates: THREE,
            ..world(
                "queue third",
                "three candidates, a process ends, and an operator deletes a place",
                3,
                Budget { crash: 1, delete: 1, ..none },
            )
        },
    ]
}

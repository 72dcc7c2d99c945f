//! The worlds of a consumer group, and what may happen in each.

use super::{CANDIDATES, Group};
use crate::clock::Tick;
use crate::world::Fault::{Crash, Fail, Late, Lose, Pause, Rebalance, Recreate, Remove, Replace, Resign};
use crate::world::{Budget, Fault, World};

/// A part of the rule, which is disabled by giving the candidates false answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InductionPart {
    /// Every commit is acknowledged, so an appended heartbeat is the proof.
    Commit,
    /// The client always reports the membership that it had at the assignment.
    Membership,
    /// No candidate reads the records of others.
    Log,
    /// The claims of others are read as heartbeats.
    Claims,
    /// An inspection names the topic that the candidate knows.
    Topic,
    /// A release names the topic that exists when the release is sent.
    Release,
}

/// A world in which only the horizon limits late requests and stopped processes.
fn world<const N: usize>(
    name: &'static str,
    about: &'static str,
    horizon: Tick,
    faults: [(Fault, u8); N],
) -> World<Group> {
    World {
        name,
        about,
        candidates: CANDIDATES,
        led: true,
        drift: [0; 3],
        horizon,
        hold: Tick::MAX,
        budget: Budget::of(faults),
        without: None,
        setting: (),
    }
}

/// All worlds of a consumer group.
pub fn induction_worlds() -> Vec<World<Group>> {
    vec![
        world("induction", "nothing goes wrong", 6, []),
        world("induction crash", "a process ends", 8, [(Crash, 1), (Remove, 1)]),
        world("induction removal", "members are removed at once", 6, [(Remove, 2)]),
        world(
            "induction replacement",
            "another process takes an owner's static id, in the same generation",
            5,
            [(Replace, 2)],
        ),
        world(
            "induction revocation",
            "the partition is revoked, and the leader is removed while it drains",
            5,
            [(Rebalance, 1), (Remove, 1)],
        ),
        world(
            "induction late",
            "a member is removed, and a record or a commit of it arrives late",
            4,
            [(Late, 1), (Remove, 1)],
        ),
        world("induction stop", "a process is stopped, and removed", 5, [(Pause, 1), (Remove, 1)]),
        world(
            "induction empty",
            "a process is stopped, and all members are removed",
            4,
            [(Pause, 1), (Remove, 2)],
        ),
        world(
            "induction loss",
            "requests and answers are lost, and a member is removed",
            4,
            [(Lose, 1), (Remove, 1)],
        ),
        world(
            "induction resign",
            "the leader resigns, its successor is removed, and a record arrives late",
            4,
            [(Resign, 1), (Late, 1), (Remove, 1)],
        ),
        world(
            "induction remade",
            "the topic is recreated, and a member is removed",
            5,
            [(Recreate, 1), (Remove, 1)],
        ),
        world(
            "induction former term",
            "the partition is revoked, and the release is appended in the next term of its author, which is removed",
            3,
            [(Rebalance, 1), (Late, 1), (Remove, 1)],
        ),
        world(
            "induction former topic",
            "a leader's handler fails, and the topic is recreated before the release",
            4,
            [(Fail, 1), (Recreate, 1), (Late, 1)],
        ),
    ]
}

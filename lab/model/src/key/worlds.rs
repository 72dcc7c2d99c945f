//! The worlds, cheap ones first.

use super::Key;
use super::world::{Alike, Setting, Watch};
use crate::clock::{DRIFT, LEASE};
use crate::world::Fault::{
    Close, Copy, Crash, Delete, Deny, HandOver, Late, Lose, Pause, Purge, Recreate, Resign, Seize, Stale,
    Start, Unresolved,
};
use crate::world::{Budget, Fault, World};

/// The setting from which all other ones are derived.
const PLAIN: Setting = Setting {
    alike: Alike::Not,
    leases: [LEASE; 3],
    skew: 1,
    drift_setting: DRIFT,
    stride: 2,
    early: 1,
    late: 1,
    markers: false,
    acked: false,
    watch: Watch::Prompt,
    unwatched: None,
    inspections_fail: false,
    enters: false,
    forgets: false,
    only_watches: false,
    keeps: false,
    fail_over: 15,
};

/// A world of two candidates.
fn world<const N: usize>(
    name: &'static str,
    about: &'static str,
    faults: [(Fault, u8); N],
    setting: Setting,
) -> World<Key> {
    World {
        name,
        about,
        candidates: 2,
        led: true,
        drift: World::DRIFTING,
        horizon: 30,
        hold: 3,
        budget: Budget::of(faults),
        without: None,
        setting,
    }
}

/// All worlds of a key. Those with fewer states come first.
pub fn worlds() -> Vec<World<Key>> {
    vec![
        world("quiet", "nothing goes wrong", [], Setting { keeps: true, fail_over: 0, ..PLAIN }),
        World {
            drift: [0; 3],
            ..world(
                "keep",
                "two messages are lost, and a leader keeps its term",
                [(Lose, 2)],
                Setting { watch: Watch::Loose, keeps: true, fail_over: 0, ..PLAIN },
            )
        },
        World {
            drift: [0; 3],
            ..world(
                "keep busy",
                "writes are answered with busy, not sent and unknown, and a leader keeps its term",
                [(Unresolved, 3)],
                Setting { inspections_fail: true, keeps: true, fail_over: 0, ..PLAIN },
            )
        },
        World {
            led: false,
            horizon: 18,
            ..world(
                "one nonce",
                "random numbers repeat: two candidates with the same nonce enter at any time, and messages are lost",
                [(Start, 2), (Lose, 1)],
                Setting { alike: Alike::Nonce, watch: Watch::Loose, stride: 4, ..PLAIN },
            )
        },
        World {
            led: false,
            horizon: 18,
            ..world(
                "twins",
                "two candidates with the same nonce and name enter at any time, and every answer arrives",
                [(Start, 2), (Resign, 1)],
                Setting { alike: Alike::NonceAndName, watch: Watch::Loose, stride: 4, ..PLAIN },
            )
        },
        world(
            "stale",
            "a lagging server answers reads and refuses writes",
            [(Stale, 3), (Lose, 1)],
            Setting { watch: Watch::Loose, ..PLAIN },
        ),
        World {
            candidates: 3,
            ..world(
                "three",
                "three candidates, a crash and a lost message",
                [(Lose, 1), (Crash, 1)],
                Setting { watch: Watch::Loose, ..PLAIN },
            )
        },
        World {
            horizon: 20,
            ..world(
                "loss",
                "requests and answers are lost, including inspections, and no watch works",
                [(Lose, 4)],
                Setting { watch: Watch::Dead, inspections_fail: true, ..PLAIN },
            )
        },
        World {
            led: false,
            horizon: 18,
            ..world(
                "orphan",
                "two candidates enter at any time, and messages are lost: no candidate is locked out by its own record",
                [(Start, 2), (Lose, 2)],
                Setting { stride: 4, fail_over: 3, ..PLAIN },
            )
        },
        world(
            "double",
            "messages arrive twice, and some are lost or late",
            [(Copy, 2), (Lose, 1), (Late, 1)],
            Setting { watch: Watch::Loose, ..PLAIN },
        ),
        world(
            "delete",
            "an operator deletes the key, and messages are lost",
            [(Delete, 1), (Lose, 1)],
            Setting { watch: Watch::Loose, ..PLAIN },
        ),
        world(
            "denied",
            "a candidate reconnects, its inspections are denied permanently, and messages are lost: it gives way",
            [(Deny, 1), (Lose, 2)],
            Setting { watch: Watch::Loose, fail_over: 3 * LEASE, ..PLAIN },
        ),
        World {
            horizon: 26,
            ..world(
                "crash",
                "candidates crash with requests in flight, and restart",
                [(Crash, 1), (Start, 1), (Late, 1)],
                PLAIN,
            )
        },
        // The deletion goes unnoticed until the leader's next renewal.
        World {
            horizon: 40,
            ..world(
                "delete unseen",
                "an operator deletes the key twice, messages are lost, and no watch works",
                [(Delete, 2), (Lose, 1)],
                Setting { watch: Watch::Dead, fail_over: 18, ..PLAIN },
            )
        },
        World {
            led: false,
            horizon: 13,
            ..world(
                "shown early",
                "two enter at any time and their campaigns begin later, the leader resigns, and the key is purged: they \
                    wait for what was shown",
                [(Start, 2), (Purge, 1), (Resign, 1)],
                Setting { enters: true, watch: Watch::Loose, stride: 4, ..PLAIN },
            )
        },
        World {
            horizon: 15,
            ..world(
                "ahead",
                "the servers' clocks jump: records vanish up to 9 s too early, and every candidate watches",
                [],
                Setting { early: 9, markers: true, watch: Watch::Loose, ..PLAIN },
            )
        },
        World {
            led: false,
            ..world(
                "start",
                "two candidates enter at any time, and either crashes",
                [(Start, 2), (Crash, 1)],
                Setting { watch: Watch::Loose, ..PLAIN },
            )
        },
        World {
            hold: 13,
            ..world(
                "late",
                "messages and watches are late, by more than a lease",
                [(Late, 2)],
                Setting { watch: Watch::Loose, ..PLAIN },
            )
        },
        world(
            "overwrite",
            "other software overwrites the leader's record",
            [(Seize, 1), (Late, 1)],
            Setting { watch: Watch::Loose, ..PLAIN },
        ),
        world(
            "markers",
            "expiry leaves markers, which may erase what has replaced the record since then",
            [(Crash, 1), (Late, 1), (Lose, 1)],
            Setting { markers: true, watch: Watch::Loose, ..PLAIN },
        ),
        World {
            led: false,
            hold: 12,
            horizon: 18,
            ..world(
                "erase",
                "two candidates enter a store with markers, an answer is lost, and one candidate is stopped",
                [(Start, 2), (Lose, 1), (Pause, 1)],
                Setting { markers: true, watch: Watch::Loose, stride: 6, ..PLAIN },
            )
        },
        World {
            candidates: 3,
            horizon: 20,
            ..world(
                "inherit",
                "three candidates; the key is deleted, and the waiting candidate is closed: the wait continues",
                [(Delete, 1), (Close, 1)],
                Setting { watch: Watch::Loose, stride: 6, ..PLAIN },
            )
        },
        World {
            drift: [-100_000, 100_000, 0],
            hold: 14,
            horizon: 24,
            ..world(
                "drift",
                "only the clocks' drift decides: a leader's key is deleted, and the leader does not learn of it",
                [(Delete, 1), (Late, 1)],
                Setting {
                    watch: Watch::Loose,
                    skew: 0,
                    early: 0,
                    drift_setting: 100_000,
                    only_watches: true,
                    ..PLAIN
                },
            )
        },
        world(
            "resign",
            "the leader resigns and hands over, and messages are lost",
            [(Resign, 1), (HandOver, 1), (Lose, 1)],
            Setting { watch: Watch::Loose, ..PLAIN },
        ),
        World {
            hold: 4,
            horizon: 20,
            ..world(
                "delete late",
                "an operator deletes the key, and watches are silent or messages late",
                [(Delete, 1), (Late, 1), (Lose, 1)],
                Setting { watch: Watch::Loose, stride: 5, ..PLAIN },
            )
        },
        World {
            horizon: 24,
            ..world(
                "close",
                "candidates are closed and restart, and messages are lost or late",
                [(Close, 1), (Start, 1), (Lose, 1), (Late, 1)],
                PLAIN,
            )
        },
        World {
            candidates: 3,
            hold: 12,
            horizon: 18,
            ..world(
                "leases",
                "one lease is shorter, one watch never works, the key is deleted, one candidate is stopped, and one crashes",
                [(Delete, 1), (Crash, 1), (Pause, 1)],
                Setting { leases: [LEASE, 6, LEASE], unwatched: Some(2), stride: 4, ..PLAIN },
            )
        },
        World {
            hold: 14,
            ..world(
                "pause",
                "candidates are stopped for longer than a lease",
                [(Pause, 2)],
                Setting { watch: Watch::Loose, ..PLAIN },
            )
        },
        world(
            "recreated",
            "the store is recreated, with revisions that a queued renewal matches",
            [(Recreate, 1), (Late, 1), (Lose, 1)],
            Setting { inspections_fail: true, ..PLAIN },
        ),
    ]
}

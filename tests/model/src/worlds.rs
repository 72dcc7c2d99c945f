//! The worlds, cheap ones first.

use crate::clock::{DRIFT, LEASE};
use crate::world::{Alike, Budget, Start, Watch, World};

/// The base of the other worlds.
const PLAIN: World = World {
    name: "",
    about: "",
    candidates: 2,
    start: Start::Led,
    alike: Alike::Not,
    leases: [LEASE; 3],
    skew: 1,
    drift_setting: DRIFT,
    drift: World::DRIFTING,
    horizon: 30,
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
    hold: 3,
    budget: Budget::NONE,
    keeps: false,
    fail_over: 15,
};

/// All worlds, those with fewer states first.
pub fn worlds() -> Vec<World> {
    const NONE: Budget = Budget::NONE;
    vec![
        World { name: "quiet", about: "nothing goes wrong", keeps: true, fail_over: 0, ..PLAIN },
        World {
            name: "keep",
            about: "two messages are lost, and a leader keeps its term",
            watch: Watch::Loose,
            drift: [0; 3],
            keeps: true,
            fail_over: 0,
            budget: Budget { lose: 2, ..NONE },
            ..PLAIN
        },
        World {
            name: "keep busy",
            about: "writes are answered with busy, not sent and unknown, and a leader keeps its term",
            inspections_fail: true,
            drift: [0; 3],
            keeps: true,
            fail_over: 0,
            budget: Budget { unresolved: 3, ..NONE },
            ..PLAIN
        },
        World {
            name: "one nonce",
            about: "random numbers repeat: two have one nonce, come at any time, and messages are lost",
            start: Start::Empty,
            alike: Alike::Nonce,
            watch: Watch::Loose,
            horizon: 18,
            stride: 4,
            budget: Budget { start: 2, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "twins",
            about: "two have one nonce and one name, and come at any time; every answer arrives",
            start: Start::Empty,
            alike: Alike::NonceAndName,
            watch: Watch::Loose,
            horizon: 18,
            stride: 4,
            budget: Budget { start: 2, resign: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "stale",
            about: "a server that lags answers reads and refuses writes",
            watch: Watch::Loose,
            budget: Budget { stale: 3, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "three",
            about: "three candidates, a crash and a lost message",
            candidates: 3,
            watch: Watch::Loose,
            budget: Budget { lose: 1, crash: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "loss",
            about: "requests and answers are lost, inspections included, and no watch works",
            watch: Watch::Dead,
            horizon: 20,
            inspections_fail: true,
            budget: Budget { lose: 4, ..NONE },
            ..PLAIN
        },
        World {
            name: "orphan",
            about: "two come at any time, and messages are lost: no candidate is locked out by its own record",
            start: Start::Empty,
            horizon: 18,
            stride: 4,
            fail_over: 3,
            budget: Budget { start: 2, lose: 2, ..NONE },
            ..PLAIN
        },
        World {
            name: "double",
            about: "messages arrive twice, and some are lost or late",
            watch: Watch::Loose,
            budget: Budget { copy: 2, lose: 1, hold: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "delete",
            about: "an operator deletes the key, and messages are lost",
            watch: Watch::Loose,
            budget: Budget { delete: 1, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "denied",
            about: "a candidate connects again and its inspections are denied for good, and messages are lost: it gives way",
            watch: Watch::Loose,
            fail_over: 3 * LEASE,
            budget: Budget { deny: 1, lose: 2, ..NONE },
            ..PLAIN
        },
        World {
            name: "crash",
            about: "candidates crash, with requests under way, and come again",
            horizon: 26,
            budget: Budget { crash: 1, start: 1, hold: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "delete unseen",
            about: "an operator deletes the key twice, messages are lost, and no watch works",
            watch: Watch::Dead,
            horizon: 40,
            // The deletion goes unnoticed until the leader's next renewal.
            fail_over: 18,
            budget: Budget { delete: 2, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "shown early",
            about: "two come at any time and their campaigns begin later, the leader resigns, and the key is purged: what \
                    was shown is waited for",
            start: Start::Empty,
            enters: true,
            watch: Watch::Loose,
            horizon: 13,
            stride: 4,
            budget: Budget { start: 2, purge: 1, resign: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "ahead",
            about: "the servers' clocks jump: records vanish up to 9 s too early, and every candidate watches",
            early: 9,
            markers: true,
            watch: Watch::Loose,
            horizon: 15,
            ..PLAIN
        },
        World {
            name: "start",
            about: "two come at any time, and any of them crashes",
            start: Start::Empty,
            watch: Watch::Loose,
            budget: Budget { start: 2, crash: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "late",
            about: "messages and watches are late, by more than a lease",
            watch: Watch::Loose,
            hold: 13,
            budget: Budget { hold: 2, ..NONE },
            ..PLAIN
        },
        World {
            name: "overwrite",
            about: "a stranger writes over the leader's record",
            watch: Watch::Loose,
            budget: Budget { seize: 1, hold: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "markers",
            about: "expiry leaves markers, which may erase what was written over the record meanwhile",
            markers: true,
            watch: Watch::Loose,
            budget: Budget { crash: 1, hold: 1, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "erase",
            about: "two come to a store with markers, an answer is lost, and one is stopped",
            start: Start::Empty,
            markers: true,
            watch: Watch::Loose,
            stride: 6,
            hold: 12,
            horizon: 18,
            budget: Budget { start: 2, lose: 1, pause: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "inherit",
            about: "three candidates; the key is deleted, and the candidate that waits is closed: the wait goes on",
            candidates: 3,
            watch: Watch::Loose,
            stride: 6,
            horizon: 20,
            budget: Budget { delete: 1, close: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "drift",
            about: "the clocks' drift alone decides, and the key of a leader is deleted, and the leader does not learn of it",
            watch: Watch::Loose,
            skew: 0,
            early: 0,
            drift_setting: 100_000,
            drift: [-100_000, 100_000, 0],
            only_watches: true,
            hold: 14,
            horizon: 24,
            budget: Budget { delete: 1, hold: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "resign",
            about: "the leader resigns and hands over, and messages are lost",
            watch: Watch::Loose,
            budget: Budget { resign: 1, hand_over: 1, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "delete late",
            about: "an operator deletes the key, and watches are silent or messages late",
            watch: Watch::Loose,
            stride: 5,
            hold: 4,
            horizon: 20,
            budget: Budget { delete: 1, hold: 1, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "close",
            about: "candidates are closed and come again, and messages are lost or late",
            horizon: 24,
            budget: Budget { close: 1, start: 1, lose: 1, hold: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "leases",
            about: "one lease is shorter, one watch never works; the key is deleted, one is stopped, and one crashes",
            candidates: 3,
            leases: [LEASE, 6, LEASE],
            unwatched: Some(2),
            stride: 4,
            hold: 12,
            horizon: 18,
            budget: Budget { delete: 1, crash: 1, pause: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "pause",
            about: "candidates are stopped for longer than a lease",
            watch: Watch::Loose,
            hold: 14,
            budget: Budget { pause: 2, ..NONE },
            ..PLAIN
        },
        World {
            name: "recreated",
            about: "the store is made again, numbered so that a queued renewal matches",
            inspections_fail: true,
            budget: Budget { recreate: 1, hold: 1, lose: 1, ..NONE },
            ..PLAIN
        },
    ]
}

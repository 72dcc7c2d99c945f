//! The worlds, cheap ones first.

use crate::world::{Budget, Start, Watch, World};

/// What the others differ from.
const PLAIN: World = World {
    name: "",
    about: "",
    candidates: 2,
    start: Start::Led,
    drift: World::DRIFTING,
    horizon: 30,
    stride: 2,
    early: 1,
    late: 1,
    markers: false,
    acked: false,
    watch: Watch::Prompt,
    inspections_fail: false,
    hold: 3,
    budget: Budget::NONE,
    fail_over: 30,
};

/// All worlds, those with fewer states first.
pub fn worlds() -> Vec<World> {
    const NONE: Budget = Budget::NONE;
    vec![
        World { name: "quiet", about: "nothing goes wrong", ..PLAIN },
        World {
            name: "loss",
            about: "requests and answers are lost",
            horizon: 40,
            budget: Budget { lose: 4, ..NONE },
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
            name: "delete",
            about: "an operator deletes the key",
            watch: Watch::Loose,
            budget: Budget { delete: 1, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "delete twice",
            about: "an operator deletes the key twice, and nobody's watch works",
            watch: Watch::Dead,
            horizon: 40,
            budget: Budget { delete: 2, ..NONE },
            ..PLAIN
        },
        World {
            name: "late",
            about: "messages and watches are late, and arrive in any order",
            watch: Watch::Loose,
            budget: Budget { hold: 2, ..NONE },
            ..PLAIN
        },
        World {
            name: "double",
            about: "messages arrive twice, and some are lost",
            watch: Watch::Loose,
            budget: Budget { copy: 2, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "unresolved",
            about: "writes are answered with busy, not sent and unknown",
            budget: Budget { turn: 3, ..NONE },
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
            name: "crash",
            about: "candidates crash, with requests under way, and come again",
            horizon: 26,
            budget: Budget { crash: 1, start: 1, hold: 1, ..NONE },
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
            name: "overwrite",
            about: "a stranger writes over the leader's record",
            watch: Watch::Loose,
            budget: Budget { seize: 1, hold: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "resign",
            about: "the leader resigns, hands over or is closed, and messages are lost",
            watch: Watch::Loose,
            budget: Budget { resign: 1, hand_over: 1, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "close",
            about: "candidates are closed and come again, and messages are lost or late",
            budget: Budget { close: 1, start: 1, lose: 1, hold: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "markers",
            about: "expiry leaves markers",
            markers: true,
            watch: Watch::Loose,
            budget: Budget { crash: 1, hold: 1, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "orphan",
            about: "an acquire is applied and not answered, and the key is deleted",
            start: Start::Empty,
            stride: 4,
            horizon: 26,
            budget: Budget { start: 2, lose: 1, delete: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "anew",
            about: "the store is made anew, numbered so that a queued renewal matches",
            inspections_fail: true,
            budget: Budget { recreate: 1, hold: 1, lose: 1, ..NONE },
            ..PLAIN
        },
        World {
            name: "three",
            about: "three candidates and a lost message",
            candidates: 3,
            watch: Watch::Loose,
            budget: Budget { lose: 1, crash: 1, ..NONE },
            ..PLAIN
        },
    ]
}

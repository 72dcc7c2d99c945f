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
    vec![
        World { name: "quiet", about: "nothing goes wrong", ..PLAIN },
        World {
            name: "start",
            about: "two come at any time, and the first to win crashes",
            start: Start::Empty,
            budget: Budget { start: 2, crash: 1, ..Budget::NONE },
            ..PLAIN
        },
        World {
            name: "loss",
            about: "requests and answers are lost",
            budget: Budget { lose: 2, ..Budget::NONE },
            ..PLAIN
        },
        World {
            name: "delete",
            about: "an operator deletes the key",
            watch: Watch::Loose,
            budget: Budget { delete: 1, lose: 1, ..Budget::NONE },
            ..PLAIN
        },
    ]
}

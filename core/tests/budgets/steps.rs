//! Takes the steps of a session whose instructions `cargo xtask test core` counts. Callgrind counts those inside
//! [`counted_by_callgrind`], which it finds by name. The argument names the steps.

#![allow(clippy::expect_used, clippy::panic, reason = "what is counted must have worked")]
#![allow(unreachable_pub, reason = "the modules of a program are no library")]

#[allow(dead_code, reason = "the other tests use all of it")]
mod store;

use std::hint::black_box;

use store::Bench;

/// The number of campaigns in addition to the measured one.
const CAMPAIGNS: u64 = 1_000;

/// Counted by callgrind.
#[inline(never)]
fn counted_by_callgrind(work: &mut dyn FnMut()) {
    black_box(work)();
}

/// Not counted by callgrind.
fn plain(work: &mut dyn FnMut()) {
    work();
}

fn main() {
    let steps = std::env::args().nth(1);
    let mut bench = Bench::new(plain);
    match steps.as_deref() {
        // Everything from entering to the report of the win.
        Some("win") => {
            bench.count(counted_by_callgrind);
            bench.enter(1, "jobs");
            bench.win(1);
        }
        // One renewal, and its watch event.
        Some("renewal") => {
            bench.enter(1, "jobs");
            bench.win(1);
            bench.renew(1);
            bench.count(counted_by_callgrind);
            bench.renew(1);
        }
        // The renewal of another program in one of a thousand elections.
        Some("watched") => {
            for id in 0..CAMPAIGNS {
                let election = format!("election-{id}");
                bench.foreign(&election);
                bench.enter(id, &election);
            }
            bench.count(counted_by_callgrind);
            bench.foreign("election-500");
        }
        other => panic!("win, renewal or watched, not {other:?}"),
    }
}

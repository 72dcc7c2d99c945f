//! Leaving in good order before the process ends.

use std::sync::Weak;
use std::time::{Duration, Instant};

use crate::candidate::leaving;
use crate::engine::Engine;
use crate::here::Here;

/// Gives up every seat of this process, and calls no wake any more: the last thing a language does before it
/// takes itself down.
///
/// What still drains is not waited for, since whoever would finish that work is gone. Returns once
/// the seats are given back, or after `limit`; at once where nothing was ever opened, and in a forked child.
pub fn shut_down(limit: Duration) {
    let Some(engine) = Engine::running() else { return };
    let until = Instant::now() + limit;
    let (stores, candidates) = {
        let open = engine.open();
        (alive(&open.stores), alive(&open.candidates))
    };
    let mut leave = Vec::new();
    for candidate in candidates.iter().filter_map(|candidate| candidate.get("candidate").ok()) {
        leave.push(leaving(candidate.request_close(), false));
        if let Some(term) = candidate.term() {
            // Taken in after the closing, which has made it a draining term.
            term.drained();
        }
    }
    leave.extend(
        stores.iter().filter_map(|store| Some(leaving(store.get("store").ok()?.request_close(), false))),
    );
    for operation in leave {
        operation.wait(Some(until.saturating_duration_since(Instant::now())));
    }
    engine.stop(until.saturating_duration_since(Instant::now()).max(Duration::from_millis(100)));
}

fn alive<T>(list: &[Weak<Here<T>>]) -> Vec<std::sync::Arc<Here<T>>> {
    list.iter().filter_map(Weak::upgrade).collect()
}

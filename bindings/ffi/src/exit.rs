//! A clean shutdown before the process ends.

use std::sync::Weak;
use std::time::{Duration, Instant};

use crate::candidate::leaving;
use crate::engine::Engine;
use crate::here::Here;

/// Releases every key that this process holds, and stops calling wakes. The last call of a language before it exits.
///
/// Does not wait for drains, since the code that would finish the work no longer runs. Returns once the keys are
/// released, or after `limit`; at once where nothing was ever opened, and in a forked child.
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
            // Handled after the close, which has started the drain.
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

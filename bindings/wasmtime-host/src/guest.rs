//! A guest that cannot run for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wasmtime::{Engine, Store, StoreLimits, StoreLimitsBuilder, UpdateDeadline};

use crate::host::TICK;
use crate::provide::Provides;

/// How long a guest has computed, in ticks of the engine.
#[derive(Clone, Debug, Default)]
pub struct Computed(Arc<AtomicU32>);

impl Computed {
    /// The guest is about to be called: it may compute for as long as its limit again.
    pub fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Data of a Wasmtime store, and the limit of the guest's memory.
pub struct Bounded<T> {
    /// The data.
    pub data: T,
    memory: StoreLimits,
}

/// A Wasmtime store in which a guest lets others run every 10 ms, and is stopped when it has computed for longer, since
/// [`Computed::begin`] or its last question to a store, or holds more memory than the provision's limits allow.
pub fn interruptible<T: Provides + 'static>(engine: &Engine, mut data: T) -> Store<Bounded<T>> {
    let (limits, count) = (data.provision().limits(), data.provision().computed());
    let memory = StoreLimitsBuilder::new().memory_size(limits.memory).build();
    let mut store = Store::new(engine, Bounded { data, memory });
    store.limiter(|bounded| &mut bounded.memory);
    let most = u32::try_from(limits.compute.as_millis() / TICK.as_millis()).unwrap_or(u32::MAX).max(1);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        if count.0.fetch_add(1, Ordering::Relaxed) >= most {
            return Err(wasmtime::Error::msg(format!(
                "the guest has computed for more than {:?}",
                limits.compute
            )));
        }
        Ok(UpdateDeadline::Yield(1))
    });
    store
}

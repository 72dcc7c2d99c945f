//! A guest whose computing time is limited.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wasmtime::{Engine, Store, StoreLimits, StoreLimitsBuilder, UpdateDeadline};

use crate::host::TICK;
use crate::provide::Provides;

/// The time that a guest has computed, in ticks of the engine.
#[derive(Clone, Debug, Default)]
pub struct Computed(Arc<AtomicU32>);

impl Computed {
    /// Begins a call of the guest: it may compute up to its limit again.
    pub fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// The data of a Wasmtime store, and the limit of the guest's memory.
pub struct Bounded<T> {
    /// The data.
    pub data: T,
    memory: StoreLimits,
}

/// Creates a Wasmtime store in which a guest yields every 10 ms. The guest is stopped when it computes for too long
/// since [`Computed::begin`] or its last request to a store, or when it holds too much memory; the provision has both
/// limits.
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

//! The engine, and the limits of its guests, whose computing time is measured in ticks of the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use wasmtime::{Config, Engine, ResourceLimiter, Store, UpdateDeadline};

use crate::error::{Error, ErrorKind, Result};
use crate::provide::Provides;

/// The interval at which the engine's epoch advances.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// A Wasmtime engine whose guests can be interrupted.
///
/// Cheap to clone; all clones are the same engine. One thread advances its epoch every 10 ms, while the engine exists.
#[derive(Clone)]
pub struct Host {
    engine: Engine,
}

impl Host {
    /// Creates an engine.
    ///
    /// # Errors
    /// `Component`: this machine cannot run WebAssembly, or refuses a thread.
    pub fn new() -> Result<Self> {
        Self::with_config(Config::new())
    }

    /// Creates an engine of this configuration, and makes its guests interruptible.
    ///
    /// # Errors
    /// `Component`: the configuration does not fit this machine, or the machine refuses a thread.
    pub fn with_config(mut config: Config) -> Result<Self> {
        config.wasm_component_model(true).epoch_interruption(true);
        let failed = |cause| Error::of(ErrorKind::Component, "the engine cannot be created", cause);
        let engine = Engine::new(&config).map_err(failed)?;
        let ticking = engine.weak();
        let ticker = thread::Builder::new().name("incumbent-epochs".into()).spawn(move || {
            while let Some(engine) = ticking.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        });
        ticker.map_err(|cause| failed(cause.into()))?;
        Ok(Self { engine })
    }

    /// The engine, for compiling components.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

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
    memory: Memory,
}

/// The largest memory of a guest, in bytes.
struct Memory(usize);

impl ResourceLimiter for Memory {
    /// More is an error that names the limit: refused, the guest would trap without a reason.
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.0 {
            let limit = self.0;
            return Err(wasmtime::Error::msg(format!(
                "the guest needs {desired} bytes of memory, and its limit is {limit}"
            )));
        }
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

/// Creates a Wasmtime store in which a guest yields every 10 ms. The guest is stopped if it computes for too long after
/// [`Computed::begin`] or its last request to a store, or holds too much memory; the provision has both limits.
pub fn interruptible<T: Provides + 'static>(engine: &Engine, mut data: T) -> Store<Bounded<T>> {
    let (limits, count) = (data.provision().limits(), data.provision().computed());
    let mut store = Store::new(engine, Bounded { data, memory: Memory(limits.memory) });
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

/// The resources that a guest may use before it is stopped.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest time that one call of the guest to the store may wait, whatever limit the guest passes. 5 s by
    /// default.
    pub call: Duration,
    /// The longest time that the guest may compute between two requests to a store, or until one of its exports
    /// returns; counted in steps of 10 ms. 1 s by default. A guest that computes for longer is stopped permanently.
    pub compute: Duration,
    /// The largest memory of the guest, in bytes. 16 MiB by default.
    pub memory: usize,
    /// The number of buckets and watches that the guest may have open at a time; each of its campaigns has one of each.
    /// 4,096 by default. Opening one more traps the guest.
    pub handles: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(5),
            compute: Duration::from_secs(1),
            memory: 16 << 20,
            handles: 4_096,
        }
    }
}

//! The engine, and the ticks that measure a guest's computing time.

use std::thread;
use std::time::Duration;

use wasmtime::{Config, Engine};

use crate::error::{Error, ErrorKind, Result};

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
        let failed = |cause| Error::of(ErrorKind::Component, "there is no engine to be had", cause);
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

//! The engine, and the ticks by which a guest's time is counted.

use std::thread;
use std::time::Duration;

use wasmtime::{Config, Engine};

use crate::error::{Error, ErrorKind, Result};

/// How often the engine's epoch moves on.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// A Wasmtime engine whose guests can be interrupted.
///
/// Cheap to clone; all clones are the same engine. One thread moves its epoch on, every 10 ms, for as long as the
/// engine is there.
#[derive(Clone)]
pub struct Host {
    engine: Engine,
}

impl Host {
    /// An engine of its own.
    ///
    /// # Errors
    /// `Component`: this machine cannot run WebAssembly, or gives no thread.
    pub fn new() -> Result<Self> {
        Self::with_config(Config::new())
    }

    /// An engine of this configuration; that it can interrupt guests is seen to.
    ///
    /// # Errors
    /// `Component`: the configuration does not fit this machine, or there is no thread to be had.
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

    /// The engine, to compile components with.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

//! How an event loop is told that something is ready.

// What napi would have instead counts who may ring. Here it is counted what a program waits for.
#![allow(deprecated)]

use std::sync::Arc;

use incumbent_ffi::{Pulse as LoopPulse, Wake};
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status};
use napi_derive::napi;

/// Called with a number, without waiting, from whatever thread.
type Ring = ThreadsafeFunction<u32, (), u32, Status, false, true>;

/// Rings in one event loop, with the number of who is meant. There is one for each event loop; it keeps the
/// loop running between [`hold`](Self::hold) and [`let_go`](Self::let_go), and not otherwise.
#[napi(js_name = "Bell")]
pub struct Bell {
    ring: Arc<Ring>,
    hold: Ring,
}

#[napi]
impl Bell {
    #[napi(constructor)]
    pub fn new(ring: Function<'_, u32, ()>) -> Result<Self> {
        let build = || ring.build_threadsafe_function::<u32>().weak::<true>().build();
        Ok(Self { ring: Arc::new(build()?), hold: build()? })
    }

    /// Keeps the event loop running.
    #[napi]
    pub fn hold(&mut self, env: Env) -> Result<()> {
        self.hold.refer(&env)
    }

    /// Lets the event loop end.
    #[napi]
    pub fn let_go(&mut self, env: Env) -> Result<()> {
        self.hold.unref(&env)
    }
}

/// Tells whether the event loop of a bell turns, until that loop is over.
#[napi(js_name = "Pulse")]
pub struct Pulse {
    pub(crate) pulse: LoopPulse,
}

#[napi]
impl Pulse {
    /// Asks by ringing with that number, which has [`beat`](Self::beat) called.
    #[napi(constructor)]
    pub fn new(bell: &Bell, id: u32) -> Self {
        let ring = Arc::clone(&bell.ring);
        let ask = move || ring.call(id, ThreadsafeFunctionCallMode::NonBlocking) == Status::Ok;
        Self { pulse: LoopPulse::new(ask) }
    }

    /// Says that the event loop turns.
    #[napi]
    pub fn beat(&self) {
        self.pulse.beat();
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.pulse.stop();
    }
}

impl Bell {
    /// Rings for that number, once.
    pub(crate) fn wake(&self, id: u32) -> Wake {
        let ring = Arc::clone(&self.ring);
        // An event loop that has ended hears nothing any more, and needs to hear nothing.
        Box::new(move || {
            ring.call(id, ThreadsafeFunctionCallMode::NonBlocking);
        })
    }
}

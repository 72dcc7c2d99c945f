//! Wake-ups of an event loop.

// Napi's replacement counts the objects that may notify. This module counts the answers that a program waits for.
#![allow(deprecated)]

use std::sync::Arc;

use incumbent_ffi::Wake;
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status};
use napi_derive::napi;

/// Called with a number, without waiting, on any thread.
type Callback = ThreadsafeFunction<u32, (), u32, Status, false, true>;

/// Wakes one event loop, with the number of a waiting callback. Each event loop has one. It keeps the loop running only
/// between [`hold`](Self::hold) and [`let_go`](Self::let_go).
#[napi(js_name = "Notifier")]
pub struct Notifier {
    callback: Arc<Callback>,
    hold: Callback,
}

#[napi]
impl Notifier {
    #[napi(constructor)]
    pub fn new(callback: Function<'_, u32, ()>) -> Result<Self> {
        let build = || callback.build_threadsafe_function::<u32>().weak::<true>().build();
        Ok(Self { callback: Arc::new(build()?), hold: build()? })
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

/// Checks whether the event loop of a [`Notifier`] runs, until that loop ends.
#[napi(js_name = "LoopProbe")]
pub struct LoopProbe {
    pub(crate) probe: incumbent_ffi::LoopProbe,
}

#[napi]
impl LoopProbe {
    /// Creates a probe that notifies with that number, to which the loop answers with [`answered`](Self::answered).
    #[napi(constructor)]
    pub fn new(notifier: &Notifier, id: u32) -> Self {
        let callback = Arc::clone(&notifier.callback);
        let ask = move || callback.call(id, ThreadsafeFunctionCallMode::NonBlocking) == Status::Ok;
        Self { probe: incumbent_ffi::LoopProbe::new(ask) }
    }

    /// Reports that the event loop runs.
    #[napi]
    pub fn answered(&self) {
        self.probe.answered();
    }
}

impl Drop for LoopProbe {
    fn drop(&mut self) {
        self.probe.stop();
    }
}

impl Notifier {
    /// Returns a wake that notifies with that number, once.
    pub(crate) fn wake(&self, id: u32) -> Wake {
        let callback = Arc::clone(&self.callback);
        // An event loop that has ended needs no wake-up.
        Box::new(move || {
            callback.call(id, ThreadsafeFunctionCallMode::NonBlocking);
        })
    }
}

//! The embedded tokio runtime, and the thread that tells a language what is ready: made by the first call that
//! needs them, once in every process.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use incumbent::fork::ForkGuard;
use tokio::runtime::{Builder, Runtime};

use crate::here::Here;
use crate::log::Records;
use crate::teller::Teller;
use crate::{Code, Error, Result};

/// What one process needs to run elections for another language.
pub(crate) struct Engine {
    birth: ForkGuard,
    runtime: Runtime,
    pub(crate) teller: Teller,
    /// Apart from the other: what a language does with its logs may take a while, and a loop is not to wait for it.
    logs: OnceLock<Option<Teller>>,
    /// What is logged and not taken yet, where a language takes it.
    pub(crate) records: Records,
    /// What is closed before the process ends.
    open: Mutex<Open>,
}

#[derive(Default)]
pub(crate) struct Open {
    pub(crate) stores: Vec<Weak<Here<incumbent::Store>>>,
    pub(crate) candidates: Vec<Weak<Here<incumbent::Candidate>>>,
}

/// The engine of this process, or the one that its parent had. Never freed: a forked child cannot know what the
/// parent's threads were doing with it.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());

impl Engine {
    /// The engine of this process, made now where there is none.
    ///
    /// No lock is taken, since one could have been held by another thread when the process forked.
    pub(crate) fn get() -> Result<&'static Self> {
        loop {
            let present = ENGINE.load(Ordering::Acquire);
            if let Some(engine) = Self::in_this_process(present) {
                return Ok(engine);
            }
            let made = Box::into_raw(Box::new(Self::start()?));
            if ENGINE.compare_exchange(present, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
                discard(made);
            }
        }
    }

    /// The engine of this process, where there is one.
    pub(crate) fn running() -> Option<&'static Self> {
        Self::in_this_process(ENGINE.load(Ordering::Acquire))
    }

    #[allow(unsafe_code, reason = "what is stored is never freed, so it can be borrowed for ever")]
    fn in_this_process(present: *mut Self) -> Option<&'static Self> {
        // SAFETY: null, or made by `get` from a box that was leaked and is freed by nobody once it was stored.
        let engine = unsafe { present.as_ref() }?;
        (!engine.birth.is_forked()).then_some(engine)
    }

    fn start() -> Result<Self> {
        let refused = |error: std::io::Error| Error {
            causes: vec![error.to_string()],
            ..Error::new(Code::Broken, "the operating system refuses a thread; raise the limit of threads")
        };
        // One thread: stores have threads of their own, and here nothing ever blocks.
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("incumbent-ffi").enable_time();
        Ok(Self {
            birth: ForkGuard::new(),
            runtime: runtime.build().map_err(refused)?,
            teller: Teller::start("incumbent-tell").map_err(refused)?,
            logs: OnceLock::new(),
            records: Records::default(),
            open: Mutex::default(),
        })
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Who tells what is logged; none where the operating system refuses a thread for it.
    pub(crate) fn logs(&self) -> Option<&Teller> {
        self.logs.get_or_init(|| Teller::start("incumbent-log").ok()).as_ref()
    }

    /// No wake is called any more once this returns, unless one takes longer than `limit`.
    pub(crate) fn stop(&self, limit: Duration) {
        self.teller.stop(limit);
        if let Some(logs) = self.logs.get().and_then(Option::as_ref) {
            logs.stop(limit);
        }
        self.records.end();
    }

    /// Whether this process is a child of the engine's.
    pub(crate) fn is_forked(&self) -> bool {
        self.birth.is_forked()
    }

    pub(crate) fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    pub(crate) fn add_store(&mut self, store: &Arc<Here<incumbent::Store>>) {
        add(&mut self.stores, store);
    }

    pub(crate) fn add_candidate(&mut self, candidate: &Arc<Here<incumbent::Candidate>>) {
        add(&mut self.candidates, candidate);
    }
}

/// Adds to a list of what is open; what is not any more is swept out before the list would have to grow.
fn add<T>(list: &mut Vec<Weak<T>>, new: &Arc<T>) {
    if list.len() == list.capacity() {
        list.retain(|one| one.strong_count() > 0);
    }
    list.push(Arc::downgrade(new));
}

#[allow(unsafe_code, reason = "it was never shared, so it is ours to free")]
fn discard(made: *mut Engine) {
    // SAFETY: it comes from `Box::into_raw` in `get`, and was not stored anywhere.
    let engine = unsafe { Box::from_raw(made) };
    engine.runtime.shutdown_background();
}

/// Whether this process has an engine: it has one from the first store that was opened on.
pub fn is_running() -> bool {
    Engine::running().is_some()
}

//! The embedded tokio runtime and the threads that notify a language: created by the first call that needs them, once
//! in each process; a clean shutdown; and values that belong to one process.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use incumbent::ErrorKind;
use incumbent::fork::ForkGuard;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::candidate::leaving;
use crate::log::Records;
use crate::wake_thread::WakeThread;
use crate::{Error, Result};

/// The runtime and the threads that one process needs to run elections for another language.
pub(crate) struct Engine {
    fork_guard: ForkGuard,
    tasks: Handle,
    /// Taken once this engine has [retired](retire).
    runtime: Mutex<Option<Runtime>>,
    pub(crate) wakes: WakeThread,
    /// Log records get their own thread, because slow logging must not delay an event loop.
    logs: OnceLock<Option<WakeThread>>,
    /// Records that are not taken yet, for a language that takes them.
    pub(crate) records: Records,
    /// Open stores and candidates, which are closed before the process ends.
    open: Mutex<Open>,
}

#[derive(Default)]
pub(crate) struct Open {
    pub(crate) stores: Vec<Weak<ProcessBound<incumbent::Store>>>,
    pub(crate) candidates: Vec<Weak<ProcessBound<incumbent::Candidate>>>,
}

/// The engine of this process, or of its parent. Never freed, because a forked child cannot know what the parent's
/// threads were doing with it.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());

impl Engine {
    /// Returns the engine of this process, and creates it if there is none.
    ///
    /// Takes no lock, since another thread could have held it when the process forked.
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

    /// Returns the engine of this process, if there is one.
    pub(crate) fn running() -> Option<&'static Self> {
        Self::in_this_process(ENGINE.load(Ordering::Acquire))
    }

    #[allow(unsafe_code, reason = "a stored engine is never freed, so the borrow never dangles")]
    fn in_this_process(present: *mut Self) -> Option<&'static Self> {
        // SAFETY: null, or made by `get` from a leaked box, and never freed once it is stored.
        let engine = unsafe { present.as_ref() }?;
        (!engine.fork_guard.is_forked()).then_some(engine)
    }

    fn start() -> Result<Self> {
        let wakes = WakeThread::start("incumbent-wake").map_err(no_thread)?;
        // tokio panics if the operating system refuses its thread, so one is tried first.
        let tried = std::thread::Builder::new().spawn(|| ()).map_err(no_thread)?;
        // It does nothing that panics.
        let _ = tried.join();
        // One thread: stores have their own, and nothing blocks here.
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("incumbent-ffi").enable_time();
        let runtime = runtime.build().map_err(no_thread)?;
        Ok(Self {
            fork_guard: ForkGuard::new(),
            tasks: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            wakes,
            logs: OnceLock::new(),
            records: Records::default(),
            open: Mutex::default(),
        })
    }

    /// Where tasks are spawned. None runs any more once the engine has [retired](retire).
    pub(crate) fn runtime(&self) -> &Handle {
        &self.tasks
    }

    fn end_runtime(&self) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }

    /// Returns the thread that hands on log records; `None` if the operating system refuses a thread.
    pub(crate) fn logs(&self) -> Option<&WakeThread> {
        self.logs.get_or_init(|| WakeThread::start("incumbent-log").ok()).as_ref()
    }

    /// Releases every key that this process holds, and stops calling wakes, within `limit`.
    fn leave(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let (stores, candidates) = {
            let open = self.open();
            (alive(&open.stores), alive(&open.candidates))
        };
        let mut leave = Vec::new();
        for candidate in candidates.iter().filter_map(|candidate| candidate.get("candidate").ok()) {
            leave.push(leaving(candidate.request_close(), false));
            if let Some(term) = candidate.term() {
                // This is handled after the close, which has started the drain.
                term.drained();
            }
        }
        leave.extend(
            stores.iter().filter_map(|store| Some(leaving(store.get("store").ok()?.request_close(), false))),
        );
        for operation in leave {
            operation.ready().wait(Some(until.saturating_duration_since(Instant::now())));
        }
        self.stop(until.saturating_duration_since(Instant::now()).max(Duration::from_millis(100)));
    }

    /// Stops calling wakes. After this returns no wake runs, except one that took longer than `limit`.
    pub(crate) fn stop(&self, limit: Duration) {
        self.wakes.stop(limit);
        if let Some(logs) = self.logs.get().and_then(Option::as_ref) {
            logs.stop(limit);
        }
        self.records.end();
    }

    /// Returns true if this process was forked from the engine's.
    pub(crate) fn is_forked(&self) -> bool {
        self.fork_guard.is_forked()
    }

    pub(crate) fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    pub(crate) fn add_store(&mut self, store: &Arc<ProcessBound<incumbent::Store>>) {
        add(&mut self.stores, store);
    }

    pub(crate) fn add_candidate(&mut self, candidate: &Arc<ProcessBound<incumbent::Candidate>>) {
        add(&mut self.candidates, candidate);
    }
}

/// Adds to a list of open handles; removes the dead ones before the list would have to grow.
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
    engine.end_runtime();
}

/// The error if the operating system refuses a thread: as for a store that does not answer, trying again may help.
pub(crate) fn no_thread(error: std::io::Error) -> Error {
    let message = "no thread can be started; raise the limit on processes and threads";
    incumbent::Error::new(ErrorKind::StoreUnavailable, message).caused_by(error).into()
}

/// Returns true if this process has an engine; it has one once it has opened a store.
pub fn is_running() -> bool {
    Engine::running().is_some()
}

/// Releases every key that this process holds, and stops calling wakes. A language calls this last, before it exits.
///
/// Does not wait for drains, since the code that would finish the work no longer runs. Returns once the keys are
/// released, or after `limit`; at once if nothing was ever opened, and in a forked child.
pub fn shut_down(limit: Duration) {
    if let Some(engine) = Engine::running() {
        engine.leave(limit);
        engine.wakes.detach();
        if let Some(logs) = engine.logs.get().and_then(Option::as_ref) {
            logs.detach();
        }
    }
}

/// [Shuts down](shut_down) for a user of this library that is unloaded while its process continues. The next call that
/// needs an engine creates another engine. The threads of the present engine end; its memory is kept, because a handle
/// may still refer to it.
pub fn retire(limit: Duration) {
    let engine = ENGINE.load(Ordering::Acquire);
    if let Some(running) = Engine::running() {
        running.leave(limit);
    }
    // Unless another thread has already replaced it.
    let _ = ENGINE.compare_exchange(engine, std::ptr::null_mut(), Ordering::AcqRel, Ordering::Acquire);
    if let Some(engine) = Engine::in_this_process(engine) {
        engine.wakes.join();
        engine.end_runtime();
    }
}

fn alive<T>(list: &[Weak<ProcessBound<T>>]) -> Vec<Arc<ProcessBound<T>>> {
    list.iter().filter_map(Weak::upgrade).collect()
}

/// A value that a forked child may neither use nor drop. Threads that the child lacks may hold its locks, and its
/// messages are the parent's to send.
#[derive(Debug)]
pub(crate) struct ProcessBound<T> {
    fork_guard: ForkGuard,
    inner: Option<T>,
}

impl<T> ProcessBound<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { fork_guard: ForkGuard::new(), inner: Some(inner) }
    }

    /// Returns the value, in its own process and until it is [released](Self::release).
    pub(crate) fn get(&self, what: &str) -> Result<&T> {
        if self.fork_guard.is_forked() {
            return Err(Error::forked());
        }
        self.inner.as_ref().ok_or_else(|| Error::closed(what))
    }

    /// Returns the value in any process, for code that checks the process itself.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.inner.as_ref()
    }

    /// Takes the value out, in its own process.
    pub(crate) fn release(&mut self) -> Option<T> {
        if self.fork_guard.is_forked() { None } else { self.inner.take() }
    }
}

impl<T> Drop for ProcessBound<T> {
    fn drop(&mut self) {
        if self.fork_guard.is_forked() {
            std::mem::forget(self.inner.take());
        }
    }
}

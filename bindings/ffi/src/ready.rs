//! Waiting for something to take, on a thread or by a wake-up.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::mailbox::Mailbox;
use crate::wake_thread::Wake;

/// A signal that there may be something to take, with the waiters for it. It is a waker: waking it notifies them, and
/// never waits for one.
pub struct Ready {
    /// The engine that calls the wakes; `None` if it was ready from the start.
    engine: Option<&'static Engine>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_ready: bool,
    waiters: Vec<Waiter>,
}

/// A waiter, and how it is notified.
enum Waiter {
    /// By a call, on the wake thread.
    Called(Wake),
    /// By a call, on the notifying thread.
    CalledInline(Wake),
    /// By a message into a mailbox, from the notifying thread.
    Posted(Arc<Mailbox>, u64),
}

impl Ready {
    pub(crate) fn new(engine: &'static Engine) -> Arc<Self> {
        Arc::new(Self { engine: Some(engine), state: Mutex::default(), changed: Condvar::new() })
    }

    /// Returns a signal that is always ready.
    pub(crate) fn already() -> Arc<Self> {
        let state = State { is_ready: true, waiters: Vec::new() };
        Arc::new(Self { engine: None, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Returns true if nothing can notify this any more, because the process forked.
    pub(crate) fn is_forked(&self) -> bool {
        self.engine.is_some_and(Engine::is_forked)
    }

    /// Forgets that it was woken; the caller checks next.
    pub(crate) fn reset(&self) {
        self.lock().is_ready = false;
    }

    /// Drops the waiters that were not notified, and whatever they own, which may include this value itself.
    pub(crate) fn forget(&self) {
        let waiters = std::mem::take(&mut self.lock().waiters);
        drop(waiters);
    }

    /// Waits on this thread until there may be something to take, up to `limit`. Returns whether there may.
    pub fn wait(&self, limit: Option<Duration>) -> bool {
        if self.is_forked() {
            return true;
        }
        // A limit beyond the clock's range counts as no limit.
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        while !state.is_ready {
            state = match until {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }

    /// Calls `wake`, on the wake thread, when there may be something to take. If there may already be something, drops
    /// `wake` and returns false, and the caller takes at once.
    pub fn wake(&self, wake: Wake) -> bool {
        self.add(Waiter::Called(wake))
    }

    /// Like [`wake`](Self::wake), without the change of threads: calls `wake` on the notifying thread, possibly the one
    /// that renews leases. `wake` must not wait for anything, nor run application code.
    pub fn wake_inline(&self, wake: Wake) -> bool {
        self.add(Waiter::CalledInline(wake))
    }

    /// Puts `message` into `mailbox`, from the notifying thread; otherwise like [`wake`](Self::wake). For event loops
    /// that can watch a file descriptor: involves no other thread and no lock of the language.
    pub fn post(&self, mailbox: &Arc<Mailbox>, message: u64) -> bool {
        self.add(Waiter::Posted(Arc::clone(mailbox), message))
    }

    fn add(&self, waiter: Waiter) -> bool {
        if self.is_forked() {
            return false;
        }
        let mut state = self.lock();
        if state.is_ready {
            return false;
        }
        state.waiters.push(waiter);
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").finish_non_exhaustive()
    }
}

impl std::task::Wake for Ready {
    /// Notifies the waiters that there may be something to take.
    fn wake(self: Arc<Self>) {
        let mut state = self.lock();
        state.is_ready = true;
        let waiters = std::mem::take(&mut state.waiters);
        drop(state);
        self.changed.notify_all();
        for waiter in waiters {
            match waiter {
                Waiter::Called(wake) => {
                    if let Some(engine) = self.engine {
                        engine.wakes.call(wake);
                    }
                }
                Waiter::CalledInline(wake) => {
                    if let Some(engine) = self.engine {
                        engine.wakes.call_inline(wake);
                    }
                }
                Waiter::Posted(mailbox, message) => mailbox.put(message),
            }
        }
    }
}

//! A wake-up: listeners wait for something and are notified when it is there.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::mailbox::Mailbox;
use crate::teller::Wake;

/// Notifies listeners that there may be something to take. Notifying never waits for a listener.
pub(crate) struct Bell {
    /// The engine that calls the wakes; `None` where it was rung from the start.
    engine: Option<&'static Engine>,
    state: Mutex<State>,
    rang: Condvar,
}

#[derive(Default)]
struct State {
    has_rung: bool,
    listeners: Vec<Listener>,
}

/// A listener, by the way in which it is notified.
enum Listener {
    /// By a call, on the wake thread.
    Called(Wake),
    /// By a call, on the notifying thread.
    CalledHere(Wake),
    /// By a message into a mailbox, from the notifying thread.
    Written(Arc<Mailbox>, u64),
}

impl Bell {
    pub(crate) fn new(engine: &'static Engine) -> Arc<Self> {
        Arc::new(Self { engine: Some(engine), state: Mutex::default(), rang: Condvar::new() })
    }

    /// Returns a bell that has rung already, and never rings again.
    pub(crate) fn rung() -> Arc<Self> {
        let state = State { has_rung: true, listeners: Vec::new() };
        Arc::new(Self { engine: None, state: Mutex::new(state), rang: Condvar::new() })
    }

    /// Whether nothing can ring it any more, because the process forked.
    pub(crate) fn is_forked(&self) -> bool {
        self.engine.is_some_and(Engine::is_forked)
    }

    pub(crate) fn ring(&self) {
        let mut state = self.lock();
        state.has_rung = true;
        let listeners = std::mem::take(&mut state.listeners);
        drop(state);
        self.rang.notify_all();
        for listener in listeners {
            match listener {
                Listener::Called(wake) => {
                    if let Some(engine) = self.engine {
                        engine.teller.tell(wake);
                    }
                }
                Listener::CalledHere(wake) => {
                    if let Some(engine) = self.engine {
                        engine.teller.call(wake);
                    }
                }
                Listener::Written(mailbox, letter) => mailbox.put(letter),
            }
        }
    }

    /// Clears the ring; the caller looks afterwards.
    pub(crate) fn reset(&self) {
        self.lock().has_rung = false;
    }

    /// Drops the listeners that were not notified, and what they hold: perhaps this very `Bell`.
    pub(crate) fn forget(&self) {
        let listeners = std::mem::take(&mut self.lock().listeners);
        drop(listeners);
    }

    /// Waits on this thread until it rings, up to `limit`. Returns whether it rang.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> bool {
        if self.is_forked() {
            return true;
        }
        // A limit beyond the clock's range is none.
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        while !state.has_rung {
            state = match until {
                None => self.rang.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    self.rang.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }

    /// Calls `wake` when it rings. Where it has rung already, drops `wake` and returns false: the caller looks again.
    pub(crate) fn tell(&self, wake: Wake) -> bool {
        self.listen(Listener::Called(wake))
    }

    /// Like [`tell`](Self::tell), but calls `wake` on the thread that rings, possibly the driver's.
    pub(crate) fn tell_here(&self, wake: Wake) -> bool {
        self.listen(Listener::CalledHere(wake))
    }

    /// Puts `letter` into `mailbox` when it rings; otherwise like [`tell`](Self::tell).
    pub(crate) fn write(&self, mailbox: &Arc<Mailbox>, letter: u64) -> bool {
        self.listen(Listener::Written(Arc::clone(mailbox), letter))
    }

    fn listen(&self, listener: Listener) -> bool {
        if self.is_forked() {
            return false;
        }
        let mut state = self.lock();
        if state.has_rung {
            return false;
        }
        state.listeners.push(listener);
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::task::Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

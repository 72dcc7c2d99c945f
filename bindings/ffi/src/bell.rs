//! Who waits for something, and is told when it is there.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::mailbox::Mailbox;
use crate::teller::Wake;

/// Rung when there may be something to take. Ringing never waits for whoever is told.
pub(crate) struct Bell {
    /// Who carries the news; none where it rang from the start.
    engine: Option<&'static Engine>,
    state: Mutex<State>,
    rang: Condvar,
}

#[derive(Default)]
struct State {
    has_rung: bool,
    listeners: Vec<Listener>,
}

/// Who is to be told, and how.
enum Listener {
    /// By a call, on the teller's thread.
    Called(Wake),
    /// By a call, on the thread that rings.
    CalledHere(Wake),
    /// By a letter, from wherever it rings.
    Written(Arc<Mailbox>, u64),
}

impl Bell {
    pub(crate) fn new(engine: &'static Engine) -> Arc<Self> {
        Arc::new(Self { engine: Some(engine), state: Mutex::default(), rang: Condvar::new() })
    }

    /// A bell that has rung and needs nobody to ring it.
    pub(crate) fn rung() -> Arc<Self> {
        let state = State { has_rung: true, listeners: Vec::new() };
        Arc::new(Self { engine: None, state: Mutex::new(state), rang: Condvar::new() })
    }

    /// Whether nobody is left to ring it, because the process forked.
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

    /// Forgets that it has rung: the caller is about to look.
    pub(crate) fn reset(&self) {
        self.lock().has_rung = false;
    }

    /// Drops who was to be told and was not, and with them what they hold: the bell itself, perhaps.
    pub(crate) fn forget(&self) {
        let listeners = std::mem::take(&mut self.lock().listeners);
        drop(listeners);
    }

    /// Waits on this thread until it rings, up to `limit`; whether it has.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> bool {
        if self.is_forked() {
            return true;
        }
        // A limit beyond what the clock can tell is none.
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

    /// Has `wake` called when it rings. Where it has rung already, `wake` is dropped and the answer is
    /// false: look again instead.
    pub(crate) fn tell(&self, wake: Wake) -> bool {
        self.listen(Listener::Called(wake))
    }

    /// As [`tell`](Self::tell), and calls `wake` on the thread that rings, which may be the driver's.
    pub(crate) fn tell_here(&self, wake: Wake) -> bool {
        self.listen(Listener::CalledHere(wake))
    }

    /// Has `letter` put into `mailbox` when it rings; otherwise as [`tell`](Self::tell).
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

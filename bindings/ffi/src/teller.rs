//! The wake thread: it notifies a language that something is ready.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use incumbent::Pulse;

use crate::engine::Engine;

/// Notifies a language, once, that something is ready. It may wait for a lock of the language (an interpreter's, for
/// example), and should do little else.
pub type Wake = Box<dyn FnOnce() + Send>;

/// Creates a pulse for an event loop that watches no [mailbox](crate::Mailbox). Its wakes make the loop call
/// [`Pulse::beat`]; they run on the wake thread.
pub fn pulse(wake: impl Fn() -> Wake + Send + Sync + 'static) -> Pulse {
    Pulse::new(move || {
        let engine = Engine::running();
        if let Some(engine) = engine {
            engine.teller.tell(wake());
        }
        engine.is_some()
    })
}

/// One thread that calls wakes, in order. Neither the driver nor the engine's runtime ever waits for it.
pub(crate) struct Teller {
    wakes: mpsc::Sender<Wake>,
    door: Arc<Door>,
}

/// A guard: whether a wake is running, and whether another may start.
#[derive(Default)]
struct Door {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    is_inside: bool,
    is_shut: bool,
}

impl Teller {
    pub(crate) fn start(name: &str) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<Wake>();
        let door = Arc::new(Door::default());
        let doorway = Arc::clone(&door);
        std::thread::Builder::new().name(name.into()).spawn(move || {
            for wake in receiver {
                if !doorway.enter() {
                    continue;
                }
                // A wake that panics is a bug of the binding; the wakes after it are still called.
                let _ = catch_unwind(AssertUnwindSafe(wake));
                doorway.leave();
            }
        })?;
        Ok(Self { wakes: sender, door })
    }

    /// Queues `wake` for the thread. Never waits.
    pub(crate) fn tell(&self, wake: Wake) {
        // The thread lives as long as the sender.
        let _ = self.wakes.send(wake);
    }

    /// Calls `wake` on this thread, unless it was [stopped](Self::stop).
    pub(crate) fn call(&self, wake: Wake) {
        if !self.door.lock().is_shut {
            // As on the thread: a bug of the binding must not end a campaign.
            let _ = catch_unwind(AssertUnwindSafe(wake));
        }
    }

    /// Calls the queued wakes and then no more, within `limit`: a wake that takes longer is left running.
    pub(crate) fn stop(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let (last, told) = mpsc::channel::<()>();
        self.tell(Box::new(move || drop(last)));
        // Dropping the sender ends this wait, whether the wake was called or not.
        let _ = told.recv_timeout(limit);
        let mut state = self.door.lock();
        state.is_shut = true;
        while state.is_inside {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.door.left.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Door {
    fn enter(&self) -> bool {
        let mut state = self.lock();
        state.is_inside = !state.is_shut;
        state.is_inside
    }

    fn leave(&self) {
        self.lock().is_inside = false;
        self.left.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_are_called_in_order_and_one_that_panics_stops_nothing() {
        let teller = Teller::start("teller").unwrap();
        let (told, heard) = mpsc::channel();
        let other = told.clone();
        teller.tell(Box::new(move || told.send(1).unwrap()));
        teller.tell(Box::new(|| panic!("on purpose")));
        teller.tell(Box::new(move || other.send(2).unwrap()));
        assert_eq!([heard.recv().unwrap(), heard.recv().unwrap()], [1, 2]);
    }

    #[test]
    fn after_it_was_stopped_nothing_is_called() {
        let teller = Teller::start("teller").unwrap();
        let (told, heard) = mpsc::channel::<()>();
        teller.stop(Duration::from_secs(10));
        teller.tell(Box::new(move || told.send(()).unwrap()));
        // The wake is dropped uncalled, and its sender with it.
        assert!(heard.recv().is_err());
    }

    #[test]
    fn stopping_waits_for_the_wake_that_is_being_called_but_not_for_ever() {
        let teller = Teller::start("teller").unwrap();
        let (entered, inside) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        teller.tell(Box::new(move || {
            entered.send(()).unwrap();
            let _ = released.recv();
        }));
        inside.recv().unwrap();
        teller.stop(Duration::from_millis(1));
        assert!(teller.door.lock().is_inside);
        drop(release);
        teller.stop(Duration::from_secs(30));
        assert!(!teller.door.lock().is_inside);
    }
}

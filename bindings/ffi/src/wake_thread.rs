//! The wake thread: it notifies a language that something is ready.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use incumbent::LoopProbe;

use crate::engine::Engine;

/// Notifies a language, once, that something is ready. It may wait for a lock of the language (an interpreter's, for
/// example), and should do little else.
pub type Wake = Box<dyn FnOnce() + Send>;

/// Creates a probe for an event loop that watches no [mailbox](crate::Mailbox). Its wakes make the loop call
/// [`LoopProbe::answered`]; they run on the wake thread.
pub fn loop_probe(wake: impl Fn() -> Wake + Send + Sync + 'static) -> LoopProbe {
    LoopProbe::new(move || {
        let engine = Engine::running();
        if let Some(engine) = engine {
            engine.wakes.call(wake());
        }
        engine.is_some()
    })
}

/// One thread that calls wakes, in order. Neither the driver nor the engine's runtime ever waits for it.
pub(crate) struct WakeThread {
    wakes: mpsc::Sender<Wake>,
    guard: Arc<CallGuard>,
    /// Taken once the thread was [joined](WakeThread::join) or [detached](WakeThread::detach).
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The wake that is running, and whether further wakes were forbidden.
#[derive(Default)]
struct CallGuard {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    is_calling: bool,
    is_stopped: bool,
}

impl WakeThread {
    pub(crate) fn start(name: &str) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<Wake>();
        let guard = Arc::new(CallGuard::default());
        let calls = Arc::clone(&guard);
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            for wake in receiver {
                if !calls.begin() {
                    // The thread was stopped, so nothing is called any more.
                    break;
                }
                // A wake that panics is a bug of the binding; the wakes after it are still called.
                let _ = catch_unwind(AssertUnwindSafe(wake));
                calls.end();
            }
        })?;
        Ok(Self { wakes: sender, guard, thread: Mutex::new(Some(thread)) })
    }

    /// Queues `wake` for the thread. Never waits.
    pub(crate) fn call(&self, wake: Wake) {
        // The thread ends once it was stopped, and then needs no wake.
        let _ = self.wakes.send(wake);
    }

    /// Calls `wake` on this thread, unless it was [stopped](Self::stop).
    pub(crate) fn call_inline(&self, wake: Wake) {
        if !self.guard.lock().is_stopped {
            // As on the thread, a bug of the binding must not end a campaign.
            let _ = catch_unwind(AssertUnwindSafe(wake));
        }
    }

    /// Calls the queued wakes and then no more, within `limit`: a wake that takes longer is left running. The thread ends.
    pub(crate) fn stop(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let (last, called) = mpsc::channel::<()>();
        self.call(Box::new(move || drop(last)));
        // Dropping the sender ends this wait, whether or not the wake was called.
        let _ = called.recv_timeout(limit);
        let mut state = self.guard.lock();
        state.is_stopped = true;
        // The thread may be waiting for a wake.
        self.call(Box::new(|| {}));
        while state.is_calling {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.guard.returned.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lets the thread end by itself: no call joins it later.
    pub(crate) fn detach(&self) {
        drop(self.thread.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Waits for the end of the thread, once it was [stopped](Self::stop): it may have to leave an interpreter or a virtual
    /// machine. Returns at once if a wake still runs.
    pub(crate) fn join(&self) {
        if self.guard.lock().is_calling {
            return;
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The thread catches the panics of its wakes.
        let _ = thread.map(JoinHandle::join);
    }
}

impl CallGuard {
    fn begin(&self) -> bool {
        let mut state = self.lock();
        state.is_calling = !state.is_stopped;
        state.is_calling
    }

    fn end(&self) {
        self.lock().is_calling = false;
        self.returned.notify_all();
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
        let wakes = WakeThread::start("wakes").unwrap();
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        wakes.call(Box::new(move || sender.send(1).unwrap()));
        wakes.call(Box::new(|| panic!("on purpose")));
        wakes.call(Box::new(move || other.send(2).unwrap()));
        assert_eq!([receiver.recv().unwrap(), receiver.recv().unwrap()], [1, 2]);
    }

    #[test]
    fn after_it_was_stopped_nothing_is_called() {
        let wakes = WakeThread::start("wakes").unwrap();
        let (sender, receiver) = mpsc::channel::<()>();
        wakes.stop(Duration::from_secs(10));
        wakes.call(Box::new(move || sender.send(()).unwrap()));
        // The wake is dropped uncalled, and its sender with it.
        assert!(receiver.recv().is_err());
    }

    #[test]
    fn the_thread_ends_once_it_was_stopped() {
        let wakes = WakeThread::start("wakes").unwrap();
        wakes.stop(Duration::from_secs(10));
        wakes.join();
        // The thread's own reference is dropped as it ends.
        assert_eq!(Arc::strong_count(&wakes.guard), 1);
    }

    #[test]
    fn stopping_waits_for_the_wake_that_is_being_called_up_to_its_limit() {
        let wakes = WakeThread::start("wakes").unwrap();
        let (entered, inside) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        wakes.call(Box::new(move || {
            entered.send(()).unwrap();
            let _ = released.recv();
        }));
        inside.recv().unwrap();
        wakes.stop(Duration::from_millis(1));
        assert!(wakes.guard.lock().is_calling);
        drop(release);
        wakes.stop(Duration::from_secs(30));
        assert!(!wakes.guard.lock().is_calling);
    }
}

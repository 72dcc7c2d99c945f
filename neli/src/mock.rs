//! A member without Kafka. A test decides when it leads.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;

use super::event::{Barrier, Event};
use super::neli::{Leadership, Neli, Parts, Poll, Shared, lock};
use super::pulses::Pace;
use incumbent::testing::ScriptedElection;
use incumbent::{Clock, Error, ErrorKind, Reason, Result};

/// The configuration of a [`Mock`].
#[must_use = "a configuration does nothing until it is given to `Mock::new`"]
pub struct MockConfig {
    pace: Pace,
    clock: Clock,
    barrier: Barrier,
}

/// A [`Neli`] for tests of programs that use one. It takes part in no election: the test decides what happens, and the
/// next polling pulse carries it out, as in goNELI's mock.
///
/// ```
/// use std::time::Duration;
/// use incumbent_neli::{Mock, MockConfig};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mock = Mock::new(MockConfig::new())?;
/// let neli = mock.neli(); // for the program under test
///
/// mock.acquire();
/// assert!(!neli.is_leader());
/// assert!(neli.pulse(Duration::from_secs(10)).await?);
/// assert!(neli.is_leader());
/// # neli.close().await?;
/// # Ok(()) }
/// ```
pub struct Mock {
    neli: Neli,
    script: Arc<Script>,
}

struct Script {
    election: ScriptedElection,
    steps: Mutex<Steps>,
}

/// The last request, and the steps of it that pulses have carried out.
struct Steps {
    target: Event,
    current: Event,
}

impl Mock {
    /// Returns a member that does not lead yet.
    ///
    /// # Errors
    /// `InvalidSetting` for a minimum poll interval below 1 ms.
    /// # Panics
    /// When called outside of a tokio runtime.
    pub fn new(config: MockConfig) -> Result<Self> {
        let MockConfig { pace, clock, barrier } = config;
        if pace.min_poll_interval < Duration::from_millis(1) {
            let message = format!(
                "`min_poll_interval` is {:?}, and must be at least 1ms: use a longer time",
                pace.min_poll_interval
            );
            return Err(Error::new(ErrorKind::InvalidSetting, message));
        }
        let (election, candidate) = ScriptedElection::new("mock", "mock", clock.clone());
        let steps = Mutex::new(Steps { target: Event::Revoked, current: Event::Revoked });
        let script = Arc::new(Script { election, steps });
        let played = Arc::clone(&script);
        let poll: Poll = Box::new(move |shared| Arc::clone(&played).play(shared).boxed());
        let neli = Neli::start(Parts { candidate, store: None, clock, pace, barrier, poll: Some(poll) });
        Ok(Self { neli, script })
    }

    /// Returns the member, for the program under test. The mock itself can be used as a member too.
    pub fn neli(&self) -> Neli {
        self.neli.clone()
    }

    /// Makes the member lead from the next polling pulse on.
    pub fn acquire(&self) {
        lock(&self.script.steps).target = Event::Acquired;
    }

    /// Makes the next polling pulse revoke the member, and wait for the barrier.
    pub fn revoke(&self) {
        lock(&self.script.steps).target = Event::Revoked;
    }

    /// Makes the next polling pulse fence the member.
    pub fn fence(&self) {
        lock(&self.script.steps).target = Event::Fenced;
    }

    /// Makes the next pulse, and only that one, return this error.
    pub fn pulse_error(&self, error: Error) {
        self.neli.inner.shared.refuse(error);
    }

    /// Returns the election below the mock, for what goNELI's mock cannot do: a lease that runs out, or a loss in the
    /// middle of a task, without a pulse.
    pub fn election(&self) -> &ScriptedElection {
        &self.script.election
    }
}

impl Deref for Mock {
    type Target = Neli;

    fn deref(&self) -> &Neli {
        &self.neli
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock").field("neli", &self.neli).finish_non_exhaustive()
    }
}

impl Script {
    /// Carries out the last request, and waits until the barrier has returned.
    async fn play(self: Arc<Self>, shared: Arc<Shared>) {
        let event = {
            let mut steps = lock(&self.steps);
            if steps.current == steps.target {
                return;
            }
            steps.current = steps.target;
            steps.current
        };
        let (leads, calls) = {
            let leadership = shared.leadership.borrow();
            (leadership.term.is_some(), leadership.calls)
        };
        let returned = async || {
            let mut leadership = shared.leadership.subscribe();
            // The sender belongs to the same value as `shared`, so it still exists.
            let _ = leadership.wait_for(|leadership: &Leadership| leadership.calls > calls).await;
        };
        match event {
            Event::Acquired => {
                self.election.acquire();
                returned().await;
                let mut leadership = shared.leadership.subscribe();
                let _ = leadership.wait_for(|now| now.is_ready || now.term.is_none()).await;
            }
            // As in goNELI's mock, the barrier is called even if the member does not lead.
            Event::Revoked | Event::Fenced if !leads => shared.call(event).await,
            Event::Revoked => {
                self.election.drain(Reason::Revoked);
                returned().await;
                self.election.revoke(Reason::Revoked);
            }
            Event::Fenced => {
                self.election.fence();
                returned().await;
            }
        }
    }
}

impl MockConfig {
    /// Returns goNELI's defaults, on the machine's clock.
    pub fn new() -> Self {
        Self { pace: Pace::default(), clock: Clock::system(), barrier: Box::new(|_| async {}.boxed()) }
    }

    /// Sets the shortest time between two polls; 100 ms by default, 1 ms at least.
    pub fn min_poll_interval(mut self, interval: Duration) -> Self {
        self.pace.min_poll_interval = interval;
        self
    }

    /// Sets the longest time between two pulses; 5 min by default. A mock that leads and is silent for longer is
    /// revoked.
    pub fn max_poll_interval(mut self, interval: Duration) -> Self {
        self.pace.max_poll_interval = interval;
        self
    }

    /// Sets the clock of timeouts and deadlines. [`Clock::manual`] makes tests exact in time.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the function that is called for each [`Event`], one call after another, on a separate task.
    pub fn barrier<F, Fut>(mut self, mut barrier: F) -> Self
    where
        F: FnMut(Event) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.barrier = Box::new(move |event| barrier(event).boxed());
        self
    }
}

impl Default for MockConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MockConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockConfig").field("pace", &self.pace).finish_non_exhaustive()
    }
}

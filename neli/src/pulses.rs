//! The pace of pulses: the deadline between polls, and the membership, which lasts only as long as the program pulses.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use incumbent::incumbent_core::Instant;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use incumbent::Clock;

/// goNELI's minimum poll interval (`config.go`).
pub(super) const MIN_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// goNELI's poll duration (`config.go`).
pub(super) const POLL_DURATION: Duration = Duration::from_millis(1);
/// librdkafka's default of `max.poll.interval.ms`, which is also goNELI's.
pub(super) const MAX_POLL_INTERVAL: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) min_poll_interval: Duration,
    pub(super) poll_duration: Duration,
    pub(super) max_poll_interval: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            min_poll_interval: MIN_POLL_INTERVAL,
            poll_duration: POLL_DURATION,
            max_poll_interval: MAX_POLL_INTERVAL,
        }
    }
}

/// The time of the last poll, and the time at which a pulse will poll again: at least the minimum poll interval later.
///
/// The store keeps up with the group on a separate thread. So the membership and the lease do not depend on polls, and
/// a waiting pulse returns as soon as this process leads, even before the deadline.
pub struct Deadline {
    clock: Clock,
    interval: Duration,
    /// The instant of the last poll in nanoseconds; zero before the first.
    last: AtomicU64,
}

impl Deadline {
    fn new(clock: Clock, interval: Duration) -> Self {
        Self { clock, interval, last: AtomicU64::new(0) }
    }

    /// The instant of the last poll; `None` before the first.
    pub fn last(&self) -> Option<Instant> {
        let last = self.last.load(Ordering::Acquire);
        (last > 0).then(|| Instant::from_nanos(last))
    }

    /// The time since the last poll; `None` before the first.
    pub fn elapsed(&self) -> Option<Duration> {
        self.last().map(|last| self.clock.now().since(last))
    }

    /// The time until a pulse polls again; zero before the first.
    pub fn remaining(&self) -> Duration {
        self.next().since(self.clock.now())
    }

    /// Returns true if a pulse would poll now.
    pub fn is_expired(&self) -> bool {
        self.clock.now() >= self.next()
    }

    /// Lets the next pulse poll at once.
    pub fn expire(&self) {
        self.last.store(0, Ordering::Release);
    }

    /// Moves the deadline forward if it has expired, and returns whether it had.
    pub(super) fn try_move(&self) -> bool {
        // Only one of two concurrent pulses polls.
        let last = self.last.load(Ordering::Acquire);
        let now = self.clock.now();
        self.is_expired()
            && self
                .last
                .compare_exchange(last, now.as_nanos().max(1), Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
    }

    pub(super) async fn expired(&self) {
        self.clock.sleep_until(self.next()).await;
    }

    fn next(&self) -> Instant {
        self.last().map_or(Instant::ZERO, |last| last + self.interval)
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline")
            .field("interval", &self.interval)
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

/// The pulses of a member, and the task that watches them.
pub(super) struct Pulses {
    pace: Pace,
    deadline: Deadline,
    seen: Arc<Seen>,
    _watched: DropGuard,
}

/// The data about pulses that the watching task reads.
struct Seen {
    clock: Clock,
    /// The number of pulses that have begun but not returned.
    running: AtomicUsize,
    /// The end of the last pulse, in nanoseconds.
    last: AtomicU64,
    /// Whether the program has not pulsed for too long. The lock is held while a change is passed on, so that the
    /// latest value is passed on last.
    is_late: Mutex<bool>,
    returned: Notify,
}

/// A pulse, which ends when this is dropped.
pub(super) struct Pulsing<'a>(&'a Seen);

impl Pulses {
    /// Begins to watch pulses. `late` is called when the program has not pulsed for too long.
    pub(super) fn start(clock: Clock, pace: Pace, late: impl Fn() + Send + 'static) -> Self {
        let seen = Arc::new(Seen {
            clock: clock.clone(),
            running: AtomicUsize::new(0),
            last: AtomicU64::new(clock.now().as_nanos()),
            is_late: Mutex::new(false),
            returned: Notify::new(),
        });
        let over = CancellationToken::new();
        let watching = Arc::clone(&seen).watch(pace.max_poll_interval, late);
        tokio::spawn(over.clone().run_until_cancelled_owned(watching));
        let deadline = Deadline::new(clock, pace.min_poll_interval);
        Self { pace, deadline, seen, _watched: over.drop_guard() }
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.seen.clock
    }

    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    pub(super) fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    /// Begins a pulse. `back` is called if the pulse ends a silence that was too long.
    pub(super) fn begin(&self, back: impl FnOnce()) -> Pulsing<'_> {
        self.seen.running.fetch_add(1, Ordering::AcqRel);
        let mut is_late = self.seen.is_late();
        if std::mem::take(&mut *is_late) {
            back();
            self.seen.returned.notify_one();
        }
        Pulsing(&self.seen)
    }
}

impl Drop for Pulsing<'_> {
    fn drop(&mut self) {
        self.0.last.store(self.0.clock.now().as_nanos(), Ordering::Release);
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Seen {
    async fn watch(self: Arc<Self>, longest: Duration, late: impl Fn()) {
        loop {
            self.clock.sleep_until(self.due(longest)).await;
            {
                let mut is_late = self.is_late();
                if self.due(longest) > self.clock.now() {
                    continue;
                }
                *is_late = true;
                late();
            }
            tracing::warn!(
                "no pulse for {longest:?} (`max_poll_interval`): the member leaves its group until the next pulse"
            );
            self.returned.notified().await;
        }
    }

    /// The instant by which a pulse must begin.
    fn due(&self, longest: Duration) -> Instant {
        match self.running.load(Ordering::Acquire) {
            0 => Instant::from_nanos(self.last.load(Ordering::Acquire)) + longest,
            _ => self.clock.now() + longest,
        }
    }

    fn is_late(&self) -> std::sync::MutexGuard<'_, bool> {
        self.is_late.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

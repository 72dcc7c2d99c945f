//! The clock every deadline is counted on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use incumbent_core::Instant;

/// A monotonic clock that counts the time the machine spends suspended.
///
/// Cheap to clone; all processes of one machine read the same [`Clock::system`].
#[derive(Clone, Debug, Default)]
pub struct Clock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The machine's clock: `CLOCK_BOOTTIME` on Linux, `mach_continuous_time` (as `CLOCK_MONOTONIC_RAW`'s
    /// suspend-aware sibling) on macOS.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands still until it is [advanced](Self::advance), for tests.
    pub fn manual(start: Instant) -> Self {
        Self(Source::Manual(Arc::new(AtomicU64::new(start.as_nanos()))))
    }

    /// The time now.
    pub fn now(&self) -> Instant {
        match &self.0 {
            Source::System => system_now(),
            Source::Manual(nanos) => Instant::from_nanos(nanos.load(Ordering::Acquire)),
        }
    }

    /// Moves a manual clock on; does nothing to the machine's.
    pub fn advance(&self, span: Duration) {
        if let Source::Manual(nanos) = &self.0 {
            let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
            nanos.fetch_add(span, Ordering::AcqRel);
        }
    }
}

#[cfg(target_os = "linux")]
fn system_now() -> Instant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let nanos = (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64;
    Instant::from_nanos(nanos)
}

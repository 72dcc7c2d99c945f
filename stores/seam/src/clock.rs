//! The clock that every deadline is counted on.
//!
//! It reads the time since the machine was started, *including* the time it was suspended, so a lease runs down while a
//! laptop sleeps. The wall clock is never read.
//!
//! | platform | clock | counts suspension | shared by all processes |
//! |---|---|---|---|
//! | Linux, Android | `CLOCK_BOOTTIME`, read in user space by the vDSO | yes | yes |
//! | macOS, iOS | `CLOCK_MONOTONIC_RAW`, which is `mach_continuous_time` | yes | yes |
//! | Windows | [`std::time::Instant`] (`QueryPerformanceCounter`) | yes | no |
//! | others | [`std::time::Instant`] | not promised | no |
//!
//! On Darwin `CLOCK_MONOTONIC` counts suspension too, but follows adjustments of the wall clock; `CLOCK_UPTIME_RAW` stops
//! while the machine sleeps (clock_gettime(3) of macOS). `QueryPerformanceCounter` counts standby and hibernation ("Acquiring
//! high-resolution time stamps" of Windows' documentation); that [`std::time::Instant`] reads it is not promised. No clock of
//! a guest can count a pause of the whole virtual machine, or a restored snapshot.
//!
//! [`counts_suspend`](Clock::counts_suspend) returns whether suspension is counted here. Instants of two processes can be
//! compared if their [`boot_id`](Clock::boot_id) is the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use incumbent_core::Instant;
use tokio::sync::Notify;

/// Separates the boot from the time namespace in a [boot id](Clock::boot_id), if the namespace's clock differs from the
/// machine's.
pub const NAMESPACE: char = '+';

/// The longest single sleep of [`Clock::sleep_until`]. Tokio's timers stop while the machine is suspended, so after a
/// resume a sleeper is at most this late.
const NAP: Duration = Duration::from_secs(1);

/// A monotonic clock that counts the time for which the machine is suspended.
///
/// A read costs as much as `std::time::Instant::now`: 30 to 42 ns on Linux (measured), with no system call. The clock
/// is cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    source: Source,
    boot: Option<Arc<str>>,
}

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    Manual(Arc<Manual>),
}

#[derive(Debug)]
struct Manual {
    nanos: AtomicU64,
    moved: Notify,
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock for tests that only moves when it is [advanced](Self::advance). Its clones are the same clock.
    pub fn manual(start: Instant) -> Self {
        let manual = Manual { nanos: AtomicU64::new(start.as_nanos()), moved: Notify::new() };
        Self { source: Source::Manual(Arc::new(manual)), boot: Some("manual".into()) }
    }

    /// Returns this clock as it would be after the boot named `id`. To a store that outlives the machine, a new name
    /// looks like a reboot.
    #[must_use]
    pub fn in_boot(mut self, id: &str) -> Self {
        self.boot = Some(id.into());
        self
    }

    /// The time now.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(match &self.source {
            Source::System => machine::now(),
            Source::Manual(manual) => manual.nanos.load(Ordering::Acquire),
        })
    }

    /// Moves a manual clock forward and wakes its sleepers; does nothing to the machine's clock.
    pub fn advance(&self, span: Duration) {
        if let Source::Manual(manual) = &self.source {
            let later = |now| Some((Instant::from_nanos(now) + span).as_nanos());
            // The closure never returns `None`, so the update cannot fail.
            let _ = manual.nanos.fetch_update(Ordering::AcqRel, Ordering::Acquire, later);
            manual.moved.notify_waiters();
        }
    }

    /// Returns once the clock shows `at` or later. After a suspension of the machine it may return up to a second late:
    /// tokio's timer only wakes the task, and the task reads this clock.
    ///
    /// The machine's clock needs a tokio runtime with its time driver enabled.
    pub async fn sleep_until(&self, at: Instant) {
        match &self.source {
            Source::System => {
                while self.now() < at {
                    tokio::time::sleep(at.since(self.now()).min(NAP)).await;
                }
            }
            Source::Manual(manual) => loop {
                let mut moved = std::pin::pin!(manual.moved.notified());
                // The future is enabled before the clock is read, so that an advance in between is not missed.
                moved.as_mut().enable();
                if self.now() >= at {
                    return;
                }
                moved.await;
            },
        }
    }

    /// Returns true if the clock keeps running while the machine is suspended. If it does not, a leader on a machine
    /// that was suspended may believe in its lease after the lease has ended.
    pub fn counts_suspend(&self) -> bool {
        match &self.source {
            Source::System => machine::COUNTS_SUSPEND,
            Source::Manual(_) => true,
        }
    }

    /// The id of the machine's boot, from which the clock counts. Two processes may compare their instants if, and only
    /// if, their ids are equal. On Linux a process in a time namespace with a shifted clock has a separate id. `None`
    /// if each process has its own clock, or if the boot is not known.
    pub fn boot_id(&self) -> Option<&str> {
        self.boot.as_deref().or_else(|| machine::boot_id())
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod machine {
    use std::sync::OnceLock;
    use std::{fs, io};

    use rustix::time::{ClockId, clock_gettime};

    pub(super) const COUNTS_SUSPEND: bool = true;

    pub(super) fn now() -> u64 {
        let time = clock_gettime(ClockId::Boottime);
        // Neither field is negative, because the clock counts from the boot.
        time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
    }

    pub(super) fn boot_id() -> Option<&'static str> {
        static ID: OnceLock<Option<String>> = OnceLock::new();
        ID.get_or_init(|| {
            let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            let id = Some(id.trim()).filter(|id| !id.is_empty())?;
            let shift = shift()?;
            Some(if shift.is_empty() { id.to_owned() } else { format!("{id}{}{shift}", super::NAMESPACE) })
        })
        .as_deref()
    }

    /// The shift of the clock in this process's time namespace, which the boot id does not contain
    /// (time_namespaces(7)): empty for the machine's own time, `None` if it is not known.
    fn shift() -> Option<String> {
        let own = match fs::read_link("/proc/self/ns/time") {
            Ok(own) => own,
            // Linux before 5.6 has no time namespaces.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(String::new()),
            Err(_) => return None,
        };
        // The offsets are those of the namespace of this process's children.
        if fs::read_link("/proc/self/ns/time_for_children").ok()? != own {
            return Some(own.to_string_lossy().into_owned());
        }
        read_shift(&fs::read_to_string("/proc/self/timens_offsets").ok()?)
    }

    pub(super) fn read_shift(offsets: &str) -> Option<String> {
        let boottime = offsets.lines().find_map(|line| line.trim().strip_prefix("boottime"))?;
        let mut numbers = boottime.split_ascii_whitespace().map(str::parse::<i64>);
        match (numbers.next()?.ok()?, numbers.next()?.ok()?) {
            (0, 0) => Some(String::new()),
            (seconds, nanos) => Some(format!("{seconds}s{nanos}ns")),
        }
    }
}

#[cfg(target_vendor = "apple")]
#[allow(unsafe_code, reason = "rustix has neither this clock nor sysctl for Apple's systems")]
mod machine {
    use std::sync::OnceLock;

    pub(super) const COUNTS_SUSPEND: bool = true;

    pub(super) fn now() -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is one writable timespec. The call fails only for an unknown clock.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
        time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
    }

    pub(super) fn boot_id() -> Option<&'static str> {
        static ID: OnceLock<Option<String>> = OnceLock::new();
        ID.get_or_init(read_boot_id).as_deref()
    }

    fn read_boot_id() -> Option<String> {
        // A UUID's 36 characters and the terminating zero.
        let mut id = [0_u8; 37];
        let mut length = id.len();
        // SAFETY: the name is a C string, `id` holds `length` bytes, and the call sets no value.
        let failed = unsafe {
            libc::sysctlbyname(
                c"kern.bootsessionuuid".as_ptr(),
                id.as_mut_ptr().cast(),
                &raw mut length,
                std::ptr::null_mut(),
                0,
            )
        };
        let id = std::ffi::CStr::from_bytes_until_nul(&id).ok()?.to_str().ok()?;
        (failed == 0 && !id.is_empty()).then(|| id.to_owned())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod machine {
    use std::sync::OnceLock;
    use std::time::Instant;

    pub(super) const COUNTS_SUSPEND: bool = cfg!(windows);

    pub(super) fn now() -> u64 {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        u64::try_from(ORIGIN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn boot_id() -> Option<&'static str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_machines_clock_is_the_kernels_that_counts_suspension() {
        let boottime = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
            Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
        };
        let (before, now, after) = (boottime(), Clock::system().now(), boottime());
        let now = now.since(Instant::ZERO);
        assert!(before <= now && now <= after, "{before:?} {now:?} {after:?}");
        assert!(Clock::system().counts_suspend());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_shift_of_a_time_namespace_is_read_as_the_kernel_writes_it() {
        let offsets = "monotonic           0         0\nboottime         1000       500\n";
        assert_eq!(machine::read_shift(offsets).as_deref(), Some("1000s500ns"));
        let none = "monotonic          -5         0\nboottime            0         0\n";
        assert_eq!(machine::read_shift(none).as_deref(), Some(""));
        assert_eq!(machine::read_shift("boottime x 0"), None);
        assert_eq!(machine::read_shift(""), None);
    }

    #[test]
    fn the_machines_clock_never_goes_back() {
        let clock = Clock::system();
        let readings: Vec<_> = (0..10_000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
    }

    #[test]
    fn clocks_of_one_machine_share_their_boot_and_a_test_can_name_another() {
        let (one, other) = (Clock::system(), Clock::system());
        assert_eq!(one.boot_id(), other.boot_id());
        assert_eq!(other.in_boot("second").boot_id(), Some("second"));
        assert_eq!(Clock::manual(Instant::ZERO).boot_id(), Some("manual"));
    }

    #[test]
    fn a_manual_clock_moves_only_when_told_and_so_do_its_clones() {
        let clock = Clock::manual(Instant::from_nanos(5));
        let clone = clock.clone();
        assert_eq!(clone.now(), Instant::from_nanos(5));
        clock.advance(Duration::from_nanos(2));
        assert_eq!(clone.now(), Instant::from_nanos(7));
        clock.advance(Duration::MAX);
        assert_eq!(clone.now(), Instant::NEVER);
    }

    #[tokio::test]
    async fn a_sleeper_on_a_manual_clock_wakes_when_its_instant_is_reached() {
        let clock = Clock::manual(Instant::ZERO);
        let at = Instant::from_nanos(10);
        let mut sleeper = std::pin::pin!(clock.sleep_until(at));
        clock.advance(Duration::from_nanos(9));
        assert!(futures_util::poll!(&mut sleeper).is_pending());
        clock.advance(Duration::from_nanos(1));
        sleeper.await;
    }

    #[tokio::test]
    async fn a_sleeper_on_the_machines_clock_never_wakes_early() {
        let clock = Clock::system();
        let at = clock.now() + Duration::from_millis(5);
        clock.sleep_until(at).await;
        assert!(clock.now() >= at);
    }
}

//! The process that created a value, remembered with it.

/// The process that a value was created in. The check costs one relaxed load, so `is_leader` can afford it.
///
/// ```
/// use incumbent_store::fork::ForkGuard;
///
/// let guard = ForkGuard::new();
/// assert!(!guard.is_forked());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ForkGuard(u32);

impl Default for ForkGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl ForkGuard {
    /// Guards a value that is created now, in this process.
    pub fn new() -> Self {
        Self(generation::of_this_process())
    }

    /// Returns true if this process was forked, directly or indirectly, from the process that created the guard.
    pub fn is_forked(self) -> bool {
        generation::now() != self.0
    }
}

#[cfg(unix)]
#[allow(
    unsafe_code,
    reason = "POSIX offers no safe way to learn of a fork, and asking for the pid is a system call"
)]
mod generation {
    use std::sync::Once;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The number of forks between the first process that created a guard and this one.
    static FORKS: AtomicU32 = AtomicU32::new(0);

    pub(super) fn now() -> u32 {
        FORKS.load(Ordering::Relaxed)
    }

    pub(super) fn of_this_process() -> u32 {
        static LISTENING: Once = Once::new();
        LISTENING.call_once(|| {
            // SAFETY: `count` does nothing but an atomic addition, which is safe in a forked child of a process with
            // several threads, and it lives as long as the process.
            let refused = unsafe { libc::pthread_atfork(None, None, Some(count)) };
            if refused != 0 {
                tracing::warn!(
                    "this process cannot detect its forks (out of memory): a forked child may believe that it leads \
                     until its inherited lease is over"
                );
            }
        });
        now()
    }

    extern "C" fn count() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(not(unix))]
mod generation {
    pub(super) fn now() -> u32 {
        0
    }

    pub(super) fn of_this_process() -> u32 {
        0
    }
}

//! A value that exists once per process, and separately in a forked child.

use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::guard::ForkGuard;

/// A value behind a lock. A forked child does not inherit it, but begins with a new one.
///
/// An inherited lock may be held by a thread that the child does not have, and would never be released.
pub struct Own<T: 'static> {
    newest: AtomicPtr<Process<T>>,
}

/// The value of one process. The values of its parents are never freed, because threads of the parents may have been
/// using them.
struct Process<T> {
    fork_guard: ForkGuard,
    value: Mutex<T>,
}

impl<T: Default> Own<T> {
    /// Returns a value that no process has created yet.
    #[allow(clippy::new_without_default, reason = "a static needs a constant")]
    pub const fn new() -> Self {
        Self { newest: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The value of this process.
    #[allow(
        unsafe_code,
        reason = "a forked child cannot wait for a lock, so an atomic shows whether the mutex is its own"
    )]
    pub fn get(&'static self) -> &'static Mutex<T> {
        let mut newest = self.newest.load(Ordering::Acquire);
        loop {
            // SAFETY: the pointer is null, or comes from a box that was leaked below and is never freed.
            if let Some(process) =
                unsafe { newest.as_ref() }.filter(|process| !process.fork_guard.is_forked())
            {
                return &process.value;
            }
            let ours: *mut _ =
                Box::leak(Box::new(Process { fork_guard: ForkGuard::new(), value: Mutex::default() }));
            match self.newest.compare_exchange(newest, ours, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => newest = ours,
                Err(faster) => {
                    // SAFETY: the box was leaked above, and no other thread has seen it.
                    drop(unsafe { Box::from_raw(ours) });
                    newest = faster;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_one_value() {
        static LIST: Own<Vec<u32>> = Own::new();
        let threads: Vec<_> = (0..8)
            .map(|number| std::thread::spawn(move || LIST.get().lock().unwrap().push(number)))
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut list = LIST.get().lock().unwrap().clone();
        list.sort_unstable();
        assert_eq!(list, (0..8).collect::<Vec<_>>());
    }

    #[cfg(unix)]
    #[test]
    #[allow(unsafe_code, reason = "there is no safe fork")]
    fn a_child_has_a_value_of_its_own_though_its_parents_is_locked() {
        static LIST: Own<Vec<u32>> = Own::new();
        let mut held = LIST.get().lock().unwrap();
        held.push(7);
        // SAFETY: the child only allocates, takes a lock that no other thread knows, and ends. The allocators of glibc
        // and Apple may be used in a forked child.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_new = LIST.get().try_lock().is_ok_and(|list| list.is_empty());
            // SAFETY: `_exit` ends the child without running any of the parent's code.
            unsafe { libc::_exit(i32::from(!is_new)) };
        }
        let mut status = -1;
        // SAFETY: `child` is a child of this process, and the status is written to a local variable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
        assert_eq!(*held, [7]);
    }
}

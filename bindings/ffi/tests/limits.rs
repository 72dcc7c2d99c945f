//! A process that the operating system gives no more threads.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests panic as tests do")]

use std::time::Duration;

use incumbent_ffi::settings::{Dialect, opening};
use incumbent_ffi::{ErrorKind, Store};

const LIMIT: Duration = Duration::from_secs(60);
/// A user without other processes, if root runs this: no limit binds root.
const LONE_USER: u32 = 47_610;

/// The answers of a child as its exit code.
const OPENED: i32 = 0;
const AWAY: i32 = 1;
const WRONG: i32 = 2;
const NO_OTHER_USER: i32 = 3;

/// Opens a store in a child that may have so many processes and threads.
fn opened_within(most: u32) -> i32 {
    // SAFETY: the child uses nothing that another thread may have locked, and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "cannot fork");
    if pid == 0 {
        let code = std::panic::catch_unwind(|| {
            let limit = libc::rlimit { rlim_cur: most.into(), rlim_max: most.into() };
            // SAFETY: the pointer is to a live limit; the child has one thread.
            let is_limited = unsafe {
                libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) == 0
                    && (libc::getuid() != 0 || libc::setuid(LONE_USER + most) == 0)
            };
            if is_limited { open() } else { NO_OTHER_USER }
        });
        // SAFETY: ends the child without running any code of the parent.
        unsafe { libc::_exit(code.unwrap_or(WRONG)) }
    }
    let mut status = 0;
    // SAFETY: waits for a child of ours, and writes to one integer.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status), "the child was killed: {status}");
    libc::WEXITSTATUS(status)
}

fn open() -> i32 {
    let operation = Store::open(opening("memory:", Vec::new(), Dialect::PYTHON).unwrap());
    assert!(operation.ready().wait(Some(LIMIT)), "it takes too long");
    match operation.take().unwrap() {
        Ok(_) => OPENED,
        Err(error)
            if error.code == ErrorKind::StoreUnavailable && error.to_string().contains("raise the limit") =>
        {
            AWAY
        }
        Err(error) => {
            eprintln!("{error:?}");
            WRONG
        }
    }
}

#[test]
fn a_store_without_a_thread_is_away() {
    // A user with other processes gets no thread at all; a lone one gets them one by one.
    let answers: Vec<i32> = (1..=8).map(opened_within).collect();
    if answers.contains(&NO_OTHER_USER) {
        eprintln!("no other user can be had here: nothing to test");
        return;
    }
    let away = answers.iter().take_while(|answer| **answer == AWAY).count();
    assert!(away >= 3 && answers[away..].iter().all(|answer| *answer == OPENED), "{answers:?}");
}

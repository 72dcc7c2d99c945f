//! Makes sure that a runtime has a thread for calls that block, such as the look-up of a host name.
//!
//! tokio starts such a thread when it is first needed, and panics if the operating system refuses it, for instance at a
//! limit on processes. Once its pool has a thread, a call that gets no thread of its own waits for that thread instead.

use std::io;
use std::time::Duration;

use crate::error::{Error, ErrorKind};

/// The time for which an idle thread is kept (100 years), so that it never has to be started again.
pub const KEPT: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Makes sure that the present runtime has a thread for calls that block.
///
/// # Errors
/// `StoreUnavailable` if the runtime has no such thread and cannot start one. The caller may try again when other
/// threads have ended.
pub async fn ready() -> crate::error::Result<()> {
    use tokio::io::AsyncWriteExt as _;

    // A file that takes any write.
    let nowhere = if cfg!(windows) { "NUL" } else { "/dev/null" };
    let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open(nowhere) else { return Ok(()) };
    // Of all of tokio's work on such a thread, only a write to a file reports that no thread could be started.
    let begun = tokio::fs::File::from_std(nowhere).write(b".").await;
    begun.map(drop).map_err(|_| refused("calls that block", None))
}

/// Makes sure that this many threads can be started now, for a library that ends the program if it gets none.
pub fn can_start(threads: usize, what: &str) -> crate::error::Result<()> {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let ended = std::sync::Arc::new(std::sync::Mutex::new(ended));
    let mut started = Vec::new();
    let mut refused_with = None;
    for _ in 0..threads {
        let ended = std::sync::Arc::clone(&ended);
        let wait = move || drop(ended.lock().map(|ended| ended.recv()));
        match std::thread::Builder::new().spawn(wait) {
            Ok(thread) => started.push(thread),
            Err(error) => {
                refused_with = Some(error);
                break;
            }
        }
    }
    drop(end);
    for thread in started {
        // None of them panics.
        let _ = thread.join();
    }
    match refused_with {
        Some(error) => Err(refused(what, Some(error))),
        None => Ok(()),
    }
}

/// The error if the operating system refuses a thread.
pub fn refused(what: &str, error: Option<io::Error>) -> Error {
    let why = error.map(|error| format!(": {error}")).unwrap_or_default();
    let message =
        format!("no thread can be started for {what}{why}; raise the limit on processes and threads");
    Error::new(ErrorKind::StoreUnavailable, message)
}

//! A mailbox for an event loop that can watch a file descriptor.
//!
//! A number is put into it directly on the notifying thread, even the driver's: this waits for nothing, needs no lock
//! of the language and no other thread. The loop wakes because the descriptor becomes readable.

use std::fmt;
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::fd::AsRawFd;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use incumbent::fork::ForkGuard;
use incumbent::{ErrorKind, LoopProbe};

use crate::{Error, Result};

/// The message that checks whether the loop runs; taking it is the answer.
const PROBE: u64 = u64::MAX;

/// A mailbox for one event loop. A message is a number below `u64::MAX`; the language gives it a meaning.
pub struct Mailbox {
    messages: Mutex<Vec<u64>>,
    /// The end of a socket pair that the loop watches. One byte goes through it for the first message.
    inside: UnixStream,
    outside: UnixStream,
    birth: ForkGuard,
    probe: OnceLock<LoopProbe>,
}

impl Mailbox {
    /// Creates an empty mailbox.
    ///
    /// # Errors
    /// `Broken` if the operating system refuses a file descriptor, or has no kind that an event loop could watch.
    pub fn new() -> Result<Arc<Self>> {
        let refused = |error: io::Error| Error {
            causes: vec![error.to_string()],
            ..Error::new(
                ErrorKind::Broken,
                "the operating system has no file descriptor left; raise the limit on open files",
            )
        };
        let (inside, outside) = UnixStream::pair().map_err(refused)?;
        inside.set_nonblocking(true).and_then(|()| outside.set_nonblocking(true)).map_err(refused)?;
        Ok(Arc::new(Self {
            messages: Mutex::default(),
            inside,
            outside,
            birth: ForkGuard::new(),
            probe: OnceLock::new(),
        }))
    }

    /// The file descriptor, readable while there are messages. The caller only watches it: [`take`](Self::take) reads
    /// it.
    pub fn descriptor(&self) -> i32 {
        self.inside.as_raw_fd()
    }

    /// Takes the messages; none in a forked child, where nothing puts any in.
    pub fn take(&self) -> Vec<u64> {
        if self.birth.is_forked() {
            return Vec::new();
        }
        // Read first: a later message is either taken below, or wakes the loop again.
        let mut bytes = [0; 64];
        while matches!((&self.inside).read(&mut bytes), Err(error) if is_interrupted(&error)) {}
        let mut messages = std::mem::take(&mut *self.lock());
        let before = messages.len();
        messages.retain(|message| *message != PROBE);
        if let Some(probe) = self.probe.get().filter(|_| messages.len() < before) {
            probe.answered();
        }
        messages
    }

    /// Returns a probe that shows whether the loop [takes](Self::take) its messages.
    pub fn probe(self: &Arc<Self>) -> LoopProbe {
        let new = || {
            let mailbox = Arc::downgrade(self);
            LoopProbe::new(move || mailbox.upgrade().map(|mailbox| mailbox.put(PROBE)).is_some())
        };
        self.probe.get_or_init(new).clone()
    }

    /// Returns true if the mailbox was made before a fork, and is not to be used in this process.
    pub fn is_forked(&self) -> bool {
        self.birth.is_forked()
    }

    /// Adds a message and wakes the loop. Never waits.
    pub(crate) fn put(&self, message: u64) {
        let mut messages = self.lock();
        messages.push(message);
        let is_first = messages.len() == 1;
        drop(messages);
        if is_first {
            // A full buffer wakes the loop as well, and a closed loop needs no wake-up.
            while matches!((&self.outside).write(&[1]), Err(error) if is_interrupted(&error)) {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("descriptor", &self.descriptor()).finish_non_exhaustive()
    }
}

fn is_interrupted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// Has no value here: no event loop can watch a descriptor.
#[cfg(not(unix))]
enum UnixStream {}

#[cfg(not(unix))]
impl UnixStream {
    fn pair() -> io::Result<(Self, Self)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_nonblocking(&self, _: bool) -> io::Result<()> {
        match *self {}
    }

    fn as_raw_fd(&self) -> i32 {
        match *self {}
    }
}

#[cfg(not(unix))]
impl Read for &UnixStream {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match **self {}
    }
}

#[cfg(not(unix))]
impl Write for &UnixStream {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match **self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match **self {}
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Returns true if the loop would wake within `millis` milliseconds.
    #[allow(unsafe_code, reason = "the standard library has no way to look without reading")]
    fn wakes_within(mailbox: &Mailbox, millis: i32) -> bool {
        let mut poll = libc::pollfd { fd: mailbox.descriptor(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd, which outlives the call.
        unsafe { libc::poll(&raw mut poll, 1, millis) == 1 }
    }

    fn is_readable(mailbox: &Mailbox) -> bool {
        wakes_within(mailbox, 0)
    }

    #[test]
    fn messages_wake_the_loop_once_and_are_taken_in_order() {
        let mailbox = Mailbox::new().unwrap();
        assert!(!is_readable(&mailbox));
        for message in [3, 1, 2] {
            mailbox.put(message);
        }
        assert!(is_readable(&mailbox));
        assert_eq!(mailbox.take(), [3, 1, 2]);
        assert!(!is_readable(&mailbox));
        assert!(mailbox.take().is_empty());
        mailbox.put(4);
        assert!(is_readable(&mailbox));
        assert_eq!(mailbox.take(), [4]);
    }

    #[test]
    fn taking_the_messages_answers_the_probe_and_does_not_return_it() {
        let mailbox = Mailbox::new().unwrap();
        let probe = mailbox.probe();
        let answers = |count: u32| format!("{probe:?}").contains(&format!("answers: {count},"));
        mailbox.put(1);
        assert_eq!(mailbox.take(), [1]);
        assert!(answers(0), "it was not asked: {probe:?}");
        mailbox.put(PROBE);
        assert!(is_readable(&mailbox) && answers(0));
        mailbox.put(2);
        assert_eq!(mailbox.take(), [2]);
        assert!(answers(1), "{probe:?}");
    }

    #[test]
    fn a_loop_that_takes_nothing_delays_no_sender() {
        let mailbox = Mailbox::new().unwrap();
        for message in 0..100_000 {
            mailbox.put(message);
        }
        assert_eq!(mailbox.take().len(), 100_000);
    }

    #[test]
    fn no_message_is_lost_between_the_thread_that_puts_and_the_loop_that_takes() {
        const COUNT: u64 = 20_000;
        let mailbox = Mailbox::new().unwrap();
        let putting = Arc::clone(&mailbox);
        let thread = std::thread::spawn(move || (0..COUNT).for_each(|message| putting.put(message)));
        let mut taken = Vec::new();
        while taken.len() < COUNT as usize {
            assert!(wakes_within(&mailbox, 60_000), "a message waits and the loop was not woken");
            taken.extend(mailbox.take());
        }
        thread.join().unwrap();
        assert!(taken.iter().copied().eq(0..COUNT));
    }
}

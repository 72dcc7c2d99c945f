//! Repeatedly asks candidates whether they lead, on a separate thread.
//!
//! An answer is computed at some instant between the two readings of the clock around it. The clock counts from the
//! machine's boot and is the same for all processes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use incumbent::{Candidate, Clock, Instant, Token};
use serde::{Deserialize, Serialize};

use crate::candidate::text;

/// One question and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Read before the question.
    #[serde(with = "nanos")]
    pub before: Instant,
    /// The term in which the answer was yes; none if it was no.
    pub leads: Option<Held>,
    /// Read after the answer.
    #[serde(with = "nanos")]
    pub after: Instant,
}

/// The lease under which a candidate answered that it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The fencing token of the term.
    #[serde(with = "text")]
    pub token: Token,
    /// The deadline, read before the question.
    #[serde(with = "nanos")]
    pub deadline: Instant,
    /// The deadline, read after the answer.
    #[serde(with = "nanos")]
    pub later: Instant,
}

impl Reading {
    /// Asks a candidate. None if the answer cannot be attributed because the term changed during the question.
    pub fn of(candidate: &Candidate, clock: &Clock) -> Option<Self> {
        let lease = || candidate.term().map(|term| (term.token(), term.deadline()));
        let first = lease();
        let before = clock.now();
        let leads = candidate.is_leader();
        let after = clock.now();
        if !leads {
            return Some(Self { before, leads: None, after });
        }
        let ((token, deadline), (again, later)) = (first?, lease()?);
        // A deadline of zero belongs to a term that has ended.
        let is_one_term = token == again && deadline > Instant::ZERO && later > Instant::ZERO;
        is_one_term.then_some(Self { before, leads: Some(Held { token, deadline, later }), after })
    }
}

/// An instant as the nanoseconds of the clock that all processes share.
mod nanos {
    use incumbent::Instant;
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is that of serde")]
    pub(super) fn serialize<S: Serializer>(instant: &Instant, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(instant.as_nanos())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Instant, D::Error> {
        u64::deserialize(from).map(Instant::from_nanos)
    }
}

/// The thread that asks. It ends when this is dropped.
#[derive(Debug)]
pub struct Probe {
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Probe {
    /// Asks the candidates in turn, with this pause between two rounds. `record` gets each answer, with the index of its
    /// candidate.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        candidates: Vec<Candidate>,
        clock: Clock,
        pause: Duration,
        mut record: impl FnMut(usize, Reading) + Send + 'static,
    ) -> io::Result<Self> {
        Self::every(pause, move || {
            for (index, candidate) in candidates.iter().enumerate() {
                if let Some(reading) = Reading::of(candidate, &clock) {
                    record(index, reading);
                }
            }
        })
    }

    /// Calls `ask` repeatedly, with this pause between two calls.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn every(pause: Duration, mut ask: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        let thread = thread::Builder::new().name("probe".into()).spawn(move || {
            while !stop.load(Ordering::Acquire) {
                ask();
                thread::park_timeout(pause);
            }
        })?;
        Ok(Self { stopped, thread: Some(thread) })
    }

    /// Asks at once.
    pub fn ask_now(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        self.ask_now();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! The inputs of a reconciler, and its outputs.

use core::fmt;
use core::time::Duration;

use crate::time::Instant;

/// The waits and retries of a [`Reconciler`](super::Reconciler). Every value is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The wait after *end* returned an error, before it runs again. 5 s by default.
    pub retry_every: Duration,
    /// The number of runs of *end* that may fail before the reconciler gives up. 12 by default. The run that led to the
    /// error is not counted. If something other than *end* failed, a leader's *end* runs once even if this is 0.
    pub retries: u32,
    /// The wait after *error* succeeded, before the candidacy resumes. 30 s by default.
    pub cool_down: Duration,
}

/// The shortest time between runs of *error*, even if it fails at once.
const LEAST_BEFORE_ERROR_AGAIN: Duration = Duration::from_secs(1);

impl Settings {
    /// The wait after *error* failed, before it runs again: the cool-down, but at least a second.
    pub(super) fn before_error_again(&self) -> Duration {
        self.cool_down.max(LEAST_BEFORE_ERROR_AGAIN)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self { retry_every: Duration::from_secs(5), retries: 12, cool_down: Duration::from_secs(30) }
    }
}

/// A message of the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// This candidate leads.
    Leader,
    /// This candidate does not lead, or is about to leave.
    NotLeader,
    /// Something is wrong with the election or the system: stop, and come back later.
    Error,
}

impl Message {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Leader, Self::NotLeader, Self::Error];

    /// The message's word, as typed and logged.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Leader => "LEADER",
            Self::NotLeader => "NOTLEADER",
            Self::Error => "ERROR",
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The user's handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handler {
    /// Begins the leader's work.
    Begin,
    /// Ends the work. Must do no harm if little or nothing was begun.
    End,
    /// Handles an error, once nothing is left of the work.
    Error,
}

impl fmt::Display for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begin => "begin",
            Self::End => "end",
            Self::Error => "error",
        })
    }
}

/// The number of a run of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RunId(pub u64);

/// The state of the handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No work is running.
    NotLeader,
    /// The work was begun, and has not ended.
    Leader,
    /// Something failed. Messages are ignored.
    Error,
    /// Closed for good.
    Closed,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotLeader => "NOTLEADER",
            Self::Leader => "LEADER",
            Self::Error => "ERROR",
            Self::Closed => "CLOSED",
        })
    }
}

/// Something that happened outside the reconciler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// The election sends a message.
    Message(Message),
    /// The lease allows the work until `until`. Given before [`Message::Leader`], at every renewal, and at the instant
    /// of a sudden loss. If it is never given, nothing is ever overdue.
    Lease {
        /// The instant until which no other candidate can lead.
        until: Instant,
    },
    /// A handler has returned.
    Returned {
        /// Which.
        run: RunId,
        /// True if it succeeded.
        succeeded: bool,
    },
    /// End the work, and stop for good.
    Close,
}

/// The operations that a reconciler asks for, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Run this handler, and answer with [`Input::Returned`]. No other handler runs meanwhile.
    Run {
        /// The number of the run.
        run: RunId,
        /// The handler.
        handler: Handler,
    },
    /// The running *begin* no longer has a purpose: stop it if possible, and answer as usual. *End* will run after it.
    Stop(RunId),
    /// Give up the leadership in the store and stay out of the race. The lease may be held while *end* runs, for as
    /// long as any leader may take to leave.
    StandDown,
    /// Take part in the election again.
    StandUp,
    /// Nothing is left of the work, so the lease that was kept for it can be released.
    Relinquish,
    /// Report this to the user.
    Event(Event),
    /// *End* failed too often. Exit, and report this prominently. No output follows.
    GiveUp(GaveUp),
    /// Do nothing more until an input, or until this wake-up.
    WakeAt(Option<Wake>),
}

/// A report to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handlers entered another state.
    State(State),
    /// A handler failed.
    Failed(Handler),
    /// The promise of one leader is broken: the lease has run out, but the work that *begin* began has not ended.
    /// Reported a single time, while the work still runs.
    Overdue {
        /// When the lease was over.
        since: Instant,
    },
    /// Overdue work has ended.
    Late {
        /// How long there was work without a lease before it ended.
        by: Duration,
    },
    /// The error is over, and the candidacy resumes.
    Resumed {
        /// The number of messages that arrived during the error and were dropped.
        dropped: u32,
    },
}

/// *End* failed too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaveUp {
    /// The number of runs that failed.
    pub failed: u32,
    /// How long there has been work without a lease; `None` if there is none.
    pub overdue: Option<Duration>,
    /// The number of messages that were dropped since the error began.
    pub dropped: u32,
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, overdue, dropped } = self;
        write!(
            f,
            "the end handler failed {failed} {}, so what the begin handler began may still be running here",
            if *failed == 1 { "time" } else { "times" }
        )?;
        match overdue {
            Some(span) => write!(
                f,
                ", by now for {:?} without a lease: another candidate may lead at the same time",
                crate::time::rounded(*span)
            )?,
            None => {
                f.write_str("; this candidate gives up the election, and another may lead at the same time")?
            }
        }
        write!(f, ". Messages dropped meanwhile: {dropped}")
    }
}

/// When to…
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// …check for work that continues after the lease.
    Lease,
    /// …run *end* again.
    Retry,
    /// …run *error* again.
    Again,
    /// …resume the candidacy.
    CoolDown,
}

/// A wake-up, and the timer it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The time to call [`handle`](super::Reconciler::handle) with [`Input::Tick`].
    pub at: Instant,
    /// The timer that wakes.
    pub timer: Timer,
}

/// The caller broke the contract. The reconciler's state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// The return of a handler that is not running.
    NotRunning(RunId),
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::NotRunning(run) = self;
        write!(f, "run number {} is not running", run.0)
    }
}

impl core::error::Error for Misuse {}

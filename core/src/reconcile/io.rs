//! The inputs of a reconciler, and its outputs.

use core::fmt;
use core::time::Duration;

use crate::time::Instant;

/// The waits and retries of a [`Reconciler`](super::Reconciler). Every value is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The wait after *end* failed in an error until it is run again. 5 s by default.
    pub retry_every: Duration,
    /// The number of runs of *end* in an error before the reconciler gives up. 12 by default. The run that led to the
    /// error is not counted; a leader whose error is another has *end* run once even where this is 0.
    pub retries: u32,
    /// The wait after *error* succeeded until the candidacy resumes. 30 s by default.
    pub cool_down: Duration,
}

/// An *error* that fails at once is not run more often than this.
const LEAST_BEFORE_ERROR_AGAIN: Duration = Duration::from_secs(1);

impl Settings {
    /// The wait after *error* failed until it is run again: the cool-down, and a second at least.
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
    /// Something is wrong with the election or with the system: stop, and come back later.
    Error,
}

impl Message {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Leader, Self::NotLeader, Self::Error];

    /// The word for it, as it is typed and logged.
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
    /// Ends it. Running it where little or nothing was begun must do no harm.
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
    /// Nothing of the work goes on.
    NotLeader,
    /// The work was begun, and has not ended.
    Leader,
    /// Something failed. Messages are not acted on.
    Error,
    /// For good.
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

/// An event outside of the reconciler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// The election says something.
    Message(Message),
    /// The lease allows the work until then. Given before [`Message::Leader`] and at every renewal; where a
    /// term is lost for good at once, that instant. Never given, nothing is ever overdue.
    Lease {
        /// Until then no other candidate can lead.
        until: Instant,
    },
    /// A handler has returned.
    Returned {
        /// Which.
        run: RunId,
        /// True if it did what it should.
        succeeded: bool,
    },
    /// End the work, and stop for good.
    Close,
}

/// The operations that a reconciler asks for, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Run this handler, and answer with [`Input::Returned`]. No other runs meanwhile.
    Run {
        /// The number of the run.
        run: RunId,
        /// The handler.
        handler: Handler,
    },
    /// The *begin* that runs has no purpose any more: stop it if you can, and answer as ever. *End* follows.
    Stop(RunId),
    /// Give the leadership up in the store and stay out of the race. While *end* runs the lease may be held, for as long as
    /// any leader may take to leave.
    StandDown,
    /// Take part in the election again.
    StandUp,
    /// Nothing is left of the work: the lease that was held for it can be released.
    Relinquish,
    /// Report this to the user.
    Event(Event),
    /// *End* failed too often: exit, loudly. Nothing follows.
    GiveUp(GaveUp),
    /// Nothing more until an input, or until this wake-up.
    WakeAt(Option<Wake>),
}

/// A report to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handlers stand somewhere else than before.
    State(State),
    /// A handler failed.
    Failed(Handler),
    /// The promise of one leader is broken: the lease is over, and what *begin* began has not ended. Reported
    /// once, while it happens.
    Overdue {
        /// When the lease was over.
        since: Instant,
    },
    /// Overdue work has ended.
    Late {
        /// For how long there was work without a lease.
        by: Duration,
    },
    /// The error is over, and the candidacy resumes.
    Resumed {
        /// The number of messages that came meanwhile and were dropped.
        dropped: u32,
    },
}

/// *End* failed too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaveUp {
    /// The number of runs that failed.
    pub failed: u32,
    /// For how long there has been work without a lease, where there has.
    pub overdue: Option<Duration>,
    /// The number of messages since the error began that were dropped.
    pub dropped: u32,
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, overdue, dropped } = self;
        write!(
            f,
            "the end handler failed {failed} {}, so what the begin handler began may still be going on here",
            if *failed == 1 { "time" } else { "times" }
        )?;
        match overdue {
            Some(span) => write!(
                f,
                ", and for {:?} by now without a lease: another candidate may lead beside it",
                crate::time::rounded(*span)
            )?,
            None => f.write_str("; the election is given up, and another candidate may lead beside it")?,
        }
        write!(f, ". Messages dropped meanwhile: {dropped}")
    }
}

/// When to…
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// …compare the work with the lease, which is over.
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
    /// Its timer.
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

//! The commands of a candidate's handles, and the channel for them.

use std::fmt;
use std::sync::Arc;

use incumbent_core::Token;
use tokio::sync::oneshot;

use incumbent_store::{Error, Result};

/// The channel for an answer. A driver that has ended drops it.
pub(crate) type Reply<T = ()> = oneshot::Sender<Result<T>>;

/// A request from a candidate's handle, from one of its terms, or from a task that watches its health.
#[derive(Debug)]
pub(crate) enum Command {
    Resign(LeaveReplies),
    HandOver(String, LeaveReplies),
    Close(LeaveReplies),
    /// The last handle was dropped, so the term is over: the candidate leaves as soon as its work has ended. The end of
    /// that work is reported through this channel, which must be kept until the campaign is over.
    Abandon(Arc<dyn CommandSink>),
    /// The health that the candidate, or its health check, reports.
    Health(bool),
    /// True if the watched event loop of the candidate's program responds.
    LoopResponds(bool),
    AcceptReset,
    /// The work of this term has ended. The report may come after the term was lost.
    Drained(Token),
    /// The work of this term failed.
    HandlerFailed(Token),
}

/// The replies to a caller that wants to leave.
#[derive(Debug)]
pub(crate) struct LeaveReplies {
    /// Answered as soon as the leave has begun, or has been refused.
    pub(crate) begun: Reply,
    /// Answered once the lease has been released.
    pub(crate) done: Reply,
}

impl LeaveReplies {
    /// Answers both with the refusal.
    pub(crate) fn refuse(self, error: &Error) {
        for reply in [self.begun, self.done] {
            // A caller that no longer waits has dropped its receiver.
            let _ = reply.send(Err(Error::new(error.kind(), error.message())));
        }
    }
}

/// Receives the commands of one candidate. It is the candidate's driver, or a test's script.
///
/// Sending never waits and never calls user code.
pub(crate) trait CommandSink: Send + Sync {
    fn send(&self, command: Command);

    /// Returns true if the receiver must be informed when work ends after its term, because it releases the lease only
    /// then.
    fn waits_for_work(&self) -> bool {
        true
    }
}

impl fmt::Debug for dyn CommandSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSink").finish_non_exhaustive()
    }
}

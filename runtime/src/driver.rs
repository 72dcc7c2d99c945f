//! Commands of a candidate's handles to the driver of its campaign.

use std::fmt;
use std::sync::Arc;

use incumbent_core::Token;
use tokio::sync::oneshot;

use crate::{Error, Result};

/// The channel for an answer; a driver that has ended drops it.
pub(crate) type Reply = oneshot::Sender<Result<()>>;

/// A request of a handle.
#[derive(Debug)]
pub(crate) enum Command {
    Resign(Leave),
    HandOver(String, Leave),
    Close(Leave),
    /// The last handle was dropped: its term is over already; leave as soon as its work has ended. The end of
    /// that work is reported through this driver, so it is kept until the campaign is over.
    Abandon(Arc<dyn Driver>),
    Health(bool),
    /// Whether the event loop of the candidate's program responds.
    Turns(bool),
    Accept,
    /// The work of this term has ended, perhaps reported after the term was lost.
    Drained(Token),
    /// The work of this term failed.
    HandlerFailed(Token),
}

/// The replies to a caller that leaves.
#[derive(Debug)]
pub(crate) struct Leave {
    /// Answered as soon as the leave has begun, or was refused.
    pub(crate) begun: Reply,
    /// Answered once the lease is released.
    pub(crate) done: Reply,
}

impl Leave {
    /// Answers both with the refusal.
    pub(crate) fn refuse(self, error: &Error) {
        for reply in [self.begun, self.done] {
            // A caller that no longer waits needs no answer.
            let _ = reply.send(Err(Error::new(error.kind(), error.message())));
        }
    }
}

/// Drives a campaign: the hub of a store, or a test's script.
///
/// Sending never waits and never calls user code.
pub(crate) trait Driver: Send + Sync {
    fn send(&self, command: Command);

    /// Whether the driver needs the report of work that ends after its term, because it releases only then.
    fn waits_for_work(&self) -> bool {
        true
    }
}

impl fmt::Debug for dyn Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

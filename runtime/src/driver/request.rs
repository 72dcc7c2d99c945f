//! Requests of the handles to a driver, and the channel for them.

use std::fmt;
use std::sync::{Arc, Weak};

use incumbent_core::Token;
use incumbent_core::record::Entry;
use incumbent_core::session::{CampaignId, Load};
use incumbent_core::store::StoreInfo;
use tokio::sync::{mpsc, oneshot};

use crate::candidate_state::CandidateState;
use crate::fork::ForkGuard;
use crate::observe::Observation;
use crate::options::CampaignOptions;
use crate::queue::Queue;
use crate::store::{CandidateInfo, EntryInfo, WatchEvent};
use crate::{Error, Result};

/// The channel for an answer. A driver that has ended drops it.
pub(crate) type Reply<T = ()> = oneshot::Sender<Result<T>>;

/// A request of a handle to the driver of a store.
pub(crate) enum Request {
    /// A new candidate.
    Enter(Box<Enter>),
    /// A command for the candidate with this number.
    Command(CampaignId, Command),
    Observe {
        election: String,
        queue: Arc<Queue<Observation>>,
        reply: Reply,
    },
    /// An observer of this election was dropped.
    Unobserved {
        election: Arc<str>,
    },
    Entry {
        election: String,
        reply: Reply<Entry>,
    },
    EntryInfo {
        election: String,
        reply: Reply<Option<EntryInfo>>,
    },
    List {
        reply: Reply<Vec<WatchEvent>>,
    },
    /// Lists the candidates of one election or of all.
    Candidates {
        election: Option<String>,
        reply: Reply<Option<Vec<CandidateInfo>>>,
    },
    StoreInfo {
        reply: Reply<StoreInfo>,
    },
    Load {
        reply: Reply<Load>,
    },
    /// The adapter has a new connection that the driver did not request.
    #[cfg_attr(not(feature = "nats"), allow(dead_code, reason = "other clients do not report it"))]
    Connected,
    Close(LeaveReplies),
}

/// A candidate that wants to campaign.
pub(crate) struct Enter {
    pub(crate) id: CampaignId,
    pub(crate) shared: Arc<CandidateState>,
    /// A weak reference, so that the driver does not keep itself alive.
    pub(crate) commands: Weak<dyn CommandSink>,
    pub(crate) options: CampaignOptions,
    /// Answered once the campaign runs, or has been refused.
    pub(crate) reply: Reply,
}

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

/// The channel to a driver. The driver ends when the last handle has been dropped.
#[derive(Clone)]
pub(crate) struct DriverHandle {
    pub(super) sender: Option<mpsc::UnboundedSender<Request>>,
    pub(crate) fork_guard: ForkGuard,
}

impl DriverHandle {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Request>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender: Some(sender), fork_guard: ForkGuard::new() }, receiver)
    }

    /// Sends a request. An error means that the driver has ended.
    pub(crate) fn send(&self, request: Request) -> Result<(), ()> {
        self.sender.as_ref().ok_or(())?.send(request).map_err(drop)
    }

    pub(crate) fn is_forked(&self) -> bool {
        self.fork_guard.is_forked()
    }
}

impl Drop for DriverHandle {
    fn drop(&mut self) {
        if self.is_forked() {
            // The sender is not dropped, because that would wake the driver, through locks that the driver's thread may
            // have held when the process forked.
            std::mem::forget(self.sender.take());
        }
    }
}

/// A candidate's channel to its campaign on the driver of a store.
pub(crate) struct CampaignHandle {
    pub(crate) id: CampaignId,
    pub(crate) driver: DriverHandle,
}

impl CommandSink for CampaignHandle {
    fn send(&self, command: Command) {
        // A driver that has ended has ended every campaign too, and a waiting caller learns that from the dropped
        // reply.
        let _ = self.driver.sender.as_ref().map(|sender| sender.send(Request::Command(self.id, command)));
    }
}

//! The requests of the handles to a driver, and the channel for them.

use std::sync::{Arc, Weak};

use incumbent_core::record::Entry;
use incumbent_core::session::{CampaignId, Load};
use incumbent_core::store::StoreInfo;
use tokio::sync::mpsc;

use super::command::{Command, CommandSink, LeaveReplies, Reply};
use crate::candidate_state::CandidateState;
use crate::observation::Observation;
use crate::options::CampaignOptions;
use crate::queue::Queue;
use incumbent_store::fork::ForkGuard;
use incumbent_store::{CandidateInfo, EntryInfo, WatchEvent};

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

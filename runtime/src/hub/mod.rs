//! One thread, one connection and one watch for a store, however many elections run on it.
//!
//! ```text
//!   handles: Store, Candidate, Term, Observer            user's runtime
//!      │ requests (never wait)        ▲ deadline, events, observations (never wait)
//! ─────▼──────────────────────────────┴─────────────────────────────────────────────
//!   Hub::run ── one Session, a Campaign a candidate       the store's own thread
//!      │   ▲    (incumbent-core: decides everything)
//!      ▼   │
//!   requests: writes, reads, one inspection, one reconnection, one watch
//!      ▼   │
//!   Adapter (memory, SQLite, NATS …)
//!      │ log lines, what listeners are called with (never wait)
//! ─────▼────────────────────────────────────────────────────────────────────────────
//!   Notifier: the user's log subscriber and listeners     a thread of their own
//! ```
//!
//! The store has its own thread for one reason: nothing that runs on the user's runtime, such as a handler that blocks
//! its thread, may delay a renewal. So the code of users does not run here: handlers and the work of a term run on their
//! runtime, log subscribers and listeners on the thread of the [`Notifier`](crate::notifier). This thread calls only the
//! wakers of their runtime, and their adapter where they bring one. A forked child inherits no thread, so it has no hub
//! and sends nothing.
//!
//! Tokio's timers do not count the time a machine is suspended, so the hub sleeps a second at most
//! ([`Clock::sleep_until`](crate::Clock::sleep_until)): the loss of a lease that ran out meanwhile is reported within a
//! second of the resume. `is_leader` has been right since the resume itself, because it trusts no timer.

mod checks;
#[cfg(feature = "nats")]
mod connection;
mod errand;
mod log;
mod run;
mod seat;
mod slot;
mod start;

use std::sync::{Arc, Weak};

use incumbent_core::record::Entry;
use incumbent_core::store::StoreInfo;
use tokio::sync::{mpsc, oneshot};

use crate::Result;
use crate::driver::{Command, Driver, Leave};
use crate::fork::ForkGuard;
use crate::observe::Observation;
use crate::options::CampaignOptions;
use crate::queue::Queue;
use crate::standing::Standing;
use crate::store::{CandidateInfo, EntryInfo, WatchEvent};

pub(crate) use self::start::{Opening, open, start};

pub(crate) use incumbent_core::session::CampaignId;

/// The channel for an answer; a hub that has ended drops it.
pub(crate) type Answer<T> = oneshot::Sender<Result<T>>;

/// A request of a handle to the hub.
pub(crate) enum Request {
    /// A new candidate.
    Enter(Box<Enter>),
    /// For the candidate with this number.
    To(CampaignId, Command),
    Observe {
        election: String,
        queue: Arc<Queue<Observation>>,
        reply: Answer<()>,
    },
    Read {
        election: String,
        reply: Answer<Entry>,
    },
    Written {
        election: String,
        reply: Answer<Option<EntryInfo>>,
    },
    List {
        reply: Answer<Vec<WatchEvent>>,
    },
    /// The candidates of one election or of all.
    RollCall {
        election: Option<String>,
        reply: Answer<Option<Vec<CandidateInfo>>>,
    },
    Inspect {
        reply: Answer<StoreInfo>,
    },
    /// The adapter has a new connection that the hub did not ask for.
    #[cfg(feature = "nats")]
    Connected,
    Close(Leave),
}

/// A candidate that wants to campaign.
pub(crate) struct Enter {
    pub(crate) id: CampaignId,
    pub(crate) standing: Arc<Standing>,
    /// Weak, so that the hub does not keep itself alive.
    pub(crate) link: Weak<dyn Driver>,
    pub(crate) options: CampaignOptions,
    /// Answered once the campaign runs, or is refused.
    pub(crate) reply: Answer<()>,
}

/// The channel to a hub. The hub ends when the last one is dropped.
#[derive(Clone)]
pub(crate) struct Requests {
    sender: Option<mpsc::UnboundedSender<Request>>,
    birth: ForkGuard,
}

impl Requests {
    fn new() -> (Self, mpsc::UnboundedReceiver<Request>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender: Some(sender), birth: ForkGuard::new() }, receiver)
    }

    /// Sends a request; an error means that the hub has ended.
    pub(crate) fn send(&self, request: Request) -> Result<(), ()> {
        self.sender.as_ref().ok_or(())?.send(request).map_err(drop)
    }

    pub(crate) fn birth(&self) -> ForkGuard {
        self.birth
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        if self.birth.is_forked() {
            // Dropping the sender wakes the hub, through locks that its thread may have held when the process forked.
            std::mem::forget(self.sender.take());
        }
    }
}

/// A candidate's channel to its campaign on the hub.
pub(crate) struct Link {
    id: CampaignId,
    requests: Requests,
}

impl Link {
    pub(crate) fn new(id: CampaignId, requests: Requests) -> Self {
        Self { id, requests }
    }
}

impl Driver for Link {
    fn send(&self, command: Command) {
        // A hub that has ended has ended every campaign; a caller that waits for an answer sees it dropped.
        let _ = self.requests.send(Request::To(self.id, command));
    }
}

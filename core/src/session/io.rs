//! The inputs and outputs of a session.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::CampaignId;
use super::timers::Wake;
use super::watch::Scope;
use crate::campaign::{self, Event, InvalidSettings, Lease, ReadId, Settings};
use crate::record::{Attempt, Entry, Nonce};
use crate::store::{Fault, Outcome, StoreInfo};
use crate::token::{Incarnation, Revision, Token};

/// Something that happened outside the session.
#[derive(Clone, Debug)]
pub enum Input<A = campaign::Answer, S = Entry> {
    /// Time has passed.
    Tick,
    /// A new campaign enters.
    Enter(Box<Enter>),
    /// A command for a campaign. A campaign that has not begun accepts only its health and a close.
    Command {
        /// The campaign.
        id: CampaignId,
        /// The command.
        command: Command,
    },
    /// A request of an operator to the candidates of an election, as the watch showed it.
    Requested {
        /// The election's key.
        election: String,
        /// The revision of the request, which a new watch shows again.
        revision: Revision,
        /// The request.
        request: Request,
    },
    /// The store answered a campaign's request. The answer counts whenever it comes.
    Answered {
        /// The campaign.
        id: CampaignId,
        /// The answer.
        answer: A,
    },
    /// The store was inspected.
    Inspected {
        /// The inspection's number.
        number: u64,
        /// The inspection's result.
        result: Result<StoreInfo, Fault>,
    },
    /// The store's settings are unsafe for this reason; `None` once they no longer are.
    Flaw(Option<Fault>),
    /// An observer wants the store watched as well.
    Observe,
    /// A watch is ready.
    Watching {
        /// The watch's number.
        number: u64,
    },
    /// A watch delivers an entry.
    Watched {
        /// The watch's number.
        number: u64,
        /// The election's key.
        election: String,
        /// The election's entry or a change of its queue, as the watch shows it.
        shown: S,
    },
    /// A watch has shown every entry that existed when it began.
    WatchedAll {
        /// The watch's number.
        number: u64,
        /// All elections that the watch shows from now on, including those in earlier inputs of this kind.
        of: Scope,
    },
    /// A watch ended, or could not begin.
    WatchEnded {
        /// The watch's number.
        number: u64,
    },
    /// The store offers no watches.
    NotWatchable {
        /// The number of the watch that was asked for.
        number: u64,
    },
    /// The requested connection is ready.
    Reconnected,
    /// There is no new connection.
    NotReconnected,
    /// The client has a new connection that was not requested. This input is ignored while a requested connection is
    /// being made, because that connection is reported separately.
    Connected,
    /// The candidates were registered, or could not be.
    Registered(bool),
}

impl Input {
    /// The answer to a write.
    pub fn wrote(id: CampaignId, attempt: Attempt, outcome: Outcome) -> Self {
        Self::Answered { id, answer: campaign::Answer::Wrote { attempt, outcome } }
    }

    /// The answer to a read.
    pub fn read(id: CampaignId, read: ReadId, result: Result<Entry, Fault>) -> Self {
        Self::Answered { id, answer: campaign::Answer::Read { read, result } }
    }
}

/// A campaign that enters.
#[derive(Clone, Debug)]
pub struct Enter {
    /// The campaign's number, never used before on this session.
    pub id: CampaignId,
    /// The election's key.
    pub election: Arc<str>,
    /// The candidate's settings.
    pub settings: Settings,
    /// The number that marks the campaign's writes. It is never used for another campaign.
    pub nonce: Nonce,
    /// Decides the campaign's random choices.
    pub seed: u64,
    /// Whether to refuse the campaign if the store does not answer at first, instead of trying again.
    pub fail_fast: bool,
}

/// A command of a user to a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Like [`campaign::Input::Resign`].
    Resign,
    /// Like [`campaign::Input::HandOver`].
    HandOver(String),
    /// Like [`campaign::Input::Close`].
    Close,
    /// Like [`campaign::Input::Health`].
    Health(bool),
    /// Like [`campaign::Input::Drained`].
    Drained,
    /// Like [`campaign::Input::HandlerFailed`].
    HandlerFailed,
    /// Like [`campaign::Input::Accept`].
    Accept,
}

/// A request of an operator, which each campaign considers once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Hand over. The request names the campaign that it is for, so it does not affect a later leader.
    HandOver {
        /// The nonce of the campaign that leads.
        leader: Nonce,
        /// The name of the successor.
        successor: String,
    },
    /// Accept that tokens start again. The request names the tokens that may be forgotten and the incarnation in which
    /// tokens may start again, so it does not affect a later reset.
    AcceptReset {
        /// The largest token that may be forgotten.
        seen: Token,
        /// The incarnation of the store.
        incarnation: Incarnation,
    },
}

/// An output of a session. The driver carries the outputs out in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output<R = campaign::Request, T = campaign::Timer> {
    /// The campaign has begun, or waits for a store that does not answer yet. The campaign's caller may continue.
    Entered(CampaignId),
    /// The campaign is refused and forgotten.
    Refused(CampaignId, Refusal),
    /// A campaign's lease and events. Publish the lease *before* reporting the events and carrying out any later
    /// output.
    Report {
        /// The campaign.
        id: CampaignId,
        /// The right to lead, from now on.
        lease: Option<Lease>,
        /// The lease time in force; `None` before the campaign has begun.
        lease_time: Option<Duration>,
        /// Report these to the user.
        events: Vec<Event>,
    },
    /// Whether the candidate campaigns in its election from now on.
    Campaigning(CampaignId, bool),
    /// The campaign is over and forgotten.
    Closed(CampaignId),
    /// Ask the store, and answer with [`Input::Answered`].
    Ask {
        /// The campaign.
        id: CampaignId,
        /// The request.
        request: R,
        /// How long the answer can matter. If there is no answer by then, report an unknown outcome for a write, or a
        /// fault for a read.
        limit: Duration,
    },
    /// A hand-over was not carried out, and the term continues. This happens only in a queue.
    NotNext {
        /// The campaign.
        id: CampaignId,
        /// The successor.
        successor: String,
        /// The candidate ahead of the successor, if that is the reason.
        before: Option<String>,
    },
    /// Inspect the store, and answer with [`Input::Inspected`].
    Inspect {
        /// The inspection's number.
        number: u64,
        /// The time limit. If there is no answer by then, answer with a fault.
        limit: Duration,
    },
    /// Watch the store, replacing any earlier watch, and answer with [`Input::Watching`].
    Watch {
        /// The watch's number.
        number: u64,
        /// The time limit. If the watch is not ready by then, answer with [`Input::WatchEnded`].
        limit: Duration,
    },
    /// Connect again, to another server if there are several, and answer with [`Input::Reconnected`].
    Reconnect {
        /// The time limit. If there is no connection by then, answer with [`Input::NotReconnected`].
        limit: Duration,
    },
    /// Register the present candidates, and answer with [`Input::Registered`].
    Register {
        /// The time limit. If there is no answer by then, answer that the registration failed.
        limit: Duration,
    },
    /// A campaign considered an operator's request; for a log.
    Considered {
        /// The campaign.
        id: CampaignId,
        /// The request.
        request: Request,
        /// Whether the campaign carries it out.
        accepted: bool,
    },
    /// Do nothing more until an input, or until this wake-up.
    WakeAt(Option<Wake<T>>),
}

/// The reason why a campaign did not enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A setting is inconsistent, or the store cannot keep it.
    Settings(InvalidSettings),
    /// The store cannot be used.
    Store(Fault),
}

//! What a session has to know of a campaign, whatever the rule by which it wins and keeps its election.

use alloc::collections::VecDeque;
use alloc::string::String;
use core::fmt::Debug;
use core::time::Duration;

use super::io::Command;
use super::window::{LastAnswers, Ticket};
use super::wishes::Wish;
use crate::campaign::{self, Campaign, EarlySights, Event, InvalidSettings, Lease, Misuse, Settings, State};
use crate::candidacy::Waiting;
use crate::induction;
use crate::queue;
use crate::record::{Entry, Nonce};
use crate::store::{Action, Capabilities, Fault, FaultKind, Outcome, StoreInfo};
use crate::time::Instant;

/// A campaign of one rule: the lease campaign, the place in a queue, or induction over a consumer group.
pub trait Rule: Waiting + Clone + Debug + Sized {
    /// What a campaign has to know of its store.
    type Store: Clone + Debug;
    /// The timers of a campaign.
    type Timer: Copy + Debug + PartialEq;
    /// What happens to a campaign.
    type Input: From<Common> + From<Self::Answer> + From<Self::Shown>;
    /// What a campaign wants done.
    type Output: Clone + Debug;
    /// What it wants of the store.
    type Request: Clone + Debug + PartialEq;
    /// The store's answers.
    type Answer: Clone + Debug;
    /// What a watch shows of its election.
    type Shown: Clone + Debug;
    /// What is kept of that for a campaign that has not begun.
    type Early: Early<Self::Shown>;

    /// A campaign on a store that was inspected.
    ///
    /// # Errors
    /// The setting that is incoherent, or that the store cannot keep.
    fn begin(
        settings: Settings,
        store: &Self::Store,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Self, InvalidSettings>;

    /// What a campaign has to know of the store before it begins, and is not known yet: it waits.
    fn not_known_yet(store: &Self::Store) -> Option<Fault> {
        let _ = store;
        None
    }

    /// As [`Campaign::recall`].
    fn recall(&mut self, early: &Self::Early, info: &StoreInfo) {
        let _ = (early, info);
    }

    /// As [`Campaign::handle`].
    ///
    /// # Errors
    /// As [`Campaign::handle`].
    fn handle(&mut self, now: Instant, input: Self::Input) -> Result<(), Misuse>;

    /// Exchanges the memory for outputs with that of the session: of many thousands of campaigns, one has outputs at a time.
    fn exchange_memory(&mut self, outputs: &mut VecDeque<Self::Output>);

    /// The store has other properties than before, where a campaign that runs has to know.
    fn set_store(&mut self, now: Instant, store: &Self::Store) {
        let _ = (now, store);
    }

    /// Shares what never changes with another campaign of the connection, where it is the same: most processes have one name
    /// and one set of settings.
    fn share_rules(&mut self, with: &Self) {
        let _ = with;
    }

    /// The campaign's connection has many campaigns from now on: where each of them renews on its own, they spread that.
    fn is_one_of_many(&mut self) {}

    /// Whether a new watch of the store says when it has shown all that stands.
    fn watch_shows_all(store: &Self::Store) -> bool {
        let _ = store;
        false
    }

    /// What a watch that has shown all says to a campaign that knows nothing of its election: that there is nothing.
    /// `None` for a campaign that knows something.
    fn shown_nothing(&self) -> Option<Self::Shown> {
        None
    }

    /// As [`Campaign::poll`].
    fn poll(&mut self) -> Self::Output;

    /// Sorts an output by what a session does with it.
    fn sort(output: Self::Output) -> Sorted<Self>;

    /// As many requests may leave until the next call; [`wish`](Self::wish) returns what more there is. Of a rule that has no
    /// wishes, any number leaves. `answered` says when the store answered some campaign last.
    fn allow(&mut self, places: u32, answered: LastAnswers) {
        let _ = (places, answered);
    }

    /// The time in which a renewal is answered, where a request usually is in `usual`.
    fn renewal_takes(&self, usual: Duration) -> Duration {
        usual
    }

    /// The request that waits. It leaves with a [`Common::Tick`] for which it is [allowed](Self::allow).
    fn wish(&self) -> Option<Wish> {
        None
    }

    /// The requests that the store bears at a time.
    fn window(store: &Self::Store) -> u32 {
        let _ = store;
        0
    }

    /// What distinguishes a request from others of this campaign, and the time after which its answer is late. `None` for a
    /// rule that has no wishes.
    fn ticket(&self, request: &Self::Request) -> Option<(Ticket, Duration)> {
        let _ = request;
        None
    }

    /// The request that is answered, and whether the store answered it.
    fn answers(answer: &Self::Answer) -> Option<(Ticket, bool)> {
        let _ = answer;
        None
    }

    /// The time for which the answer to a request can matter; `before` is that of the request before.
    fn limit(&self, request: &Self::Request, before: Duration) -> Duration;

    /// Whether the campaign keeps a lease of a queue's companions alive.
    fn keeps_alive(&self, lease: queue::LeaseId) -> bool {
        let _ = lease;
        false
    }

    /// As [`Campaign::lease`].
    fn lease(&self) -> Option<Lease>;

    /// As [`Campaign::lease_time`].
    fn lease_time(&self) -> Duration;

    /// As [`Campaign::margin`].
    fn margin(&self) -> Duration;

    /// As [`Campaign::state`].
    fn state(&self) -> State;

    /// As [`Campaign::nonce`].
    fn nonce(&self) -> Nonce;

    /// As [`Campaign::name`].
    fn name(&self) -> &str;

    /// Whether the campaign is closed, and nothing of it is left to be done.
    fn is_over(&self) -> bool;
}

/// Keeps what watches show of an election to a campaign that has not begun.
pub trait Early<S>: Clone + Debug + Default {
    /// Another watch is ready.
    fn watch_began(&mut self);

    /// The watch showed this at `now`.
    fn observe(&mut self, shown: &S, now: Instant);
}

/// Keeps nothing: the first whole reading of a campaign shows all that it has to know.
impl<S> Early<S> for () {
    fn watch_began(&mut self) {}

    fn observe(&mut self, _: &S, _: Instant) {}
}

impl Early<Entry> for EarlySights {
    fn watch_began(&mut self) {
        Self::watch_began(self);
    }

    fn observe(&mut self, shown: &Entry, now: Instant) {
        Self::observe(self, shown, now);
    }
}

/// An input that campaigns of every rule have.
#[derive(Clone, Debug)]
pub enum Common {
    /// Time has passed.
    Tick,
    /// Enter the race.
    Campaign,
    /// A command of the user.
    Command(Command),
    /// A watch stands since then.
    Watching {
        /// When it began.
        since: Instant,
    },
    /// The store was inspected.
    Inspected(Result<StoreInfo, Fault>),
    /// The connection is a new one.
    Reconnected,
    /// As [`queue::Input::Move`].
    Move {
        /// The lease to leave.
        from: queue::LeaseId,
        /// The lease to move to.
        to: queue::LeaseId,
    },
    /// As [`queue::Input::Left`].
    Left(queue::LeaseId),
}

/// An output, by what a session does with it.
#[derive(Clone, Debug)]
pub enum Sorted<R: Rule> {
    /// Nothing more until then.
    WakeAt(Option<(Instant, R::Timer)>),
    /// To be reported.
    Event(Event),
    /// Inspect the store, once for all that ask; an answer to a question that was asked since then will do.
    Inspect {
        /// The earliest question that will do.
        since: Instant,
    },
    /// Connect again, once for all that ask.
    Reconnect,
    /// A hand over came to nothing.
    NotNext {
        /// The successor.
        successor: String,
        /// The candidate that stands before it, if that is the reason.
        before: Option<String>,
    },
    /// As [`queue::Output::Stranded`].
    Stranded {
        /// The lease that the companion hangs on.
        on: queue::LeaseId,
    },
    /// As [`queue::Output::Move`].
    Move {
        /// The lease to leave.
        from: queue::LeaseId,
        /// The lease to move to.
        to: queue::LeaseId,
    },
    /// For the store.
    Request(R::Request),
}

/// The methods of a rule that its campaign has itself, under the same names.
macro_rules! methods_of_its_own {
    () => {
        fn handle(&mut self, now: Instant, input: Self::Input) -> Result<(), Misuse> {
            Self::handle(self, now, input)
        }

        fn poll(&mut self) -> Self::Output {
            Self::poll(self)
        }

        fn exchange_memory(&mut self, outputs: &mut VecDeque<Self::Output>) {
            // None that is still there is lost.
            if self.outputs.is_empty() {
                core::mem::swap(&mut self.outputs, outputs);
            }
        }

        fn lease(&self) -> Option<Lease> {
            Self::lease(self)
        }

        fn lease_time(&self) -> Duration {
            Self::lease_time(self)
        }

        fn margin(&self) -> Duration {
            Self::margin(self)
        }

        fn state(&self) -> State {
            Self::state(self)
        }

        fn nonce(&self) -> Nonce {
            Self::nonce(self)
        }

        fn name(&self) -> &str {
            Self::name(self)
        }
    };
}

/// The inputs that campaigns have under the same names; what a new watch means is said by each, and what another lease of
/// companions means by the one that has some.
macro_rules! from_common {
    ($input:ty, $since:pat => $watching:expr $(, $shared:pat => $does:expr)+) => {
        impl From<Common> for $input {
            fn from(common: Common) -> Self {
                match common {
                    Common::Tick => Self::Tick,
                    Common::Campaign => Self::Campaign,
                    Common::Command(command) => match command {
                        Command::Resign => Self::Resign,
                        Command::HandOver(successor) => Self::HandOver(successor),
                        Command::Close => Self::Close,
                        Command::Health(healthy) => Self::Health(healthy),
                        Command::Drained => Self::Drained,
                        Command::HandlerFailed => Self::HandlerFailed,
                        Command::Accept => Self::Accept,
                    },
                    Common::Watching { since: $since } => $watching,
                    Common::Inspected(result) => Self::Inspected(result),
                    Common::Reconnected => Self::Reconnected,
                    $($shared => $does,)+
                }
            }
        }
    };
}

impl Rule for Campaign {
    type Store = Capabilities;
    type Timer = campaign::Timer;
    type Input = campaign::Input;
    type Output = campaign::Output;
    type Request = campaign::Request;
    type Answer = campaign::Answer;
    type Shown = Entry;
    type Early = EarlySights;

    methods_of_its_own!();

    fn begin(
        settings: Settings,
        store: &Capabilities,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Self, InvalidSettings> {
        Self::new(settings, *store, info, nonce, seed, now)
    }

    fn recall(&mut self, early: &EarlySights, info: &StoreInfo) {
        Self::recall(self, early, info);
    }

    fn share_rules(&mut self, with: &Self) {
        Self::share_rules(self, with);
    }

    fn is_one_of_many(&mut self) {
        Self::is_one_of_many(self);
    }

    fn watch_shows_all(store: &Capabilities) -> bool {
        store.watch_shows_all
    }

    fn shown_nothing(&self) -> Option<Entry> {
        (!self.has_observed()).then_some(Entry::Vacant)
    }

    fn sort(output: campaign::Output) -> Sorted<Self> {
        match output {
            campaign::Output::WakeAt(wake) => Sorted::WakeAt(wake.map(|wake| (wake.at, wake.timer))),
            campaign::Output::Event(event) => Sorted::Event(event),
            campaign::Output::Inspect { since } => Sorted::Inspect { since },
            campaign::Output::Reconnect => Sorted::Reconnect,
            campaign::Output::Ask(request) => Sorted::Request(request),
        }
    }

    fn allow(&mut self, places: u32, answered: LastAnswers) {
        Self::allow(self, places, answered);
    }

    fn wish(&self) -> Option<Wish> {
        Self::wish(self)
    }

    fn window(store: &Capabilities) -> u32 {
        store.window
    }

    fn ticket(&self, request: &campaign::Request) -> Option<(Ticket, Duration)> {
        let ticket = match request {
            campaign::Request::Write(write) => Ticket::Write(write.attempt.0),
            campaign::Request::Read(read) => Ticket::Read(read.0),
        };
        Some((ticket, self.attempt_limit()))
    }

    fn answers(answer: &campaign::Answer) -> Option<(Ticket, bool)> {
        Some(match answer {
            campaign::Answer::Wrote { attempt, outcome } => {
                (Ticket::Write(attempt.0), !matches!(outcome, Outcome::NotSent | Outcome::Unknown))
            }
            campaign::Answer::Read { read, result } => {
                let unanswered = matches!(result, Err(fault) if fault.kind == FaultKind::Unreachable);
                (Ticket::Read(read.0), !unanswered)
            }
        })
    }

    /// The answer to a write can matter for its lease.
    fn limit(&self, request: &campaign::Request, before: Duration) -> Duration {
        match request {
            campaign::Request::Write(write) => match &write.action {
                Action::Acquire(put) | Action::Renew(put) => put.lease,
                Action::Release { .. } => before,
            },
            campaign::Request::Read(_) => before,
        }
    }

    fn is_over(&self) -> bool {
        self.state() == State::Closed
    }
}

from_common!(
    campaign::Input, since => Self::Watching { since }, Common::Move { .. } | Common::Left(_) => Self::Tick
);

impl From<Entry> for campaign::Input {
    fn from(entry: Entry) -> Self {
        Self::Watched(entry)
    }
}

impl Rule for queue::Campaign {
    type Store = queue::Server;
    type Timer = queue::Timer;
    type Input = queue::Input;
    type Output = queue::Output;
    type Request = queue::Request;
    type Answer = queue::Answer;
    type Shown = queue::Change;
    type Early = ();

    methods_of_its_own!();

    fn begin(
        settings: Settings,
        store: &queue::Server,
        info: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Self, InvalidSettings> {
        // The birth record counts from its first sight: it may have been written after the question was sent.
        let info = StoreInfo { asked_at: now, ..*info };
        Self::new(settings, *store, &info, nonce, seed, now)
    }

    fn not_known_yet(store: &queue::Server) -> Option<Fault> {
        store.not_known_yet()
    }

    fn set_store(&mut self, _: Instant, store: &queue::Server) {
        self.set_server(*store);
    }

    fn sort(output: queue::Output) -> Sorted<Self> {
        use queue::Output;
        match output {
            Output::WakeAt(wake) => Sorted::WakeAt(wake.map(|wake| (wake.at, wake.timer))),
            Output::Event(event) => Sorted::Event(event),
            // Any answer will do: it says whether the store has a birth record.
            Output::Inspect => Sorted::Inspect { since: Instant::ZERO },
            Output::Reconnect => Sorted::Reconnect,
            Output::NotNext { successor, before } => Sorted::NotNext { successor, before },
            Output::Stranded { on } => Sorted::Stranded { on },
            Output::Move { from, to } => Sorted::Move { from, to },
            Output::Ask(request) => Sorted::Request(request),
        }
    }

    fn keeps_alive(&self, lease: queue::LeaseId) -> bool {
        self.keeps_companion_on(lease)
    }

    /// Keep-alives, and then a read. Answers that were late by more than a limit waited behind more than there may be now: a round
    /// has twice as many requests that wait there.
    fn renewal_takes(&self, usual: Duration) -> Duration {
        usual.min(Self::attempt_limit(self)) * 2
    }

    fn allow(&mut self, places: u32, answered: LastAnswers) {
        Self::allow(self, places, answered);
    }

    fn wish(&self) -> Option<Wish> {
        Self::wish(self)
    }

    fn window(store: &queue::Server) -> u32 {
        store.window()
    }

    /// The lease of the companions is asked for once for all, and needs no place.
    fn ticket(&self, request: &queue::Request) -> Option<(Ticket, Duration)> {
        use queue::Request;
        let ticket = match request {
            Request::Grant { lease, .. } => Ticket::Grant(lease.0),
            Request::Share { .. } => return None,
            Request::KeepAlive { leases } => Ticket::KeepAlive(leases.place.0),
            Request::Read { read, .. } => Ticket::Look(read.0),
            Request::Write(write) => Ticket::Transaction(write.attempt.0),
            Request::Revoke { lease } => Ticket::Revoke(lease.0),
        };
        Some((ticket, Self::attempt_limit(self)))
    }

    fn answers(answer: &queue::Answer) -> Option<(Ticket, bool)> {
        use queue::{Answer, Failure, Outcome};
        let (ticket, failure) = match answer {
            Answer::Granted { lease, result } => (Ticket::Grant(lease.0), result.as_ref().err()),
            Answer::Shared { .. } => return None,
            Answer::KeptAlive { lease, result, .. } => (Ticket::KeepAlive(lease.0), result.as_ref().err()),
            // It is said for the campaign alone: the answer may come.
            Answer::Read { result: Err(Failure::Unanswered), .. } => return None,
            Answer::Read { read, result, .. } => (Ticket::Look(read.0), result.as_ref().err()),
            Answer::Wrote { attempt, outcome } => {
                let failure = if let Outcome::Failed(failure) = outcome { Some(failure) } else { None };
                (Ticket::Transaction(attempt.0), failure)
            }
            Answer::Revoked { lease, result } => (Ticket::Revoke(lease.0), result.as_ref().err()),
        };
        Some((ticket, !matches!(failure, Some(Failure::Unknown | Failure::Unanswered))))
    }

    /// The campaign has its own limit for an answer, and asks again when that has passed; the deletes of a candidacy are
    /// repeated until they are answered, within a lease. A read counts as failed once it was sent for that long, and its answer
    /// counts all the same.
    fn limit(&self, request: &queue::Request, _: Duration) -> Duration {
        match request {
            queue::Request::Read { .. } => Self::attempt_limit(self),
            _ => Self::lease_time(self),
        }
    }

    fn is_over(&self) -> bool {
        self.is_settled()
    }
}

// What happened before the new watch is not known.
from_common!(
    queue::Input,
    _ => Self::WatchGap,
    Common::Move { from, to } => Self::Move { from, to },
    Common::Left(lease) => Self::Left(lease)
);

impl From<queue::Change> for queue::Input {
    fn from(change: queue::Change) -> Self {
        Self::Watched(change)
    }
}

impl Rule for induction::Campaign {
    type Store = induction::Connection;
    type Timer = induction::Timer;
    type Input = induction::Input;
    type Output = induction::Output;
    type Request = induction::Request;
    type Answer = induction::Answer;
    type Shown = induction::Shown;
    type Early = ();

    methods_of_its_own!();

    /// The store that was inspected is the connection; each campaign asks for its own topic.
    fn begin(
        settings: Settings,
        store: &induction::Connection,
        _: &StoreInfo,
        nonce: Nonce,
        seed: u64,
        now: Instant,
    ) -> Result<Self, InvalidSettings> {
        let topic = induction::Topic { asked_at: store.read_at, id: None, time_of_day: store.time_of_day };
        Self::new(settings, store.group, topic, nonce, seed, now)
    }

    fn sort(output: induction::Output) -> Sorted<Self> {
        use induction::Output;
        match output {
            Output::WakeAt(wake) => Sorted::WakeAt(wake.map(|wake| (wake.at, wake.timer))),
            Output::Event(event) => Sorted::Event(event),
            Output::Ask(request) => Sorted::Request(request),
        }
    }

    /// The campaign has its own limit for an answer, and asks again when that has passed. What the client reports of its
    /// membership counts whenever it comes.
    fn limit(&self, request: &induction::Request, _: Duration) -> Duration {
        use induction::Request;
        match request {
            Request::Publish(_)
            | Request::Commit { .. }
            | Request::Committed { .. }
            | Request::Inspect
            | Request::Members => Self::lease_time(self),
            Request::Join | Request::Yield | Request::Leave => Duration::MAX,
        }
    }

    /// A client that does not leave its group in time is left to itself.
    fn is_over(&self) -> bool {
        self.state() == State::Closed
    }
}

impl From<Common> for induction::Input {
    fn from(common: Common) -> Self {
        match common {
            Common::Campaign => Self::Campaign,
            Common::Command(command) => match command {
                Command::Resign => Self::Resign,
                Command::Close => Self::Close,
                Command::Health(healthy) => Self::Health(healthy),
                Command::Drained => Self::Drained,
                Command::HandlerFailed => Self::HandlerFailed,
                // The group chooses its owner, and a reset bars no candidate.
                Command::HandOver(_) | Command::Accept => Self::Tick,
            },
            // The offsets say what was not read, and the topic's id which log it is.
            Common::Tick | Common::Watching { .. } | Common::Inspected(_) | Common::Reconnected => Self::Tick,
            Common::Move { .. } | Common::Left(_) => Self::Tick,
        }
    }
}

//! One participant of an election: the user's handle.

use std::fmt;
use std::sync::Arc;

use incumbent_core::campaign::{Leader, Reason, State};

use crate::candidate_state::{CandidateState, Subscriber};
use crate::driver::command::{Command, CommandSink};
use crate::event::{Event, Events};
use crate::handlers::Handlers;
use crate::leave::{LeaveRequest, closed, forked};
use crate::term::Term;
use incumbent_store::Result;

/// One participant of an election. It campaigns from the moment [`Store::campaign`](crate::Store::campaign) returns it
/// until it is closed: after losing a term it campaigns for the next.
///
/// Cheap to clone; all clones are the same candidate. Dropping the last one ends its term at once, emits `Lost`, and
/// releases the lease in the background as soon as the last [`Term`] is dropped, if the process lives long enough;
/// otherwise the next leader waits for the lease to run out. [`close`](Self::close) is the orderly way.
///
/// ```
/// use incumbent::{CampaignOptions, Store, Term};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> incumbent::Result<()> {
/// let store = Store::open("memory:").await?;
/// let candidate = store.campaign("jobs", CampaignOptions::new().name("worker-7")).await?;
///
/// let term: Term = candidate.next_term().await?;
/// assert!(candidate.is_leader());
/// println!("{} leads with token {}", candidate.name(), term.token());
/// drop(term);
///
/// candidate.close().await?;
/// assert!(!candidate.is_leader());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Candidate {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<CandidateState>,
    driver: Arc<dyn CommandSink>,
}

impl Candidate {
    pub(crate) fn new(shared: Arc<CandidateState>, driver: Arc<dyn CommandSink>) -> Self {
        Self { inner: Arc::new(Inner { shared, driver }) }
    }

    /// The key of the election.
    pub fn election(&self) -> &str {
        &self.inner.shared.election
    }

    /// The candidate's public name.
    pub fn name(&self) -> &str {
        &self.inner.shared.candidate
    }

    /// Returns true if this candidate leads *now*.
    ///
    /// Every call compares the proven deadline with the clock: no lock, no I/O, and no trust in a timer. The answer
    /// turns false by itself if the process was stopped for too long, and is never true in a forked child. Time still
    /// passes between the answer and its use: if that matters, send the [token](crate::TermView::token) along.
    pub fn is_leader(&self) -> bool {
        self.inner.shared.is_leader()
    }

    /// The state of the campaign.
    pub fn state(&self) -> State {
        self.inner.shared.state()
    }

    /// The current leader, as far as this candidate knows.
    pub fn leader(&self) -> Option<Leader> {
        self.inner.shared.leader()
    }

    /// The present term; `None` while this candidate does not lead.
    ///
    /// As every [`Term`] does, it holds up a drain until it is dropped.
    pub fn term(&self) -> Option<Term> {
        self.inner.shared.term()
    }

    /// Waits for the present or the next term of this candidate. Cancel-safe.
    ///
    /// # Errors
    /// `Closed` when the campaign is over, `Forked` in a forked child.
    pub async fn next_term(&self) -> Result<Term> {
        let mut events = self.events();
        while let Some(event) = events.next().await {
            if let Event::Won(term) = event
                && term.is_current()
            {
                return Ok(term);
            }
        }
        self.check_process()?;
        Err(closed())
    }

    /// The events from now on, as a separate stream for every caller; see [`Events`].
    pub fn events(&self) -> Events {
        self.inner.shared.subscribe(Subscriber::User)
    }

    /// Like [`events`](Self::events), but the term of a `Won` is held from the moment the event is emitted, whether it
    /// has been read or not. A drain waits until the event has been read and its term dropped. This is for code that
    /// finishes a term's work when the term drains. With `events`, the leader could leave before the win was read.
    pub fn holding_events(&self) -> Events {
        self.inner.shared.subscribe(Subscriber::Holding)
    }

    /// Calls `handlers` for the events from now on, beginning with the present state, until the campaign is over; see
    /// [`Handlers`].
    ///
    /// # Panics
    /// When called outside of a tokio runtime.
    pub fn attach(&self, handlers: Handlers) {
        let events = if handlers.has_drain() { self.holding_events() } else { self.events() };
        handlers.start(events, &self.inner.shared);
    }

    /// Gives up the leadership, if this candidate has it, and stays in the election behind the other candidates.
    ///
    /// Returns once the work has drained and the record is released. In a handler or the work of [`lead`](Self::lead),
    /// it returns as soon as the term is draining. A drain also waits for a [`Term`] that the caller keeps, so drop
    /// that term first. Nothing is requested before the first poll; see [`request_resign`](Self::request_resign).
    ///
    /// # Errors
    /// `Closed` when the campaign is over, `Forked` in a forked child.
    pub async fn resign(&self) -> Result<()> {
        self.request_resign().await
    }

    /// Hands the leadership over to the candidate named `to`, and stays in the election behind it. In all other
    /// respects it is like [`resign`](Self::resign). The other candidates hold back for a moment. If the successor does
    /// not acquire the lease, one of them does.
    ///
    /// On etcd, candidates of this library ahead of the successor go to the end of the queue, and the leader leads
    /// until the successor is next. If that takes longer than the drain time, the term continues.
    ///
    /// # Errors
    /// `InvalidName` for a name that no candidate can have, `NotLeader` when this candidate does not lead or loses its
    /// term, `Unsupported` on etcd when the successor cannot become next; the message names the candidate of other
    /// software that is ahead of it. `Closed` when the campaign is over, `Forked` in a forked child.
    pub async fn hand_over(&self, to: impl Into<String>) -> Result<()> {
        self.request_hand_over(to).await
    }

    /// Like [`resign`](Self::resign), but requests it at once, for code that does not wait for it.
    pub fn request_resign(&self) -> LeaveRequest {
        LeaveRequest::ask(false, self.inner.shared.fork_guard, |leave| {
            self.inner.driver.send(Command::Resign(leave));
        })
    }

    /// Like [`hand_over`](Self::hand_over), but requests it at once, for code that does not wait for it.
    pub fn request_hand_over(&self, to: impl Into<String>) -> LeaveRequest {
        let to = to.into();
        LeaveRequest::ask(false, self.inner.shared.fork_guard, |leave| {
            self.inner.driver.send(Command::HandOver(to, leave));
        })
    }

    /// Like [`close`](Self::close), but requests it at once, for code that does not wait for it.
    pub fn request_close(&self) -> LeaveRequest {
        LeaveRequest::ask(true, self.inner.shared.fork_guard, |leave| {
            self.inner.driver.send(Command::Close(leave));
        })
    }

    /// Sets whether this candidate is healthy. A candidate is healthy at first, [unless its options say
    /// otherwise](crate::CampaignOptions::healthy). An unhealthy candidate does not campaign; an unhealthy leader
    /// drains and leaves.
    pub fn set_healthy(&self, is_well: bool) {
        self.send(Command::Health(is_well));
    }

    /// Accepts that tokens may start again after the store was reset, for a candidate that stays out because of the
    /// reset ([`Warning::StoreReset`](crate::Warning::StoreReset)).
    ///
    /// Do this only if no system remembers the earlier tokens.
    pub fn accept_reset(&self) {
        self.send(Command::AcceptReset);
    }

    /// Leaves the election permanently: drains, releases the lease, and waits for the handlers to return (2 s at most).
    /// If work has not ended within the drain time, the call waits 2 s longer for it, and then leaves the lease to run
    /// out. Further calls wait for the same close.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub async fn close(&self) -> Result<()> {
        self.request_close().await
    }

    /// Waits until the campaign is over, for whatever reason; returns at once in a forked child. The future does not
    /// keep the candidate alive.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = &self.inner.shared;
        let over = (!shared.fork_guard.is_forked()).then(|| shared.over());
        async move {
            if let Some(over) = over {
                over.cancelled().await;
            }
        }
    }

    pub(crate) fn send(&self, command: Command) {
        if self.check_process().is_ok() {
            self.inner.driver.send(command);
        }
    }

    fn check_process(&self) -> Result<()> {
        if self.inner.shared.fork_guard.is_forked() { Err(forked()) } else { Ok(()) }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.shared.fork_guard.is_forked() {
            return;
        }
        self.shared.end(Reason::Closed);
        self.driver.send(Command::Abandon(Arc::clone(&self.driver)));
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate")
            .field("election", &self.election())
            .field("name", &self.name())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

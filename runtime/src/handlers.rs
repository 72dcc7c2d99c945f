//! The user's handlers, called one after another on a separate task.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use incumbent_core::Instant;
use incumbent_core::campaign::{Reason, State, Warning};

use crate::candidate_state::CandidateState;
use crate::event::{Event, Events};
use crate::leave::LeaveRequest;
use crate::term::Term;

type Handler<Args> = Box<dyn FnMut(Args) -> BoxFuture<'static, ()> + Send>;

/// Functions to call when something happens to a candidate; see
/// [`Candidate::attach`](crate::Candidate::attach).
///
/// They are called one at a time, in the order of the events, on a separate task: a handler that is slow or blocks its
/// thread delays only the handlers after it. Work that lasts as long as a term belongs in
/// [`Candidate::lead`](crate::Candidate::lead), or on a task that `on_won` spawns.
///
/// A handler that panics is reported by `tracing` as an error. The handlers after it are still called.
///
/// ```
/// use incumbent::{Handlers, Term};
///
/// let handlers = Handlers::new()
///     .on_won(async |term: Term| println!("won {}", term.token()))
///     .on_lost(async |term: Term, reason| println!("lost {}: {reason}", term.token()));
/// # drop(handlers);
/// ```
#[derive(Default)]
#[must_use = "handlers are called once they are attached to a candidate"]
pub struct Handlers {
    won: Option<Handler<Term>>,
    draining: Option<Handler<(Term, Instant)>>,
    lost: Option<Handler<(Term, Reason)>>,
    campaigned: Option<Handler<State>>,
    warning: Option<Handler<Warning>>,
    panic_ends_term: bool,
}

impl Handlers {
    /// No handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the function to call when the candidate becomes the leader.
    pub fn on_won<F, Fut>(mut self, mut handler: F) -> Self
    where
        F: FnMut(Term) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.won = Some(Box::new(move |term| handler(term).boxed()));
        self
    }

    /// Sets the function to call when the leader begins to leave voluntarily, with the latest instant at which the term
    /// ends. The term is held from the moment it is won until this handler has returned, even if the leader leaves
    /// before any handler has been called for the win.
    pub fn on_draining<F, Fut>(mut self, mut handler: F) -> Self
    where
        F: FnMut(Term, Instant) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.draining = Some(Box::new(move |(term, until)| handler(term, until).boxed()));
        self
    }

    /// Sets the function to call when a term is over, with the reason.
    pub fn on_lost<F, Fut>(mut self, mut handler: F) -> Self
    where
        F: FnMut(Term, Reason) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.lost = Some(Box::new(move |(term, reason)| handler(term, reason).boxed()));
        self
    }

    /// Sets the function to call when the campaign enters another state.
    pub fn on_state_changed<F, Fut>(mut self, mut handler: F) -> Self
    where
        F: FnMut(State) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.campaigned = Some(Box::new(move |state| handler(state).boxed()));
        self
    }

    /// Sets the function to call for a condition that needs a person's attention.
    pub fn on_warning<F, Fut>(mut self, mut handler: F) -> Self
    where
        F: FnMut(Warning) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.warning = Some(Box::new(move |warning| handler(warning).boxed()));
        self
    }

    /// Makes a panic in a handler end the term, with [`Reason::HandlerFailed`]. Without this the term continues.
    pub fn panic_ends_term(mut self) -> Self {
        self.panic_ends_term = true;
        self
    }

    /// Returns true if there is a handler that a drain waits for.
    pub(crate) fn has_drain(&self) -> bool {
        self.draining.is_some()
    }

    /// Calls the handlers until the campaign is over.
    pub(crate) fn start(self, events: Events, shared: &Arc<CandidateState>) {
        let run = LeaveRequest::awaited_in(self.run(events, Arc::clone(shared)));
        shared.spawn(run);
    }

    async fn run(mut self, mut events: Events, shared: Arc<CandidateState>) {
        let ends = self.panic_ends_term;
        // While an event's handler runs, the term of that event is held, so that a drain waits until the handler has
        // returned.
        let mut held: Option<Term> = None;
        while let Some(event) = events.next().await {
            match event {
                Event::Won(term) => {
                    held = self.draining.is_some().then(|| term.clone());
                    call("on_won", &mut self.won, term, &shared, ends).await;
                }
                Event::Draining { term, until, reason: _ } => {
                    call("on_draining", &mut self.draining, (term, until), &shared, ends).await;
                    held = None;
                }
                Event::Lost { term, reason } => {
                    held = None;
                    call("on_lost", &mut self.lost, (term, reason), &shared, ends).await;
                }
                Event::StateChanged(state) => {
                    call("on_state_changed", &mut self.campaigned, state, &shared, ends).await;
                }
                Event::Warning(warning) => {
                    call("on_warning", &mut self.warning, warning, &shared, ends).await;
                }
                Event::LeaderChanged(_) => {}
            }
        }
        drop(held);
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").finish_non_exhaustive()
    }
}

async fn call<Args>(
    name: &str,
    handler: &mut Option<Handler<Args>>,
    args: Args,
    shared: &CandidateState,
    panic_ends_term: bool,
) {
    let Some(handler) = handler else { return };
    let Err(panic) = AssertUnwindSafe(async { handler(args).await }).catch_unwind().await else { return };
    let (election, candidate) = (&*shared.election, &*shared.candidate);
    tracing::error!(election, candidate, "the handler {name} panicked: {}", message(&*panic));
    if panic_ends_term && let Some(term) = shared.term() {
        term.fail();
    }
}

/// The message of a panic.
pub fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

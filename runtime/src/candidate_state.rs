//! The state of a candidate that its driver writes and its handles read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use incumbent_core::campaign::{self, Leader, Lease, Reason, State, Warning};
use incumbent_core::{Instant, Token};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::driver::command::CommandSink;
use crate::event::{Event, Events};
use crate::lazy_token::LazyToken;
use crate::queue::Queue;
use crate::term::{Term, TermView, leads};
use incumbent_store::clock::Clock;
use incumbent_store::fork::ForkGuard;

/// The number of warnings that are kept for the first subscriber.
const EARLY_WARNINGS: usize = 16;

/// The state of a candidate, written by the driver and shared by every handle.
pub(crate) struct CandidateState {
    pub(crate) election: Arc<str>,
    pub(crate) candidate: String,
    pub(crate) clock: Clock,
    pub(crate) fork_guard: ForkGuard,
    /// Handlers and health checks that are still running, if there are any.
    tasks: OnceLock<TaskTracker>,
    over: LazyToken,
    /// The deadline of the lease in nanoseconds; zero while the candidate does not lead.
    deadline: AtomicU64,
    /// The lease time in force, in nanoseconds.
    lease_time: AtomicU64,
    inner: Mutex<Inner>,
}

/// Never locked while user code runs, nor across an await.
struct Inner {
    state: State,
    leader: Option<Leader>,
    /// The current term. For a moment also the term before it, while the `Lost` of that term has not been emitted yet.
    held: Vec<Held>,
    /// The terms of a dropped candidate whose work may not have ended.
    left: Vec<TermView>,
    early: Vec<Warning>,
    readers: Vec<Reader>,
    /// The campaign is over, at least for its handles: no more events are emitted.
    over: bool,
}

struct Reader {
    queue: Arc<Queue<Event>>,
    subscriber: Subscriber,
}

/// The kind of reader, which decides when it holds terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subscriber {
    /// A user's reader, which holds a term after it has read its `Won`.
    User,
    /// A user's reader that holds a term from the moment the term is won.
    Holding,
    /// A reader of the library itself. It is like `User`, but a warning that only library readers have read is kept for
    /// the user's first reader.
    Library,
}

struct Held {
    term: TermView,
    draining: Option<(Instant, Reason)>,
}

impl CandidateState {
    pub(crate) fn new(election: Arc<str>, candidate: String, clock: Clock) -> Arc<Self> {
        let inner = Inner {
            state: State::Idle,
            leader: None,
            held: Vec::new(),
            left: Vec::new(),
            early: Vec::new(),
            readers: Vec::new(),
            over: false,
        };
        Arc::new(Self {
            election,
            candidate,
            clock,
            fork_guard: ForkGuard::new(),
            tasks: OnceLock::new(),
            over: LazyToken::default(),
            deadline: AtomicU64::new(0),
            lease_time: AtomicU64::new(0),
            inner: Mutex::new(inner),
        })
    }

    /// Returns true if the candidate leads at this moment.
    pub(crate) fn is_leader(&self) -> bool {
        leads(&self.deadline, &self.clock, self.fork_guard)
    }

    pub(crate) fn state(&self) -> State {
        if self.fork_guard.is_forked() { State::Closed } else { self.inner().state }
    }

    pub(crate) fn leader(&self) -> Option<Leader> {
        if self.fork_guard.is_forked() { None } else { self.inner().leader.clone() }
    }

    /// The present term; `None` once its deadline has passed, whether or not the loss has been reported.
    pub(crate) fn term(&self) -> Option<Term> {
        if !self.is_leader() {
            return None;
        }
        let inner = self.inner();
        inner.held.last().filter(|held| held.term.is_current()).map(|held| held.term.hold())
    }

    /// The lease time in force; zero before the campaign has begun.
    pub(crate) fn lease_time(&self) -> Duration {
        Duration::from_nanos(self.lease_time.load(Ordering::Relaxed))
    }

    pub(crate) fn set_lease_time(&self, lease: Duration) {
        let nanos = u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX);
        self.lease_time.store(nanos, Ordering::Relaxed);
    }

    /// A token that is cancelled when the campaign is over.
    pub(crate) fn over(&self) -> CancellationToken {
        self.over.get().clone()
    }

    /// Runs a handler or a health check. [`close`](crate::Candidate::close) waits for its end.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let inner = self.inner();
        let tasks = self.tasks.get_or_init(TaskTracker::new);
        if inner.over {
            tasks.close();
        }
        drop(inner);
        tasks.spawn(task);
    }

    /// The handlers and health checks that are still running; `None` if there never was one.
    pub(crate) fn tasks(&self) -> Option<&TaskTracker> {
        self.tasks.get()
    }

    /// A stream of events that begins with the present state.
    pub(crate) fn subscribe(&self, subscriber: Subscriber) -> Events {
        let (queue, subscription) = Queue::new();
        if self.fork_guard.is_forked() {
            drop(queue.end());
            return Events(subscription);
        }
        let mut inner = self.inner();
        // No task waits for a new queue, so there is no waker.
        let push = |event| drop(queue.push(event));
        for held in &inner.held {
            push(Event::Won(match subscriber {
                Subscriber::Holding => held.term.hold(),
                Subscriber::User | Subscriber::Library => held.term.watch(),
            }));
            if let Some((until, reason)) = held.draining {
                push(Event::Draining { term: held.term.watch(), until, reason });
            }
        }
        if let Some(leader) = &inner.leader {
            push(Event::LeaderChanged(Some(leader.clone())));
        }
        push(Event::StateChanged(inner.state));
        if subscriber != Subscriber::Library {
            inner.early.drain(..).map(Event::Warning).for_each(push);
        }
        if inner.over {
            drop(queue.end());
        } else {
            // If a caller repeatedly waits for a term while no event comes, its earlier readers are removed here.
            inner.forget_gone_readers();
            // Usually the only one.
            inner.readers.reserve_exact(1);
            inner.readers.push(Reader { queue, subscriber });
        }
        Events(subscription)
    }

    /// Applies the events of one step of the campaign. Returns true if the work of a draining or ended term has ended,
    /// because no handle holds the term.
    ///
    /// The lease is published *before* any event: a reader of `Won` leads, and a reader of `Lost` does not. The reason
    /// of a loss is set before that, so a reader that sees that the term is over also sees why. One lock covers the
    /// step, so that a new subscriber sees it as a whole.
    pub(crate) fn update(
        &self,
        lease: Option<Lease>,
        events: impl IntoIterator<Item = campaign::Event>,
        driver: &Weak<dyn CommandSink>,
    ) -> bool {
        let events: Vec<_> = events.into_iter().collect();
        let mut work_ended = false;
        let mut changed = Vec::new();
        let mut woken = Vec::new();
        let mut inner = self.inner();
        let is_over = inner.over;
        if !is_over {
            for event in &events {
                if let campaign::Event::Lost { term, reason } = event {
                    inner.held.iter().filter(|held| held.term.token() == term.token).for_each(|held| {
                        held.term.set_reason(*reason);
                    });
                }
            }
            self.publish_lease(&mut inner, lease, driver);
            inner.forget_gone_readers();
        }
        for event in events {
            if is_over {
                // A dropped candidate has no readers. Its work can see that the term is over, and the driver waits
                // until that work has ended.
                if let campaign::Event::Draining { term, .. } | campaign::Event::Lost { term, .. } = event {
                    let left = inner.left.iter().find(|left| left.token() == term.token);
                    if left.is_none_or(TermView::work_ended) {
                        work_ended = true;
                    }
                }
                continue;
            }
            let event = event.map_term(|term| self.held(&mut inner, term.token, driver).term.watch());
            match &event {
                Event::Draining { term, until, reason } => {
                    if let Some(held) = inner.held.iter_mut().find(|held| held.term == **term) {
                        held.draining = Some((*until, *reason));
                    }
                    work_ended |= term.drain(*until);
                    changed.push(term.view());
                }
                Event::Lost { term, reason } => {
                    inner.held.retain(|held| held.term != **term);
                    work_ended |= term.end(*reason);
                    changed.push(term.view());
                }
                Event::LeaderChanged(leader) => inner.leader.clone_from(leader),
                Event::StateChanged(state) => inner.state = *state,
                Event::Won(_) | Event::Warning(_) => {}
            }
            woken.extend(inner.emit(&event));
        }
        drop(inner);
        changed.iter().for_each(TermView::wake);
        woken.into_iter().for_each(Waker::wake);
        work_ended
    }

    fn publish_lease(&self, inner: &mut Inner, lease: Option<Lease>, driver: &Weak<dyn CommandSink>) {
        for held in &inner.held {
            if lease.is_none_or(|lease| lease.token != held.term.token()) {
                held.term.set_deadline(Instant::ZERO);
            }
        }
        if let Some(lease) = lease {
            self.held(inner, lease.token, driver).term.set_deadline(lease.deadline);
        }
        let deadline = lease.map_or(0, |lease| lease.deadline.as_nanos());
        self.deadline.store(deadline, Ordering::Release);
    }

    /// Ends the campaign for its handles. A present term is lost now and reported once, and no event follows.
    pub(crate) fn end(&self, reason: Reason) {
        if self.fork_guard.is_forked() {
            return;
        }
        let mut inner = self.inner();
        if inner.over {
            return;
        }
        inner.held.iter().for_each(|held| held.term.set_reason(reason));
        self.deadline.store(0, Ordering::Release);
        inner.over = true;
        inner.forget_gone_readers();
        let held = std::mem::take(&mut inner.held);
        let mut woken = Vec::new();
        for held in &held {
            held.term.end(reason);
            woken.extend(inner.emit(&Event::Lost { term: held.term.watch(), reason }));
        }
        inner.left.extend(held.iter().map(|held| held.term.clone()));
        if std::mem::replace(&mut inner.state, State::Closed) != State::Closed {
            woken.extend(inner.emit(&Event::StateChanged(State::Closed)));
        }
        woken.extend(inner.readers.drain(..).filter_map(|reader| reader.queue.end()));
        drop(inner);
        held.iter().for_each(|held| held.term.wake());
        if let Some(tasks) = self.tasks.get() {
            tasks.close();
        }
        self.over.cancel();
        woken.into_iter().for_each(Waker::wake);
    }

    fn held<'inner>(
        &self,
        inner: &'inner mut Inner,
        token: Token,
        driver: &Weak<dyn CommandSink>,
    ) -> &'inner mut Held {
        let place = inner.held.iter().position(|held| held.term.token() == token).unwrap_or_else(|| {
            let (started, election) = (self.clock.now(), Arc::clone(&self.election));
            let term = TermView::new(token, started, election, self.clock.clone(), Weak::clone(driver));
            // Usually the only one.
            inner.held.reserve_exact(1);
            inner.held.push(Held { term, draining: None });
            inner.held.len() - 1
        });
        // The term was found at this place, or has just been pushed there.
        &mut inner.held[place]
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Puts an event into every reader's queue, and returns the tasks to wake once the lock has been released.
    fn emit(&mut self, event: &Event) -> Vec<Waker> {
        if let Event::Warning(warning) = event
            && self.readers.iter().all(|reader| reader.subscriber == Subscriber::Library)
            && self.early.len() < EARLY_WARNINGS
        {
            self.early.push(warning.clone());
        }
        let push = |reader: &Reader| {
            reader.queue.push(match (reader.subscriber, event) {
                (Subscriber::Holding, Event::Won(term)) => Event::Won(term.hold()),
                _ => event.clone(),
            })
        };
        self.readers.iter().filter_map(push).collect()
    }

    fn forget_gone_readers(&mut self) {
        self.readers.retain(|reader| !reader.queue.is_unsubscribed());
        if self.readers.is_empty() {
            self.readers = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_that_are_gone_are_forgotten_when_the_next_comes() {
        let state = CandidateState::new("jobs".into(), "worker-7".into(), Clock::system());
        for _ in 0..3 {
            drop(state.subscribe(Subscriber::User));
        }
        let _kept = state.subscribe(Subscriber::User);
        assert_eq!(state.inner().readers.len(), 1);
    }
}

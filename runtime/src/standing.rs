//! The state of a candidate that its driver writes and its handles read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use incumbent_core::campaign::{self, Leader, Lease, Reason, State, Warning};
use incumbent_core::{Instant, Token};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::driver::Driver;
use crate::event::{Events, Notice};
use crate::fork::ForkGuard;
use crate::queue::Queue;
use crate::term::{Tenure, Term, leads};

/// The number of warnings kept for the first subscriber.
const EARLY_WARNINGS: usize = 16;

/// The state of a candidate, written by the driver and shared by every handle.
pub(crate) struct Standing {
    pub(crate) election: Arc<str>,
    pub(crate) candidate: String,
    pub(crate) clock: Clock,
    pub(crate) birth: ForkGuard,
    /// Handlers and health checks still running.
    pub(crate) tasks: TaskTracker,
    over: CancellationToken,
    /// The deadline of the lease in nanoseconds; zero while the candidate does not lead.
    deadline: AtomicU64,
    /// The lease time in force, in nanoseconds.
    lease_time: AtomicU64,
    book: Mutex<Book>,
}

/// Never locked while user code runs, nor across an await.
struct Book {
    state: State,
    leader: Option<Leader>,
    /// The present term, and before it briefly one whose `Lost` is not emitted yet.
    held: Vec<Held>,
    /// The terms of a dropped candidate whose work may not have ended.
    left: Vec<Arc<Tenure>>,
    early: Vec<Warning>,
    readers: Vec<Reader>,
    /// The campaign is over, at least for the handles: no more events are emitted.
    over: bool,
}

struct Reader {
    queue: Arc<Queue<Notice>>,
    reads: Reads,
}

/// The way in which a reader of events holds terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Holds a term after it has read its `Won`.
    LookingOn,
    /// Holds a term from the moment it is won.
    Holding,
    /// For the library itself: as `LookingOn`, but a warning that only such readers have read is kept for the user's
    /// first reader.
    Inside,
}

struct Held {
    tenure: Arc<Tenure>,
    draining: Option<(Instant, Reason)>,
}

impl Standing {
    pub(crate) fn new(election: Arc<str>, candidate: String, clock: Clock) -> Arc<Self> {
        let book = Book {
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
            birth: ForkGuard::new(),
            tasks: TaskTracker::new(),
            over: CancellationToken::new(),
            deadline: AtomicU64::new(0),
            lease_time: AtomicU64::new(0),
            book: Mutex::new(book),
        })
    }

    /// Whether the candidate leads at this moment.
    pub(crate) fn is_leader(&self) -> bool {
        leads(&self.deadline, &self.clock, self.birth)
    }

    pub(crate) fn state(&self) -> State {
        if self.birth.is_forked() { State::Closed } else { self.book().state }
    }

    pub(crate) fn leader(&self) -> Option<Leader> {
        if self.birth.is_forked() { None } else { self.book().leader.clone() }
    }

    /// The present term; `None` once its deadline has passed, whether or not the loss was reported.
    pub(crate) fn term(&self) -> Option<Term> {
        if !self.is_leader() {
            return None;
        }
        let book = self.book();
        book.held.last().filter(|held| held.tenure.is_current()).map(|held| Tenure::hold(&held.tenure))
    }

    /// The lease time in force; zero before the campaign has begun.
    pub(crate) fn lease_time(&self) -> Duration {
        Duration::from_nanos(self.lease_time.load(Ordering::Relaxed))
    }

    pub(crate) fn set_lease_time(&self, lease: Duration) {
        let nanos = u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX);
        self.lease_time.store(nanos, Ordering::Relaxed);
    }

    /// Cancelled when the campaign is over.
    pub(crate) fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    /// A stream of events that begins with the present state.
    pub(crate) fn subscribe(&self, reads: Reads) -> Events {
        let (queue, subscription) = Queue::new();
        if self.birth.is_forked() {
            drop(queue.end());
            return Events(subscription);
        }
        let mut book = self.book();
        // A new queue has no waker.
        let tell = |notice| drop(queue.push(reads.notice(notice)));
        for held in &book.held {
            tell(Notice::Won(Arc::clone(&held.tenure)));
            if let Some((until, reason)) = held.draining {
                tell(Notice::Draining(Arc::clone(&held.tenure), until, reason));
            }
        }
        if let Some(leader) = &book.leader {
            tell(Notice::LeaderChanged(Some(leader.clone())));
        }
        tell(Notice::StateChanged(book.state));
        if reads != Reads::Inside {
            book.early.drain(..).map(Notice::Warning).for_each(tell);
        }
        if book.over {
            drop(queue.end());
        } else {
            book.readers.push(Reader { queue, reads });
        }
        Events(subscription)
    }

    /// Applies the events of one step of the campaign. Returns whether the work of a term that drains, or is over,
    /// has ended, because no handle holds the term.
    ///
    /// The lease is published *before* any event: a reader of `Won` leads, and a reader of `Lost` does not. One lock
    /// covers the step, so that a new subscriber sees it as a whole.
    pub(crate) fn update(
        &self,
        lease: Option<Lease>,
        events: impl IntoIterator<Item = campaign::Event>,
        driver: &Weak<dyn Driver>,
    ) -> Drain {
        let mut drain = Drain::Held;
        let mut changed = Vec::new();
        let mut woken = Vec::new();
        let mut book = self.book();
        let is_over = book.over;
        if !is_over {
            self.publish(&mut book, lease, driver);
        }
        for event in events {
            if is_over {
                // A dropped candidate has no readers. Its work has seen that the term is over, and the rest of that
                // work is waited for.
                if let campaign::Event::Draining { term, .. } | campaign::Event::Lost { term, .. } = event {
                    let left = book.left.iter().find(|tenure| tenure.token() == term.token);
                    if left.is_none_or(|tenure| tenure.has_ended()) {
                        drain = Drain::Done;
                    }
                }
                continue;
            }
            let notice = self.take_in(&mut book, event, driver);
            match &notice {
                Notice::Draining(tenure, until, _) => {
                    if tenure.drain(*until) {
                        drain = Drain::Done;
                    }
                    changed.push(Arc::clone(tenure));
                }
                Notice::Lost(tenure, reason) => {
                    if tenure.end(*reason) {
                        drain = Drain::Done;
                    }
                    changed.push(Arc::clone(tenure));
                }
                _ => {}
            }
            woken.extend(book.spread(&notice));
        }
        drop(book);
        changed.iter().for_each(|tenure| tenure.wake());
        woken.into_iter().for_each(Waker::wake);
        drain
    }

    fn publish(&self, book: &mut Book, lease: Option<Lease>, driver: &Weak<dyn Driver>) {
        for held in &book.held {
            if lease.is_none_or(|lease| lease.token != held.tenure.token()) {
                held.tenure.set_deadline(Instant::ZERO);
            }
        }
        if let Some(lease) = lease {
            self.held(book, lease.token, driver).tenure.set_deadline(lease.deadline);
        }
        let deadline = lease.map_or(0, |lease| lease.deadline.as_nanos());
        self.deadline.store(deadline, Ordering::Release);
    }

    fn take_in(&self, book: &mut Book, event: campaign::Event, driver: &Weak<dyn Driver>) -> Notice {
        match event {
            campaign::Event::Won(term) => {
                Notice::Won(Arc::clone(&self.held(book, term.token, driver).tenure))
            }
            campaign::Event::Draining { term, until, reason } => {
                let held = self.held(book, term.token, driver);
                held.draining = Some((until, reason));
                Notice::Draining(Arc::clone(&held.tenure), until, reason)
            }
            campaign::Event::Lost { term, reason } => {
                let tenure = Arc::clone(&self.held(book, term.token, driver).tenure);
                book.held.retain(|held| !Arc::ptr_eq(&held.tenure, &tenure));
                Notice::Lost(tenure, reason)
            }
            campaign::Event::LeaderChanged(leader) => {
                book.leader.clone_from(&leader);
                Notice::LeaderChanged(leader)
            }
            campaign::Event::StateChanged(state) => {
                book.state = state;
                Notice::StateChanged(state)
            }
            campaign::Event::Warning(warning) => Notice::Warning(warning),
        }
    }

    /// Ends the campaign for its handles: a term is lost now and reported once, and no event follows.
    pub(crate) fn end(&self, reason: Reason) {
        if self.birth.is_forked() {
            return;
        }
        let mut book = self.book();
        if book.over {
            return;
        }
        self.deadline.store(0, Ordering::Release);
        book.over = true;
        let held = std::mem::take(&mut book.held);
        let mut woken = Vec::new();
        for held in &held {
            held.tenure.end(reason);
            woken.extend(book.spread(&Notice::Lost(Arc::clone(&held.tenure), reason)));
        }
        book.left.extend(held.iter().map(|held| Arc::clone(&held.tenure)));
        if std::mem::replace(&mut book.state, State::Closed) != State::Closed {
            woken.extend(book.spread(&Notice::StateChanged(State::Closed)));
        }
        woken.extend(book.readers.drain(..).filter_map(|reader| reader.queue.end()));
        drop(book);
        held.iter().for_each(|held| held.tenure.wake());
        self.tasks.close();
        self.over.cancel();
        woken.into_iter().for_each(Waker::wake);
    }

    fn held<'book>(&self, book: &'book mut Book, token: Token, driver: &Weak<dyn Driver>) -> &'book mut Held {
        let place = book.held.iter().position(|held| held.tenure.token() == token).unwrap_or_else(|| {
            let started = self.clock.now();
            let election = Arc::clone(&self.election);
            let tenure = Tenure::new(token, started, election, self.clock.clone(), Weak::clone(driver));
            book.held.push(Held { tenure, draining: None });
            book.held.len() - 1
        });
        &mut book.held[place]
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// Puts a notice into every reader's queue, and returns the tasks to wake once the lock is released.
    fn spread(&mut self, notice: &Notice) -> Vec<Waker> {
        self.readers.retain(|reader| !reader.queue.is_deaf());
        if let Notice::Warning(warning) = notice
            && self.readers.iter().all(|reader| reader.reads == Reads::Inside)
            && self.early.len() < EARLY_WARNINGS
        {
            self.early.push(warning.clone());
        }
        let told = |reader: &Reader| reader.queue.push(reader.reads.notice(notice.clone()));
        self.readers.iter().filter_map(told).collect()
    }
}

impl Reads {
    /// The notice in the form for this kind of reader.
    fn notice(self, notice: Notice) -> Notice {
        match (self, notice) {
            (Self::Holding, Notice::Won(tenure)) => Notice::Held(Tenure::hold(&tenure)),
            (_, notice) => notice,
        }
    }
}

/// Whether a term's work is still waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drain {
    /// A handle holds the term, or no term is leaving.
    Held,
    /// No handle holds it: the work has ended.
    Done,
}

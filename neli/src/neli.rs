//! A member of the group, with goNELI's calls.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use incumbent::incumbent_core::campaign::{State as CampaignState, Warning};
use incumbent::incumbent_core::store::FaultKind;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::config::Config;
use super::event::{Barrier, Event};
use super::pulses::{Deadline, Pace, Pulses};
use incumbent::{
    Candidate, Clock, Error, ErrorKind, Handlers, LeaveRequest, Store, Term, TermView, panic_message,
};

/// The stages in the life of a [`Neli`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The `Neli` takes part in the election.
    Live,
    /// The `Neli` is leaving: it has been closed and the work is draining, or the clients are being closed.
    Closing,
    /// The `Neli` is over.
    Closed,
}

/// The error of a [pulse](Neli::pulse), and of a [`Pulser`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum PulseError {
    /// The member is closing or closed, as in goNELI's `ErrNonLivePulse`.
    #[error("cannot pulse: the member is closing or closed; create another with `Neli::new`")]
    NotLive,
    /// Kafka refuses this member, and only a person can change that. Each refusal is returned once, and the candidate
    /// continues.
    #[error("{0}")]
    Refused(Arc<Error>),
    /// The background task panicked with this message, which ended its term.
    #[error("the task panicked: {0}")]
    Panicked(String),
}

pub(super) type Poll = Box<dyn Fn(Arc<Shared>) -> BoxFuture<'static, ()> + Send + Sync>;

/// A member of the group that elects its leader, with goNELI's calls.
///
/// It is cheap to clone, and all clones are the same member. Dropping the last clone leaves the group as dropping a
/// [`Candidate`] does; [`close`](Self::close) is the orderly way.
#[derive(Clone)]
pub struct Neli {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    candidate: Candidate,
    /// The store, if it was opened only for this candidate.
    store: Option<Store>,
    pub(super) shared: Arc<Shared>,
    pulses: Pulses,
    /// The poll of a mock.
    poll: Option<Poll>,
    closing: CancellationToken,
}

/// The parts of a member.
pub(super) struct Parts {
    pub(super) candidate: Candidate,
    pub(super) store: Option<Store>,
    pub(super) clock: Clock,
    pub(super) pace: Pace,
    pub(super) barrier: Barrier,
    pub(super) poll: Option<Poll>,
}

/// The state that the barrier's task writes and pulses read.
pub(super) struct Shared {
    pub(super) leadership: watch::Sender<Leadership>,
    /// The refusal that the next pulse returns.
    pub(super) refused: Mutex<Option<Error>>,
    pub(super) barrier: tokio::sync::Mutex<Barrier>,
}

#[derive(Clone, Default)]
pub(super) struct Leadership {
    /// The term that was acquired and has not been revoked or fenced since.
    pub(super) term: Option<TermView>,
    /// True if the barrier has returned for that term.
    pub(super) is_ready: bool,
    /// The number of calls of the barrier that have returned.
    #[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "a mock waits for them"))]
    pub(super) calls: u64,
}

impl Neli {
    /// Joins the group, as a candidate on its own store. Call it on a tokio runtime.
    ///
    /// # Errors
    /// `InvalidSetting` for a setting that goNELI or this library refuses; the message names it, its value and the
    /// limit. Otherwise the errors of [`Store::open`] and [`Store::campaign`].
    pub async fn new(config: Config) -> incumbent::Result<Self> {
        let config = config.check()?;
        let store = Store::builder().open_settings(config.settings).await?;
        let candidate = store.campaign(&config.group, config.options).await?;
        Ok(Self::start(Parts {
            candidate,
            store: Some(store),
            clock: Clock::system(),
            pace: config.pace,
            barrier: config.barrier,
            poll: None,
        }))
    }

    pub(super) fn start(parts: Parts) -> Self {
        let Parts { candidate, store, clock, pace, barrier, poll } = parts;
        let shared = Arc::new(Shared {
            leadership: watch::Sender::default(),
            refused: Mutex::default(),
            barrier: tokio::sync::Mutex::new(barrier),
        });
        candidate.attach(shared.handlers());
        let inner = Arc::new_cyclic(|inner: &Weak<Inner>| {
            let inner = Weak::clone(inner);
            let late = move || {
                if let Some(inner) = inner.upgrade() {
                    inner.candidate.set_healthy(false);
                }
            };
            let pulses = Pulses::start(clock, pace, late);
            Inner { candidate, store, shared, pulses, poll, closing: CancellationToken::new() }
        });
        Self { inner }
    }

    /// Returns the candidate, which has the term with the fencing token, the events and the present leader.
    pub fn candidate(&self) -> &Candidate {
        &self.inner.candidate
    }

    /// Returns true if this process leads *now*, by the clock. It is false before [`Event::Acquired`], and also after
    /// [`Event::Revoked`], although the lease is held until the barrier has returned.
    pub fn is_leader(&self) -> bool {
        self.inner.shared.leadership.borrow().term.as_ref().is_some_and(TermView::is_current)
    }

    /// Returns true as soon as this process leads and the barrier has returned for that term, and false if that does
    /// not happen within `timeout`. While this process leads, the call returns at once. The future may be dropped at
    /// any time.
    ///
    /// Call it repeatedly: a program that has not pulsed for [`max.poll.interval.ms`](Config::max_poll_interval) leaves
    /// the group.
    ///
    /// # Errors
    /// `NotLive` once the member has been closed; `Refused`.
    pub async fn pulse(&self, timeout: Duration) -> Result<bool, PulseError> {
        let clock = self.inner.pulses.clock();
        // A polling pulse waits as long as a poll would, even with a shorter timeout.
        let least = if self.deadline().is_expired() {
            self.inner.pulses.pace().poll_duration
        } else {
            Duration::ZERO
        };
        let until = clock.now() + timeout.max(least);
        self.pulse_until(clock.sleep_until(until)).await
    }

    /// Like [`pulse`](Self::pulse), but waits until `cancelled` completes, as goNELI's `PulseCtx` does.
    ///
    /// # Errors
    /// Those of [`pulse`](Self::pulse).
    pub async fn pulse_until(&self, cancelled: impl Future<Output = ()>) -> Result<bool, PulseError> {
        let inner = &*self.inner;
        let _pulsing = inner.pulses.begin(|| inner.candidate.set_healthy(true));
        let mut leadership = inner.shared.leadership.subscribe();
        let mut cancelled = std::pin::pin!(cancelled);
        loop {
            if inner.pulses.deadline().try_move()
                && let Some(poll) = &inner.poll
            {
                poll(Arc::clone(&inner.shared)).await;
            }
            if let Some(refused) = lock(&inner.shared.refused).take() {
                return Err(PulseError::Refused(Arc::new(refused)));
            }
            if self.state() != State::Live {
                return Err(PulseError::NotLive);
            }
            if self.ready_term().is_some() {
                return Ok(true);
            }
            tokio::select! {
                biased;
                // The sender belongs to the same value as `self`, so it still exists.
                _ = leadership.changed() => {}
                () = inner.closing.cancelled() => {}
                () = inner.candidate.closed() => {}
                () = &mut cancelled => return Ok(false),
                () = inner.pulses.deadline().expired() => {}
            }
        }
    }

    /// Calls `task` repeatedly on a separate task while this process leads, after a [pulse](Self::pulse) each time,
    /// until the member or the returned pulser is closed.
    ///
    /// `task` does a small piece of work and returns. If it returns at once, it is called again at once. It is dropped
    /// the moment its term ends, and not called in a term that is being revoked. The fencing token is in the term that
    /// it gets.
    ///
    /// # Panics
    /// When called outside of a tokio runtime.
    pub fn background<F, Fut>(&self, task: F) -> Pulser
    where
        F: FnMut(Term) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let (outcome, ended) = watch::channel(None);
        let stop = CancellationToken::new();
        let (neli, stopped) = (self.clone(), stop.clone());
        tokio::spawn(async move {
            let result = neli.repeat(task, &stopped).await;
            outcome.send_replace(Some(result));
        });
        Pulser { stop, ended }
    }

    async fn repeat<F, Fut>(&self, mut task: F, stop: &CancellationToken) -> Result<(), PulseError>
    where
        F: FnMut(Term) -> Fut + Send,
        Fut: Future<Output = ()> + Send,
    {
        loop {
            let pulsed = self.pulse_until(stop.cancelled()).await;
            if stop.is_cancelled() {
                return Ok(());
            }
            match pulsed {
                Err(PulseError::NotLive) => return Ok(()),
                Err(error) => return Err(error),
                Ok(_) => {}
            }
            let Some(term) = self.ready_term().map(|term| term.hold()).filter(|term| term.is_current())
            else {
                continue;
            };
            let work = AssertUnwindSafe(async { task(term.clone()).await }).catch_unwind();
            if let Ok(Err(panic)) = LeaveRequest::awaited_in(term.run(work)).await {
                term.fail();
                return Err(PulseError::Panicked(panic_message(&*panic).to_owned()));
            }
            drop(term);
            // The other tasks of the runtime get their turn even if this task never waits.
            tokio::task::yield_now().await;
        }
    }

    /// The minimum interval between polls, as a deadline: the time of the last poll, and the time at which a pulse will
    /// poll again.
    pub fn deadline(&self) -> &Deadline {
        self.inner.pulses.deadline()
    }

    /// The stage in the life of this member. It is `Closed` also if the candidate was closed by other means.
    pub fn state(&self) -> State {
        if self.inner.candidate.state() == CampaignState::Closed {
            State::Closed
        } else if self.inner.closing.is_cancelled() {
            State::Closing
        } else {
            State::Live
        }
    }

    /// Leaves the group and closes the clients. A leader is revoked first: the barrier and a running task finish, until
    /// the drain limit is over. The call does not hang if Kafka does not answer: a client that has not closed after 10
    /// s is abandoned, with a warning. Further calls wait for the same close.
    ///
    /// # Errors
    /// `Forked` in a forked child.
    pub async fn close(&self) -> incumbent::Result<()> {
        self.inner.closing.cancel();
        self.inner.candidate.close().await?;
        match &self.inner.store {
            Some(store) => store.close().await,
            None => Ok(()),
        }
    }

    /// Waits until the member is closed, like goNELI's `Await`.
    pub async fn closed(&self) {
        self.inner.candidate.closed().await;
    }

    /// The term in which a pulse returns true.
    fn ready_term(&self) -> Option<TermView> {
        let leadership = self.inner.shared.leadership.borrow();
        leadership.term.as_ref().filter(|term| leadership.is_ready && term.is_current()).cloned()
    }
}

impl fmt::Debug for Neli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neli")
            .field("candidate", &self.inner.candidate)
            .field("state", &self.state())
            .field("is_leader", &self.is_leader())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Returns the handlers that call the barrier. They are called one at a time, so none waits for the barrier's lock.
    fn handlers(self: &Arc<Self>) -> Handlers {
        let (of_won, of_draining, of_lost, of_warning) =
            (Arc::clone(self), Arc::clone(self), Arc::clone(self), Arc::clone(self));
        Handlers::new()
            .on_won(move |term: Term| {
                let shared = Arc::clone(&of_won);
                async move {
                    let view = term.view();
                    drop(term);
                    shared.acquired(view).await;
                }
            })
            // A drain has a handler, so the term is held until it has returned.
            .on_draining(move |_, _| {
                let shared = Arc::clone(&of_draining);
                async move {
                    if shared.take_term() {
                        shared.call(Event::Revoked).await;
                    }
                }
            })
            .on_lost(move |_, _| {
                let shared = Arc::clone(&of_lost);
                async move {
                    if shared.take_term() {
                        shared.call(Event::Fenced).await;
                    }
                }
            })
            .on_warning(move |warning| {
                of_warning.warned(&warning);
                async {}
            })
    }

    async fn acquired(&self, term: TermView) {
        // The barrier was never called for a term that was lost in the meantime, so it is not called for its end.
        if !term.is_current() {
            return;
        }
        self.leadership.send_modify(|leadership| {
            (leadership.term, leadership.is_ready) = (Some(term), false);
        });
        self.call(Event::Acquired).await;
        self.leadership.send_modify(|leadership| leadership.is_ready = leadership.term.is_some());
    }

    /// Ends the leadership for pulses, and returns whether there was one.
    fn take_term(&self) -> bool {
        self.leadership.send_if_modified(|leadership| leadership.term.take().is_some())
    }

    pub(super) async fn call(&self, event: Event) {
        /// Counts a call of the barrier as returned, even if the call panicked.
        struct Returned<'a>(&'a watch::Sender<Leadership>);
        impl Drop for Returned<'_> {
            fn drop(&mut self) {
                self.0.send_modify(|leadership| leadership.calls += 1);
            }
        }
        let _returned = Returned(&self.leadership);
        let mut barrier = self.barrier.lock().await;
        barrier(event).await;
    }

    /// Keeps a refusal for the next pulse. As in goNELI, a store that does not answer or cannot serve is no refusal,
    /// and the member waits for it.
    fn warned(&self, warning: &Warning) {
        if let Warning::Store(fault) = warning
            && fault.kind == FaultKind::Denied
        {
            self.refuse(Error::new(ErrorKind::PermissionDenied, fault.detail.clone()));
        }
    }

    pub(super) fn refuse(&self, error: Error) {
        *lock(&self.refused) = Some(error);
        // Wakes the pulses that wait.
        self.leadership.send_modify(|_| {});
    }
}

/// The handle of [pulses in the background](Neli::background). Dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct Pulser {
    stop: CancellationToken,
    ended: watch::Receiver<Option<Result<(), PulseError>>>,
}

impl Pulser {
    /// Ends the pulses. A running task returns first, and is not called again. The member continues, and may lead.
    pub fn close(&self) {
        self.stop.cancel();
    }

    /// The error that ended the pulser; `None` while it runs, and if it was closed.
    pub fn error(&self) -> Option<PulseError> {
        self.ended.borrow().as_ref().and_then(|ended| ended.as_ref().err().cloned())
    }

    /// Waits until the pulser has ended, like goNELI's `Await`.
    ///
    /// # Errors
    /// The error that ended the pulser. Closing the member is not an error.
    pub async fn ended(&self) -> Result<(), PulseError> {
        let mut ended = self.ended.clone();
        // A runtime that shuts down drops the sender before there is a result.
        ended.wait_for(Option::is_some).await.map_or(Ok(()), |ended| ended.clone().unwrap_or(Ok(())))
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

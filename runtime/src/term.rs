//! A term: the handle that holds it, and the view that does not.

use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use std::time::Duration;

use incumbent_core::campaign::Reason;
use incumbent_core::{Instant, Token};
use tokio_util::sync::CancellationToken;

use crate::driver::command::{Command, CommandSink};
use crate::lazy_token::LazyToken;
use incumbent_store::clock::Clock;
use incumbent_store::fork::ForkGuard;

/// One uninterrupted leadership: from `Won` to `Lost`.
///
/// Code that works for the term keeps a clone. When the leader leaves voluntarily, the term is *draining* until the
/// last clone is dropped, or [`drained`](TermView::drained) is called, or the drain time is over; the lease is held and
/// renewed meanwhile. If no clone is kept, there is nothing to wait for, and the term ends at once.
///
/// The lease is released only once the work has ended. If the drain time is over before the last clone is dropped, the
/// term is lost and no longer renewed; another candidate leads when the clone is dropped, or when the lease has run
/// out. The term of a [`Lost`](crate::Event::Lost) event is not such a clone.
///
/// A term derefs to its [view](TermView), which has its properties: `term.token()`, `term.is_current()`.
///
/// ```
/// # use incumbent::{CampaignOptions, Store};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> incumbent::Result<()> {
/// # let store = Store::open("memory:").await?;
/// # let candidate = store.campaign("jobs", CampaignOptions::new()).await?;
/// let term = candidate.next_term().await?;
/// println!("leading with fencing token {}", term.token());
/// let answer = term.run(async { 6 * 7 }).await.expect("the term continues");
/// assert_eq!(answer, 42);
/// # drop(term);
/// # candidate.close().await }
/// ```
pub struct Term {
    view: TermView,
    /// True if the release waits for this handle.
    holds: bool,
}

/// The term ended before the work that was run in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermEnded {
    /// The reason.
    pub reason: Reason,
}

impl Term {
    /// Returns a token that is cancelled when the term ends. If the caller cancels it, only its own listeners are
    /// affected.
    pub fn cancellation(&self) -> CancellationToken {
        self.view.0.ended.get().child_token()
    }

    /// Runs `work` until it is done or the term ends, whichever comes first. If the term ends first, the work is
    /// dropped.
    ///
    /// The clock is read before every poll, so work is not resumed after the deadline even if the process was stopped
    /// or its timers are late.
    ///
    /// # Errors
    /// [`TermEnded`] if the term ended first.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, TermEnded> {
        let mut work = pin!(work);
        let mut ended = pin!(self.view.0.ended.get().cancelled());
        poll_fn(|cx| {
            if ended.as_mut().poll(cx).is_ready() || !self.is_current() {
                return Poll::Ready(Err(TermEnded { reason: self.reason_or_expired() }));
            }
            work.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// Returns a view of the term, which does not hold up a drain.
    pub fn view(&self) -> TermView {
        self.view.clone()
    }

    /// The same term, held.
    pub(crate) fn held(self) -> Self {
        if self.holds { self } else { self.view.hold() }
    }
}

impl Deref for Term {
    type Target = TermView;

    fn deref(&self) -> &TermView {
        &self.view
    }
}

impl Clone for Term {
    fn clone(&self) -> Self {
        if self.holds { self.view.hold() } else { self.view.watch() }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        if !self.holds {
            return;
        }
        // This drop and the driver's check of a leaving term each write one of two values before reading the other,
        // with sequential consistency. So at least one of them sees that no holder is left.
        let state = &self.view.0;
        let last = state.holders.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && state.is_leaving.load(Ordering::SeqCst) {
            self.view.report_work_ended();
        }
    }
}

impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        self.view == other.view
    }
}

impl Eq for Term {}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt_as("Term", f)
    }
}

impl fmt::Display for TermEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the term ended: {}", self.reason)
    }
}

impl std::error::Error for TermEnded {}

/// A view of a [`Term`]: keeping it does not hold up a drain.
///
/// For languages with garbage collection, and for code that keeps terms in a list. Code that works for the term should
/// [hold](Self::hold) it meanwhile.
///
/// ```
/// # use incumbent::{CampaignOptions, Store};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> incumbent::Result<()> {
/// # let store = Store::open("memory:").await?;
/// # let candidate = store.campaign("jobs", CampaignOptions::new()).await?;
/// let view = candidate.next_term().await?.view();
/// assert!(view.is_current());
/// candidate.resign().await?; // no handle holds the term, so there is nothing to wait for
/// assert!(!view.is_current());
/// # candidate.close().await }
/// ```
#[derive(Clone)]
pub struct TermView(Arc<TermState>);

impl TermView {
    /// Returns a handle of the term for code that works for it. A drain waits for this handle.
    pub fn hold(&self) -> Term {
        self.0.holders.fetch_add(1, Ordering::SeqCst);
        Term { view: self.clone(), holds: true }
    }

    /// The fencing token: constant for the term, and larger for every later one. Send it with every request, and let
    /// the resource refuse a token that is smaller than one it has seen.
    pub fn token(&self) -> Token {
        self.0.token
    }

    /// The key of the election.
    pub fn election(&self) -> &str {
        &self.0.election
    }

    /// The instant at which `Won` was emitted, on the store's clock.
    pub fn started(&self) -> Instant {
        self.0.started
    }

    /// The time since `Won` was emitted, whether or not the term has ended.
    pub fn age(&self) -> Duration {
        self.0.clock.now().since(self.0.started)
    }

    /// The end of the lease as proven so far, on the store's clock. Renewals extend it. Once the term has ended, it is
    /// the origin of the clock.
    pub fn deadline(&self) -> Instant {
        Instant::from_nanos(self.0.deadline.load(Ordering::Acquire))
    }

    /// The time left until the [deadline](Self::deadline); zero once the term has ended, and in a forked child.
    pub fn remaining(&self) -> Duration {
        let deadline = self.deadline();
        if self.is_forked() { Duration::ZERO } else { deadline.since(self.0.clock.now()) }
    }

    /// Returns true if the term lasts *now*, by the clock and not by a timer. The call takes no lock. It is never true
    /// in a forked child.
    pub fn is_current(&self) -> bool {
        leads(&self.0.deadline, &self.0.clock, self.0.fork_guard)
    }

    /// The reason for the end of the term; `None` while the term lasts.
    ///
    /// It can be `None` for a moment after [`is_current`](Self::is_current) has turned false because the clock passed
    /// the deadline.
    pub fn reason(&self) -> Option<Reason> {
        self.0.reason.get().copied()
    }

    /// The time by which a draining leader must finish its work; `None` while the leader is not draining.
    pub fn drains_until(&self) -> Option<Instant> {
        self.0.drains_until.get().copied()
    }

    /// The time left for a draining leader to finish its work; `None` while the leader is not draining.
    pub fn drain_remaining(&self) -> Option<Duration> {
        self.drains_until().map(|until| until.since(self.0.clock.now()))
    }

    /// Waits until the leader begins to leave voluntarily, or the term is over: from then on, take on no new work.
    /// Returns at once in a forked child.
    pub async fn draining(&self) {
        if !self.is_forked() {
            self.0.draining.get().cancelled().await;
        }
    }

    /// Waits until the term is over, and returns the reason. Returns at once in a forked child.
    pub async fn ended(&self) -> Reason {
        if !self.is_forked() {
            self.0.ended.get().cancelled().await;
        }
        self.reason_or_expired()
    }

    /// Reports that the work of the term has ended, even if clones are kept. A draining term ends now, and a term that
    /// was lost because its drain time ran out is released. In any other case the call does nothing.
    pub fn drained(&self) {
        self.send(Command::Drained(self.token()));
    }

    /// Ends the term because its work failed, with [`Reason::HandlerFailed`] and without a drain. The lease is released
    /// when the last clone is dropped.
    pub fn fail(&self) {
        self.send(Command::HandlerFailed(self.token()));
    }

    fn reason_or_expired(&self) -> Reason {
        self.reason().unwrap_or(Reason::Expired)
    }

    fn is_forked(&self) -> bool {
        self.0.fork_guard.is_forked()
    }

    /// Reports that the last holder is gone.
    fn report_work_ended(&self) {
        let is_over = self.reason().is_some();
        if !is_over || self.0.driver.upgrade().is_some_and(|driver| driver.waits_for_work()) {
            self.drained();
        }
    }

    fn send(&self, command: Command) {
        if self.is_forked() {
            return;
        }
        if let Some(driver) = self.0.driver.upgrade() {
            driver.send(command);
        }
    }

    fn fmt_as(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("election", &self.election())
            .field("token", &format_args!("{}", self.token()))
            .field("is_current", &self.is_current())
            .field("reason", &self.reason())
            .finish()
    }
}

/// The driver's side of a term.
impl TermView {
    pub(crate) fn new(
        token: Token,
        started: Instant,
        election: Arc<str>,
        clock: Clock,
        driver: Weak<dyn CommandSink>,
    ) -> Self {
        Self(Arc::new(TermState {
            token,
            election,
            clock,
            fork_guard: ForkGuard::new(),
            driver,
            started,
            deadline: AtomicU64::new(0),
            holders: AtomicUsize::new(0),
            is_leaving: AtomicBool::new(false),
            drains_until: OnceLock::new(),
            draining: LazyToken::default(),
            reason: OnceLock::new(),
            ended: LazyToken::default(),
        }))
    }

    /// Returns a handle for an event that has not been read yet. Unlike other handles, it does not count as a holder.
    pub(crate) fn watch(&self) -> Term {
        Term { view: self.clone(), holds: false }
    }

    /// Sets the reason of the end that is about to be published.
    pub(crate) fn set_reason(&self, reason: Reason) {
        self.0.reason.get_or_init(|| reason);
    }

    /// Moves the deadline. Zero ends the right to lead.
    pub(crate) fn set_deadline(&self, deadline: Instant) {
        self.0.deadline.store(deadline.as_nanos(), Ordering::Release);
    }

    /// Begins a drain, and returns true if its work has ended. Call [`wake`](Self::wake) next.
    pub(crate) fn drain(&self, until: Instant) -> bool {
        self.0.drains_until.get_or_init(|| until);
        self.work_ended()
    }

    /// Ends the term, and returns true if its work has ended. Call [`wake`](Self::wake) next.
    pub(crate) fn end(&self, reason: Reason) -> bool {
        self.set_reason(reason);
        self.set_deadline(Instant::ZERO);
        self.work_ended()
    }

    /// Returns true if the work of a leaving term has ended, because no handle holds it. Otherwise the drop of the last
    /// handle reports its end.
    pub(crate) fn work_ended(&self) -> bool {
        self.0.is_leaving.store(true, Ordering::SeqCst);
        self.0.holders.load(Ordering::SeqCst) == 0
    }

    /// Wakes the tasks that wait for [`drain`](Self::drain) or [`end`](Self::end). The caller must hold no lock,
    /// because a waker may run any code.
    pub(crate) fn wake(&self) {
        if self.0.reason.get().is_some() {
            self.0.ended.cancel();
        }
        self.0.draining.cancel();
    }
}

impl PartialEq for TermView {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for TermView {}

impl fmt::Debug for TermView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as("TermView", f)
    }
}

/// The state that all clones of a term share with the driver and with the queues of events. Unlike a [`Term`], it
/// does not hold up a drain.
struct TermState {
    token: Token,
    election: Arc<str>,
    clock: Clock,
    fork_guard: ForkGuard,
    driver: Weak<dyn CommandSink>,
    /// The start of the term, which is written once, before the first handle is given out.
    started: Instant,
    /// The deadline in nanoseconds; zero once the term is over.
    deadline: AtomicU64,
    holders: AtomicUsize,
    /// Whether the term drains or has ended, so that the driver waits for the last holder.
    is_leaving: AtomicBool,
    drains_until: OnceLock<Instant>,
    draining: LazyToken,
    reason: OnceLock<Reason>,
    ended: LazyToken,
}

/// Returns true if a deadline is still ahead, in the process that acquired it.
///
/// The deadline is loaded *before* the clock is read, so the answer is true of the moment of the load, however long the
/// thread is stopped between the two.
pub(crate) fn leads(deadline: &AtomicU64, clock: &Clock, fork_guard: ForkGuard) -> bool {
    let deadline = deadline.load(Ordering::Acquire);
    clock.now().as_nanos() < deadline && !fork_guard.is_forked()
}

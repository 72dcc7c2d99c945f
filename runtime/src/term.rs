//! A term, as its holder sees it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use std::time::Duration;

use incumbent_core::campaign::Reason;
use incumbent_core::{Instant, Token};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::driver::{Command, CommandSink};
use crate::fork::ForkGuard;
use crate::view::TermView;

/// One uninterrupted leadership: from `Won` to `Lost`.
///
/// Code that works for the term keeps a clone. When the leader leaves voluntarily, the term is *draining* until
/// the last clone is dropped, or [`drained`](Self::drained) is called, or the drain time is over; the lease is
/// held and renewed meanwhile. Where no clone is kept there is nothing to wait for, and the term ends at once.
///
/// The lease is released only once the work has ended. Where the drain time is over before the last clone is
/// dropped, the term is lost and no longer renewed; another candidate leads when the clone is dropped, or when the
/// lease has run out. The term of a [`Lost`](crate::Event::Lost) event is not such a clone.
///
/// ```
/// # use incumbent::{CampaignOptions, Store};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> incumbent::Result<()> {
/// # let store = Store::open("memory:").await?;
/// # let candidate = store.campaign("jobs", CampaignOptions::new()).await?;
/// let term = candidate.next_term().await?;
/// println!("leading with fencing token {}", term.token());
/// let answer = term.run(async { 6 * 7 }).await.expect("nobody ended the term meanwhile");
/// assert_eq!(answer, 42);
/// # drop(term);
/// # candidate.close().await }
/// ```
pub struct Term {
    tenure: Arc<Tenure>,
    /// Whether the release waits for this handle.
    holds: bool,
}

/// A term ended before the work that was run in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermEnded {
    /// The reason.
    pub reason: Reason,
}

impl Term {
    /// The fencing token: constant for the term, larger for every later one. Send it with every
    /// request, and let the resource refuse a smaller one than it has seen.
    pub fn token(&self) -> Token {
        self.tenure.token
    }

    /// The key of the election.
    pub fn election(&self) -> &str {
        &self.tenure.election
    }

    /// The instant of the `Won`, on the store's clock.
    pub fn started(&self) -> Instant {
        self.tenure.started
    }

    /// The time since the `Won`, whether or not the term is over by now.
    pub fn age(&self) -> Duration {
        self.tenure.age()
    }

    /// The end of the lease as proven so far, on the store's clock; renewals extend it. The clock's origin once
    /// the term has ended.
    pub fn deadline(&self) -> Instant {
        self.tenure.deadline()
    }

    /// The time left until the [deadline](Self::deadline); zero once the term has ended.
    pub fn remaining(&self) -> Duration {
        self.tenure.remaining()
    }

    /// Whether the term lasts *now*, by the clock and not by a timer; without a lock. Never true in a forked child.
    pub fn is_current(&self) -> bool {
        self.tenure.is_current()
    }

    /// The reason for the end of the term; `None` while it lasts.
    ///
    /// It can be `None` for a moment after [`is_current`](Self::is_current) turned false by the clock.
    pub fn reason(&self) -> Option<Reason> {
        self.tenure.reason()
    }

    /// The time by which a draining leader must finish its work; `None` while it is not draining.
    pub fn drains_until(&self) -> Option<Instant> {
        self.tenure.drains_until()
    }

    /// The time left for a draining leader to finish its work; `None` while it is not draining.
    pub fn drain_remaining(&self) -> Option<Duration> {
        self.tenure.drain_remaining()
    }

    /// Returns when the leader begins to leave voluntarily, or the term is over: time to stop taking on new work.
    /// At once in a forked child.
    pub async fn draining(&self) {
        self.tenure.drain_begun().await;
    }

    /// Returns when the term is over, with the reason; at once in a forked child.
    pub async fn ended(&self) -> Reason {
        self.tenure.over().await
    }

    /// A token that is cancelled the moment the term ends. Cancelling it yourself affects only its own listeners.
    pub fn cancellation(&self) -> CancellationToken {
        self.tenure.ended.child_token()
    }

    /// Reports that the work of the term has ended, even if clones are kept: a draining term ends now, and one
    /// that was lost because its drain time was over is released. Does nothing to a term that is not draining.
    pub fn drained(&self) {
        self.tenure.send_drained();
    }

    /// Ends the term because its work failed, with [`Reason::HandlerFailed`]; nothing is drained. The lease is
    /// released when the last clone is dropped.
    pub fn fail(&self) {
        self.tenure.send_failed();
    }

    /// Runs `work` until it is done or the term ends, whichever comes first; the work is then dropped.
    ///
    /// The clock is read before every poll, so work is not resumed after the deadline even if the
    /// process was stopped or its timers are late.
    ///
    /// # Errors
    /// [`TermEnded`] where the term ended first.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, TermEnded> {
        let mut work = pin!(work);
        let mut ended = pin!(self.tenure.ended.cancelled());
        poll_fn(|cx| {
            if ended.as_mut().poll(cx).is_ready() || !self.is_current() {
                return Poll::Ready(Err(TermEnded { reason: self.tenure.reason_or_expired() }));
            }
            work.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// A view of the term, which does not hold up a drain.
    pub fn view(&self) -> TermView {
        TermView::of(&self.tenure)
    }
}

impl Clone for Term {
    fn clone(&self) -> Self {
        if self.holds { Tenure::hold(&self.tenure) } else { Tenure::look(&self.tenure) }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        if !self.holds {
            return;
        }
        // This and the driver's check of a leaving term each write one of the two values before reading the other,
        // sequentially consistent. So at least one of them sees that no holder is left.
        let last = self.tenure.holders.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && self.tenure.is_leaving.load(Ordering::SeqCst) {
            self.tenure.send_ended();
        }
    }
}

impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tenure, &other.tenure)
    }
}

impl Eq for Term {}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Term")
            .field("election", &self.tenure.election)
            .field("token", &format_args!("{}", self.tenure.token))
            .field("is_current", &self.is_current())
            .field("reason", &self.reason())
            .finish()
    }
}

impl fmt::Display for TermEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the term ended: {}", self.reason)
    }
}

impl std::error::Error for TermEnded {}

/// The state that all clones of a term share with the driver and with the queues of events. Unlike a [`Term`], it
/// does not hold up a drain.
pub(crate) struct Tenure {
    token: Token,
    election: Arc<str>,
    clock: Clock,
    fork_guard: ForkGuard,
    driver: Weak<dyn CommandSink>,
    /// Written once, before the first handle is given out.
    started: Instant,
    /// In nanoseconds; zero once the term is over.
    deadline: AtomicU64,
    holders: AtomicUsize,
    /// The term drains, or has ended: the driver waits for the last holder.
    is_leaving: AtomicBool,
    drains_until: OnceLock<Instant>,
    draining: CancellationToken,
    reason: OnceLock<Reason>,
    ended: CancellationToken,
}

impl Tenure {
    pub(crate) fn new(
        token: Token,
        started: Instant,
        election: Arc<str>,
        clock: Clock,
        driver: Weak<dyn CommandSink>,
    ) -> Arc<Self> {
        Arc::new(Self {
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
            draining: CancellationToken::new(),
            reason: OnceLock::new(),
            ended: CancellationToken::new(),
        })
    }

    /// A handle that counts as a holder.
    pub(crate) fn hold(tenure: &Arc<Self>) -> Term {
        tenure.holders.fetch_add(1, Ordering::SeqCst);
        Term { tenure: Arc::clone(tenure), holds: true }
    }

    /// A handle that does not count as a holder.
    pub(crate) fn look(tenure: &Arc<Self>) -> Term {
        Term { tenure: Arc::clone(tenure), holds: false }
    }

    pub(crate) fn token(&self) -> Token {
        self.token
    }

    /// Moves the deadline; zero ends the right to lead.
    pub(crate) fn set_deadline(&self, deadline: Instant) {
        self.deadline.store(deadline.as_nanos(), Ordering::Release);
    }

    /// Begins a drain, and returns whether its work has ended. Call [`wake`](Self::wake) next.
    pub(crate) fn drain(&self, until: Instant) -> bool {
        self.drains_until.get_or_init(|| until);
        self.has_ended()
    }

    /// Ends the term, and returns whether its work has ended. Call [`wake`](Self::wake) next.
    pub(crate) fn end(&self, reason: Reason) -> bool {
        self.set_deadline(Instant::ZERO);
        self.reason.get_or_init(|| reason);
        self.has_ended()
    }

    /// Whether the work of a leaving term has ended, because no handle holds it. Otherwise the drop of the last
    /// handle reports it.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_leaving.store(true, Ordering::SeqCst);
        self.holders.load(Ordering::SeqCst) == 0
    }

    /// Wakes the tasks that wait for [`drain`](Self::drain) or [`end`](Self::end). Called with no lock held,
    /// because a waker may run any code.
    pub(crate) fn wake(&self) {
        if self.reason.get().is_some() {
            self.ended.cancel();
        }
        self.draining.cancel();
    }

    pub(crate) fn is_current(&self) -> bool {
        leads(&self.deadline, &self.clock, self.fork_guard)
    }

    pub(crate) fn election(&self) -> &str {
        &self.election
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    pub(crate) fn age(&self) -> Duration {
        self.clock.now().since(self.started)
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::from_nanos(self.deadline.load(Ordering::Acquire))
    }

    pub(crate) fn remaining(&self) -> Duration {
        let deadline = self.deadline();
        if self.fork_guard.is_forked() { Duration::ZERO } else { deadline.since(self.clock.now()) }
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        self.reason.get().copied()
    }

    pub(crate) fn reason_or_expired(&self) -> Reason {
        self.reason().unwrap_or(Reason::Expired)
    }

    pub(crate) fn drains_until(&self) -> Option<Instant> {
        self.drains_until.get().copied()
    }

    pub(crate) fn drain_remaining(&self) -> Option<Duration> {
        self.drains_until().map(|until| until.since(self.clock.now()))
    }

    pub(crate) async fn drain_begun(&self) {
        if !self.fork_guard.is_forked() {
            self.draining.cancelled().await;
        }
    }

    pub(crate) async fn over(&self) -> Reason {
        if !self.fork_guard.is_forked() {
            self.ended.cancelled().await;
        }
        self.reason_or_expired()
    }

    pub(crate) fn send_drained(&self) {
        self.send(Command::Drained(self.token));
    }

    /// Reports that the last holder is gone.
    fn send_ended(&self) {
        let is_over = self.reason().is_some();
        if !is_over || self.driver.upgrade().is_some_and(|driver| driver.waits_for_work()) {
            self.send_drained();
        }
    }

    pub(crate) fn send_failed(&self) {
        self.send(Command::HandlerFailed(self.token));
    }

    fn send(&self, command: Command) {
        if self.fork_guard.is_forked() {
            return;
        }
        if let Some(driver) = self.driver.upgrade() {
            driver.send(command);
        }
    }
}

/// Whether a deadline is still ahead, in the process that acquired it.
///
/// The deadline is loaded *before* the clock is read: the answer is then true of the moment of the
/// load, however long the thread is stopped between the two.
pub(crate) fn leads(deadline: &AtomicU64, clock: &Clock, fork_guard: ForkGuard) -> bool {
    let deadline = deadline.load(Ordering::Acquire);
    clock.now().as_nanos() < deadline && !fork_guard.is_forked()
}

//! The health of a candidate: its health check, and whether its program's event loop responds.
//!
//! Leases are renewed on a separate thread, whatever the program does. A program that hangs would therefore lead until
//! it is killed. So a watched program must show within a lease that its event loop responds.
//!
//! The loop is probed from outside, so it needs no timer of its own. It is probed only while one of its candidates
//! leads: four times per limit, and once for all its candidates. A loop hangs if it has not answered after four
//! quarters of the limit on *this* side. A quarter counts as one however long it took. So the loop loses no time when
//! the process is stopped, or when the machine sleeps or is too busy to run anything.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::candidate_state::{CandidateState, Subscriber};
use crate::driver::command::{Command, CommandSink};
use crate::event::Event;
use crate::term::TermView;

/// The number of probes per limit. A hang is noticed at most a quarter of the limit too late.
const QUARTERS: u32 = 4;

/// Detects whether an event loop responds; see [`CampaignOptions::watch_loop`](crate::CampaignOptions::watch_loop).
///
/// Each event loop has one probe, shared by all its candidates. Clones are the same probe.
#[derive(Clone)]
pub struct LoopProbe {
    inner: Arc<Inner>,
}

struct Inner {
    ask: Box<dyn Fn() -> bool + Send + Sync>,
    state: Mutex<State>,
    /// Notified when the loop has answered or ended.
    changed: Notify,
}

struct State {
    /// The number of the loop's answers.
    answers: u64,
    /// The time of the last probe, and whether it is still unanswered.
    asked: Option<Instant>,
    is_unanswered: bool,
    /// True if the loop has ended, so that it can neither respond nor hang.
    is_over: bool,
}

impl LoopProbe {
    /// Creates a probe. `ask` makes the event loop call [`answered`](Self::answered) at its next turn, and returns true
    /// if the loop still exists. `ask` is called on the runtime that campaigns, and must return at once.
    pub fn new(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let state = State { answers: 0, asked: None, is_unanswered: false, is_over: false };
        Self {
            inner: Arc::new(Inner { ask: Box::new(ask), state: Mutex::new(state), changed: Notify::new() }),
        }
    }

    /// Reports that the event loop responds. Call this on the loop itself; it takes a few dozen nanoseconds.
    pub fn answered(&self) {
        let mut state = self.inner.lock();
        state.answers = state.answers.wrapping_add(1);
        state.is_unanswered = false;
        drop(state);
        self.inner.changed.notify_waiters();
    }

    /// Reports that the program has ended the event loop, which is no longer watched.
    pub fn stop(&self) {
        self.inner.lock().is_over = true;
        self.inner.changed.notify_waiters();
    }

    /// Waits until the loop has not answered for `limit`, and returns the number of its answers so far. Never returns
    /// once the loop has ended.
    async fn hangs(&self, limit: Duration) -> u64 {
        let quarter = limit / QUARTERS;
        loop {
            let (answers, due) = {
                let state = self.inner.lock();
                let answered = state.asked.filter(|_| !state.is_unanswered);
                (state.answers, answered.map(|asked| asked + quarter))
            };
            // The loop answered less than a quarter of the limit ago, perhaps for another candidate, so the next probe
            // is due when that quarter is over.
            if let Some(due) = due.filter(|due| *due > Instant::now()) {
                tokio::time::sleep_until(due).await;
                continue;
            }
            if !self.ask() {
                return std::future::pending().await;
            }
            let mut passed = 0;
            while self.is_silent_since(answers) {
                if passed == QUARTERS {
                    return answers;
                }
                tokio::time::sleep(quarter).await;
                passed += 1;
            }
        }
    }

    /// Returns true if the loop exists and has given no further answer.
    fn is_silent_since(&self, answers: u64) -> bool {
        let state = self.inner.lock();
        state.answers == answers && !state.is_over
    }

    /// Probes the loop, unless a probe is unanswered. Returns true if the loop exists.
    fn ask(&self) -> bool {
        let mut state = self.inner.lock();
        if state.is_over {
            return false;
        }
        if state.is_unanswered {
            return true;
        }
        state.asked = Some(Instant::now());
        state.is_unanswered = true;
        drop(state);
        let is_there = (self.inner.ask)();
        if !is_there {
            self.stop();
        }
        is_there
    }

    /// Waits until a loop that hung after this many answers responds again or has ended. Any answer since the hang
    /// counts, even one from before this call, because it may be the answer to the last probe.
    async fn responds(&self, hung_at: u64) {
        loop {
            let mut changed = std::pin::pin!(self.inner.changed.notified());
            // The future is enabled before the state is read, so that an answer in between is not missed.
            changed.as_mut().enable();
            if !self.is_silent_since(hung_at) {
                return;
            }
            changed.await;
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LoopProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.inner.lock();
        f.debug_struct("LoopProbe")
            .field("answers", &state.answers)
            .field("is_over", &state.is_over)
            .finish_non_exhaustive()
    }
}

/// Watches an event loop on behalf of a candidate.
#[derive(Clone)]
pub(crate) struct LoopWatch {
    probe: LoopProbe,
    /// `None` for the lease duration.
    limit: Option<Duration>,
}

impl LoopWatch {
    pub(crate) fn new(probe: &LoopProbe, limit: Option<Duration>) -> Self {
        Self { probe: probe.clone(), limit }
    }

    /// Watches until the campaign is over, and reports changes to the driver.
    pub(crate) fn start(self, shared: &Arc<CandidateState>, driver: Weak<dyn CommandSink>) {
        let over = shared.over();
        let watching = self.keep_watching(Arc::clone(shared), driver);
        shared.spawn(async move {
            over.run_until_cancelled(watching).await;
        });
    }

    async fn keep_watching(self, shared: Arc<CandidateState>, driver: Weak<dyn CommandSink>) {
        let (election, candidate) = (&*shared.election, &*shared.candidate);
        let mut events = shared.subscribe(Subscriber::Library);
        while let Some(event) = events.next().await {
            let Event::Won(term) = event else { continue };
            // This is only a view, because holding a term here would hold up its drain.
            let view = term.view();
            drop(term);
            let limit = self.limit.unwrap_or_else(|| shared.lease_time());
            let Some(hung_at) = self.hangs_in(&view, limit).await else { continue };
            tracing::warn!(
                election,
                candidate,
                ?limit,
                "the event loop has not responded for this long: the candidate counts as unhealthy and leaves until \
                 the loop responds"
            );
            let Some(leaving) = driver.upgrade() else { return };
            leaving.send(Command::LoopResponds(false));
            drop(leaving);
            self.probe.responds(hung_at).await;
            tracing::info!(election, candidate, "the event loop responds again");
            let Some(returning) = driver.upgrade() else { return };
            returning.send(Command::LoopResponds(true));
        }
    }

    /// Waits until the loop hangs, as [`LoopProbe::hangs`] does; `None` if the term ends first.
    async fn hangs_in(&self, view: &TermView, limit: Duration) -> Option<u64> {
        tokio::select! {
            _ = view.ended() => None,
            hung_at = self.probe.hangs(limit) => Some(hung_at),
        }
    }
}

type Check = dyn Fn() -> BoxFuture<'static, bool> + Send + Sync;

/// The user's check, and the interval between two calls.
#[derive(Clone)]
pub(crate) struct HealthCheck {
    interval: Duration,
    check: Arc<Check>,
}

impl HealthCheck {
    pub(crate) fn new<F, Fut>(interval: Duration, check: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = bool> + Send + 'static,
    {
        Self { interval, check: Arc::new(move || check().boxed()) }
    }

    /// Calls the check until the campaign is over, and reports changes to the driver.
    pub(crate) fn start(self, shared: &Arc<CandidateState>, driver: Weak<dyn CommandSink>) {
        let over = shared.over();
        let keep = self.keep_asking(Arc::clone(shared), driver);
        shared.spawn(async move {
            // The check may never return, but this task ends with the campaign.
            over.run_until_cancelled(keep).await;
        });
    }

    async fn keep_asking(self, shared: Arc<CandidateState>, driver: Weak<dyn CommandSink>) {
        // The candidate does not campaign before the first answer.
        let mut was_well = false;
        loop {
            let is_well = self.ask(&shared).await;
            if is_well != was_well {
                was_well = is_well;
                let Some(driver) = driver.upgrade() else { return };
                driver.send(Command::Health(is_well));
            }
            tokio::time::sleep(self.interval).await;
        }
    }

    async fn ask(&self, shared: &CandidateState) -> bool {
        let (election, candidate) = (&*shared.election, &*shared.candidate);
        // Both the call of the closure and the future that it returns may panic.
        let asked = AssertUnwindSafe(async { (self.check)().await }).catch_unwind();
        match tokio::time::timeout(self.interval, asked).await {
            Ok(Ok(is_well)) => is_well,
            Ok(Err(_)) => {
                tracing::error!(election, candidate, "the health check panicked and counts as failed");
                false
            }
            Err(_) => {
                tracing::warn!(election, candidate, limit = ?self.interval, "the health check takes too long and counts as failed");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(8);

    /// A loop that answers whenever the test lets it.
    struct Loop {
        probe: LoopProbe,
        asked: Arc<AtomicU32>,
    }

    fn event_loop() -> Loop {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let probe = LoopProbe::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
            true
        });
        Loop { probe, asked }
    }

    impl Loop {
        fn asked(&self) -> u32 {
            self.asked.load(Ordering::SeqCst)
        }

        /// Answers every probe during that time.
        async fn answers_for(&self, span: Duration) {
            let end = Instant::now() + span;
            while Instant::now() < end {
                if self.probe.inner.lock().is_unanswered {
                    self.probe.answered();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    /// The time until the hang is noticed; `None` if it is not noticed within a minute.
    async fn noticed(probe: &LoopProbe) -> Option<Duration> {
        let began = Instant::now();
        let hangs = tokio::time::timeout(Duration::from_secs(60), probe.hangs(LIMIT)).await;
        hangs.ok().map(|_| began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_never_answers_hangs_when_the_limit_is_over() {
        let event_loop = event_loop();
        // The time is exact to within the rounding of tokio's timers.
        let noticed = noticed(&event_loop.probe).await.unwrap();
        assert!((LIMIT..LIMIT + Duration::from_millis(10)).contains(&noticed), "{noticed:?}");
        assert_eq!(event_loop.asked(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_answers_is_asked_four_times_in_the_limit_and_never_hangs() {
        let event_loop = event_loop();
        let (noticed, ()) =
            tokio::join!(noticed(&event_loop.probe), event_loop.answers_for(Duration::from_secs(60)));
        assert_eq!(noticed, None);
        assert!((29..=31).contains(&event_loop.asked()), "{}", event_loop.asked());
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_stops_answering_hangs_a_quarter_more_than_the_limit_later_at_most() {
        let event_loop = event_loop();
        let last = Duration::from_secs(21);
        let (noticed, ()) = tokio::join!(noticed(&event_loop.probe), event_loop.answers_for(last));
        let hung = noticed.unwrap() - last;
        assert!((LIMIT..LIMIT + LIMIT / 4 + Duration::from_millis(20)).contains(&hung), "{hung:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_is_blocked_for_less_than_the_limit_does_not_hang() {
        let event_loop = event_loop();
        let blocked = async {
            for _ in 0..5 {
                event_loop.answers_for(Duration::from_secs(3)).await;
                tokio::time::sleep(LIMIT - Duration::from_millis(100)).await;
                event_loop.probe.answered();
            }
            event_loop.answers_for(Duration::from_secs(10)).await;
        };
        tokio::select! {
            _ = event_loop.probe.hangs(LIMIT) => panic!("it does not hang"),
            () = blocked => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_was_stopped_leaves_the_loop_the_time_it_had() {
        let event_loop = event_loop();
        let mut hangs = Box::pin(event_loop.probe.hangs(LIMIT));
        // The loop is probed, and then neither the loop nor this side runs for an hour.
        assert!(futures_util::poll!(&mut hangs).is_pending());
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(futures_util::poll!(&mut hangs).is_pending(), "an hour is one quarter");
        event_loop.probe.answered();
        tokio::select! {
            _ = &mut hangs => panic!("it does not hang"),
            () = event_loop.answers_for(Duration::from_secs(60)) => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn candidates_of_one_loop_ask_it_together() {
        let event_loop = event_loop();
        let all = futures_util::future::join_all((0..100).map(|_| noticed(&event_loop.probe)));
        let (noticed, ()) = tokio::join!(all, event_loop.answers_for(Duration::from_secs(60)));
        assert_eq!(noticed, [None; 100]);
        assert!((29..=31).contains(&event_loop.asked()), "{}", event_loop.asked());
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_is_over_does_not_hang() {
        let gone = LoopProbe::new(|| false);
        let stopped = event_loop();
        stopped.probe.stop();
        let asked = event_loop();
        let stopping = async {
            tokio::time::sleep(LIMIT / 2).await;
            asked.probe.stop();
        };
        let (asked, ()) = tokio::join!(noticed(&asked.probe), stopping);
        assert_eq!([noticed(&gone).await, noticed(&stopped.probe).await, asked], [None; 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_hung_turns_again_when_it_answers_or_is_over() {
        for ends in [LoopProbe::answered, LoopProbe::stop] {
            let event_loop = event_loop();
            let hung_at = event_loop.probe.hangs(LIMIT).await;
            let mut responds = Box::pin(event_loop.probe.responds(hung_at));
            assert!(futures_util::poll!(&mut responds).is_pending());
            ends(&event_loop.probe);
            responds.await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_answers_before_anyone_waits_for_it_turns_again() {
        let event_loop = event_loop();
        let hung_at = event_loop.probe.hangs(LIMIT).await;
        event_loop.probe.answered();
        // The last probe is answered, and no further probe comes.
        assert_eq!(event_loop.probe.responds(hung_at).now_or_never(), Some(()));
    }
}

//! The mock: goNELI's unit tests as scenarios, with time that the test advances, and tests of the differences from
//! goNELI.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests panic as tests do")]

use std::future::{pending, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use incumbent::incumbent_core::store::{Fault, FaultKind};
use incumbent::testing::Asked;
use incumbent::{Clock, Error, ErrorKind, Instant, Reason, Warning};
use incumbent_neli::{Event, Mock, MockConfig, PulseError, State};
use tokio::sync::Notify;

/// goNELI's minimum poll interval.
const INTERVAL: Duration = Duration::from_millis(100);
const SHORT: Duration = Duration::from_millis(1);

/// A mock, its clock, and the events for which its barrier was called.
struct Fixture {
    mock: Mock,
    clock: Clock,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Fixture {
    fn new() -> Self {
        Self::with(|config| config)
    }

    fn with(change: impl FnOnce(MockConfig) -> MockConfig) -> Self {
        let clock = Clock::manual(Instant::from_nanos(1_000_000_000));
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&events);
        let config = MockConfig::new().clock(clock.clone()).barrier(move |event| {
            seen.lock().unwrap().push(event);
            ready(())
        });
        Self { mock: Mock::new(change(config)).unwrap(), clock, events }
    }

    fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// Runs a future to its end, and advances the clock whenever nothing else can happen.
    async fn passing<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        // The number of milliseconds is more than any of these tests waits for.
        for _ in 0..50_000 {
            tokio::select! {
                biased;
                result = &mut work => return result,
                () = settled() => self.clock.advance(SHORT),
            }
        }
        panic!("not done after 1000 s")
    }

    async fn pulse(&self, timeout: Duration) -> Result<bool, PulseError> {
        self.passing(self.mock.pulse(timeout)).await
    }

    /// Pulses after the minimum poll interval, so that the pulse polls.
    async fn poll(&self) -> bool {
        self.mock.deadline().expire();
        self.pulse(SHORT).await.unwrap()
    }

    async fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        for _ in 0..50_000 {
            if is_so() {
                return;
            }
            settled().await;
            self.clock.advance(SHORT);
        }
        panic!("{what} did not happen in 1000 s")
    }
}

/// Lets every task run until it waits, on the single thread of these tests.
async fn settled() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// A task that takes 10 ms, and counts its calls.
fn counting(clock: &Clock, count: &Arc<AtomicUsize>) -> impl FnMut(incumbent::Term) -> CountedCall + use<> {
    let (clock, count) = (clock.clone(), Arc::clone(count));
    move |_| {
        let (clock, count) = (clock.clone(), Arc::clone(&count));
        Box::pin(async move {
            count.fetch_add(1, Ordering::Relaxed);
            clock.sleep_until(clock.now() + Duration::from_millis(10)).await;
        })
    }
}

type CountedCall = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn is_not_live(result: Result<bool, PulseError>) -> bool {
    matches!(result, Err(PulseError::NotLive))
}

#[tokio::test]
async fn a_transition_is_taken_up_by_the_next_pulse_and_reported_to_the_barrier() {
    let test = Fixture::new();
    let mock = &test.mock;
    assert_eq!((mock.state(), mock.is_leader(), test.events()), (State::Live, false, vec![]));
    assert_eq!(mock.deadline().last(), None);

    mock.acquire();
    settled().await;
    assert_eq!((mock.is_leader(), test.events()), (false, vec![]));
    assert!(test.pulse(Duration::from_secs(10)).await.unwrap());
    assert_eq!((mock.is_leader(), test.events()), (true, vec![Event::Acquired]));
    assert!(mock.deadline().last().is_some());

    mock.revoke();
    settled().await;
    assert!(mock.is_leader());
    assert!(!test.poll().await);
    assert_eq!((mock.is_leader(), test.events()), (false, vec![Event::Acquired, Event::Revoked]));

    mock.fence();
    assert!(!test.poll().await);
    assert_eq!((mock.is_leader(), test.events().last()), (false, Some(&Event::Fenced)));

    mock.close().await.unwrap();
    mock.closed().await;
    assert_eq!(mock.state(), State::Closed);
}

#[tokio::test]
async fn a_minimum_poll_interval_under_a_millisecond_is_refused() {
    let refused = Mock::new(MockConfig::new().min_poll_interval(Duration::ZERO)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidSetting);
    assert_eq!(refused.message(), "`min_poll_interval` is 0ns, and must be at least 1ms: use a longer time");
}

#[tokio::test]
async fn a_pulse_that_acquires_nothing_returns_false_at_its_timeout() {
    let test = Fixture::new();
    let began = test.clock.now();
    assert!(!test.pulse(Duration::from_millis(10)).await.unwrap());
    assert_eq!(test.clock.now().since(began), Duration::from_millis(10));
    // A pulse that polls waits at least as long as a poll. Any other pulse waits no longer than its timeout.
    test.mock.deadline().expire();
    let began = test.clock.now();
    assert!(!test.pulse(Duration::ZERO).await.unwrap());
    assert_eq!(test.clock.now().since(began), Duration::from_millis(1));
    assert!(!test.mock.pulse(Duration::ZERO).await.unwrap());
}

#[tokio::test]
async fn a_pulse_that_waits_polls_once_in_each_interval_and_acquires_in_the_end() {
    let test = Fixture::new();
    let neli = test.mock.neli();
    let began = test.clock.now();
    let pulse = async { neli.pulse(Duration::from_secs(10)).await.unwrap() };
    let leading = async {
        test.clock.sleep_until(began + Duration::from_millis(250)).await;
        test.mock.acquire();
    };
    let (leads, ()) = test.passing(async { tokio::join!(pulse, leading) }).await;
    assert!(leads);
    assert_eq!(test.clock.now().since(began), 3 * INTERVAL);
    assert_eq!(neli.deadline().remaining(), INTERVAL);
    assert_eq!(neli.deadline().elapsed(), Some(Duration::ZERO));
}

#[tokio::test]
async fn a_barrier_may_lead_again_after_it_was_fenced() {
    let mock = Arc::new(std::sync::OnceLock::<Mock>::new());
    let again = Arc::clone(&mock);
    let clock = Clock::manual(Instant::from_nanos(1));
    let config = MockConfig::new().clock(clock.clone()).barrier(move |event| {
        if event == Event::Fenced {
            again.get().unwrap().acquire();
        }
        ready(())
    });
    let mock = mock.get_or_init(|| Mock::new(config).unwrap());
    mock.fence();
    let test = Fixture { mock: Mock::new(MockConfig::new()).unwrap(), clock, events: Arc::default() };
    assert!(test.passing(mock.pulse(Duration::from_secs(10))).await.unwrap());
    assert!(mock.is_leader());
}

#[tokio::test]
async fn a_simulated_error_ends_one_pulse() {
    let test = Fixture::new();
    test.mock.pulse_error(Error::new(ErrorKind::PermissionDenied, "simulated"));
    let Err(PulseError::Refused(error)) = test.pulse(SHORT).await else { panic!("no error") };
    assert_eq!((error.kind(), error.message()), (ErrorKind::PermissionDenied, "simulated"));
    assert!(!test.pulse(SHORT).await.unwrap());
}

#[tokio::test]
async fn a_pulse_after_a_close_is_an_error_of_its_own() {
    let test = Fixture::new();
    test.mock.close().await.unwrap();
    test.mock.closed().await;
    assert!(is_not_live(test.pulse(SHORT).await));
    // A second close waits for the first to finish.
    test.mock.close().await.unwrap();
}

#[tokio::test]
async fn a_pulse_that_waits_ends_with_the_close_of_the_member_or_of_its_candidate() {
    for of_the_candidate in [false, true] {
        let test = Fixture::new();
        let neli = test.mock.neli();
        let pulse = tokio::spawn(async move { neli.pulse_until(pending()).await });
        settled().await;
        if of_the_candidate {
            test.mock.candidate().close().await.unwrap();
        } else {
            test.mock.close().await.unwrap();
        }
        assert!(is_not_live(pulse.await.unwrap()));
        assert_eq!(test.mock.state(), State::Closed);
    }
}

#[tokio::test]
async fn a_pulse_that_is_cancelled_returns_false_or_is_dropped_without_harm() {
    let test = Fixture::new();
    let stop = Notify::new();
    let (leads, ()) = tokio::join!(test.mock.pulse_until(stop.notified()), async { stop.notify_one() });
    assert!(!leads.unwrap());
    // The pulse is dropped in the middle of a transition, and the next pulse continues from there.
    test.mock.acquire();
    test.mock.deadline().expire();
    {
        let mut pulse = pin!(test.mock.pulse(INTERVAL));
        assert!(futures_util::poll!(pulse.as_mut()).is_pending());
    }
    assert!(test.pulse(INTERVAL).await.unwrap());
    assert_eq!(test.events(), [Event::Acquired]);
}

#[tokio::test]
async fn the_task_is_called_again_and_again_while_the_member_leads() {
    let test = Fixture::new();
    let count = Arc::new(AtomicUsize::new(0));
    let calls = || count.load(Ordering::Relaxed);
    let pulser = test.mock.background(counting(&test.clock, &count));
    settled().await;
    assert_eq!((test.mock.is_leader(), calls()), (false, 0));

    test.mock.acquire();
    test.until("five calls", || calls() >= 5).await;
    assert_eq!(test.events(), [Event::Acquired]);
    test.mock.revoke();
    test.until("the end of the leadership", || !test.mock.is_leader()).await;
    test.until("the call of the barrier", || test.events() == [Event::Acquired, Event::Revoked]).await;
    let before = calls();
    for _ in 0..100 {
        settled().await;
        test.clock.advance(SHORT);
    }
    assert_eq!((calls(), test.events().len()), (before, 2));

    assert!(pulser.error().is_none());
    test.passing(test.mock.close()).await.unwrap();
    pulser.ended().await.unwrap();
    assert!(pulser.error().is_none());
}

#[tokio::test]
async fn a_fenced_term_that_is_resumed_is_acquired_again_with_a_larger_token() {
    let test = Fixture::new();
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let (clock, seen) = (test.clock.clone(), Arc::clone(&tokens));
    let pulser = test.mock.background(move |term| {
        seen.lock().unwrap().push(term.token());
        let clock = clock.clone();
        async move { clock.sleep_until(clock.now() + INTERVAL).await }
    });
    // The lease is proven for a while, and then no more.
    test.mock.election().acquire_for(Duration::from_secs(5));
    test.until("the acquisition", || test.events() == [Event::Acquired]).await;
    test.until("the first call", || !tokens.lock().unwrap().is_empty()).await;
    test.clock.advance(Duration::from_secs(5));
    assert!(!test.mock.is_leader(), "by the clock alone, before any task has run");
    test.mock.election().fence();
    test.until("the fence", || test.events() == [Event::Acquired, Event::Fenced]).await;
    test.mock.election().acquire();
    test.until("the next term", || test.events().len() == 3).await;
    assert_eq!(test.events()[2], Event::Acquired);
    test.until("a call in it", || {
        let tokens = tokens.lock().unwrap();
        tokens.last() > tokens.first()
    })
    .await;
    test.passing(test.mock.close()).await.unwrap();
    pulser.ended().await.unwrap();
}

#[tokio::test]
async fn a_store_that_does_not_answer_ends_no_pulser() {
    let test = Fixture::new();
    let count = Arc::new(AtomicUsize::new(0));
    let pulser = test.mock.background(counting(&test.clock, &count));
    for kind in [FaultKind::Unreachable, FaultKind::Broken] {
        test.mock.election().warning(Warning::Store(Fault { kind, detail: "simulated".into() }));
    }
    settled().await;
    test.mock.acquire();
    test.until("a call", || count.load(Ordering::Relaxed) > 0).await;
    assert_eq!(test.mock.state(), State::Live);
    test.passing(test.mock.close()).await.unwrap();
    pulser.ended().await.unwrap();
}

#[tokio::test]
async fn a_refusal_ends_the_pulser_and_leaves_the_member_alive() {
    let test = Fixture::new();
    let pulser = test.mock.background(|_| ready(()));
    let fault = Fault { kind: FaultKind::Denied, detail: "group.instance.id is in use".into() };
    test.mock.election().warning(Warning::Store(fault));
    let ended = test.passing(pulser.ended()).await.unwrap_err();
    assert_eq!(ended.to_string(), "group.instance.id is in use");
    assert_eq!(pulser.error().unwrap().to_string(), ended.to_string());
    assert_eq!(test.mock.state(), State::Live);
    test.mock.acquire();
    assert!(test.pulse(2 * INTERVAL).await.unwrap());
}

#[tokio::test]
async fn a_closed_pulser_calls_no_task_and_leaves_the_member_alive() {
    let test = Fixture::new();
    let count = Arc::new(AtomicUsize::new(0));
    let pulser = test.mock.background(counting(&test.clock, &count));
    pulser.close();
    test.passing(pulser.ended()).await.unwrap();
    assert!(pulser.error().is_none());
    test.mock.acquire();
    assert!(test.pulse(2 * INTERVAL).await.unwrap());
    assert_eq!((count.load(Ordering::Relaxed), test.mock.state()), (0, State::Live));
}

#[tokio::test]
async fn no_pulse_returns_true_before_the_barrier_has_returned() {
    let prepared = Arc::new(Notify::new());
    let waits = Arc::clone(&prepared);
    let test = Fixture::with(|config| {
        config.barrier(move |_| {
            let waits = Arc::clone(&waits);
            async move { waits.notified().await }
        })
    });
    test.mock.election().acquire();
    assert!(!test.pulse(INTERVAL).await.unwrap());
    assert!(test.mock.is_leader(), "the barrier is called by a leader");
    prepared.notify_one();
    assert!(test.pulse(INTERVAL).await.unwrap());
}

#[tokio::test]
async fn a_revocation_waits_for_the_barrier_and_for_the_task_that_runs() {
    let (wrapped_up, worked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (barrier, task) = (Arc::clone(&wrapped_up), Arc::clone(&worked));
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let test = Fixture::with(|config| {
        config.barrier(move |event| {
            seen.lock().unwrap().push(event);
            let barrier = Arc::clone(&barrier);
            async move {
                if event == Event::Revoked {
                    barrier.notified().await;
                }
            }
        })
    });
    let begun = Arc::new(AtomicUsize::new(0));
    let began = Arc::clone(&begun);
    let pulser = test.mock.background(move |_| {
        began.fetch_add(1, Ordering::Relaxed);
        let task = Arc::clone(&task);
        async move { task.notified().await }
    });
    test.mock.election().acquire();
    test.until("the task", || begun.load(Ordering::Relaxed) == 1).await;
    let candidate = test.mock.candidate().clone();
    test.mock.election().drain(Reason::Revoked);
    test.until("the call of the barrier", || events.lock().unwrap().len() == 2).await;
    assert!(!test.mock.is_leader() && candidate.is_leader(), "the lease is held, the leadership is over");
    wrapped_up.notify_one();
    settled().await;
    assert!(candidate.is_leader(), "the task still runs");
    worked.notify_one();
    test.until("the end of the term", || !candidate.is_leader()).await;
    assert_eq!(*events.lock().unwrap(), [Event::Acquired, Event::Revoked]);
    assert_eq!(begun.load(Ordering::Relaxed), 1);
    pulser.close();
}

#[tokio::test]
async fn a_task_is_dropped_when_its_term_is_fenced_without_a_pulse() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let test = Fixture::new();
    let (begun, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (began, guard) = (Arc::clone(&begun), Arc::clone(&dropped));
    let pulser = test.mock.background(move |_| {
        began.fetch_add(1, Ordering::Relaxed);
        let guard = Dropped(Arc::clone(&guard));
        async move {
            let _guard = guard;
            pending::<()>().await;
        }
    });
    test.mock.election().acquire();
    test.until("the task", || begun.load(Ordering::Relaxed) == 1).await;
    test.mock.election().fence();
    test.until("the drop of the task", || dropped.load(Ordering::Relaxed) == 1).await;
    test.until("the call of the barrier", || test.events() == [Event::Acquired, Event::Fenced]).await;
    pulser.close();
}

#[tokio::test]
async fn a_close_revokes_a_leader_first() {
    let test = Fixture::new();
    test.mock.acquire();
    assert!(test.pulse(INTERVAL).await.unwrap());
    test.mock.close().await.unwrap();
    assert_eq!((test.events(), test.mock.is_leader()), (vec![Event::Acquired, Event::Revoked], false));
}

#[tokio::test]
async fn a_task_that_panics_ends_its_pulser_and_its_term() {
    let test = Fixture::new();
    let pulser = test.mock.background(|term| async move { assert!(!term.is_current(), "simulated") });
    test.mock.acquire();
    let ended = test.passing(pulser.ended()).await.unwrap_err();
    assert_eq!(ended.to_string(), "the task panicked: simulated");
    test.until("the end of the term", || test.events() == [Event::Acquired, Event::Fenced]).await;
    assert_eq!(test.mock.election().asked(), [Asked::HandlerFailed]);
}

#[tokio::test]
async fn a_program_that_does_not_pulse_leaves_until_its_next_pulse() {
    let longest = Duration::from_secs(300);
    let test = Fixture::new();
    test.mock.acquire();
    assert!(test.pulse(INTERVAL).await.unwrap());
    settled().await;
    test.clock.advance(longest - SHORT);
    settled().await;
    assert!(test.mock.is_leader());
    test.clock.advance(SHORT);
    test.until("the revocation", || test.events() == [Event::Acquired, Event::Revoked]).await;
    assert_eq!(test.mock.election().asked(), [Asked::Healthy(false)]);
    assert!(!test.pulse(SHORT).await.unwrap());
    assert_eq!(test.mock.election().asked(), [Asked::Healthy(false), Asked::Healthy(true)]);
}

#[tokio::test]
async fn a_pulse_that_waits_for_long_keeps_the_membership() {
    let test = Fixture::with(|config| config.max_poll_interval(Duration::from_secs(2)));
    assert!(!test.pulse(Duration::from_secs(3)).await.unwrap());
    assert_eq!(test.mock.election().asked(), []);
}

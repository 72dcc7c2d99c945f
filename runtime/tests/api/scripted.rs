//! The scripted election.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use incumbent::testing::{Asked, ScriptedElection};
use incumbent::{Candidate, Clock, ErrorKind, Event, Handlers, Instant, Reason, State, Warning};
use tokio::sync::mpsc;

use crate::support::{LEASE, lost, soon};

#[test]
fn a_reader_that_sees_that_a_term_is_over_sees_why() {
    const TERMS: u32 = 300;
    let (election, candidate) = scripted();
    // The numbers of terms that have begun, are being watched, have been seen to end, and have ended without a reason.
    let [begun, watched, ended, unexplained] = [(); 4].map(|()| AtomicU32::new(0));
    let wait = |number: &AtomicU32, term: u32| {
        while number.load(Ordering::Acquire) != term {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=TERMS {
                wait(&begun, number);
                let term = candidate.term().unwrap().view();
                watched.store(number, Ordering::Release);
                while term.is_current() {}
                if term.reason() != Some(Reason::Deleted) {
                    unexplained.fetch_add(1, Ordering::Relaxed);
                }
                ended.store(number, Ordering::Release);
            }
        });
        for number in 1..=TERMS {
            election.acquire();
            begun.store(number, Ordering::Release);
            wait(&watched, number);
            election.revoke(Reason::Deleted);
            wait(&ended, number);
        }
    });
    assert_eq!(unexplained.into_inner(), 0);
}

fn scripted() -> (ScriptedElection, Candidate) {
    ScriptedElection::new("jobs", "a", Clock::manual(Instant::from_nanos(1)))
}

#[tokio::test]
async fn wins_and_losses_come_on_demand_with_growing_tokens() {
    let (election, candidate) = scripted();
    let mut events = candidate.events();
    assert_eq!((candidate.is_leader(), candidate.state()), (false, State::Waiting));
    let first = election.acquire();
    assert_eq!(election.acquire(), first);
    assert_eq!((candidate.is_leader(), candidate.state()), (true, State::Leading));
    election.fence();
    assert!(!candidate.is_leader());
    assert_eq!(lost(&mut events).await, Reason::Expired);
    assert!(election.acquire() > first);
    election.revoke(Reason::Usurped);
    assert_eq!(lost(&mut events).await, Reason::Usurped);
}

#[test]
fn a_lease_with_an_end_is_over_when_the_clock_says_so() {
    let clock = Clock::manual(Instant::from_nanos(1));
    let (election, candidate) = ScriptedElection::new("jobs", "a", clock.clone());
    let token = election.acquire_for(LEASE);
    clock.advance(LEASE / 2);
    assert_eq!(election.acquire_for(LEASE), token);
    clock.advance(LEASE / 2);
    assert!(candidate.is_leader());
    clock.advance(LEASE / 2);
    assert!(!candidate.is_leader());
}

#[tokio::test]
async fn a_lease_that_runs_out_is_reported_and_does_not_go_on() {
    for clock in [Clock::manual(Instant::from_nanos(1)), Clock::system()] {
        let (election, candidate) = ScriptedElection::new("jobs", "a", clock.clone());
        let mut events = candidate.events();
        let token = election.acquire_for(Duration::from_millis(20));
        clock.advance(Duration::from_millis(20));
        assert_eq!(lost(&mut events).await, Reason::Expired);
        assert_eq!((candidate.is_leader(), candidate.state()), (false, State::Waiting));
        assert!(election.acquire() > token);
    }
}

#[test]
fn a_lease_that_has_run_out_is_over_before_anything_else_happens() {
    let clock = Clock::manual(Instant::from_nanos(1));
    let (election, candidate) = ScriptedElection::new("jobs", "a", clock.clone());
    let token = election.acquire_for(LEASE);
    let term = candidate.term().unwrap();
    clock.advance(LEASE);
    election.revoke(Reason::Usurped);
    assert_eq!(term.reason(), Some(Reason::Expired));
    assert!(election.acquire_for(LEASE) > token);
}

#[tokio::test]
async fn waiting_for_the_end_of_the_campaign_does_not_keep_it() {
    let (_election, candidate) = scripted();
    let closed = tokio::spawn(candidate.closed());
    drop(candidate);
    soon(closed).await.unwrap();
}

#[tokio::test]
async fn a_drain_ends_when_the_work_lets_go() {
    let (election, candidate) = scripted();
    let mut events = candidate.events();
    election.acquire();
    let term = candidate.term().unwrap();
    election.drain(Reason::Unhealthy);
    assert_eq!((candidate.is_leader(), candidate.state()), (true, State::Draining));
    drop(term);
    assert!(!candidate.is_leader());
    assert_eq!(lost(&mut events).await, Reason::Unhealthy);
}

#[tokio::test]
async fn what_the_code_asks_for_is_carried_out_and_written_down() {
    let (election, candidate) = scripted();
    assert_eq!(candidate.hand_over("b").await.unwrap_err().kind(), ErrorKind::NotLeader);
    election.acquire();
    candidate.resign().await.unwrap();
    election.acquire();
    candidate.hand_over("b").await.unwrap();
    election.acquire();
    candidate.term().unwrap().fail();
    election.acquire();
    candidate.set_healthy(false);
    assert!(!candidate.is_leader());
    candidate.accept_reset();
    candidate.close().await.unwrap();
    assert_eq!(candidate.state(), State::Closed);
    assert_eq!(candidate.resign().await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(
        election.asked(),
        [
            Asked::HandOver("b".into()),
            Asked::Resign,
            Asked::HandOver("b".into()),
            Asked::HandlerFailed,
            Asked::Healthy(false),
            Asked::AcceptReset,
            Asked::Close,
        ]
    );
}

#[tokio::test]
async fn warnings_and_other_leaders_are_reported() {
    let (election, candidate) = scripted();
    let mut events = candidate.events();
    election.warning(Warning::MarkersMislead);
    election.leader(None);
    assert!(matches!(soon(events.next()).await, Some(Event::StateChanged(State::Waiting))));
    assert!(matches!(soon(events.next()).await, Some(Event::Warning(Warning::MarkersMislead))));
    assert!(matches!(soon(events.next()).await, Some(Event::LeaderChanged(None))));
}

#[tokio::test]
async fn handlers_and_work_run_as_in_a_real_election() {
    let (election, candidate) = scripted();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let work_sender = sender.clone();
    candidate.attach(Handlers::new().on_lost(move |_, reason| {
        sender.send(format!("{reason:?}")).unwrap();
        async {}
    }));
    election.acquire();
    let rest = async {
        assert_eq!(soon(receiver.recv()).await.as_deref(), Some("working"));
        election.fence();
        assert_eq!(soon(receiver.recv()).await.as_deref(), Some("Expired"));
        candidate.close().await.unwrap();
    };
    let work = candidate.lead(async |_| {
        work_sender.send("working".to_owned()).unwrap();
        std::future::pending::<()>().await
    });
    let (led, ()) = tokio::join!(soon(work), rest);
    led.unwrap();
}

#[tokio::test]
async fn a_win_among_holding_events_is_held_until_it_was_read_and_dropped_and_elsewhere_not() {
    let (election, candidate) = scripted();
    let (_looking_on, mut holding) = (candidate.events(), candidate.holding_events());
    election.acquire();
    election.drain(Reason::Resigned);
    assert!(candidate.is_leader());
    // From now on the event is read and dropped.
    assert!(matches!(holding.next().await, Some(Event::StateChanged(State::Waiting))));
    assert!(matches!(holding.next().await, Some(Event::Won(_))));
    assert!(!candidate.is_leader());
    drop(holding);
    election.acquire();
    election.drain(Reason::Resigned);
    assert!(!candidate.is_leader());
}

#[test]
fn the_age_of_a_term_counts_from_its_report_and_goes_on_after_its_end() {
    let clock = Clock::manual(Instant::from_nanos(1));
    let (election, candidate) = ScriptedElection::new("jobs", "a", clock.clone());
    election.acquire();
    let term = candidate.term().unwrap();
    assert_eq!(term.age(), Duration::ZERO);
    clock.advance(Duration::from_secs(2));
    assert_eq!((term.age(), term.view().age()), (Duration::from_secs(2), Duration::from_secs(2)));
    election.fence();
    clock.advance(Duration::from_secs(1));
    assert_eq!(term.age(), Duration::from_secs(3));
}

//! The candidate's health: set by the application, or by a health check.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use incumbent::{LoopProbe, Reason, State, Store};

use crate::support::{alone, lost, options, soon, until};

#[tokio::test]
async fn an_unhealthy_leader_leaves_and_campaigns_again_when_it_is_well() {
    let candidate = alone(options("a")).await;
    drop(soon(candidate.next_term()).await.unwrap());
    let mut events = candidate.events();
    candidate.set_healthy(false);
    assert_eq!(lost(&mut events).await, Reason::Unhealthy);
    until(|| candidate.state() == State::Idle).await;
    candidate.set_healthy(true);
    soon(candidate.next_term()).await.unwrap();
}

#[tokio::test]
async fn the_health_check_is_asked_again_and_again() {
    let is_well = Arc::new(AtomicBool::new(true));
    let check = {
        let is_well = Arc::clone(&is_well);
        move || {
            let is_well = Arc::clone(&is_well);
            async move { is_well.load(Ordering::SeqCst) }
        }
    };
    let candidate = alone(options("a").health_check(Duration::from_millis(50), check)).await;
    drop(soon(candidate.next_term()).await.unwrap());
    let mut events = candidate.events();
    is_well.store(false, Ordering::SeqCst);
    assert_eq!(lost(&mut events).await, Reason::Unhealthy);
    is_well.store(true, Ordering::SeqCst);
    soon(candidate.next_term()).await.unwrap();
}

#[tokio::test]
async fn a_health_check_that_panics_or_hangs_counts_as_failed() {
    async fn panics() -> bool {
        panic!("on purpose")
    }
    let interval = Duration::from_millis(50);
    for options in [
        options("a").health_check(interval, panics),
        options("a").health_check(interval, std::future::pending),
    ] {
        let candidate = alone(options).await;
        until(|| candidate.state() == State::Idle).await;
        soon(candidate.close()).await.unwrap();
    }
}

#[tokio::test]
async fn a_candidate_does_not_campaign_before_its_first_health_check_has_answered() {
    let store = Store::open("memory:").await.unwrap();
    let asked = options("a").health_check(Duration::from_secs(60), std::future::pending);
    let first = store.campaign("jobs", asked).await.unwrap();
    let second = store.campaign("jobs", options("b")).await.unwrap();
    soon(second.next_term()).await.unwrap();
    assert_eq!(first.state(), State::Idle);
}

#[tokio::test]
async fn a_candidate_that_is_not_healthy_at_first_campaigns_once_it_is() {
    let candidate = alone(options("a").healthy(false)).await;
    assert_eq!(candidate.state(), State::Idle);
    candidate.set_healthy(true);
    soon(candidate.next_term()).await.unwrap();
}

/// The probe of an event loop that responds while `turns` is set.
fn probe(turns: &Arc<AtomicBool>) -> LoopProbe {
    let (ask, asked) = std::sync::mpsc::channel();
    let probe = LoopProbe::new(move || ask.send(()).is_ok());
    let (answering, turns) = (probe.clone(), Arc::clone(turns));
    std::thread::spawn(move || {
        for () in asked {
            while !turns.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            answering.answered();
        }
    });
    probe
}

#[tokio::test]
async fn a_leader_whose_event_loop_hangs_leaves_and_campaigns_again_when_it_turns() {
    let turns = Arc::new(AtomicBool::new(true));
    let candidate = alone(options("a").watch_loop(&probe(&turns), Some(Duration::from_secs(2)))).await;
    drop(soon(candidate.next_term()).await.unwrap());
    let mut events = candidate.events();
    turns.store(false, Ordering::SeqCst);
    assert_eq!(lost(&mut events).await, Reason::Unhealthy);
    until(|| candidate.state() == State::Idle).await;
    // The application's own report is not enough: the candidate is unhealthy while its loop hangs.
    candidate.set_healthy(true);
    candidate.resign().await.unwrap();
    assert_eq!(candidate.state(), State::Idle);
    turns.store(true, Ordering::SeqCst);
    drop(soon(candidate.next_term()).await.unwrap());
    // A responding loop is not enough either, if the application reports the candidate as unhealthy.
    candidate.set_healthy(false);
    until(|| candidate.state() == State::Idle).await;
}

#[tokio::test]
async fn without_a_limit_an_event_loop_is_given_a_lease() {
    let lease = Duration::from_secs(5);
    let turns = Arc::new(AtomicBool::new(false));
    let candidate = alone(options("a").lease(lease).watch_loop(&probe(&turns), None)).await;
    let term = soon(candidate.next_term()).await.unwrap().view();
    assert_eq!(soon(term.ended()).await, Reason::Unhealthy);
    assert!(term.age() >= lease, "{:?}", term.age());
    turns.store(true, Ordering::SeqCst);
    soon(candidate.next_term()).await.unwrap();
}

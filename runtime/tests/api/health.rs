//! The candidate's own health: reported, or asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use incumbent::{Reason, State};

use crate::support::{alone, lost, options, soon, until};

#[tokio::test]
async fn an_unhealthy_leader_leaves_and_campaigns_again_when_it_is_well() {
    let candidate = alone(options("a")).await;
    drop(soon(candidate.won()).await.unwrap());
    let mut events = candidate.events();
    candidate.set_healthy(false);
    assert_eq!(lost(&mut events).await, Reason::Unhealthy);
    until(|| candidate.state() == State::Idle).await;
    candidate.set_healthy(true);
    soon(candidate.won()).await.unwrap();
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
    drop(soon(candidate.won()).await.unwrap());
    let mut events = candidate.events();
    is_well.store(false, Ordering::SeqCst);
    assert_eq!(lost(&mut events).await, Reason::Unhealthy);
    is_well.store(true, Ordering::SeqCst);
    soon(candidate.won()).await.unwrap();
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

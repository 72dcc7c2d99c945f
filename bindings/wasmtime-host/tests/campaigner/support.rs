//! Campaigners on stores without a server.

use std::time::Duration;

use incumbent::Clock;
use incumbent::incumbent_core::Instant;
use incumbent::incumbent_core::campaign::{Event, Preset, Settings};
use incumbent_wasmtime::{Campaigner, Candidate, Host, Stores};
use tokio::task::JoinHandle;

use crate::compiled::compiled;

/// A clock that moves only when it is advanced.
pub(crate) fn manual_clock() -> Clock {
    Clock::manual(Instant::ZERO + Duration::from_secs(3_600))
}

/// Advances a manual clock, in small steps between which the other tasks run, until the task is aborted.
pub(crate) fn running(clock: &Clock) -> JoinHandle<()> {
    let clock = clock.clone();
    tokio::spawn(async move {
        loop {
            clock.advance(Duration::from_millis(10));
            tokio::task::yield_now().await;
        }
    })
}

/// The data of a resource in a hostile host: none.
#[allow(unreachable_pub, reason = "named by the generated bindings")]
pub struct Nothing;

pub(crate) fn campaigner() -> Campaigner {
    let host = Host::new().unwrap();
    Campaigner::from_component(&host, &compiled(host.engine(), "incumbent-campaigner")).unwrap()
}

/// The bucket `elections`, on the store of this URL.
pub(crate) async fn stores(url: &str, clock: &Clock) -> Stores {
    let store = incumbent::store::open(url, clock).await.unwrap();
    Stores::new(clock.clone()).with("elections", store)
}

pub(crate) fn settings(name: &str) -> Settings {
    Settings { preset: Preset::Fast, splay: Some(Duration::ZERO), ..Settings::new(name) }
}

/// Waits for the next event for which `pick` returns a value.
pub(crate) async fn until<T>(election: &mut Candidate, pick: impl Fn(&Event) -> Option<T>) -> T {
    let wait = async {
        loop {
            let event = election.next().await.expect("the campaign continues");
            if let Some(picked) = pick(&event) {
                return picked;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it happens within a minute")
}

pub(crate) async fn won(election: &mut Candidate) -> incumbent::Token {
    until(election, |event| match event {
        Event::Won(term) => Some(term.token),
        _ => None,
    })
    .await
}

pub(crate) async fn lost(election: &mut Candidate) -> incumbent::Reason {
    until(election, |event| match event {
        Event::Lost { reason, .. } => Some(*reason),
        _ => None,
    })
    .await
}

pub(crate) async fn draining(election: &mut Candidate) {
    until(election, |event| matches!(event, Event::Draining { .. }).then_some(())).await;
}

//! Values that are longer than a record, on real stores with the limits of guests.

use incumbent::incumbent_core::campaign::{Event, Warning};
use incumbent::store::StoreSettings;
use incumbent::{Clock, Reason};
use incumbent_wasmtime::Candidate;

use crate::support::*;

/// More than the memory limit of a guest.
const BYTES: usize = 20_000_000;

async fn bytes_reported(election: &mut Candidate) -> u64 {
    until(election, |event| match event {
        Event::Warning(Warning::NotARecord { bytes, .. }) => Some(*bytes),
        _ => None,
    })
    .await
}

/// A leader and a candidate whose key another program overwrites.
async fn written_over(url: &str) {
    let clock = Clock::system();
    let (campaigner, stores) = (campaigner(), stores(url, &clock).await);
    let mut leader = campaigner.campaign(&stores, "elections", "jobs", settings("a")).await.unwrap();
    let token = won(&mut leader).await;
    let mut candidate = campaigner.campaign(&stores, "elections", "jobs", settings("b")).await.unwrap();
    until(&mut candidate, |event| matches!(event, Event::LeaderChanged(Some(_))).then_some(())).await;

    let other = url.parse::<StoreSettings>().unwrap().operate(&clock).await.unwrap();
    other.put("jobs", &vec![b'x'; BYTES]).await.unwrap();
    let bytes = [bytes_reported(&mut leader).await, bytes_reported(&mut candidate).await];
    assert!(bytes.iter().all(|bytes| (BYTES as u64..BYTES as u64 + 100).contains(bytes)), "{bytes:?}");
    assert_eq!(lost(&mut leader).await, Reason::Usurped);
    leader.close();

    // It has the lease of the record before it, so it expires.
    assert!(won(&mut candidate).await > token);
}

#[tokio::test]
async fn megabytes_in_a_file_trap_no_component_and_are_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    written_over(&format!("sqlite:{}", folder.path().join("elections.db").display())).await;
}

#[tokio::test]
async fn megabytes_in_memory_trap_no_component_and_are_waited_for() {
    written_over("memory:megabytes").await;
}

//! Connections can be abandoned in the middle, renewed and closed.

use futures_util::FutureExt;
use incumbent::incumbent_core::record::{Attempt, Entry};
use incumbent::incumbent_core::store::{Expect, Outcome};

use super::{Fixture, acquire, acquired, applied, next, renew, write_id};

pub(crate) async fn a_write_whose_wait_is_abandoned_is_applied_once_or_never(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    for attempt in (2..40).step_by(2) {
        let abandoned = renew(attempt, revision, "a", fixture.lease());
        assert_eq!(store.write("jobs", abandoned.clone()).now_or_never().filter(|o| !is_applied(o)), None);
        // Both writes expect the same revision, so the first excludes the other.
        let second = renew(attempt + 1, revision, "a", fixture.lease());
        let by = match store.write("jobs", second.clone()).await {
            Outcome::Applied { .. } => attempt + 1,
            Outcome::Refused { .. } => attempt,
            other => panic!("{other:?}"),
        };
        let entry = store.read("jobs").await.unwrap();
        let record = entry.live().unwrap_or_else(|| panic!("{entry:?}"));
        assert_eq!(record.write_id, Some(write_id(by)));
        revision = record.revision;
    }
}

fn is_applied(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Applied { .. })
}

pub(crate) async fn abandoned_reads_and_watches_leave_a_connection_well(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    for _ in 0..20 {
        drop(store.read("jobs").now_or_never());
        drop(store.inspect().now_or_never());
        drop(store.list().now_or_never());
        drop(store.watch().now_or_never());
    }
    assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision));
    let mut watch = store.watch().await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap().entry.revision(), Some(revision));
}

pub(crate) async fn a_reconnect_changes_nothing_in_the_store(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    store.reconnect().await;
    let entry = store.read("jobs").await.unwrap();
    assert_eq!(entry.live().and_then(|record| record.write_id), Some(write_id(1)));
    let renewed = applied(store.write("jobs", renew(2, revision, "a", fixture.lease())).await);
    assert!(renewed > revision);
    let mut watch = store.watch().await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap().entry.revision(), Some(renewed));
}

pub(crate) async fn a_closed_connection_sends_nothing(fixture: &impl Fixture) {
    let (store, other) = (fixture.connect().await, fixture.connect().await);
    store.close().await;
    let write = acquire(1, Expect::Absent, "a", fixture.lease());
    assert_eq!(write.attempt, Attempt(1));
    assert_eq!(store.write("jobs", write.clone()).await, Outcome::NotSent);
    assert!(store.read("jobs").await.is_err());
    assert!(store.list().await.is_err());
    assert!(store.inspect().await.is_err());
    assert!(store.watch().await.is_err());
    assert_eq!(other.read("jobs").await.unwrap(), Entry::Vacant);
}

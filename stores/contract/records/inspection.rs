//! The store's inspection.

use std::time::Duration;

use incumbent::incumbent_core::record::Entry;

use super::{Fixture, acquired, eventually};

pub(crate) async fn every_connection_is_shown_the_same_incarnation_and_it_stays(fixture: &impl Fixture) {
    let (store, other) = (fixture.connect().await, fixture.connect().await);
    let first = store.inspect().await.unwrap().incarnation;
    acquired(&*store, "jobs", "a", fixture.lease()).await;
    fixture.pass(fixture.lease() / 10).await;
    assert_eq!(other.inspect().await.unwrap().incarnation, first);
    assert_eq!(fixture.connect().await.inspect().await.unwrap().incarnation, first);
    store.reconnect().await;
    assert_eq!(store.inspect().await.unwrap().incarnation, first);
}

pub(crate) async fn the_clock_is_read_before_the_question_leaves(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let before = fixture.clock().now();
    let inspecting = store.inspect();
    let asked_at = inspecting.await.unwrap().asked_at;
    let after = fixture.clock().now();
    assert!(before <= asked_at && asked_at <= after, "{before:?} {asked_at:?} {after:?}");
}

pub(crate) async fn the_age_grows_with_time(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let Some(young) = store.inspect().await.unwrap().age else { return };
    let span = fixture.lease() / 2;
    fixture.pass(span).await;
    let old = store.inspect().await.unwrap().age.unwrap();
    // A store may round its time to milliseconds, and its clock may differ slightly from the test's.
    assert!(old + Duration::from_millis(20) >= young + span, "{young:?}, then {old:?} after {span:?}");
}

pub(crate) async fn a_store_made_again_has_a_larger_incarnation_and_no_records(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let before = store.inspect().await.unwrap();
    acquired(&*store, "jobs", "a", fixture.lease()).await;
    fixture.recreate().await;
    let fresh = fixture.connect().await;
    let after = fresh.inspect().await.unwrap();
    assert!(after.incarnation > before.incarnation, "{before:?}, then {after:?}");
    assert_eq!(fresh.read("jobs").await.unwrap(), Entry::Vacant);
    // A connection that was open sees the new incarnation too.
    eventually("the old connection sees the new incarnation", || async {
        store.inspect().await.ok().filter(|info| info.incarnation == after.incarnation)
    })
    .await;
}

//! Revisions only grow, through every change of a record.

use incumbent::incumbent_core::store::Expect;

use super::{Fixture, acquire, acquired, applied, assert_growing, eventually, expect_of, release, renew};

pub(crate) async fn they_grow_over_renewals_releases_and_deletions(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    let lease = fixture.lease();
    let acquired = acquired(&*store, "jobs", "a", lease).await;
    let renewed = applied(store.write("jobs", renew(2, acquired, "a", lease)).await);
    let released = applied(store.write("jobs", release(3, renewed, None)).await);
    let taken = applied(store.write("jobs", acquire(4, Expect::Revision(released), "b", lease)).await);
    let deleted = operator.delete("jobs").await.unwrap();
    let overwritten = operator.put("jobs", b"x").await.unwrap();
    assert_growing(&[acquired, renewed, released, taken, deleted, overwritten]);
}

pub(crate) async fn they_grow_across_keys(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut revisions = Vec::new();
    for key in ["c", "a", "b"] {
        revisions.push(acquired(&*store, key, "x", fixture.lease()).await);
    }
    let first = revisions[0];
    revisions.push(applied(store.write("c", renew(2, first, "x", fixture.lease())).await));
    assert_growing(&revisions);
}

pub(crate) async fn they_are_not_used_again_after_an_expiry(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let before = acquired(&*store, "jobs", "a", fixture.lease()).await;
    fixture.pass(fixture.lease()).await;
    let gone = eventually("the record expires", || async {
        Some(store.read("jobs").await.unwrap()).filter(|entry| entry.live().is_none())
    })
    .await;
    let write = acquire(2, expect_of(&gone), "b", fixture.lease());
    let after = applied(store.write("jobs", write.clone()).await);
    assert!(after > before, "{after:?} after {before:?}");
}

pub(crate) async fn the_newest_is_that_of_the_last_write(fixture: &impl Fixture) {
    let (store, other) = (fixture.connect().await, fixture.connect().await);
    let first = acquired(&*store, "one", "a", fixture.lease()).await;
    let last = acquired(&*store, "other", "b", fixture.lease()).await;
    assert!(first < last);
    if let Some(newest) = other.inspect().await.unwrap().newest {
        assert_eq!(newest, last);
    }
}

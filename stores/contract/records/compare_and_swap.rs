//! A write compares and writes in one step, and a refusal returns the present revision.

use incumbent::incumbent_core::Revision;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::{Expect, Outcome};

use super::{Fixture, acquire, acquired, applied, release, renew, write_id};

pub(crate) async fn an_acquire_of_a_key_never_written_is_applied(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    assert!(revision > Revision(0));
}

pub(crate) async fn an_acquire_that_expects_absence_is_refused_over_a_record_with_its_revision(
    fixture: &impl Fixture,
) {
    let store = fixture.connect().await;
    let current = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let outcome = store.write("jobs", acquire(2, Expect::Absent, "b", fixture.lease())).await;
    assert_eq!(outcome, Outcome::Refused { current });
}

pub(crate) async fn a_write_that_expects_the_present_revision_is_applied(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    for attempt in 2..6 {
        revision = applied(store.write("jobs", renew(attempt, revision, "a", fixture.lease())).await);
    }
    let retake = acquire(6, Expect::Revision(revision), "b", fixture.lease());
    applied(store.write("jobs", retake.clone()).await);
}

pub(crate) async fn a_write_that_expects_an_old_revision_is_refused_with_the_present_one(
    fixture: &impl Fixture,
) {
    let store = fixture.connect().await;
    let old = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let current = applied(store.write("jobs", renew(2, old, "a", fixture.lease())).await);
    let outcome = store.write("jobs", renew(3, old, "a", fixture.lease())).await;
    assert_eq!(outcome, Outcome::Refused { current });
}

pub(crate) async fn a_write_that_expects_a_record_where_none_is_is_refused_with_zero(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let outcome = store.write("jobs", renew(1, Revision(5), "a", fixture.lease())).await;
    assert_eq!(outcome, Outcome::Refused { current: Revision(0) });
}

pub(crate) async fn a_refused_write_leaves_no_trace(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let before = store.read("jobs").await.unwrap();
    store.write("jobs", acquire(2, Expect::Absent, "b", fixture.lease())).await;
    store.write("jobs", release(3, Revision(revision.0 + 1), None)).await;
    assert_eq!(store.read("jobs").await.unwrap(), before);
    let next = applied(store.write("jobs", renew(4, revision, "a", fixture.lease())).await);
    assert_eq!(next, Revision(revision.0 + 1));
}

pub(crate) async fn a_release_compares_as_any_write_does(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let old = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let current = applied(store.write("jobs", renew(2, old, "a", fixture.lease())).await);
    assert_eq!(store.write("jobs", release(3, old, None)).await, Outcome::Refused { current });
    let live = store.read("jobs").await.unwrap();
    assert_eq!(live.live().and_then(|record| record.write_id), Some(write_id(2)));
    let tombstone = applied(store.write("jobs", release(4, current, None)).await);
    assert!(tombstone > current);
}

pub(crate) async fn an_acquire_over_a_tombstone_expects_its_revision(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let held = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let tombstone = applied(store.write("jobs", release(2, held, None)).await);
    let absent = store.write("jobs", acquire(3, Expect::Absent, "b", fixture.lease())).await;
    assert_eq!(absent, Outcome::Refused { current: tombstone });
    let exact = acquire(4, Expect::Revision(tombstone), "b", fixture.lease());
    applied(store.write("jobs", exact.clone()).await);
}

pub(crate) async fn an_acquire_over_an_operators_tombstone_expects_its_revision(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    let held = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let tombstone = operator.delete("jobs").await.unwrap();
    let late = store.write("jobs", renew(2, held, "a", fixture.lease())).await;
    assert_eq!(late, Outcome::Refused { current: tombstone });
    let exact = acquire(3, Expect::Revision(tombstone), "b", fixture.lease());
    applied(store.write("jobs", exact.clone()).await);
}

pub(crate) async fn keys_are_compared_one_by_one(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let one = acquired(&*store, "one", "a", fixture.lease()).await;
    let other = acquired(&*store, "other", "b", fixture.lease()).await;
    let crossed = store.write("one", renew(2, other, "a", fixture.lease())).await;
    assert_eq!(crossed, Outcome::Refused { current: one });
    applied(store.write("one", release(3, one, None)).await);
    assert!(matches!(store.read("other").await.unwrap(), Entry::Live(record) if record.revision == other));
}

pub(crate) async fn an_acknowledgement_carries_the_incarnation_where_that_is_promised(
    fixture: &impl Fixture,
) {
    let store = fixture.connect().await;
    let info = store.inspect().await.unwrap();
    let outcome = store.write("jobs", acquire(1, Expect::Absent, "a", fixture.lease())).await;
    let Outcome::Applied { incarnation, .. } = outcome else { panic!("{outcome:?}") };
    let promised = store.capabilities().incarnation_acked.then_some(info.incarnation);
    assert_eq!(incarnation, promised);
}

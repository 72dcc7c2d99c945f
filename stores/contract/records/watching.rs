//! A watch first reports the present entries, and then changes. It ends when it can no longer guarantee that it reports
//! all of them.

use incumbent::incumbent_core::Revision;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::session::Scope;
use incumbent::store::{WatchEvent, Watched};

use super::{
    Fixture, acquire, acquired, applied, assert_growing, next, next_item, release, renew, until, write_id,
};
use incumbent::incumbent_core::store::Expect;

pub(crate) async fn it_begins_with_what_is_there(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let held = acquired(&*store, "a", "x", fixture.lease()).await;
    let gone = acquired(&*store, "b", "y", fixture.lease()).await;
    applied(store.write("b", release(2, gone, None)).await);
    applied(store.write("a", renew(3, held, "x", fixture.lease())).await);
    let mut watch = fixture.connect().await.watch().await.unwrap();
    let mut delivered = [next(&mut watch).await.unwrap(), next(&mut watch).await.unwrap()];
    delivered.sort_by(|one, two| one.key.cmp(&two.key));
    for (watched, key) in delivered.iter().zip(["a", "b"]) {
        assert_eq!(*watched, WatchEvent { key: key.into(), entry: store.read(key).await.unwrap() });
    }
}

/// A store that promises `ShownAll` reports it once: after the present entries and before later ones.
pub(crate) async fn it_says_when_it_has_shown_all_that_is_there(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let says_so = store.capabilities().watch_shows_all;
    let said = if says_so { &[Watched::ShownAll(Scope::All)][..] } else { &[] };
    let mut present = 0;
    for keys in [&[][..], &["a", "b", "c"]] {
        for key in keys {
            acquired(&*store, key, "x", fixture.lease()).await;
        }
        present += keys.len();
        let mut watch = store.watch().await.unwrap();
        let mut seen = Vec::new();
        for _ in 0..present + said.len() {
            seen.push(next_item(&mut watch).await.unwrap());
        }
        assert_eq!(&seen[present..], said);
        let late = format!("late{present}");
        acquired(&*store, &late, "x", fixture.lease()).await;
        assert!(matches!(next_item(&mut watch).await, Some(Watched::Entry(change)) if change.key == late));
        present += 1;
    }
}

pub(crate) async fn it_delivers_nothing_of_an_empty_store_until_something_is_written(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut watch = store.watch().await.unwrap();
    let revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let delivered = next(&mut watch).await.unwrap();
    assert_eq!((delivered.key.as_str(), delivered.entry.revision()), ("jobs", Some(revision)));
}

pub(crate) async fn it_delivers_every_change_in_order_with_its_headers(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut watch = store.watch().await.unwrap();
    let mut revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    for attempt in 2..10 {
        let delivered = next(&mut watch).await.unwrap();
        let record = delivered.entry.live().unwrap_or_else(|| panic!("{delivered:?}"));
        assert_eq!((record.revision, record.write_id), (revision, Some(write_id(attempt - 1))));
        assert_eq!(record.lease, Some(fixture.lease()));
        revision = applied(store.write("jobs", renew(attempt, revision, "a", fixture.lease())).await);
    }
}

pub(crate) async fn it_delivers_a_release_and_a_deletion_as_what_they_are(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    let mut watch = store.watch().await.unwrap();
    let held = acquired(&*store, "jobs", "a", fixture.lease()).await;
    next(&mut watch).await.unwrap();

    let tombstone = applied(store.write("jobs", release(2, held, Some("b"))).await);
    let delivered = next(&mut watch).await.unwrap();
    let Entry::Released(certified) = delivered.entry else { panic!("{delivered:?}") };
    assert_eq!((certified.revision, certified.successor.as_deref()), (tombstone, Some("b")));

    let deleted = operator.delete("jobs").await.unwrap();
    let delivered = next(&mut watch).await.unwrap();
    assert_eq!((delivered.key.as_str(), delivered.entry.revision()), ("jobs", Some(deleted)));
    assert!(matches!(delivered.entry, Entry::Deleted { .. }), "{delivered:?}");
}

pub(crate) async fn it_delivers_foreign_values(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    let mut watch = store.watch().await.unwrap();
    let revision = operator.put("jobs", b"go-1").await.unwrap();
    let delivered = next(&mut watch).await.unwrap();
    let record = delivered.entry.live().unwrap_or_else(|| panic!("{delivered:?}"));
    assert_eq!((record.revision, record.candidate.as_str(), record.write_id), (revision, "go-1", None));
}

pub(crate) async fn it_delivers_what_other_connections_write(fixture: &impl Fixture) {
    let (store, other) = (fixture.connect().await, fixture.connect().await);
    let mut watch = store.watch().await.unwrap();
    let revision = acquired(&*other, "jobs", "a", fixture.lease()).await;
    assert_eq!(next(&mut watch).await.unwrap().entry.revision(), Some(revision));
}

pub(crate) async fn it_covers_every_key(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut watch = store.watch().await.unwrap();
    let mut written = Vec::new();
    for key in ["c", "a", "b"] {
        written.push((key.to_owned(), Some(acquired(&*store, key, "x", fixture.lease()).await)));
    }
    let last = written[2].1;
    let delivered = until(&mut watch, |watched| watched.entry.revision() == last).await;
    let delivered: Vec<_> = delivered.into_iter().map(|w| (w.key.clone(), w.entry.revision())).collect();
    assert_eq!(delivered, written);
}

pub(crate) async fn it_ends_a_burst_of_changes_with_the_newest(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut watch = store.watch().await.unwrap();
    let mut revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    for attempt in 2..100 {
        revision = applied(store.write("jobs", renew(attempt, revision, "a", fixture.lease())).await);
    }
    let delivered = until(&mut watch, |watched| watched.entry.revision() == Some(revision)).await;
    let delivered: Vec<Revision> = delivered.iter().filter_map(|watched| watched.entry.revision()).collect();
    assert_growing(&delivered);
}

pub(crate) async fn two_of_one_connection_are_independent(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut early = store.watch().await.unwrap();
    let first = acquired(&*store, "jobs", "a", fixture.lease()).await;
    assert_eq!(next(&mut early).await.unwrap().entry.revision(), Some(first));
    let mut late = store.watch().await.unwrap();
    assert_eq!(next(&mut late).await.unwrap().entry.revision(), Some(first));
    drop(early);
    let second = applied(store.write("jobs", renew(2, first, "a", fixture.lease())).await);
    assert_eq!(next(&mut late).await.unwrap().entry.revision(), Some(second));
}

pub(crate) async fn it_ends_when_its_connection_is_closed(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut watch = store.watch().await.unwrap();
    store.close().await;
    assert_eq!(next(&mut watch).await, None);
}

pub(crate) async fn it_ends_or_delivers_the_new_incarnation_when_the_store_is_made_again(
    fixture: &impl Fixture,
) {
    let store = fixture.connect().await;
    let mut watch = store.watch().await.unwrap();
    acquired(&*store, "jobs", "old", fixture.lease()).await;
    assert!(next(&mut watch).await.is_some());
    fixture.recreate().await;
    let other = fixture.connect().await;
    applied(other.write("jobs", acquire(1, Expect::Absent, "new", fixture.lease())).await);
    while let Some(delivered) = next(&mut watch).await {
        if delivered.entry.live().is_some_and(|record| record.candidate == "new") {
            return;
        }
    }
}

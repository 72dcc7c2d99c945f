//! Reads over any connection return the newest written entries.

use incumbent::incumbent_core::record::{
    Entry, Headers, Kind, LEASE, METADATA, NONCE, Record, Release, TERM, TermInfo,
};
use incumbent::incumbent_core::store::{Action, Expect, Put, Write};
use incumbent::incumbent_core::{Revision, Token, record::Attempt};
use incumbent::store::WatchEvent;
use std::time::Duration;

use super::{Fixture, HELD_IN, OWED, acquired, applied, next, release, renew, write_id};

pub(crate) async fn a_key_never_written_is_vacant(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    acquired(&*store, "jobs", "a", fixture.lease()).await;
    assert_eq!(store.read("jobs2").await.unwrap(), Entry::Vacant);
}

pub(crate) async fn a_live_record_reads_back_with_all_its_headers(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let metadata = [("Host", "db-1.example:8080"), ("Zone", "eu \"west\" 'a', b=c;d"), ("Build", "1.2.3")];
    let token = Token { incarnation: HELD_IN, sequence: Revision(4) };
    let claim = TermInfo { token, led_for: Some(Duration::from_millis(61_002)) };
    let mut headers: Headers = vec![
        (NONCE.into(), write_id(9).to_string()),
        (LEASE.into(), fixture.lease().as_millis().to_string()),
        (TERM.into(), claim.to_string()),
    ];
    headers
        .extend(metadata.iter().map(|(name, text)| (format!("{METADATA}{name}").into(), (*text).to_owned())));
    let put = Put { value: "worker-7 (été)".into(), headers, lease: fixture.lease() };
    let write = Write { attempt: Attempt(9), expect: Expect::Absent, action: Action::Acquire(put) };
    let revision = applied(store.write("jobs", write.clone()).await);
    let expected = Record {
        revision,
        candidate: "worker-7 (été)".into(),
        write_id: Some(write_id(9)),
        lease: Some(fixture.lease()),
        term_info: Some(claim),
        metadata: metadata.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
        oversize: None,
    };
    let Entry::Live(mut found) = store.read("jobs").await.unwrap() else { panic!("not live") };
    // A store may carry headers in any order.
    found.metadata.sort();
    let expected = Record { metadata: sorted(expected.metadata), ..expected };
    assert_eq!(found, expected);
}

pub(crate) async fn a_release_reads_back_with_what_it_certifies(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let held = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let revision = applied(store.write("jobs", release(2, held, None)).await);
    assert_eq!(store.read("jobs").await.unwrap(), Entry::Released(released(revision, None)));
}

pub(crate) async fn a_release_that_names_a_successor_reads_back(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let held = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let revision = applied(store.write("jobs", release(2, held, Some("worker-8"))).await);
    assert_eq!(store.read("jobs").await.unwrap(), Entry::Released(released(revision, Some("worker-8"))));
}

pub(crate) async fn a_live_record_knows_how_long_ago_it_was_written(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    assert_eq!(store.written("jobs").await.unwrap(), None);
    let first = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let new = store.written("jobs").await.unwrap().unwrap();
    assert_eq!(new.revision, first);
    let passed = fixture.lease() / 10;
    fixture.pass(passed).await;
    let old = store.written("jobs").await.unwrap().unwrap();
    assert!(old.ago >= new.ago + passed, "{new:?}, then {old:?}");
    let second = applied(store.write("jobs", renew(2, first, "a", fixture.lease())).await);
    let renewed = store.written("jobs").await.unwrap().unwrap();
    assert_eq!(renewed.revision, second);
    applied(store.write("jobs", release(3, second, None)).await);
    assert_eq!(store.written("jobs").await.unwrap(), None);
}

pub(crate) async fn an_operators_deletion_certifies_nothing(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    acquired(&*store, "jobs", "a", fixture.lease()).await;
    let revision = operator.delete("jobs").await.unwrap();
    let Entry::Deleted { revision: read, .. } = store.read("jobs").await.unwrap() else {
        panic!("not deleted")
    };
    assert_eq!(read, revision);
}

pub(crate) async fn an_operators_deletion_of_one_revision_leaves_every_other(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    let first = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let second = applied(store.write("jobs", renew(2, first, "a", fixture.lease())).await);
    assert_eq!(operator.delete_at("jobs", first).await.unwrap(), None);
    assert_eq!(operator.delete_at("other", first).await.unwrap(), None);
    assert_eq!(store.read("jobs").await.unwrap().live().map(|record| record.revision), Some(second));
    let deleted = operator.delete_at("jobs", second).await.unwrap();
    let entry = store.read("jobs").await.unwrap();
    assert!(matches!(entry, Entry::Deleted { .. }), "{entry:?}");
    assert_eq!(entry.revision(), deleted);
}

pub(crate) async fn a_foreign_value_is_a_record_without_a_stamp(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    acquired(&*store, "jobs", "a", fixture.lease()).await;
    let revision = operator.put("jobs", b"go-1").await.unwrap();
    assert_eq!(store.read("jobs").await.unwrap(), Entry::Live(foreign(revision, "go-1")));
}

pub(crate) async fn a_foreign_value_that_is_not_text_is_a_record_too(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    let revision = operator.put("jobs", b"\xff\x00go").await.unwrap();
    assert_eq!(store.read("jobs").await.unwrap(), Entry::Live(foreign(revision, "\u{fffd}\0go")));
}

pub(crate) async fn an_empty_foreign_value_is_a_record_too(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    let revision = operator.put("jobs", b"").await.unwrap();
    assert_eq!(store.read("jobs").await.unwrap(), Entry::Live(foreign(revision, "")));
}

pub(crate) async fn what_is_longer_than_a_record_is_reported_by_its_length(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    let revision = operator.put("jobs", &vec![b'x'; 300_000]).await.unwrap();
    let entry = store.read("jobs").await.unwrap();
    let bytes = entry.live().and_then(|record| record.oversize).unwrap();
    assert!((300_000..300_100).contains(&bytes), "{bytes} bytes");
    assert_eq!(entry, Entry::oversize(revision, Kind::Live, bytes));
    let delivered = next(&mut store.watch().await.unwrap()).await;
    assert_eq!(delivered, Some(WatchEvent { key: "jobs".into(), entry }));
    let revision = operator.delete("jobs").await.unwrap();
    assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision));
}

pub(crate) async fn a_write_is_read_at_once_over_another_connection(fixture: &impl Fixture) {
    let (writer, reader) = (fixture.connect().await, fixture.connect().await);
    let mut revision = acquired(&*writer, "jobs", "a", fixture.lease()).await;
    for attempt in 2..30 {
        revision = applied(writer.write("jobs", renew(attempt, revision, "a", fixture.lease())).await);
        let entry = reader.read("jobs").await.unwrap();
        let read = entry.live().map(|record| (record.revision, record.write_id));
        assert_eq!(read, Some((revision, Some(write_id(attempt)))));
    }
}

pub(crate) async fn a_list_holds_the_newest_entry_of_every_key(fixture: &impl Fixture) {
    let (store, other) = (fixture.connect().await, fixture.connect().await);
    let operator = fixture.operator().await;
    let held = acquired(&*store, "a", "x", fixture.lease()).await;
    let gone = acquired(&*store, "b", "x", fixture.lease()).await;
    applied(store.write("a", renew(2, held, "x", fixture.lease())).await);
    applied(store.write("b", release(3, gone, None)).await);
    operator.put("c", b"go-1").await.unwrap();
    operator.delete("c").await.unwrap();
    let mut listed = other.list().await.unwrap();
    listed.sort_by(|one, two| one.key.cmp(&two.key));
    let mut read = Vec::new();
    for key in ["a", "b", "c"] {
        read.push(WatchEvent { key: key.into(), entry: store.read(key).await.unwrap() });
    }
    assert_eq!(listed, read);
}

fn released(revision: Revision, successor: Option<&str>) -> Release {
    let successor = successor.map(str::to_owned);
    Release { revision, write_id: Some(write_id(2)), owed: OWED, incarnation: HELD_IN, successor }
}

fn foreign(revision: Revision, candidate: &str) -> Record {
    Record {
        revision,
        candidate: candidate.into(),
        write_id: None,
        lease: None,
        term_info: None,
        metadata: vec![],
        oversize: None,
    }
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

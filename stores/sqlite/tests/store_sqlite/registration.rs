//! The candidates, as the file lists them.

use std::path::PathBuf;
use std::time::Duration;

use incumbent::clock::Clock;
use incumbent::incumbent_core::Instant;
use incumbent::store::{Sqlite, SqliteSettings, StoreAdmin};
use incumbent::{CampaignOptions, Candidate, Preset, State, Store};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::contract::eventually;

fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("elections.db");
    (folder, path)
}

fn clock() -> Clock {
    Clock::manual(Instant::from_nanos(3_600_000_000_000))
}

async fn open(path: &PathBuf, clock: &Clock) -> Store {
    let sqlite = Sqlite::open(&SqliteSettings::new(path), clock).await.unwrap();
    Store::from_adapter(Box::new(sqlite), clock.clone()).unwrap()
}

async fn register(store: &Store, name: &str) -> Candidate {
    let options = CampaignOptions::new().name(name).preset(Preset::Test).lease(Duration::from_secs(1));
    store.campaign("jobs", options.splay(Duration::ZERO)).await.unwrap()
}

async fn listed(store: &Store) -> Vec<String> {
    let present = store.all_candidates().await.unwrap().unwrap();
    let mut names: Vec<_> = present.into_iter().map(|one| one.name).collect();
    names.sort();
    names
}

async fn until_told(store: &Store, expected: &[&str]) {
    let what = format!("the candidates {expected:?}");
    eventually(&what, || async { (listed(store).await == expected).then_some(()) }).await;
}

fn rows(sql: &Connection) -> Vec<String> {
    let mut select = sql.prepare("SELECT name FROM candidate ORDER BY name").unwrap();
    select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn a_file_without_a_candidate_so_far_is_read_and_left_alone() {
    let (_folder, path) = file();
    let store = open(&path, &clock()).await;
    assert_eq!(listed(&store).await, Vec::<String>::new());
    let sql = Connection::open(&path).unwrap();
    let tables = "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema ORDER BY name)";
    let tables: String = sql.query_row(tables, [], |row| row.get(0)).unwrap();
    assert_eq!(tables, "entry store");
}

#[tokio::test]
async fn a_candidate_writes_when_it_comes_and_goes_and_nothing_while_it_waits() {
    let (_folder, path) = file();
    let clock = clock();
    let (store, aside) = (open(&path, &clock).await, open(&path, &clock).await);
    let operator = Sqlite::open(&SqliteSettings::new(&path), &clock).await.unwrap();
    // A bare record lasts for 30 s.
    operator.put("jobs", b"another").await.unwrap();
    let ada = register(&store, "ada").await;
    until_told(&aside, &["ada"]).await;
    eventually("it waits", || async { (ada.state() == State::Waiting).then_some(()) }).await;
    let sql = Connection::open(&path).unwrap();
    let version = || sql.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0)).unwrap();
    let before = version();
    for _ in 0..10 {
        // Ten of its leases.
        clock.advance(Duration::from_secs(1));
        store.store_info().await.unwrap();
        assert_eq!(listed(&aside).await, ["ada"]);
    }
    assert_eq!(ada.state(), State::Waiting);
    assert_eq!(version(), before);
    ada.close().await.unwrap();
    until_told(&aside, &[]).await;
    assert!(version() > before);
    assert_eq!(rows(&sql), Vec::<String>::new());
}

#[tokio::test]
async fn a_candidate_of_an_earlier_boot_is_not_listed_and_deleted_by_the_next() {
    let (_folder, path) = file();
    let clock = clock();
    let (before, aside) = (open(&path, &clock).await, open(&path, &clock).await);
    let _ada = register(&before, "ada").await;
    until_told(&aside, &["ada"]).await;
    let sql = Connection::open(&path).unwrap();
    assert_eq!(rows(&sql), ["ada"]);
    let rebooted = Clock::manual(Instant::from_nanos(60_000_000_000)).in_boot("second");
    let store = open(&path, &rebooted).await;
    assert_eq!(listed(&store).await, Vec::<String>::new());
    let _ben = register(&store, "ben").await;
    eventually("the other is struck", || async { (rows(&sql) == ["ben"]).then_some(()) }).await;
    assert_eq!(listed(&store).await, ["ben"]);
}

/// Containers number their processes separately, so a process number from another container proves nothing here.
#[tokio::test]
async fn a_candidate_in_another_container_is_not_listed_and_not_deleted() {
    let (_folder, path) = file();
    let clock = clock();
    let (store, aside) = (open(&path, &clock).await, open(&path, &clock).await);
    let ada = register(&store, "ada").await;
    until_told(&aside, &["ada"]).await;
    let sql = Connection::open(&path).unwrap();
    sql.execute("UPDATE candidate SET space = space + 1, nonce = 'x' || nonce", []).unwrap();
    assert_eq!(listed(&aside).await, Vec::<String>::new());
    let _ben = register(&aside, "ben").await;
    eventually("both are there", || async { (rows(&sql) == ["ada", "ben"]).then_some(()) }).await;
    drop(ada);
}

#[tokio::test]
async fn candidates_are_written_into_the_file_that_replaces_the_one_before() {
    let (_folder, path) = file();
    let clock = clock();
    let (store, aside) = (open(&path, &clock).await, open(&path, &clock).await);
    let _ada = register(&store, "ada").await;
    until_told(&aside, &["ada"]).await;
    std::fs::remove_file(&path).unwrap();
    // A watch that failed is begun again later, by the clock.
    eventually("it is listed again", || async {
        clock.advance(Duration::from_millis(100));
        (listed(&aside).await == ["ada"]).then_some(())
    })
    .await;
}

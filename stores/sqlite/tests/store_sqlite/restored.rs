//! Files from another time: from an earlier boot, restored from a backup or copied, or with the write-ahead log of an
//! earlier version.

use std::fs;
use std::time::Duration;

use crate::contract::{self, acquire, acquired, applied, eventually, next, renew};
use incumbent::ErrorKind;
use incumbent::incumbent_core::Revision;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::{Expect, FaultKind, Outcome};
use incumbent::store::{Adapter, Sqlite, SqliteSettings, StoreAdmin};
use rusqlite::Connection;

use crate::file::{LEASE, clock, clock_after_reboot, failed, file, left, open, refused};

mod after_a_reboot {
    use super::*;

    #[tokio::test]
    async fn every_earlier_lease_runs_out_on_the_new_clock_and_revisions_go_on() {
        let (_folder, path) = file();
        let before = open(&path, &clock()).await;
        let old = acquired(&before, "jobs", "a", LEASE).await;
        drop(before);
        let clock = clock_after_reboot();
        let after = open(&path, &clock).await;
        // The leader from before the reboot may still lead, on another machine that shares the file undetected.
        let early = after.write("jobs", acquire(2, Expect::Absent, "b", LEASE)).await;
        assert_eq!(early, Outcome::Refused { current: old });
        clock.advance(LEASE - Duration::from_nanos(1));
        assert_eq!(after.read("jobs").await.unwrap().revision(), Some(old));
        clock.advance(Duration::from_nanos(1));
        assert_eq!(after.read("jobs").await.unwrap(), Entry::Vacant);
        let late = after.write("jobs", renew(3, old, "a", LEASE)).await;
        assert_eq!(late, Outcome::Refused { current: Revision(0) });
        let new = applied(after.write("jobs", acquire(4, Expect::Absent, "b", LEASE)).await);
        assert!(new > old);
    }

    #[tokio::test]
    async fn a_clock_of_the_same_boot_that_shows_another_time_is_refused() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        let revision = acquired(&store, "jobs", "a", LEASE).await;
        let shifted = clock().in_boot("manual+1000s0ns");
        let error = Sqlite::open(&SqliteSettings::new(&path), &shifted).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::UnsafeStore, "{error}");
        assert!(error.message().contains("another time namespace"), "{error}");
        applied(store.write("jobs", renew(2, revision, "a", LEASE)).await);
    }

    #[tokio::test]
    async fn the_store_is_the_same_one_and_no_younger() {
        let (_folder, path) = file();
        let clock = clock();
        let before = open(&path, &clock).await;
        clock.advance(Duration::from_secs(500));
        acquired(&before, "jobs", "a", LEASE).await;
        let info = before.inspect().await.unwrap();
        assert_eq!(info.age, Some(Duration::from_secs(500)));
        drop(before);
        let after = open(&path, &clock_after_reboot()).await.inspect().await.unwrap();
        assert_eq!(after.incarnation, info.incarnation);
        // The age that the store had reached, plus the minute since the machine was started.
        assert_eq!(after.age, Some(Duration::from_secs(560)));
    }

    #[tokio::test]
    async fn tombstones_still_certify_what_they_did() {
        let (_folder, path) = file();
        let before = open(&path, &clock()).await;
        let held = acquired(&before, "jobs", "a", LEASE).await;
        applied(before.write("jobs", contract::release(2, held, None)).await);
        let tombstone = before.read("jobs").await.unwrap();
        assert!(matches!(tombstone, Entry::Released(_)));
        drop(before);
        let after = open(&path, &clock_after_reboot()).await;
        assert_eq!(after.read("jobs").await.unwrap(), tombstone);
    }

    #[tokio::test]
    async fn leases_of_the_new_boot_are_counted_on_its_clock() {
        let (_folder, path) = file();
        drop(open(&path, &clock()).await);
        let clock = clock_after_reboot();
        let store = open(&path, &clock).await;
        let revision = acquired(&store, "jobs", "a", LEASE).await;
        // A second opening in the same boot ends no lease.
        let other = open(&path, &clock).await;
        clock.advance(LEASE - Duration::from_nanos(1));
        assert_eq!(other.read("jobs").await.unwrap().revision(), Some(revision));
        clock.advance(Duration::from_nanos(1));
        assert_eq!(other.read("jobs").await.unwrap(), Entry::Vacant);
    }

    #[tokio::test]
    async fn a_connection_of_the_earlier_boot_fails_because_two_machines_share_the_file() {
        let (_folder, path) = file();
        let stranger = open(&path, &clock()).await;
        let store = open(&path, &clock_after_reboot()).await;
        let write = acquire(1, Expect::Absent, "a", LEASE);
        failed(stranger.write("jobs", write.clone()).await, FaultKind::Broken, "two machines must not share");
        assert_eq!(store.read("jobs").await.unwrap(), Entry::Vacant);
    }
}

mod a_restored_file {
    use super::*;

    /// The store's incarnation, its age, and whether it states that it was never used.
    async fn incarnation_of(store: &Sqlite) -> (u64, Option<Duration>, bool) {
        let info = store.inspect().await.unwrap();
        (info.incarnation.0, info.age, info.never_used)
    }

    #[tokio::test]
    async fn that_is_a_copy_begins_a_new_incarnation_in_which_every_lease_begins_again() {
        let (folder, path) = file();
        let clock = clock();
        Sqlite::init(&SqliteSettings::new(&path), &clock, true).await.unwrap();
        let store = open(&path, &clock).await;
        let revision = acquired(&store, "jobs", "a", LEASE).await;
        clock.advance(LEASE / 2);
        let (incarnation, age, never_used) = incarnation_of(&store).await;
        assert_eq!((age, never_used), (Some(LEASE / 2), true));
        let copy = folder.path().join("copy.db");
        fs::copy(&path, &copy).unwrap();
        let copied = open(&copy, &clock).await;
        let (next, age, never_used) = incarnation_of(&copied).await;
        assert!(next > incarnation, "{next} follows {incarnation}");
        assert_eq!((age, never_used), (Some(Duration::ZERO), false));
        clock.advance(LEASE - Duration::from_nanos(1));
        assert_eq!(copied.read("jobs").await.unwrap().revision(), Some(revision));
        clock.advance(Duration::from_nanos(1));
        assert!(acquired(&copied, "jobs", "b", LEASE).await > revision);
        // When the copy is opened again, its incarnation is the same.
        assert_eq!(incarnation_of(&open(&copy, &clock).await).await.0, next);
        assert_eq!(incarnation_of(&store).await.0, incarnation, "and so is the file it was made from");
    }

    #[tokio::test]
    async fn put_in_place_by_another_name_begins_a_new_incarnation_for_the_processes_that_have_it_open() {
        let (folder, path) = file();
        let clock = clock();
        let store = open(&path, &clock).await;
        let backup = folder.path().join("backup");
        fs::copy(&path, &backup).unwrap();
        let revision = acquired(&store, "jobs", "a", LEASE).await;
        let (incarnation, ..) = incarnation_of(&store).await;
        fs::rename(&backup, &path).unwrap();
        let late = store.write("jobs", renew(2, revision, "a", LEASE)).await;
        assert_eq!(late, Outcome::Refused { current: Revision(0) });
        assert!(incarnation_of(&store).await.0 > incarnation);
    }

    #[tokio::test]
    async fn copied_into_the_open_one_begins_a_new_incarnation_as_soon_as_it_is_read() {
        let (folder, path) = file();
        let store = open(&path, &clock()).await;
        let backup = folder.path().join("backup");
        let first = acquired(&store, "jobs", "a", LEASE).await;
        fs::copy(&path, &backup).unwrap();
        applied(store.write("jobs", renew(2, first, "a", LEASE)).await);
        let (incarnation, ..) = incarnation_of(&store).await;
        fs::copy(&backup, &path).unwrap();
        let went_back = store.read("jobs").await;
        assert_eq!(went_back.unwrap_err().kind, FaultKind::Unreachable);
        assert!(incarnation_of(&store).await.0 > incarnation);
    }

    #[tokio::test]
    async fn copied_into_the_open_one_ends_the_watches() {
        let (folder, path) = file();
        let store = open(&path, &clock()).await;
        let backup = folder.path().join("backup");
        let first = acquired(&store, "jobs", "a", LEASE).await;
        fs::copy(&path, &backup).unwrap();
        let second = applied(store.write("jobs", renew(2, first, "a", LEASE)).await);
        let (incarnation, ..) = incarnation_of(&store).await;
        let mut watch = store.watch().await.unwrap();
        assert_eq!(next(&mut watch).await.unwrap().entry.revision(), Some(second));
        fs::copy(&backup, &path).unwrap();
        assert_eq!(next(&mut watch).await, None);
        // A read in the middle of the copy fails with the same report once more.
        let info = eventually("the store to be read", || async { store.inspect().await.ok() }).await;
        assert!(info.incarnation.0 > incarnation);
    }

    /// SQLite considers its cached pages current as long as the change counter in the file stays the same.
    #[tokio::test]
    async fn copied_into_the_open_one_and_written_to_as_often_is_read_as_it_is() {
        let (folder, path) = file();
        let clock = clock();
        let store = open(&path, &clock).await;
        store.put("jobs", b"before").await.unwrap();
        let (incarnation, ..) = incarnation_of(&store).await;
        let backup = folder.path().join("backup");
        fs::copy(&path, &backup).unwrap();
        store.put("jobs", b"lost").await.unwrap();
        assert_eq!(store.list().await.unwrap().len(), 1);
        fs::copy(&backup, &path).unwrap();
        let other = open(&path, &clock).await;
        // If the copy was slow, the other store notices it and fails, and this test writes once more.
        while other.put("other", b"there").await.is_err() {}
        let went_back = store.read("other").await;
        if incarnation_of(&other).await.0 == incarnation {
            assert_eq!(went_back.unwrap_err().kind, FaultKind::Unreachable);
        }
        let entry = store.read("other").await.unwrap();
        assert_eq!(entry.live().map(|record| record.candidate.as_str()), Some("there"));
        assert!(incarnation_of(&store).await.0 > incarnation);
        assert_eq!(incarnation_of(&other).await.0, incarnation_of(&store).await.0);
    }

    #[tokio::test]
    async fn copied_into_a_file_whose_processes_know_nothing_begins_a_new_incarnation_with_the_first_write() {
        let (_folder, path) = file();
        let clock = clock();
        let before = open(&path, &clock).await;
        let revision = acquired(&before, "jobs", "a", LEASE).await;
        let (incarnation, ..) = incarnation_of(&before).await;
        before.close().await;
        // The file looks like an hour-old copy: it was changed now, but states that it was written an hour ago.
        let program = Connection::open(&path).unwrap();
        program.execute("UPDATE store SET written = written - 3600000000000", []).unwrap();
        drop(program);
        let store = open(&path, &clock).await;
        let write = renew(2, revision, "a", LEASE);
        assert_eq!(store.write("jobs", write.clone()).await, Outcome::Unknown);
        let (next, age, _) = incarnation_of(&store).await;
        assert!(next > incarnation, "{next} follows {incarnation}");
        assert_eq!(age, Some(Duration::ZERO));
        assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision), "it was not written");
        applied(store.write("jobs", write.clone()).await);
    }

    #[tokio::test]
    async fn ends_the_watches_of_other_connections_when_a_new_incarnation_begins() {
        let (_folder, path) = file();
        let clock = clock();
        let (one, other) = (open(&path, &clock).await, open(&path, &clock).await);
        let revision = acquired(&one, "jobs", "a", LEASE).await;
        let mut watch = other.watch().await.unwrap();
        assert_eq!(next(&mut watch).await.unwrap().entry.revision(), Some(revision));
        let program = Connection::open(&path).unwrap();
        // The file looks as if another program had written it at another time.
        program.execute("UPDATE store SET written = 0, writes = writes + 1", []).unwrap();
        assert_eq!(one.write("jobs", renew(2, revision, "a", LEASE)).await, Outcome::Unknown);
        assert_eq!(next(&mut watch).await, None);
    }
}

mod a_write_ahead_log {
    use super::*;

    #[tokio::test]
    async fn is_left_when_a_file_is_opened() {
        let (folder, path) = file();
        let store = open(&path, &clock()).await;
        let revision = acquired(&store, "jobs", "a", LEASE).await;
        store.close().await;
        let program = Connection::open(&path).unwrap();
        program.pragma_update(None, "journal_mode", "wal").unwrap();
        drop(program);
        let store = open(&path, &clock()).await;
        assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision));
        assert_eq!(left(&folder), ["elections.db"]);
    }

    #[tokio::test]
    async fn that_another_program_uses_is_refused_with_the_remedy() {
        let (_folder, path) = file();
        open(&path, &clock()).await.close().await;
        let program = Connection::open(&path).unwrap();
        program.pragma_update(None, "journal_mode", "wal").unwrap();
        program.execute("UPDATE store SET touched = touched", []).unwrap();
        let error = refused(&SqliteSettings::new(&path)).await;
        assert_eq!(error.kind(), ErrorKind::Broken, "{error}");
        assert!(error.message().contains("end that program first"), "{error}");
    }

    #[tokio::test]
    async fn that_another_program_begins_under_an_open_store_is_left_again() {
        let (folder, path) = file();
        let store = open(&path, &clock()).await;
        let revision = acquired(&store, "jobs", "a", LEASE).await;
        let program = Connection::open(&path).unwrap();
        // The store's connections hold no lock while they do nothing.
        program.pragma_update(None, "journal_mode", "wal").unwrap();
        drop(program);
        eventually("it is written again", || async {
            let outcome = store.write("jobs", renew(2, revision, "a", LEASE)).await;
            matches!(outcome, Outcome::Applied { .. }).then_some(())
        })
        .await;
        assert_eq!(left(&folder), ["elections.db", "elections.db-journal"]);
    }

    #[tokio::test]
    async fn and_the_layout_that_had_it_are_changed_to_those_of_this_version() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        let revision = acquired(&store, "jobs", "a", LEASE).await;
        let incarnation = store.inspect().await.unwrap().incarnation;
        store.close().await;
        let program = Connection::open(&path).unwrap();
        for column in ["writes", "write_id", "written", "device", "inode", "birth"] {
            program.execute_batch(&format!("ALTER TABLE store DROP COLUMN {column}")).unwrap();
        }
        program.pragma_update(None, "user_version", 1).unwrap();
        program.pragma_update(None, "journal_mode", "wal").unwrap();
        drop(program);
        let store = open(&path, &clock()).await;
        assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision));
        assert!(store.inspect().await.unwrap().incarnation > incarnation);
        applied(store.write("jobs", renew(2, revision, "a", LEASE)).await);
    }
}

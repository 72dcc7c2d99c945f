//! Events that an SQLite file survives or reports: reboots, locks, damage, deletion, wrong files.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::contract::{LIMIT, acquire, acquired, applied, eventually, next, renew};
use incumbent::clock::Clock;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::{Expect, FaultKind, Outcome};
use incumbent::incumbent_core::{Instant, Revision};
use incumbent::store::{Adapter, Sqlite, SqliteSettings, StoreAdmin};
use incumbent::{Error, ErrorKind};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) const LEASE: Duration = Duration::from_secs(10);

pub(crate) fn clock() -> Clock {
    Clock::manual(Instant::from_nanos(3_600_000_000_000))
}

/// The clock of the machine, a minute after its restart.
pub(crate) fn clock_after_reboot() -> Clock {
    Clock::manual(Instant::from_nanos(60_000_000_000)).in_boot("second")
}

pub(crate) fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("elections.db");
    (folder, path)
}

/// The names in the folder.
pub(crate) fn left(folder: &TempDir) -> Vec<String> {
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) async fn open(path: &PathBuf, clock: &Clock) -> Sqlite {
    Sqlite::open(&SqliteSettings::new(path), clock).await.unwrap()
}

pub(crate) async fn refused(settings: &SqliteSettings) -> Error {
    match Sqlite::open(settings, &clock()).await {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

#[track_caller]
pub(crate) fn failed(outcome: Outcome, kind: FaultKind, part: &str) {
    let Outcome::Failed(fault) = outcome else { panic!("expected Failed, got {outcome:?}") };
    assert_eq!(fault.kind, kind, "{fault}");
    assert!(fault.detail.contains(part), "{fault}");
}

mod a_lock {
    use super::*;

    #[tokio::test]
    async fn of_another_program_makes_writes_busy_and_leaves_reads_alone() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        let revision = acquired(&store, "jobs", "a", LEASE).await;
        let program = Connection::open(&path).unwrap();
        program.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(store.write("jobs", renew(2, revision, "a", LEASE)).await, Outcome::Busy);
        assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision));
        program.execute_batch("ROLLBACK").unwrap();
        applied(store.write("jobs", renew(3, revision, "a", LEASE)).await);
    }

    #[tokio::test]
    async fn for_a_moment_is_waited_out() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        let write = acquire(1, Expect::Absent, "a", LEASE);
        eventually("a write waits for the lock", || async {
            let program = Connection::open(&path).unwrap();
            program.execute_batch("BEGIN IMMEDIATE").unwrap();
            let mut writing = store.write("jobs", write.clone());
            assert!(futures_util::poll!(&mut writing).is_pending());
            program.execute_batch("ROLLBACK").unwrap();
            match writing.await {
                // The machine was too busy for the short wait of a write.
                Outcome::Busy => None,
                outcome => Some(applied(outcome)),
            }
        })
        .await;
    }

    #[tokio::test]
    async fn never_blocks_the_runtime() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        let program = Connection::open(&path).unwrap();
        program.execute_batch("BEGIN IMMEDIATE").unwrap();
        let write = acquire(1, Expect::Absent, "a", LEASE);
        let mut turns = 0_u32;
        // This runtime has one thread, so it can only run if the write does not block it.
        let turning = async {
            loop {
                turns += 1;
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            outcome = store.write("jobs", write.clone()) => assert_eq!(outcome, Outcome::Busy),
            () = turning => {}
        }
        assert!(turns > 1000, "{turns}");
    }
}

mod damage {
    use super::*;

    #[tokio::test]
    async fn is_reported_when_the_file_is_opened() {
        let (_folder, path) = file();
        fs::write(&path, "this is no database, however long one looks at it. ".repeat(200)).unwrap();
        let error = refused(&SqliteSettings::new(&path)).await;
        assert_eq!(error.kind(), ErrorKind::Broken);
        assert!(
            error.message().contains("stop every candidate, then move the file away with its -journal"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn in_the_middle_of_a_file_is_reported_when_it_is_read() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        acquired(&store, "jobs", "a", LEASE).await;
        store.close().await;
        let mut bytes = fs::read(&path).unwrap();
        let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
        bytes[page..].fill(0xA5);
        fs::write(&path, bytes).unwrap();
        let error = refused(&SqliteSettings::new(&path)).await;
        assert_eq!(error.kind(), ErrorKind::Broken, "{error}");
    }

    #[tokio::test]
    async fn is_reported_while_it_lasts_and_forgotten_when_it_is_repaired() {
        let (folder, path) = file();
        let store = open(&path, &clock()).await;
        let revision = acquired(&store, "jobs", "a", LEASE).await;
        let kept = folder.path().join("kept.db");
        fs::rename(&path, &kept).unwrap();
        fs::write(&path, "x".repeat(10_000)).unwrap();
        let write = renew(2, revision, "a", LEASE);
        failed(store.write("jobs", write.clone()).await, FaultKind::Broken, "damaged");
        let fault = store.read("jobs").await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Broken, "{fault}");
        fs::rename(&kept, &path).unwrap();
        assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision));
        // If the repair took long, the first write is refused and begins a new incarnation.
        eventually("it is written again", || async {
            let outcome = store.write("jobs", write.clone()).await;
            matches!(outcome, Outcome::Applied { .. }).then_some(())
        })
        .await;
    }
}

mod deletion {
    use super::*;

    #[tokio::test]
    async fn of_the_file_alone_begins_a_new_incarnation_for_every_process() {
        let (_folder, path) = file();
        let clock = clock();
        let (one, other) = (open(&path, &clock).await, open(&path, &clock).await);
        let revision = acquired(&one, "jobs", "a", LEASE).await;
        let before = one.inspect().await.unwrap().incarnation;
        fs::remove_file(&path).unwrap();
        let late = one.write("jobs", renew(2, revision, "a", LEASE)).await;
        assert_eq!(late, Outcome::Refused { current: Revision(0) });
        let first = acquired(&other, "jobs", "b", LEASE).await;
        assert_eq!(first, Revision(1));
        assert_eq!(one.read("jobs").await.unwrap().revision(), Some(first));
        let info = one.inspect().await.unwrap();
        assert!(info.incarnation > before);
        assert_eq!((info.age, info.never_used), (Some(Duration::ZERO), false));
    }

    #[tokio::test]
    async fn with_all_companions_begins_a_new_incarnation_too() {
        let (folder, path) = file();
        let store = open(&path, &clock()).await;
        acquired(&store, "jobs", "a", LEASE).await;
        for entry in fs::read_dir(folder.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        assert_eq!(acquired(&store, "jobs", "b", LEASE).await, Revision(1));
        assert_eq!(store.list().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn ends_a_watch() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        let mut watch = store.watch().await.unwrap();
        acquired(&store, "jobs", "a", LEASE).await;
        assert!(next(&mut watch).await.is_some());
        fs::remove_file(&path).unwrap();
        assert_eq!(next(&mut watch).await, None);
    }

    #[tokio::test]
    async fn is_a_fault_where_the_file_is_not_to_be_made() {
        let (_folder, path) = file();
        Sqlite::init(&SqliteSettings::new(&path), &clock(), false).await.unwrap();
        let settings = SqliteSettings::new(&path).create(false);
        let store = Sqlite::open(&settings, &clock()).await.unwrap();
        fs::remove_file(&path).unwrap();
        let write = acquire(1, Expect::Absent, "a", LEASE);
        failed(store.write("jobs", write.clone()).await, FaultKind::Broken, "`incumbent init` creates it");
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn replaced_by_another_file_goes_on_with_that_one() {
        let (folder, path) = file();
        let clock = clock();
        let spare = folder.path().join("spare.db");
        let other = open(&spare, &clock).await;
        acquired(&other, "jobs", "other", LEASE).await;
        let incarnation = other.inspect().await.unwrap().incarnation;
        other.close().await;
        let store = open(&path, &clock).await;
        acquired(&store, "jobs", "a", LEASE).await;
        fs::remove_file(&path).unwrap();
        fs::rename(&spare, &path).unwrap();
        let entry = store.read("jobs").await.unwrap();
        assert_eq!(entry.live().map(|record| record.candidate.as_str()), Some("other"));
        assert_eq!(store.inspect().await.unwrap().incarnation, incarnation);
    }
}

mod opening {
    use super::*;

    #[tokio::test]
    async fn an_empty_file_makes_it_a_store() {
        let (_folder, path) = file();
        fs::write(&path, "").unwrap();
        let store = open(&path, &clock()).await;
        assert_eq!(acquired(&store, "jobs", "a", LEASE).await, Revision(1));
    }

    #[tokio::test]
    #[cfg(unix)]
    async fn an_empty_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, path) = file();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        open(&path, &clock()).await;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[tokio::test]
    async fn what_a_killed_maker_left_is_cleared_away() {
        let (folder, path) = file();
        for left in ["elections.db-new", "elections.db-new-journal", "elections.db-wal", "elections.db-shm"] {
            fs::write(folder.path().join(left), "half of something").unwrap();
        }
        let store = open(&path, &clock()).await;
        assert_eq!(acquired(&store, "jobs", "a", LEASE).await, Revision(1));
        store.close().await;
        assert_eq!(left(&folder), ["elections.db", "elections.db-journal"]);
    }

    #[tokio::test]
    async fn another_programs_database_is_refused_and_left_alone() {
        let (_folder, path) = file();
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
        let bytes = fs::read(&path).unwrap();
        let error = refused(&SqliteSettings::new(&path)).await;
        assert_eq!(error.kind(), ErrorKind::UnsafeStore, "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }

    #[tokio::test]
    async fn a_file_of_a_newer_version_is_refused() {
        let (_folder, path) = file();
        drop(open(&path, &clock()).await);
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 3).unwrap();
        let error = refused(&SqliteSettings::new(&path)).await;
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }

    #[tokio::test]
    async fn what_does_not_exist_is_reported_with_the_remedy() {
        let (folder, path) = file();
        let error = refused(&SqliteSettings::new(&path).create(false)).await;
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.message().contains("`StoreSettings::init` creates it"), "{error}");
        let error = refused(&SqliteSettings::new(folder.path().join("no/elections.db"))).await;
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.message().contains("create it first"), "{error}");
    }

    #[tokio::test]
    async fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = refused(&SqliteSettings::new(folder.path())).await;
        assert_eq!(error.kind(), ErrorKind::InvalidSetting, "{error}");
        let error = refused(&SqliteSettings::new(folder.path().join("not-there/"))).await;
        assert_eq!(error.kind(), ErrorKind::InvalidSetting, "{error}");
    }

    #[tokio::test]
    #[cfg(unix)]
    async fn a_link_that_leads_nowhere_is_refused_and_left_alone() {
        let (folder, path) = file();
        std::os::unix::fs::symlink(folder.path().join("nowhere.db"), &path).unwrap();
        let error = refused(&SqliteSettings::new(&path)).await;
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(path.is_symlink());
    }

    #[tokio::test]
    async fn a_poll_interval_out_of_bounds_is_refused() {
        let (_folder, path) = file();
        for poll in [Duration::ZERO, Duration::from_millis(1001)] {
            let error = refused(&SqliteSettings::new(&path).poll(poll)).await;
            assert_eq!(error.kind(), ErrorKind::InvalidSetting);
            assert!(error.message().contains("between 1ms and 1s"), "{error}");
        }
    }
}

#[tokio::test]
async fn an_operators_deletion_says_the_lease_of_the_last_live_record() {
    let (_folder, path) = file();
    let clock = clock();
    let store = open(&path, &clock).await;
    acquired(&store, "jobs", "a", LEASE).await;
    for _ in 0..2 {
        // A deletion over an older tombstone states the same lease, because nothing else states for how long the holder
        // could lead.
        let revision = store.delete("jobs").await.unwrap();
        assert_eq!(store.read("jobs").await.unwrap(), Entry::Deleted { revision, lease: Some(LEASE) });
        clock.advance(LEASE * 2);
    }
    let revision = store.delete("never held").await.unwrap();
    assert_eq!(store.read("never held").await.unwrap(), Entry::Deleted { revision, lease: None });
}

mod init {
    use super::*;

    #[tokio::test]
    async fn writes_down_that_the_name_was_never_used() {
        let (_folder, path) = file();
        let settings = SqliteSettings::new(&path);
        assert!(!Sqlite::init(&settings, &clock(), false).await.unwrap().never_used);
        assert!(Sqlite::init(&settings, &clock(), true).await.unwrap().never_used);
        assert!(open(&path, &clock()).await.inspect().await.unwrap().never_used);
    }

    #[tokio::test]
    async fn waits_for_a_slow_transaction_to_be_recorded_again_or_taken_for_a_copy() {
        let (_folder, path) = file();
        let settings = SqliteSettings::new(&path);
        Sqlite::init(&settings, &clock(), false).await.unwrap();
        // After this, the file seems to have been changed three seconds after the time that it states.
        let program = Connection::open(&path).unwrap();
        program.execute("UPDATE store SET written = written - 3000000000", []).unwrap();
        drop(program);
        assert!(Sqlite::init(&settings, &clock(), true).await.unwrap().never_used);
    }

    #[tokio::test]
    async fn refuses_to_call_a_used_file_new() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        acquired(&store, "jobs", "a", LEASE).await;
        let error = Sqlite::init(&SqliteSettings::new(&path), &clock(), true).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsafeStore, "{error}");
        assert!(error.message().contains("leave `new` out"), "{error}");
        assert!(!store.inspect().await.unwrap().never_used);
    }
}

mod notification {
    use super::*;

    #[tokio::test]
    async fn candidates_of_one_process_learn_at_once() {
        let (_folder, path) = file();
        let slow = SqliteSettings::new(&path).poll(Duration::from_secs(1));
        let clock = clock();
        let watcher = Sqlite::open(&slow, &clock).await.unwrap();
        let writer = Sqlite::open(&slow, &clock).await.unwrap();
        let mut watch = watcher.watch().await.unwrap();
        let mut fastest = LIMIT;
        for _ in 0..10 {
            writer.put("jobs", b"x").await.unwrap();
            // A slow disk only delays the write.
            let written = std::time::Instant::now();
            next(&mut watch).await.unwrap();
            fastest = fastest.min(written.elapsed());
        }
        assert!(fastest < Duration::from_millis(500), "{fastest:?} with a poll of 1 s");
    }

    #[tokio::test]
    async fn a_file_written_by_another_program_is_noticed_by_the_poll() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        let mut watch = store.watch().await.unwrap();
        store.put("jobs", b"x").await.unwrap();
        next(&mut watch).await.unwrap();
        let program = Connection::open(&path).unwrap();
        let update = "UPDATE store SET newest = newest + 1; \
                      UPDATE entry SET value = x'79', revision = (SELECT newest FROM store)";
        program.execute_batch(&format!("BEGIN; {update}; COMMIT")).unwrap();
        let reported = next(&mut watch).await.unwrap();
        assert_eq!(reported.entry.live().map(|record| record.candidate.as_str()), Some("y"));
    }

    #[tokio::test]
    async fn a_closed_store_leaves_the_file_and_a_journal_that_says_nothing() {
        let (folder, path) = file();
        let store = open(&path, &clock()).await;
        acquired(&store, "jobs", "a", LEASE).await;
        store.close().await;
        assert_eq!(left(&folder), ["elections.db", "elections.db-journal"]);
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_dropped_store_gives_its_file_back() {
        let (_folder, path) = file();
        let store = open(&path, &clock()).await;
        let _watch = store.watch().await.unwrap();
        let path = path.canonicalize().unwrap();
        let openings = || {
            let open =
                fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
            open.filter(|open| *open == path).count()
        };
        assert_eq!(openings(), 2, "one to write and one to read");
        drop(store);
        eventually("no thread has the file open", || async { (openings() == 0).then_some(()) }).await;
    }
}

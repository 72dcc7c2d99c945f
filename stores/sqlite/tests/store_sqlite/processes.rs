//! Several processes on one file. Each child is this test binary, and its environment selects its part.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use incumbent::clock::Clock;
use incumbent::incumbent_core::store::{Expect, FaultKind, Outcome};
use incumbent::incumbent_core::{Incarnation, Revision};
use incumbent::store::{Adapter, Sqlite, SqliteSettings};
use incumbent::{CampaignOptions, Store};

use crate::contract::{acquire, acquired, applied, assert_growing, eventually, expect_of, renew};
use crate::{crowd, one_file};

const PART: &str = "INCUMBENT_TEST_PART";
const FILE: &str = "INCUMBENT_TEST_FILE";
const NAME: &str = "INCUMBENT_TEST_NAME";
/// The prefix of a child's lines that are meant for its parent.
const SAYS: &str = "says ";
const LEASE: Duration = Duration::from_secs(60);
const KEYS: u64 = 40;

/// A child process, which is killed when this is dropped.
pub(crate) struct Process {
    pub(crate) child: Child,
    lines: Option<OutputLines>,
}

/// The output of a child.
pub(crate) struct OutputLines(Lines<BufReader<ChildStdout>>);

impl OutputLines {
    /// The next line; `None` when the child has ended.
    pub(crate) fn next_line(&mut self) -> Option<String> {
        // The test harness puts the test's name before the first line.
        self.0.find_map(|line| line.ok()?.split_once(SAYS).map(|(_, line)| line.to_owned()))
    }
}

impl Process {
    pub(crate) fn start(part: &str, path: &Path, name: &str) -> Self {
        Self::run(Command::new(std::env::current_exe().unwrap()), part, path, name)
    }

    /// Runs `program`, which either is this test binary or executes it.
    pub(crate) fn run(mut program: Command, part: &str, path: &Path, name: &str) -> Self {
        let mut child = program
            .args(["--ignored", "--exact", "--nocapture", "--test-threads=1", "processes::part_of_a_child"])
            .envs([(PART, part), (NAME, name)])
            .env(FILE, path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines: Some(OutputLines(lines)) }
    }

    /// Its output, for another thread.
    pub(crate) fn take_lines(&mut self) -> OutputLines {
        self.lines.take().unwrap()
    }

    /// The next line of the child's output; `None` when the child has ended.
    pub(crate) fn says(&mut self) -> Option<String> {
        self.lines.as_mut().unwrap().next_line()
    }

    fn says_number(&mut self) -> Option<u64> {
        self.says().map(|line| line.parse().unwrap())
    }

    pub(crate) fn kill(&mut self) {
        // Sends SIGKILL. The process may already have ended on its own.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    fn ends_well(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn say(what: impl std::fmt::Display) {
    println!("{SAYS}{what}");
}

#[tokio::test]
#[ignore = "the part of a child; other tests start it"]
async fn part_of_a_child() {
    let part = std::env::var(PART).unwrap();
    let path = PathBuf::from(std::env::var(FILE).unwrap());
    let name = std::env::var(NAME).unwrap();
    if part == "lead" {
        return one_file::lead(&path, &name).await;
    }
    if part == "wait" {
        return crowd::wait(&path, &name).await;
    }
    let store = open(&path).await;
    match part.as_str() {
        "open" => say(store.inspect().await.unwrap().incarnation.0),
        "acquire every key" => acquire_every_key(&store, &name).await,
        "renew until killed" => renew_until_killed(&store, &name).await,
        "struggle" => struggle(&store, &name, &path).await,
        "register" => register(store, &name).await,
        "fill the disk" => fill_the_disk(&store, &path).await,
        other => panic!("{other}"),
    }
}

async fn open(path: &Path) -> Sqlite {
    Sqlite::open(&SqliteSettings::new(path), &Clock::system()).await.unwrap()
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("elections.db");
    (folder, path)
}

async fn acquire_every_key(store: &Sqlite, name: &str) {
    for key in 0..KEYS {
        let write = acquire(1, Expect::Absent, name, LEASE);
        let key = format!("key-{key}");
        let outcome = eventually("the lock is free", || async {
            Some(store.write(&key, write.clone()).await).filter(|outcome| *outcome != Outcome::Busy)
        })
        .await;
        match outcome {
            Outcome::Applied { revision, .. } => say(format!("{key} {}", revision.0)),
            Outcome::Refused { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn of_many_processes_exactly_one_takes_each_key() {
    let (_folder, path) = file();
    let children: Vec<_> =
        (0..5).map(|n| Process::start("acquire every key", &path, &format!("p{n}"))).collect();
    let mut winners = BTreeMap::new();
    let mut revisions = Vec::new();
    for (number, mut child) in children.into_iter().enumerate() {
        while let Some(line) = child.says() {
            let (key, revision) = line.split_once(' ').unwrap();
            revisions.push(revision.parse::<u64>().unwrap());
            assert_eq!(winners.insert(key.to_owned(), format!("p{number}")), None, "{key} taken twice");
        }
        child.ends_well();
    }
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=KEYS).collect::<Vec<_>>());
    let store = open(&path).await;
    for (key, winner) in winners {
        let entry = store.read(&key).await.unwrap();
        assert_eq!(entry.live().map(|record| record.candidate.clone()), Some(winner));
    }
}

#[tokio::test]
async fn processes_that_open_a_new_file_at_once_make_one_store() {
    for _ in 0..5 {
        let (_folder, path) = file();
        let mut children: Vec<_> = (0..6).map(|_| Process::start("open", &path, "p")).collect();
        let incarnations: Vec<_> = children.iter_mut().map(|child| child.says_number().unwrap()).collect();
        assert!(incarnations.windows(2).all(|pair| pair[0] == pair[1]), "{incarnations:?}");
        children.into_iter().for_each(Process::ends_well);
    }
}

async fn renew_until_killed(store: &Sqlite, name: &str) {
    let entry = store.read("jobs").await.unwrap();
    let write = acquire(1, expect_of(&entry), name, LEASE);
    let mut revision = applied(store.write("jobs", write.clone()).await);
    for attempt in 2.. {
        say(revision.0);
        revision = applied(store.write("jobs", renew(attempt, revision, name, LEASE)).await);
    }
}

#[tokio::test]
async fn a_writer_that_is_killed_loses_no_acknowledged_write() {
    let (_folder, path) = file();
    let mut acknowledged = Vec::new();
    for round in 0..12 {
        let mut child = Process::start("renew until killed", &path, &format!("p{round}"));
        for _ in 0..20 {
            acknowledged.push(child.says_number().unwrap());
        }
        child.child.kill().unwrap();
        while let Some(revision) = child.says_number() {
            acknowledged.push(revision);
        }
        child.kill();
        let store = open(&path).await;
        let entry = store.read("jobs").await.unwrap();
        let record = entry.live().unwrap_or_else(|| panic!("{entry:?}"));
        let last = *acknowledged.last().unwrap();
        // The last write may have been committed before its acknowledgement was read.
        assert!([last, last + 1].contains(&record.revision.0), "{record:?} after {last}");
        assert_eq!(record.candidate, format!("p{round}"));
        assert_eq!(store.inspect().await.unwrap().newest, Some(record.revision));
    }
    assert_growing(&acknowledged);
    assert_sound(&path);
}

/// Renews and takes over, through every change of the file, until a file `stop` appears in the same folder.
async fn struggle(store: &Sqlite, name: &str, path: &Path) {
    let stop = path.with_file_name("stop");
    let mut known = (Incarnation(0), Revision(0));
    say("ready");
    for attempt in 1.. {
        if stop.exists() {
            break;
        }
        let entry = match store.read("jobs").await {
            Ok(entry) => entry,
            Err(fault) if fault.kind == FaultKind::Unreachable => continue,
            Err(fault) => panic!("{fault}"),
        };
        match store.write("jobs", acquire(attempt, expect_of(&entry), name, LEASE)).await {
            Outcome::Applied { revision, incarnation } => {
                let applied = (incarnation.unwrap(), revision);
                assert!(applied > known, "{applied:?} after {known:?}");
                known = applied;
            }
            Outcome::Refused { .. } | Outcome::Busy | Outcome::Unknown => {}
            other => panic!("{other:?}"),
        }
    }
    say(format!("{} {}", known.0.0, known.1.0));
}

#[tokio::test]
async fn a_file_deleted_again_and_again_under_its_writers_never_mixes_two_incarnations() {
    let (folder, path) = file();
    let mut children: Vec<_> = (0..3).map(|n| Process::start("struggle", &path, &format!("p{n}"))).collect();
    for child in &mut children {
        assert_eq!(child.says().as_deref(), Some("ready"));
    }
    let mut incarnations = Vec::new();
    for _ in 0..15 {
        fs::remove_file(&path).unwrap();
        let store = open(&path).await;
        let info = eventually("the children write to the new file", || async {
            // On a slow disk the writers may keep the file locked for as long as a reader waits.
            let info = store.inspect().await.ok()?;
            (info.newest >= Some(Revision(10))).then_some(info)
        })
        .await;
        incarnations.push(info.incarnation);
    }
    assert_growing(&incarnations);
    fs::write(folder.path().join("stop"), "").unwrap();
    let mut newest = Vec::new();
    for mut child in children {
        let line = child.says().unwrap();
        let (incarnation, revision) = line.split_once(' ').unwrap();
        newest.push((incarnation.parse::<u64>().unwrap(), revision.parse::<u64>().unwrap()));
        child.ends_well();
    }
    let info = open(&path).await.inspect().await.unwrap();
    assert_eq!(newest.iter().max(), Some(&(info.incarnation.0, info.newest.unwrap().0)));
    assert_sound(&path);
}

/// Fills the disk, on a file system so small that it can be filled.
async fn fill_the_disk(store: &Sqlite, path: &Path) {
    let revision = acquired(store, "jobs", "p", LEASE).await;
    let filler = path.with_file_name("filler");
    let error = fs::write(&filler, vec![1; 10 << 20]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
    // Writes first use up the free space in the file and its journal.
    let grow = |attempt: u64| async move {
        store
            .write(&format!("key-{attempt}"), acquire(attempt, Expect::Absent, &"p".repeat(1000), LEASE))
            .await
    };
    let (mut written, mut failures) = (0, 0);
    for attempt in 2..200 {
        match grow(attempt).await {
            Outcome::Applied { .. } => written += 1,
            Outcome::Failed(fault) => {
                assert_eq!(fault.kind, FaultKind::Broken);
                assert!(fault.detail.contains("the disk is full; free some space"), "{fault}");
                failures += 1;
            }
            // A connection of the store was still busy, so this outcome shows nothing about the disk.
            Outcome::Busy => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(failures > 0, "the disk was not full");
    assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision));
    fs::remove_file(&filler).unwrap();
    let next = applied(store.write("jobs", renew(200, revision, "p", LEASE)).await);
    assert_eq!(next, Revision(revision.0 + written + 1));
    assert_sound(path);
    say("done");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_full_disk_is_reported_and_loses_nothing() {
    // Only the child sees the small disk, which disappears with the child.
    const MOUNT: &str = r#"mount -t tmpfs -o size=400k none "$0" && exec "$@""#;
    let (folder, path) = file();
    let as_root = Command::new("unshare").args(["--mount", "true"]).status();
    let as_root = as_root.expect("this test needs unshare, of util-linux").success();
    let mut program = Command::new("unshare");
    program.args(if as_root { &["--mount"][..] } else { &["--map-root-user", "--mount"] });
    program.args(["sh", "-c", MOUNT]).arg(folder.path()).arg(std::env::current_exe().unwrap());
    let mut child = Process::run(program, "fill the disk", &path, "p");
    assert_eq!(child.says().as_deref(), Some("done"));
    child.ends_well();
}

async fn register(store: Sqlite, name: &str) {
    let store = Store::from_adapter(Box::new(store), Clock::system()).unwrap();
    let _candidate = store.campaign("jobs", CampaignOptions::new().name(name)).await.unwrap();
    eventually("it is registered", || async {
        store.candidates("jobs").await.unwrap().filter(|reported| !reported.is_empty())
    })
    .await;
    say("registered");
    std::future::pending().await
}

#[tokio::test]
async fn a_candidate_of_a_killed_process_is_no_longer_listed_and_its_row_goes_with_the_next_write() {
    let (_folder, path) = file();
    let aside = Store::from_adapter(Box::new(open(&path).await), Clock::system()).unwrap();
    let mut ada = Process::start("register", &path, "ada");
    let mut ben = Process::start("register", &path, "ben");
    assert_eq!((ada.says().as_deref(), ben.says().as_deref()), (Some("registered"), Some("registered")));
    until_told(&aside, &["ada", "ben"]).await;
    // A process that has ended but has not been reaped counts as ended too.
    ada.child.kill().unwrap();
    until_told(&aside, &["ben"]).await;
    let sql = rusqlite::Connection::open(&path).unwrap();
    let count = || sql.query_row("SELECT count(*) FROM candidate", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 2);
    ada.kill();
    let cleo = Process::start("register", &path, "cleo");
    until_told(&aside, &["ben", "cleo"]).await;
    assert_eq!(count(), 2);
    drop((ben, cleo));
    until_told(&aside, &[]).await;
}

async fn until_told(store: &Store, expected: &[&str]) {
    let what = format!("the candidates {expected:?}");
    eventually(&what, || async {
        let reported = store.candidates("jobs").await.unwrap().unwrap();
        let mut names: Vec<_> = reported.into_iter().map(|one| one.name).collect();
        names.sort();
        (names == expected).then_some(())
    })
    .await;
}

fn assert_sound(path: &Path) {
    let sql = rusqlite::Connection::open(path).unwrap();
    let verdict: String = sql.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}

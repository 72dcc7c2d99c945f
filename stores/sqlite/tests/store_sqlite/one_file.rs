//! Operations on a file under its leader: the file is restored, copied over, linked or mounted, or its companion files
//! are removed. Each candidate is a process that constantly prints whether it leads. Two never lead at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use incumbent::clock::Clock;
use incumbent::store::{Sqlite, SqliteSettings};
use incumbent::{CampaignOptions, Preset, Store};
use tempfile::TempDir;

use crate::processes::{Process, say};

const LEASE: Duration = Duration::from_secs(3);
/// The interval at which a candidate checks whether it leads.
const PROBE: Duration = Duration::from_millis(5);
/// The distance below which two probes of two candidates count as one moment.
const MOMENT: Duration = Duration::from_millis(10);
/// A time limit longer than a restart of the store and a lease together, on a machine under load.
const LONG: Duration = Duration::from_secs(90);

/// The child's part of the test: it campaigns, and prints `yes` with the time whenever it finds that it leads.
pub(crate) async fn lead(path: &Path, name: &str) {
    let clock = Clock::system();
    let sqlite = match Sqlite::open(&SqliteSettings::new(path), &clock).await {
        Ok(sqlite) => sqlite,
        Err(error) => return say(format!("refused {} {error}", error.kind().code())),
    };
    let store = Store::from_adapter(Box::new(sqlite), clock.clone()).unwrap();
    let options = CampaignOptions::new().name(name).preset(Preset::Test).lease(LEASE).splay(Duration::ZERO);
    let candidate = store.campaign("jobs", options).await.unwrap();
    say("registered");
    loop {
        if candidate.is_leader() {
            let token = candidate.term().map_or_else(|| "none".to_owned(), |term| term.token().to_string());
            // The clock is read between two questions. If both answers are yes, the candidate led at that time.
            let now = clock.now().as_nanos();
            if candidate.is_leader() {
                say(format!("yes {now} {token}"));
            }
        }
        tokio::time::sleep(PROBE).await;
    }
}

/// A candidate in a separate process, and the moments in which it led.
struct Candidate {
    process: Process,
    line: Receiver<String>,
    led: BTreeMap<u64, String>,
    refused: Option<String>,
}

impl Candidate {
    fn start(path: &Path, name: &str) -> Self {
        Self::run(Command::new(std::env::current_exe().unwrap()), path, name)
    }

    fn run(program: Command, path: &Path, name: &str) -> Self {
        let mut process = Process::run(program, "lead", path, name);
        let (sender, line) = mpsc::channel();
        let mut lines = process.take_lines();
        thread::spawn(move || {
            while let Some(line) = lines.next_line() {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { process, line, led: BTreeMap::new(), refused: None }
    }

    /// Reads the candidate's output until it led at `after` or later, and returns its token.
    fn leads_after(&mut self, after: u64) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some((_, token)) = self.led.range(after..).next() {
                return token.clone();
            }
            assert!(self.refused.is_none(), "refused: {:?}", self.refused);
            assert!(self.listen(deadline), "it did not lead within {LONG:?}");
        }
    }

    fn leads(&mut self) -> String {
        self.leads_after(0)
    }

    fn is_refused(&mut self) -> String {
        let deadline = Instant::now() + LONG;
        while self.refused.is_none() {
            assert!(self.led.is_empty(), "it leads");
            assert!(self.listen(deadline), "it was not refused within {LONG:?}");
        }
        self.refused.clone().unwrap()
    }

    /// Reads its output for `span`.
    fn hear_for(&mut self, span: Duration) {
        let deadline = Instant::now() + span;
        while self.listen(deadline) {}
    }

    fn listen(&mut self, deadline: Instant) -> bool {
        let line = match self.line.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
        };
        if let Some(yes) = line.strip_prefix("yes ") {
            let (at, token) = yes.split_once(' ').unwrap();
            self.led.insert(at.parse().unwrap(), token.to_owned());
        } else if let Some(why) = line.strip_prefix("refused ") {
            self.refused = Some(why.to_owned());
        }
        true
    }

    /// Stops it by SIGSTOP, or lets it continue.
    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.process.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }
}

fn now() -> u64 {
    Clock::system().now().as_nanos()
}

/// The approximate time in which both candidates led, from their probes.
fn overlap(one: &Candidate, other: &Candidate) -> Duration {
    let moment = u64::try_from(MOMENT.as_nanos()).unwrap();
    let both = |at: &&u64| other.led.range(at.saturating_sub(moment)..=**at + moment).next().is_some();
    PROBE * u32::try_from(one.led.keys().filter(both).count()).unwrap()
}

#[track_caller]
fn assert_one_at_a_time(mut one: Candidate, mut other: Candidate) {
    one.process.kill();
    other.process.kill();
    one.hear_for(LONG);
    other.hear_for(LONG);
    assert_eq!(overlap(&one, &other), Duration::ZERO, "both led, for about that long");
}

fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("elections.db");
    (folder, path)
}

/// A leader on a file, and a backup from when the file was new. The backup is too old for the copy to pass as current.
async fn a_leader_and_a_backup(path: &Path) -> (Candidate, PathBuf) {
    Sqlite::init(&SqliteSettings::new(path), &Clock::system(), true).await.unwrap();
    let backup = path.with_file_name("backup");
    fs::copy(path, &backup).unwrap();
    let mut ada = Candidate::start(path, "ada");
    ada.leads();
    ada.hear_for(Duration::from_secs(1));
    (ada, backup)
}

fn remove_companions(path: &Path) {
    for end in ["-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        // The other files of the database exist only in the middle of a write, or not at all.
        let _ = fs::remove_file(PathBuf::from(name));
    }
}

/// Runs `act` under a leader, and then starts another candidate. The two lead one at a time, and one of them leads in
/// the end.
async fn one_at_a_time_after(act: impl FnOnce(&Path, &Path)) {
    let (_folder, path) = file();
    let (mut ada, backup) = a_leader_and_a_backup(&path).await;
    act(&path, &backup);
    let mut cleo = Candidate::start(&path, "cleo");
    cleo.hear_for(LEASE * 3);
    ada.hear_for(Duration::from_millis(1));
    let from = now();
    let deadline = Instant::now() + LONG;
    while ada.led.range(from..).next().is_none() && cleo.led.range(from..).next().is_none() {
        ada.hear_for(Duration::from_millis(20));
        cleo.hear_for(Duration::from_millis(20));
        assert!(Instant::now() < deadline, "none leads");
    }
    assert_one_at_a_time(ada, cleo);
}

fn leads_with_another_token(one: &mut Candidate, other: &mut Candidate, token: &str) -> String {
    let deadline = Instant::now() + LONG;
    loop {
        let mut tokens = one.led.values().chain(other.led.values());
        if let Some(next) = tokens.find(|next| *next != token) {
            return next.clone();
        }
        assert!(Instant::now() < deadline, "none leads");
        one.hear_for(Duration::from_millis(20));
        other.hear_for(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn companions_that_are_removed_under_a_leader_make_no_second_one() {
    one_at_a_time_after(|path, _| remove_companions(path)).await;
}

#[tokio::test]
async fn a_backup_copied_over_the_file_under_a_leader_makes_no_second_one() {
    one_at_a_time_after(|path, backup| {
        fs::copy(backup, path).unwrap();
        remove_companions(path);
    })
    .await;
}

#[tokio::test]
async fn a_backup_copied_over_the_file_with_its_times_makes_no_second_one() {
    one_at_a_time_after(|path, backup| {
        let copied = Command::new("cp").arg("-p").args([backup, path]).status();
        assert!(copied.unwrap().success());
        remove_companions(path);
    })
    .await;
}

#[tokio::test]
async fn a_backup_renamed_over_the_file_under_a_leader_makes_no_second_one() {
    one_at_a_time_after(|path, backup| {
        fs::rename(backup, path).unwrap();
        remove_companions(path);
    })
    .await;
}

/// A stopped leader notices nothing, so only the file itself can show the change.
async fn one_at_a_time_beside_a_stopped_leader(act: impl FnOnce(&Path, &Path)) {
    let (_folder, path) = file();
    let (mut ada, backup) = a_leader_and_a_backup(&path).await;
    let token = ada.leads();
    ada.signal("-STOP");
    act(&path, &backup);
    let mut cleo = Candidate::start(&path, "cleo");
    cleo.hear_for(LEASE / 4);
    ada.signal("-CONT");
    let next = leads_with_another_token(&mut ada, &mut cleo, &token);
    assert!(next > token, "{next} follows {token}");
    assert_one_at_a_time(ada, cleo);
}

#[tokio::test]
#[cfg(unix)]
async fn a_backup_copied_over_the_file_of_a_stopped_leader_makes_no_second_one() {
    one_at_a_time_beside_a_stopped_leader(|path, backup| {
        let copied = Command::new("cp").arg("-p").args([backup, path]).status();
        assert!(copied.unwrap().success());
        remove_companions(path);
    })
    .await;
}

#[tokio::test]
#[cfg(unix)]
async fn a_backup_renamed_over_the_file_of_a_stopped_leader_makes_no_second_one() {
    one_at_a_time_beside_a_stopped_leader(|path, backup| {
        fs::rename(backup, path).unwrap();
        remove_companions(path);
    })
    .await;
}

#[tokio::test]
#[cfg(unix)]
async fn a_second_name_of_the_file_is_refused() {
    let (folder, path) = file();
    let (ada, _) = a_leader_and_a_backup(&path).await;
    let second = folder.path().join("second.db");
    fs::hard_link(&path, &second).unwrap();
    let mut cleo = Candidate::start(&second, "cleo");
    let why = cleo.is_refused();
    assert!(why.starts_with("UNSAFE_STORE"), "{why}");
    assert!(why.contains("has 2 names"), "{why}");
    assert_one_at_a_time(ada, cleo);
}

/// A container with another clock would consider every lease over whose beginning the container had not observed.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_process_in_a_time_namespace_with_another_clock_is_refused() {
    let mut program = Command::new("unshare");
    program.args(["--time", "--boottime", "1000", "--fork", "--kill-child"]);
    let can_be_made =
        Command::new("unshare").args(["--time", "--boottime", "1000", "--fork", "true"]).status();
    if !can_be_made.expect("this test needs unshare, of util-linux").success() {
        // Only root can create time namespaces, or a user who maps itself to root.
        program = Command::new("unshare");
        program.args(["--map-root-user", "--time", "--boottime", "1000", "--fork", "--kill-child"]);
    }
    let (_folder, path) = file();
    let (ada, _) = a_leader_and_a_backup(&path).await;
    program.arg(std::env::current_exe().unwrap());
    let mut cleo = Candidate::run(program, &path, "cleo");
    let why = cleo.is_refused();
    assert!(why.starts_with("UNSAFE_STORE"), "{why}");
    assert!(why.contains("another time namespace"), "{why}");
    assert_one_at_a_time(ada, cleo);
}

/// A file that is mounted alone, as by `docker -v /srv/elections.db:/elections.db`, would have its journal in another
/// place.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_file_that_is_mounted_alone_is_refused() {
    const MOUNT: &str = r#"mount --bind "$0" "$1" && shift && exec "$@""#;
    let (folder, path) = file();
    let (ada, _) = a_leader_and_a_backup(&path).await;
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    let alone = inside.join("alone.db");
    fs::write(&alone, "").unwrap();
    let as_root = Command::new("unshare").args(["--mount", "true"]).status();
    let as_root = as_root.expect("this test needs unshare, of util-linux").success();
    let mut program = Command::new("unshare");
    program.args(if as_root { &["--mount"][..] } else { &["--map-root-user", "--mount"] });
    program.args(["sh", "-c", MOUNT]).args([&path, &alone]).arg(std::env::current_exe().unwrap());
    let mut cleo = Candidate::run(program, &alone, "cleo");
    let why = cleo.is_refused();
    assert!(why.starts_with("UNSAFE_STORE"), "{why}");
    assert!(why.contains("mount the folder"), "{why}");
    assert_one_at_a_time(ada, cleo);
}

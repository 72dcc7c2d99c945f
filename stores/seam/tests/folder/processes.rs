//! Candidates in separate processes. Each is this test binary again, and an environment variable names the folder.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use incumbent::{CampaignOptions, Preset, Store};
use incumbent_store::Clock;
use incumbent_testkit::process::ChildGuard;

use crate::store::Folder;

const FOLDER: &str = "INCUMBENT_TEST_FOLDER";
const LEASE: Duration = Duration::from_secs(2);
/// The prefix of the lines that a child prints for its parent.
const SAYS: &str = "says ";

struct Candidate {
    child: ChildGuard,
    lines: Lines<BufReader<ChildStdout>>,
}

/// A term, and when it began or was last known to lead, by the clock that all processes share.
#[derive(Debug, PartialEq, PartialOrd)]
struct Led {
    token: String,
    at: u64,
}

impl Candidate {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", "--test-threads=1", "processes::a_candidate"]);
        command.env(FOLDER, folder).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = ChildGuard::spawn(command).unwrap();
        let lines = BufReader::new(child.take_stdout().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits until the child prints `what`, which may take until leases are over.
    #[track_caller]
    fn says(&mut self, what: &str) -> Led {
        let said = self.lines.find_map(|line| {
            let line = line.ok()?;
            let (_, said) = line.split_once(SAYS)?;
            let (about, rest) = said.split_once(' ')?;
            let (token, at) = rest.split_once(' ')?;
            (about == what).then(|| Led { token: token.to_owned(), at: at.parse().unwrap() })
        });
        said.unwrap_or_else(|| panic!("it never says {what:?}"))
    }
}

/// The candidate of a child process. It prints when it leads and, after each term, when `is_leader` was last true.
#[test]
#[ignore = "is run by other tests, as a child process"]
fn a_candidate() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let clock = Clock::system();
        let store = Folder::open(Path::new(&folder), &clock);
        let store = Store::from_adapter(Box::new(store), clock.clone()).unwrap();
        let options = CampaignOptions::new().preset(Preset::Test).lease(LEASE).splay(Duration::ZERO);
        let candidate = store.campaign("jobs", options).await.unwrap();
        while let Ok(term) = candidate.next_term().await {
            let token = term.token();
            println!("{SAYS}leads {token} {}", clock.now().as_nanos());
            let mut last = 0;
            while term.is_current() {
                // The clock is read before `is_leader`, so that the time is no later than the answer.
                let asked = clock.now().as_nanos();
                if candidate.is_leader() {
                    last = asked;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            println!("{SAYS}led {token} {last}");
        }
    });
}

#[track_caller]
fn follows(before: &Led, after: &Led) {
    assert!(after.token > before.token && after.at > before.at, "{after:?} after {before:?}");
}

#[test]
fn an_election_in_a_folder_outlives_processes_that_are_killed_and_stopped() {
    let folder = tempfile::tempdir().unwrap();
    Folder::create(folder.path(), &Clock::system()).unwrap();
    let mut first = Candidate::start(folder.path());
    let led = first.says("leads");
    let mut second = Candidate::start(folder.path());
    first.child.kill();
    let killed = second.says("leads");
    follows(&led, &killed);

    let mut third = Candidate::start(folder.path());
    second.child.pause();
    let next = third.says("leads");
    follows(&killed, &next);
    second.child.resume();
    // By its own clock, the stopped leader had stopped leading before the next one began.
    let stopped = second.says("led");
    assert_eq!(stopped.token, killed.token);
    assert!(stopped.at < next.at, "{stopped:?} and {next:?}");
}

#[test]
fn a_restored_folder_has_no_leader_until_it_is_created_again_and_then_larger_tokens() {
    let place = tempfile::tempdir().unwrap();
    let (folder, backup) = (place.path().join("elections"), place.path().join("backup"));
    Folder::create(&folder, &Clock::system()).unwrap();
    let mut first = Candidate::start(&folder);
    let led = first.says("leads");
    copy(&folder, &backup);
    fs::rename(&folder, place.path().join("lost")).unwrap();
    copy(&backup, &folder);
    assert_eq!(first.says("led").token, led.token);
    let second = Candidate::start(&folder);

    Folder::create(&folder, &Clock::system()).unwrap();
    let mut next = Candidate::start(&folder);
    // The other two candidates read the new life too, and one of them could lead first.
    drop((first, second));
    follows(&led, &next.says("leads"));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

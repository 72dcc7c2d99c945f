//! Commands that may start no more threads or processes.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use incumbent_testkit::etcd::{EtcdServer, Options as EtcdOptions};
use incumbent_testkit::process::ChildGuard;
use rustix::process::Signal;

use crate::operate::server;
use crate::support::{Ended, LIMIT, Running, Scratch, ended};
use crate::terminal::{pieces, terminal};

/// The first of the numbers of users that have no other processes.
const LONE_USER: u32 = 47400;
/// The largest limit that is tried.
const MOST: u32 = 12;

/// The program in a place where any user may run it, and a file in which any user may campaign.
struct Place {
    scratch: Scratch,
    program: PathBuf,
}

impl Place {
    /// `None` if no other user is available. Root will not do, because limits do not apply to it.
    fn new() -> Option<Self> {
        let scratch = Scratch::made();
        let program = scratch.folder.path().join("incumbent");
        fs::copy(env!("CARGO_BIN_EXE_incumbent"), &program).unwrap();
        for file in fs::read_dir(scratch.folder.path()).unwrap() {
            fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o666)).unwrap();
        }
        for path in [scratch.folder.path(), &program] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let place = Self { scratch, program };
        let can_be =
            place.limited(LONE_USER, 1, &["--version"]).status().is_ok_and(|status| status.success());
        if !can_be {
            eprintln!("no other user can be had here: nothing to test");
        }
        can_be.then_some(place)
    }

    /// Returns the program as run by that user, who may have this many processes and threads.
    fn limited(&self, user: u32, most: u32, words: &[&str]) -> Command {
        let (user, most) = (user.to_string(), format!("--nproc={most}"));
        let mut run = Command::new("setpriv");
        run.args(["--reuid", &user, "--regid", &user, "--clear-groups", "prlimit", &most]);
        run.arg(&self.program).args(words).env_remove("TMPDIR");
        run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        run
    }

    /// Tries each command on these stores at each limit, all at the same time, and checks how each ends. The largest
    /// limit is enough for every command.
    #[track_caller]
    fn each(&self, stores: &[&str], works_with: u32) {
        let mut users = LONE_USER..;
        let mut running = Vec::new();
        for store in stores {
            for most in 1..=MOST {
                for command in ["run", "status", "doctor"] {
                    let user = users.next().unwrap();
                    let key = format!("jobs-{user}");
                    let words = match command {
                        "run" => vec!["run", "--once", "--wait", "8s", "--splay", "0s", "--key", &key],
                        "status" => vec!["status", &key],
                        other => vec![other],
                    };
                    let words = [&words[..], &["--store", store]].concat();
                    let what: &[&str] = if command == "run" { &["--", "/bin/echo", "leads"] } else { &[] };
                    let started = Running::start(self.limited(user, most, &[&words, what].concat()));
                    running.push((format!("{command} of {most} on {store}"), most, command, started));
                }
            }
        }
        for (which, most, command, mut started) in running {
            let ended = started.wait();
            let fails: &[i32] = if command == "run" { &[1, 3, 8] } else { &[1, 3] };
            let is_documented = ended.code == Some(0) || fails.iter().any(|code| ended.code == Some(*code));
            assert!(is_documented && !ended.stderr.contains("panicked"), "{which}: {ended:#?}");
            assert!(ended.code == Some(0) || reports_the_limit(&ended), "{which}: {ended:#?}");
            assert!(ended.code == Some(0) || most < works_with, "{which}: {ended:#?}");
            assert!(ended.code != Some(0) || most > 1, "{which}: {ended:#?}");
            assert!(ended.stderr.lines().count() < 10, "{which} repeats itself: {ended:#?}");
        }
    }
}

/// Whether one line contains both the reason and the remedy.
fn reports_the_limit(ended: &Ended) -> bool {
    let is_it = |line: &str| line.contains("can be started") || line.contains("cannot be started");
    ended.stderr.lines().any(|line| is_it(line) && line.contains("raise the limit"))
}

/// The URL of a store whose address must be looked up.
fn by_name(scheme: &str, address: &str, path: &str) -> String {
    format!("{scheme}://{}/{path}", address.replace("127.0.0.1", "localhost"))
}

#[test]
fn at_any_limit_of_processes_each_command_works_or_reports_the_limit_and_fails() {
    let Some(place) = Place::new() else { return };
    // The stores have host names, because looking up a name takes a thread.
    let (nats_server, _) = server("10s");
    let etcd_server = EtcdServer::start(EtcdOptions::new());
    let nats = by_name("nats", &nats_server.address(), "ELECTIONS");
    let etcd = by_name("etcd", &etcd_server.address(), "app");
    assert_eq!(ended(&["init", "--new", "--store", &etcd]).code, Some(0));
    place.each(&[&place.scratch.url, &nats, &etcd], MOST);
}

#[test]
fn at_any_limit_of_processes_a_screen_opens_or_reports_the_limit_and_fails() {
    let Some(place) = Place::new() else { return };
    let start = |most: u32| {
        let (ours, theirs) = terminal();
        let words = ["top", "--fail-fast", "--store", &place.scratch.url];
        let mut top = place.limited(LONE_USER + 100 + most, most, &words);
        top.stdin(theirs.try_clone().unwrap()).stdout(theirs).env("TERM", "xterm");
        // This key makes the program end as soon as it reads keys.
        fs::File::from(ours.try_clone().unwrap()).write_all(b"q").unwrap();
        (most, ChildGuard::spawn(top).unwrap(), pieces(ours))
    };
    let mut works = 0;
    for (most, mut top, _screen) in (1..=MOST).map(start).collect::<Vec<_>>() {
        let mut reported = String::new();
        top.take_stderr().unwrap().read_to_string(&mut reported).unwrap();
        let code = top.wait(LIMIT).code();
        let is_documented = matches!(code, Some(0 | 1 | 3)) && !reported.contains("panicked");
        assert!(is_documented, "with {most}: {code:?}, {reported}");
        let reports_the_limit = reported.contains("can be started") && reported.contains("raise the limit");
        assert!(code == Some(0) || reports_the_limit, "with {most}: {code:?}, {reported}");
        works += usize::from(code == Some(0));
    }
    assert!(works > 0, "none of them works");
}

/// The lease of leaders, which outlasts the restart of a server.
const LEASE: Duration = Duration::from_secs(10);
/// The time after which an idle thread ends by default.
const IDLE: Duration = Duration::from_secs(11);

#[test]
fn a_leader_whose_command_uses_up_the_limit_connects_again_by_name_and_keeps_its_term() {
    let Some(place) = Place::new() else { return };
    let (mut nats, _) = server("10s");
    let mut etcd = EtcdServer::start(EtcdOptions::new());
    let (nats_store, etcd_store) =
        (by_name("nats", &nats.address(), "ELECTIONS"), by_name("etcd", &etcd.address(), "app"));
    assert_eq!(ended(&["init", "--new", "--store", &etcd_store]).code, Some(0));
    let mut users = LONE_USER..;
    let leaders = [&nats_store, &etcd_store].map(|store| {
        let words =
            ["run", "--key", "jobs", "--name", "ada", "--splay", "0s", "--lease", "10s", "--store", store];
        // A shell that can start no more processes ends.
        let script = "(while :; do sleep 1000 & done) 2> /dev/null; echo full; exec sleep 1000";
        let words = [&words[..], &["--", "sh", "-c", script]].concat();
        let mut leader = Running::start(place.limited(users.next().unwrap(), 40, &words));
        leader.until("that no more can be started", |line| (line == "full").then_some(()));
        leader
    });
    thread::sleep(IDLE);
    nats.restart();
    etcd.restart();
    thread::sleep(LEASE);
    for mut leader in leaders {
        leader.signal(Signal::TERM);
        let ended = leader.wait();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert!(ended.stderr.ends_with("incumbent: ada no longer leads jobs: closed\n"), "{ended:#?}");
        assert_eq!(ended.stderr.matches("leads jobs").count(), 2, "{ended:#?}");
        assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
    }
}

#[test]
#[cfg(feature = "kafka")]
fn at_any_limit_of_processes_each_command_works_or_reports_the_limit_and_fails_on_kafka() {
    let Some(place) = Place::new() else { return };
    let broker = incumbent_testkit::kafka::Kafka::start_with(incumbent_testkit::kafka::Options::new());
    // librdkafka alone has more threads.
    place.each(&[&format!("kafka://{}/app", broker.address())], MOST + 1);
}

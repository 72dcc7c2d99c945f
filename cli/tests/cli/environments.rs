//! Each form of `incumbent run`, in each environment of candidates, through a typical night: the program is upgraded in
//! place, every harmless signal arrives, and the store is unreachable for longer than a lease.
//!
//! With `--json`, every line of the standard error fits the schema.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use incumbent_testkit::etcd::{EtcdServer, Options as EtcdOptions};
#[cfg(feature = "kafka")]
use incumbent_testkit::kafka::{Kafka, Options as KafkaOptions};
use jsonschema::Validator;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::json::definition;
use crate::operate::server;
use crate::support::{Ended, LIMIT, Running, Scratch, children, ended, json};
use crate::terminal::terminal;

/// The lease of every candidate, and how long its store is unreachable.
const LEASE: Duration = Duration::from_secs(6);
const AWAY: Duration = Duration::from_secs(10);

/// The signals that end no candidate. A command ignores them here.
const HARMLESS: [Signal; 7] =
    [Signal::USR1, Signal::USR2, Signal::ALARM, Signal::CONT, Signal::IO, Signal::URG, Signal::WINCH];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Command,
    Handlers,
    Sidecar,
}

const FORMS: [Form; 3] = [Form::Command, Form::Handlers, Form::Sidecar];

impl Form {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Command => {
                &["--", "sh", "-c", "trap '' USR1 USR2 ALRM IO URG WINCH HUP; echo works; exec sleep 1000"]
            }
            Self::Handlers => &["--on-won", "true", "--on-lost", "true"],
            Self::Sidecar => &["--listen", "127.0.0.1:0"],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// An ordinary process.
    Plain,
    /// Process 1 of a container, with a read-only root and a limit on processes.
    Container,
    /// A service whose manager is notified and watches it.
    Unit,
    /// Started with nohup at a terminal, which is closed.
    Nohup,
}

const PLACES: [Place; 4] = [Place::Plain, Place::Container, Place::Unit, Place::Nohup];

/// The program as installed by a package, and what the places need.
struct Installed {
    folder: TempDir,
    /// The socket of a service manager.
    _notified: UnixDatagram,
}

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let _notified = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        let installed = Self { folder, _notified };
        fs::copy(env!("CARGO_BIN_EXE_incumbent"), installed.program()).unwrap();
        fs::set_permissions(installed.program(), fs::Permissions::from_mode(0o755)).unwrap();
        installed
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("incumbent")
    }

    /// Replaces the program's file by one that cannot be run.
    fn upgrade(&self) {
        let new = self.folder.path().join("new");
        fs::write(&new, "another version").unwrap();
        fs::rename(&new, self.program()).unwrap();
    }

    /// The places that are available here.
    fn places(&self) -> Vec<Place> {
        let can_be = |place: &Place| {
            let mut one = self.in_place(*place, Path::new("true"), &[]);
            one.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        PLACES.into_iter().filter(can_be).collect()
    }

    /// The command with these words of that program, in that place.
    fn in_place(&self, place: Place, program: &Path, words: &[&str]) -> Command {
        let mut command = match place {
            Place::Plain => Command::new(program),
            Place::Container => {
                let mut command = Command::new("unshare");
                command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]);
                command
                    .arg("mount -o remount,bind,ro / && exec prlimit --nproc=200 \"$0\" \"$@\"")
                    .arg(program);
                command
            }
            Place::Unit => {
                let mut command = Command::new("sh");
                command.args(["-c", "export WATCHDOG_PID=$$; cd /; exec \"$0\" \"$@\""]).arg(program);
                command
                    .env("NOTIFY_SOCKET", self.folder.path().join("notify"))
                    .env("WATCHDOG_USEC", "30000000");
                command.env("INVOCATION_ID", "0123456789abcdef0123456789abcdef").env("JOURNAL_STREAM", "8:1");
                command
            }
            Place::Nohup => {
                let mut command = Command::new("nohup");
                command.arg(program);
                command
            }
        };
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("INCUMBENT_") {
                command.env_remove(variable);
            }
        }
        command.args(words).env_remove("TMPDIR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// A candidate, and everything that it wrote to the standard error.
struct Candidate {
    form: Form,
    place: Place,
    run: Running,
    written: String,
}

impl Candidate {
    fn start(installed: &Installed, (form, place): (Form, Place), store: &str, more: &[&str]) -> Self {
        let key = format!("{form:?}-{place:?}").to_lowercase();
        let words = ["run", "--json", "--store", store, "--key", &key, "--name", "ada", "--splay", "0s"];
        let words = [&words[..], more, form.words()].concat();
        let mut command = installed.in_place(place, &installed.program(), &words);
        if place == Place::Nohup {
            let (ours, theirs) = terminal();
            command.stdin(theirs);
            // The terminal is closed at once.
            drop(ours);
        }
        Self { form, place, run: Running::start(command), written: String::new() }
    }

    /// Waits for a line.
    #[track_caller]
    fn writes(&mut self, what: &str, is_it: impl Fn(&str) -> bool) {
        let what = format!("{what} of {:?} in {:?}", self.form, self.place);
        self.written += &self.run.reported_until(&what, |line| !line.starts_with("nohup: ") && is_it(line));
    }

    #[track_caller]
    fn wins(&mut self) {
        self.writes("the win", |line| json(line)["event"] == "won");
        if self.form == Form::Command {
            // It ignores signals from here on.
            self.run.until("the command", |line| (line == "works").then_some(()));
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = match self.place {
            // Its process 1; anything outside is not the container's.
            Place::Container => children(self.run.pid())[0],
            _ => self.run.pid(),
        };
        kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
    }

    /// Waits for its end, and checks every line.
    #[track_caller]
    fn ends(mut self, schemas: &[Validator]) -> Ended {
        let mut ended = self.run.wait();
        ended.stderr = self.written + &ended.stderr;
        for line in ended.stderr.lines() {
            // Not nohup's own lines.
            let is_ours = self.place != Place::Nohup || !line.starts_with("nohup: ");
            assert!(
                !is_ours || schemas.iter().any(|schema| schema.is_valid(&json(line))),
                "{:?} in {:?}: {line}",
                self.form,
                self.place
            );
        }
        ended
    }
}

fn schemas() -> [Validator; 2] {
    [definition("event"), definition("error")]
}

/// Makes each form in each place live through a night, while these functions take the store away and bring it back.
#[track_caller]
fn outlives_the_night(store: &str, more: &[&str], leave: impl FnOnce(), come_back: impl FnOnce()) {
    let installed = Installed::new();
    let places = installed.places();
    let all = FORMS.into_iter().flat_map(|form| places.iter().map(move |place| (form, *place)));
    let mut candidates: Vec<_> = all.map(|one| Candidate::start(&installed, one, store, more)).collect();
    for candidate in &mut candidates {
        candidate.wins();
    }
    installed.upgrade();
    for candidate in &candidates {
        for signal in HARMLESS {
            candidate.signal(signal);
        }
        if candidate.place == Place::Nohup {
            candidate.signal(Signal::HUP);
        }
    }
    leave();
    let left = Instant::now();
    for candidate in &mut candidates {
        candidate.writes("the loss", |line| {
            let line = json(line);
            line["event"] == "lost" && line["reason"] == "EXPIRED"
        });
    }
    thread::sleep(AWAY.saturating_sub(left.elapsed()));
    come_back();
    for candidate in &mut candidates {
        candidate.wins();
        candidate.signal(Signal::TERM);
    }
    let schemas = schemas();
    for candidate in candidates {
        let which = format!("{:?} in {:?}", candidate.form, candidate.place);
        let ended = candidate.ends(&schemas);
        assert_eq!(ended.code, Some(0), "{which}: {ended:#?}");
    }
}

#[test]
fn each_form_outlives_the_night_on_nats_wherever_it_runs() {
    let (server, store) = server("6s");
    outlives_the_night(&store, &[], || server.pause(), || server.resume());
}

#[test]
fn each_form_outlives_the_night_on_etcd_wherever_it_runs() {
    let server = EtcdServer::start(EtcdOptions::new());
    let store = format!("etcd://{}/app", server.address());
    assert_eq!(ended(&["init", "--store", &store, "--new"]).code, Some(0));
    outlives_the_night(&store, &lease(), || server.pause(), || server.resume());
}

#[test]
#[cfg(feature = "kafka")]
fn each_form_outlives_the_night_on_kafka_wherever_it_runs() {
    let broker = Kafka::start_with(KafkaOptions::new());
    let store = format!("kafka://{}/app", broker.address());
    outlives_the_night(&store, &lease(), || broker.pause(), || broker.resume());
}

#[test]
fn each_form_outlives_the_night_on_a_file_wherever_it_runs() {
    let scratch = Scratch::new();
    let (folder, away) = (scratch.folder.path().join("store"), scratch.folder.path().join("away"));
    fs::create_dir(&folder).unwrap();
    let store = format!("sqlite:{}", folder.join("elections.db").display());
    assert_eq!(ended(&["init", "--store", &store, "--new"]).code, Some(0));
    let moved = |from: &Path, to: &Path| fs::rename(from, to).unwrap();
    outlives_the_night(&store, &lease(), || moved(&folder, &away), || moved(&away, &folder));
}

fn lease() -> [&'static str; 2] {
    assert_eq!(LEASE, Duration::from_secs(6));
    ["--lease", "6s"]
}

/// Makes each form in each place meet a store that accepts no candidate, and give up.
#[track_caller]
fn gives_up(what: &str, store: &str, code: i32) {
    let installed = Installed::new();
    let places = installed.places();
    let all = FORMS.into_iter().flat_map(|form| places.iter().map(move |place| (form, *place)));
    let more = ["--wait", "4s"];
    let candidates: Vec<_> = all.map(|one| Candidate::start(&installed, one, store, &more)).collect();
    let schemas = schemas();
    for candidate in candidates {
        let which = format!("{what}: {:?} in {:?}", candidate.form, candidate.place);
        let ended = candidate.ends(&schemas);
        assert_eq!(ended.code, Some(code), "{which}: {ended:#?}");
        assert!(!ended.stderr.is_empty(), "{which}");
    }
}

#[test]
fn each_form_gives_up_a_store_that_is_full_wherever_it_runs() {
    let server = EtcdServer::start(EtcdOptions::new().arguments(["--quota-backend-bytes=300000"]));
    let store = format!("etcd://{}/app", server.address());
    assert_eq!(ended(&["init", "--store", &store]).code, Some(0));
    let text = "x".repeat(100_000);
    let begun = Instant::now();
    while server.try_ctl(&["put", "filler", &text]).is_ok() {
        assert!(begun.elapsed() < LIMIT, "it is never full");
    }
    gives_up("full", &store, 8);
}

#[test]
fn each_form_gives_up_a_store_that_forbids_it_wherever_it_runs() {
    let config = "authorization { users: [ { user: admin, password: pw }, \
                  { user: guest, password: pw, permissions: { publish: \"nothing\", subscribe: \"_INBOX.>\" } } ] }";
    let server =
        incumbent_testkit::nats::NatsServer::start(incumbent_testkit::nats::Options::new().config(config));
    let at = |user: &str| format!("nats://{user}:pw@{}/ELECTIONS", server.address());
    assert_eq!(ended(&["init", "--store", &at("admin"), "--lease", "6s"]).code, Some(0));
    gives_up("forbidden", &at("guest"), 6);
    gives_up("unknown", &at("stranger"), 6);
}

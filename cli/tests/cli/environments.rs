//! Each form of `incumbent run`, in each environment in which candidates live, through a bad night. The program is
//! upgraded in place, every signal arrives that does not ask for the end, and the store is unreachable for longer than
//! a lease. Stores that are full or forbidden are in `refused`.
//!
//! With `--json`, every line of the standard error fits the schema.

mod refused;

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
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
use crate::support::{Ended, Running, Scratch, children, ended, json};
use crate::terminal::terminal;

/// The lease of every candidate, and the time for which its store is unreachable.
const LEASE: Duration = Duration::from_secs(6);
const AWAY: Duration = Duration::from_secs(10);

/// The signals that end no candidate. A command in these tests ignores them.
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
    /// A process started with nohup at a terminal, which is then closed.
    Nohup,
}

const PLACES: [Place; 4] = [Place::Plain, Place::Container, Place::Unit, Place::Nohup];

/// The most processes and threads of a container.
const MOST: &str = "100";
/// The user of containers that no control group limits, and of candidates whose file forbids them.
const USER: &str = "47325";

/// A control group with a limit on processes and threads, which applies even to root. It is removed in the end.
struct Limit(PathBuf);

impl Limit {
    /// `None` if no such group can be made.
    fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mounts = fs::read_to_string("/proc/mounts").ok()?;
        let limited = |line: &str| {
            let [_, folder, kind, options, ..] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
            let has_pids = match kind {
                "cgroup" => options.split(',').any(|option| option == "pids"),
                // The controllers of child groups may have to be enabled.
                "cgroup2" => fs::write(Path::new(folder).join("cgroup.subtree_control"), "+pids").is_ok(),
                _ => false,
            };
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("incumbent-test.{}.{number}", std::process::id());
            let group = has_pids.then(|| Self(Path::new(folder).join(name)))?;
            fs::create_dir(&group.0).ok()?;
            fs::write(group.0.join("pids.max"), MOST).ok().map(|()| group)
        };
        mounts.lines().find_map(limited)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // Killed processes leave the group only a moment later.
        let begun = Instant::now();
        while fs::remove_dir(&self.0).is_err() && self.0.exists() && begun.elapsed() < Duration::from_secs(5)
        {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The program as a package has installed it, and the other things that the places need.
struct Installed {
    folder: TempDir,
    /// The socket of a service manager.
    _notified: UnixDatagram,
    limits: RefCell<Vec<Limit>>,
}

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let _notified = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let installed = Self { folder, _notified, limits: RefCell::default() };
        fs::copy(env!("CARGO_BIN_EXE_incumbent"), installed.program()).unwrap();
        fs::set_permissions(installed.program(), fs::Permissions::from_mode(0o755)).unwrap();
        installed
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("incumbent")
    }

    /// Replaces the program's file with one that cannot be run.
    fn upgrade(&self) {
        let new = self.folder.path().join("new");
        fs::write(&new, "another version").unwrap();
        fs::rename(&new, self.program()).unwrap();
    }

    /// The places that are available on this machine: all of them, or all but the container. In that case [a test of
    /// its own](a_container_has_no_more_processes_than_it_may_have) reports that.
    #[track_caller]
    fn places(&self) -> Vec<Place> {
        let can_be = |place: &Place| {
            let mut one = self.in_place(*place, Path::new("true"), &[]);
            let succeeds =
                one.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
            assert!(succeeds || *place == Place::Container, "nothing can be run in {place:?}");
            succeeds
        };
        PLACES.into_iter().filter(can_be).collect()
    }

    /// Returns the command that runs the program with these words in that place.
    fn in_place(&self, place: Place, program: &Path, words: &[&str]) -> Command {
        let mut command = match place {
            Place::Plain => Command::new(program),
            Place::Container => self.container(program),
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

    fn container(&self, program: &Path) -> Command {
        let apart = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"];
        if let Some(limit) = Limit::new() {
            let mut command = Command::new("unshare");
            let script =
                "echo 0 > \"$GROUP/cgroup.procs\" && mount -o remount,bind,ro / && exec \"$0\" \"$@\"";
            command.args(apart).arg(script).arg(program).env("GROUP", &limit.0);
            self.limits.borrow_mut().push(limit);
            return command;
        }
        // A user's limit does not apply to root, except to the root of another user's namespace.
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid",
            USER,
            "--regid",
            USER,
            "--clear-groups",
            "unshare",
            "--user",
            "--map-root-user",
        ]);
        let script = format!("mount -o remount,bind,ro / && exec prlimit --nproc={MOST} \"$0\" \"$@\"");
        command.args(apart).arg(script).arg(program);
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
        Self::start_by(&[], installed, (form, place), store, more)
    }

    /// Starts a candidate by means of another program.
    fn start_by(
        by: &[&str],
        installed: &Installed,
        (form, place): (Form, Place),
        store: &str,
        more: &[&str],
    ) -> Self {
        let (key, program) = (format!("{form:?}-{place:?}").to_lowercase(), installed.program());
        let run = [program.to_str().unwrap(), "run", "--json", "--store", store];
        let words = ["--key", &key, "--name", "ada", "--splay", "0s"];
        let words = [by, &run, &words, more, form.words()].concat();
        let mut command = installed.in_place(place, Path::new(words[0]), &words[1..]);
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
            // Once this line is printed, the process ignores signals.
            self.run.until("the command", |line| (line == "works").then_some(()));
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = match self.place {
            // The signal goes to process 1 of the container. The other processes are outside the container.
            Place::Container => children(self.run.pid())[0],
            _ => self.run.pid(),
        };
        kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
    }

    /// Waits for the candidate's end, and checks every line.
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

/// Takes each form in each place through a bad night. `leave` makes the store unreachable, and `come_back` ends that.
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
    // The outage lasts this long, whatever the candidates report meanwhile.
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
    fs::set_permissions(scratch.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let_all_write(&folder);
    let moved = |from: &Path, to: &Path| fs::rename(from, to).unwrap();
    outlives_the_night(&store, &lease(), || moved(&folder, &away), || moved(&away, &folder));
}

/// Lets any user write to the folder, because a container may run as another user.
fn let_all_write(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    for file in fs::read_dir(folder).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o666)).unwrap();
    }
}

fn lease() -> [&'static str; 2] {
    assert_eq!(LEASE, Duration::from_secs(6));
    ["--lease", "6s"]
}

#[test]
fn a_container_has_no_more_processes_than_it_may_have() {
    let installed = Installed::new();
    if !installed.places().contains(&Place::Container) {
        eprintln!("no container can be had here: nothing to test");
        return;
    }
    let script = "number=0; while [ $number -lt 400 ]; do sleep 5 & number=$((number + 1)); done";
    let forks = installed.in_place(Place::Container, Path::new("sh"), &["-c", script]);
    let ended = Running::start(forks).wait();
    assert!(ended.code != Some(0) && ended.stderr.contains("fork"), "{ended:?}");
}

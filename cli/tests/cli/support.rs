//! Starts the program and reads its output.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use incumbent_testkit::process::ChildGuard;
use serde_json::Value;
use tempfile::TempDir;

/// The time limit of a step, long because a demo's step may take long while other tests run.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);

/// A folder in memory, which exists on some systems.
const MEMORY: &str = "/dev/shm";

/// The program with these arguments, and without environment variables that would change its behaviour.
pub(crate) fn incumbent(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_incumbent"));
    command.args(arguments);
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("INCUMBENT_") {
            command.env_remove(variable);
        }
    }
    command.env_remove("NATS_CONTEXT").env_remove("NO_COLOR").env_remove("TERM");
    if Path::new(MEMORY).is_dir() {
        // The folder for temporary files is in memory. On a busy disk, the write of a command's deadline would hold up
        // the command.
        command.env("TMPDIR", MEMORY);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The exit status and the output of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the program to its end.
#[track_caller]
pub(crate) fn ended(arguments: &[&str]) -> Ended {
    let mut running = Running::start(incumbent(arguments));
    running.close();
    running.wait()
}

/// A running program whose output is read line by line.
pub(crate) struct Running {
    child: ChildGuard,
    lines: Receiver<String>,
    stderr: Receiver<String>,
    read: Vec<String>,
}

impl Running {
    #[track_caller]
    pub(crate) fn start(command: Command) -> Self {
        let mut child = ChildGuard::spawn(command).unwrap();
        let lines = each_line(child.take_stdout().unwrap());
        let stderr = each_line(child.take_stderr().unwrap());
        Self { child, lines, stderr, read: Vec::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Sends a signal that has no name here.
    pub(crate) fn signal_of_number(&self, number: i32) {
        let kill = format!("kill -{number} {}", self.pid());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill();
    }

    /// Writes this text to the program's standard input, and closes the input.
    #[track_caller]
    pub(crate) fn type_all(&mut self, text: &str) {
        self.child.take_stdin().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn close(&mut self) {
        drop(self.child.take_stdin());
    }

    /// The next line of the standard output that `found` accepts.
    #[track_caller]
    pub(crate) fn until<T>(&mut self, what: &str, found: impl FnMut(&str) -> Option<T>) -> T {
        self.until_within(LIMIT, what, found)
    }

    /// The next line of the standard output that `found` accepts, for a line that may take longer.
    #[track_caller]
    pub(crate) fn until_within<T>(
        &mut self,
        limit: Duration,
        what: &str,
        mut found: impl FnMut(&str) -> Option<T>,
    ) -> T {
        let started = Instant::now();
        loop {
            let left = limit.saturating_sub(started.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.read.push(line);
                    if let Some(found) = self.read.last().and_then(|line| found(line)) {
                        return found;
                    }
                }
                Err(error) => {
                    let reported: Vec<String> = self.stderr.try_iter().collect();
                    panic!("{what} never came ({error}): {:#?}\n{reported:#?}", self.read);
                }
            }
        }
    }

    /// The next line of the standard error that `found` accepts.
    #[track_caller]
    pub(crate) fn until_reported(&mut self, what: &str, found: impl Fn(&str) -> bool) -> String {
        self.reported_until(what, found).lines().last().unwrap().to_owned()
    }

    /// Everything on the standard error up to the next line that `found` accepts.
    #[track_caller]
    pub(crate) fn reported_until(&mut self, what: &str, found: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        let mut reported = Vec::new();
        loop {
            match self.stderr.recv_timeout(LIMIT.saturating_sub(started.elapsed())) {
                Ok(line) => {
                    let is_it = found(&line);
                    reported.push(line + "\n");
                    if is_it {
                        return reported.concat();
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{what} was never reported: {reported:#?}")
                }
            }
        }
    }

    /// Waits for the program's end. The returned output includes everything that was read before.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Ended {
        let status = self.child.wait(LIMIT);
        let whole = |lines: Vec<String>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let mut read = std::mem::take(&mut self.read);
        read.extend(self.lines.iter());
        // The code for an end by a signal is that of a shell.
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ended { code, stdout: whole(read), stderr: whole(self.stderr.iter().collect()) }
    }
}

/// Starts a candidate with a lease of 10 s, if the store allows it. That is short enough to wait for its end, and long
/// enough not to end merely because the machine is busy.
#[track_caller]
pub(crate) fn campaigning(store: &str, key: &str, name: &str) -> Running {
    // A bucket itself determines the lease.
    let lease: &[&str] = if store.starts_with("sqlite:") { &["--lease", "10s"] } else { &[] };
    let words = ["run", "--store", store, "--key", key, "--name", name, "--splay", "0s", "-v"];
    let script = "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000";
    Running::start(incumbent(&[&words[..], lease, &["--", "sh", "-c", script]].concat()))
}

/// Waits until a candidate knows that another one leads. The candidate must have been started with `-v`.
#[track_caller]
pub(crate) fn takes_part(run: &mut Running, leader: &str) {
    let reported = |line: &str| line.contains("the leader changed") && line.contains(leader);
    run.until_reported("that it takes part", reported);
}

/// A candidate that leads.
#[track_caller]
pub(crate) fn leading(store: &str, key: &str, name: &str) -> Running {
    let mut run = campaigning(store, key, name);
    sequence(&mut run);
    run
}

/// Starts a leader whose lease does not end merely because the machine is busy.
#[track_caller]
pub(crate) fn settled(store: &str, key: &str, name: &str) -> Running {
    let mut run = campaigning_for_long(store, key, name);
    sequence(&mut run);
    run
}

/// A candidate with a lease of 30 s.
#[track_caller]
pub(crate) fn campaigning_for_long(store: &str, key: &str, name: &str) -> Running {
    let words = ["run", "--store", store, "--key", key, "--name", name, "--lease", "30s", "--", "sh", "-c"];
    let script = "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000";
    Running::start(incumbent(&[&words[..], &[script]].concat()))
}

/// Makes the leader hand over to another candidate of the election `jobs`. Other candidates hold back for only a
/// second, which the successor may miss on a busy machine. Then the leader is asked again.
#[track_caller]
pub(crate) fn hand_over(store: &str, to: &str) -> Ended {
    loop {
        let words = ["hand-over", "jobs", "--to", to, "--yes", "--timeout", "60s", "--store", store];
        let handed = ended(&words);
        if handed.code == Some(0) {
            return handed;
        }
        assert!(handed.stderr.contains("leads again because no other candidate took over"), "{handed:?}");
    }
}

/// Waits until a candidate leads. Returns the sequence of its term.
#[track_caller]
pub(crate) fn sequence(run: &mut Running) -> u64 {
    run.until("the command", |line| line.strip_prefix("leads with ").map(|number| number.parse().unwrap()))
}

fn each_line(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (give, take) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if give.send(line).is_err() {
                return;
            }
        }
    });
    take
}

/// A line of JSON.
#[track_caller]
pub(crate) fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The children of a process, by `ps`, which Linux and macOS both have.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let numbers = |line: &str| line.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<u32>>();
    listed.lines().map(numbers).filter(|line| line[1] == parent).map(|line| line[0]).collect()
}

/// A folder, and the URL of an SQLite store in it.
pub(crate) struct Scratch {
    pub(crate) folder: TempDir,
    pub(crate) url: String,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        // The folder is in memory if the machine has such a file system, because a busy disk would end terms.
        let folder = tempfile::tempdir_in(MEMORY).or_else(|_| tempfile::tempdir()).unwrap();
        let url = format!("sqlite:{}", folder.path().join("elections.db").display());
        Self { folder, url }
    }

    /// A scratch folder with a file that is declared new, so that no candidate waits at first.
    pub(crate) fn made() -> Self {
        let scratch = Self::new();
        let made = ended(&["init", "--store", &scratch.url, "--new"]);
        assert_eq!(made.code, Some(0), "{made:?}");
        scratch
    }
}

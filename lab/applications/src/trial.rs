//! The schedule of a trial, and what has to be true of every application.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::port::Port;
use incumbent_testkit::process::{self, ChildGuard};
use incumbent_testkit::wait;
use serde_json::Value;
use tempfile::TempDir;

use crate::application::{self, Application, End};
use crate::work::{self, Span, Step};

/// The key of the election.
const ELECTION: &str = "jobs";
/// The shortest lease that does not need the preset for fast networks.
const LEASE: Duration = Duration::from_secs(5);
/// The number of processes.
const PROCESSES: usize = 3;
/// The longest time until three candidates have started, on a busy machine. Spring Boot alone computes for seconds.
const STARTUP: Duration = Duration::from_secs(180);
/// The time without a server: two leases, so that every term ends.
const AWAY: Duration = Duration::from_secs(10);
/// The time that is allowed on top of the worst fail-over that `incumbent doctor` prints, for scheduling and for the
/// program's own pace.
const GRACE: Duration = Duration::from_secs(1);
/// The time that a resumed process gets to work at once with the leader.
const RESUMED: Duration = Duration::from_secs(2);
/// The longest time that a suite takes on a busy machine.
const SUITE: Duration = Duration::from_secs(120);

/// The times of a trial.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) whole: Duration,
    election: Option<Election>,
}

/// The times of an election.
#[derive(Debug)]
struct Election {
    worst: Duration,
    /// The times from the server's return, from the leader's death and from the leader's stop to the next work.
    again: [Duration; 3],
    /// The time from SIGTERM to the end of the last process.
    ended: Duration,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "passed in {:.1?}", self.whole)?;
        let Some(Election { worst, again: [back, killed, stopped], ended }) = self.election else {
            return Ok(());
        };
        write!(
            f,
            "; at work again {back:.1?} after the server's return, {killed:.1?} after a kill and {stopped:.1?} after a \
             stop, where {worst:.1?} is the worst; all ended in {ended:.1?}"
        )
    }
}

/// A process of the application.
struct Process {
    child: ChildGuard,
    log: PathBuf,
    _port: Port,
}

struct Trial<'a> {
    application: &'a Application,
    cli: &'a Path,
    store: String,
    folder: TempDir,
    processes: Vec<Process>,
}

/// Runs one application.
///
/// # Errors
/// The requirement that was not met.
///
/// # Panics
/// When the server cannot be started.
pub(crate) fn run(application: &Application, cli: &Path, home: Option<&PathBuf>) -> Result<Figures> {
    let home = home.context("its language is not given")?;
    // Its processes start in folders of their own.
    let home = &std::path::absolute(home).with_context(|| format!("{} is no folder", home.display()))?;
    let began = work::now();
    let election = match application.trial {
        application::Trial::Suite => suite(application, home).map(|()| None),
        application::Trial::Election { end, bound } => election(application, cli, home, end, bound).map(Some),
    };
    Ok(Figures { election: election?, whole: work::now() - began })
}

/// Runs a suite of tests.
fn suite(application: &Application, home: &Path) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("incumbent-applications-").tempdir()?;
    let log = folder.path().join("log");
    let mut child = spawn(application.command(home, folder.path(), 0), &log)?;
    let status = until("the suite to end by itself", SUITE, || child.try_wait());
    let printed = fs::read_to_string(&log).unwrap_or_default();
    let status = status.with_context(|| printed.clone())?;
    ensure!(status.success(), "the suite ended with {status}:\n{printed}");
    ensure!(!printed.contains("did not exit"), "the suite left something open:\n{printed}");
    Ok(())
}

fn election(
    application: &Application,
    cli: &Path,
    home: &Path,
    end: End,
    bound: Duration,
) -> Result<Election> {
    let mut server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    let folder = tempfile::Builder::new().prefix("incumbent-applications-").tempdir()?;
    let mut trial = Trial { application, cli, store, folder, processes: Vec::new() };
    trial.incumbent(&["init", "--new", "--lease", &format!("{}s", LEASE.as_secs())])?;
    let worst = trial.incumbent(&["doctor"])?["forecast"]["worst_after_a_crash_ms"].as_f64();
    let worst = worst.context("doctor reports no worst fail-over")?;
    let worst = Duration::try_from_secs_f64(worst / 1e3).context("doctor's worst fail-over")?;
    trial.start(home)?;
    let again = trial.go(&mut server, worst + GRACE);
    let ended = again.and_then(|again| Ok((again, trial.end(end, bound)?)));
    let (again, ended) = ended.map_err(|error| error.context(trial.logs()))?;
    Ok(Election { worst, again, ended })
}

impl Trial<'_> {
    fn start(&mut self, home: &Path) -> Result<()> {
        for number in 0..PROCESSES {
            let port = Port::free();
            let own = self.folder.path().join(number.to_string());
            fs::create_dir(&own)?;
            let mut command = self.application.command(home, &own, port.number());
            command.env("ELECTIONS", &self.store).env("ELECTION", ELECTION).env("WORK", self.work());
            command.env("PORT", port.number().to_string());
            let log = own.join("log");
            self.processes.push(Process { child: spawn(command, &log)?, log, _port: port });
        }
        Ok(())
    }

    /// Runs the schedule except for its end. Returns how long there was no work after each fault.
    fn go(&mut self, server: &mut NatsServer, bound: Duration) -> Result<[Duration; 3]> {
        until("three candidates and the first work", STARTUP, || {
            (self.candidates() == PROCESSES && !self.steps().ok()?.is_empty()).then_some(())
        })?;

        let gone = work::now();
        server.kill();
        thread::sleep(AWAY);
        let cut = self.leader()?;
        ensure!(
            cut.last < gone + LEASE,
            "{cut:?} was at work without a server, {:?} after its end",
            cut.last.saturating_sub(gone)
        );
        server.restart();
        let returned = work::now();
        let back = self.work_after("the server's return", returned, bound, |_| true)?.at - returned;

        let leader = self.settled()?;
        let at = work::now();
        process::kill(leader.pid);
        let killed = self.work_after("a kill", at, bound, |step| step.pid != leader.pid)?.at - at;

        let leader = self.settled()?;
        process::pause(leader.pid);
        let at = work::now();
        let stopped = self.work_after("a stop", at, bound, |step| step.pid != leader.pid)?.at - at;
        process::resume(leader.pid);
        let at = work::now();
        self.work_after("a stopped leader's return", at + RESUMED, bound, |_| true)?;
        ensure!(process::is_running(leader.pid), "process {} did not survive its stop", leader.pid);
        Ok([back, killed, stopped])
    }

    /// Sends SIGTERM to all running processes, waits until they have ended, and checks the work of the whole trial.
    /// Returns how long the processes took to end.
    fn end(&mut self, end: End, bound: Duration) -> Result<Duration> {
        let is_running = |one: &mut Process| one.child.try_wait().is_none().then(|| one.child.pid());
        let running: Vec<u32> = self.processes.iter_mut().filter_map(is_running).collect();
        // One process was killed, unless the killed one was its child.
        ensure!(running.len() + 1 >= PROCESSES, "{} processes ended too early", PROCESSES - running.len());
        let at = work::now();
        running.iter().for_each(|pid| process::terminate(*pid));
        // A release is kept for a lease, and the slowest end may take longer.
        let mut state = Value::Null;
        let statuses = until("all processes to end by themselves", bound, || {
            let now = self.incumbent(&["status", ELECTION]).unwrap_or_default()["state"].take();
            if now != "vacant" {
                state = now;
            }
            self.processes.iter_mut().map(|one| one.child.try_wait()).collect::<Option<Vec<_>>>()
        })?;
        let took = work::now() - at;
        ensure!(state == "released", "the election was {state} at last");
        for (process, status) in
            self.processes.iter().zip(statuses).filter(|(one, _)| running.contains(&one.child.pid()))
        {
            ensure!(end.is(status), "process {} ended with {status}, not with {end:?}", process.child.pid());
        }
        let steps = self.steps()?;
        if let Some(left) = steps.iter().find(|step| process::is_running(step.pid)) {
            anyhow::bail!("process {} runs on after SIGTERM", left.pid);
        }
        work::check(&work::spans(&steps))?;
        Ok(took)
    }

    /// Waits for the first work after an instant for which `fits` returns true. It must come within a bound.
    fn work_after(
        &self,
        what: &str,
        at: Duration,
        bound: Duration,
        fits: impl Fn(&Step) -> bool,
    ) -> Result<Step> {
        // The time in the line counts, not the time at which the line is found.
        let limit = bound.saturating_sub(work::now().saturating_sub(at)) + wait::GENEROUS;
        let found = until(&format!("work after {what}"), limit, || {
            let steps = self.steps().unwrap_or_default();
            steps.into_iter().filter(|step| step.at > at && fits(step)).min_by_key(|step| step.at)
        })?;
        let took = found.at - at;
        ensure!(
            took <= bound,
            "no process was at work for {took:?} after {what}, and {bound:?} is the bound"
        );
        Ok(found)
    }

    /// Waits until the leader has worked for a lease, and returns its span: the bound on a fail-over holds for
    /// candidates that have watched the leader for that long.
    fn settled(&self) -> Result<Span> {
        until("a leader that has been at work for a lease", 3 * LEASE + wait::GENEROUS, || {
            self.leader().ok().filter(|span| span.last - span.first > LEASE)
        })
    }

    /// The latest to begin.
    fn leader(&self) -> Result<Span> {
        work::spans(&self.steps()?).pop().context("no process was ever at work")
    }

    fn steps(&self) -> Result<Vec<Step>> {
        work::read(&self.work())
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The number of candidates that answer.
    fn candidates(&self) -> usize {
        let status = self.incumbent(&["status", ELECTION]);
        status.map_or(0, |status| status["candidates"].as_array().map_or(0, Vec::len))
    }

    /// The answer of a command of `incumbent`.
    fn incumbent(&self, arguments: &[&str]) -> Result<Value> {
        let mut command = Command::new(self.cli);
        command.args(arguments).arg("--json").args(["--store", &self.store]);
        let output = command.output().with_context(|| format!("cannot run {}", self.cli.display()))?;
        ensure!(
            output.status.success(),
            "incumbent {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).context("incumbent printed no JSON")
    }

    /// The last lines that the processes printed, and the times at which each of them worked.
    fn logs(&self) -> String {
        let mut text = format!("in {}:\n", self.application.name);
        for span in work::spans(&self.steps().unwrap_or_default()) {
            text += &format!(
                "process {} led with {} from {:?} to {:?}\n",
                span.pid, span.token, span.first, span.last
            );
        }
        for process in &self.processes {
            let log = fs::read_to_string(&process.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            text += &format!("--- process {}\n", process.child.pid());
            lines[lines.len().saturating_sub(30)..].iter().for_each(|line| text += &format!("{line}\n"));
        }
        text
    }
}

/// Starts a process that prints to a file.
fn spawn(mut command: Command, log: &Path) -> Result<ChildGuard> {
    let file = File::create(log).context("cannot make a log")?;
    command.stdout(file.try_clone()?).stderr(file).stdin(Stdio::null());
    let program = command.get_program().to_owned();
    ChildGuard::spawn(command).with_context(|| format!("cannot start {}", program.display()))
}

/// Waits until `probe` finds something. Unlike [`wait::until_some`], it returns an error after the limit instead of a
/// panic.
fn until<T>(what: &str, limit: Duration, mut probe: impl FnMut() -> Option<T>) -> Result<T> {
    let begin = work::now();
    loop {
        if let Some(found) = probe() {
            return Ok(found);
        }
        ensure!(work::now() - begin < limit, "waited {limit:?} in vain: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

impl End {
    fn is(self, status: ExitStatus) -> bool {
        match self {
            Self::Code(code) => status.code() == Some(code),
            Self::Terminated => status.signal() == Some(15),
        }
    }
}

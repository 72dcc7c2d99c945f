//! Runs other programs, and prints their output.

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, PipeReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tempfile::TempDir;

/// Receives whole lines.
pub(crate) type Sink = Arc<dyn Fn(&str) + Send + Sync>;

thread_local! {
    /// The receiver of the output of this thread and of the programs that it runs; `None` if that is standard output
    /// and error.
    static SINK: RefCell<Option<Sink>> = const { RefCell::new(None) };
    /// The processor time of the programs that this thread has run.
    static CPU: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The time for which output is read after its program has ended. A process that the program left behind may keep the
/// pipe open.
const LATE_OUTPUT: Duration = Duration::from_secs(2);

/// Runs `work`, and sends its output and that of its programs to `sink`.
pub(crate) fn printing_to<T>(sink: Sink, work: impl FnOnce() -> T) -> T {
    let before = SINK.replace(Some(sink));
    let result = work();
    SINK.set(before);
    result
}

fn sink() -> Option<Sink> {
    SINK.with_borrow(Clone::clone)
}

/// Prints one or more whole lines; [`say!`] formats them.
pub(crate) fn print(text: &str) {
    match sink() {
        Some(sink) => text.lines().for_each(|line| sink(line)),
        None => println!("{}", text.trim_end_matches('\n')),
    }
}

/// `println!`, to this thread's output.
macro_rules! say {
    ($($what:tt)*) => { $crate::shell::print(&format!($($what)*)) };
}
pub(crate) use say;

/// Announces the next step of the work.
pub(crate) fn progress(what: impl AsRef<str>) {
    match sink() {
        Some(sink) => sink(&format!("==> {}", what.as_ref())),
        None => eprintln!("==> {}", what.as_ref()),
    }
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    let tools = incumbent_testkit::tools::folder();
    tools.parent().unwrap_or(&tools).to_owned()
}

/// Makes an empty folder, and returns its path.
pub(crate) fn fresh(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.to_owned())
}

/// The path of a program of the workspace that the tests' build has built.
pub(crate) fn built(program: &str) -> PathBuf {
    target().join("debug").join(format!("{program}{}", std::env::consts::EXE_SUFFIX))
}

/// The folder for the temporary files of all commands. If it is not set, they use the system's.
static TEMPORARY: OnceLock<PathBuf> = OnceLock::new();

/// The most space that the tests' stores and servers may need.
const ROOM: u64 = 2 << 30;

/// Keeps the temporary files of all commands in memory until the result is dropped, if the system offers that. The
/// tests' servers and stores flush each write, and during a build a flush to the disk takes seconds.
pub(crate) fn temporary_files_in_memory() -> Option<TempDir> {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).ok()?;
    if std::env::var_os("TMPDIR").is_some() || free.f_bavail * free.f_frsize < ROOM {
        return None;
    }
    let folder = tempfile::Builder::new().prefix("incumbent-test-").tempdir_in(memory).ok()?;
    let _ = TEMPORARY.set(folder.path().to_owned());
    Some(folder)
}

/// A command that runs in the root of the workspace.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    // `cargo run` sets these variables for this program. With them, build scripts that read them would run again after
    // each cargo that runs without them, and everything that depends on those scripts would be compiled again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    // `cargo run` also lets this program find libraries in the target folder. Java would load a library of another
    // build from there before its own.
    if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
        let target = target();
        let others = std::env::split_paths(&path).filter(|folder| !folder.starts_with(&target));
        match std::env::join_paths(others) {
            Ok(others) if !others.is_empty() => command.env("LD_LIBRARY_PATH", others),
            _ => command.env_remove("LD_LIBRARY_PATH"),
        };
    }
    if let Some(folder) = TEMPORARY.get() {
        command.env("TMPDIR", folder);
    }
    command
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a command, whose output goes to that of this thread. Returns true if it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    Ok(Running::start(command, Output::Printed)?.end()?.success())
}

/// Runs a command, whose output goes to that of this thread. Fails if the command does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = Running::start(command, Output::Printed)?.end()?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs a command quietly. Returns its output, or its errors.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", shown(command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", shown(command), output.status, errors.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command and passes each line of its standard output to `line`. Returns whether it succeeded.
pub(crate) fn lines(command: &mut Command, mut line: impl FnMut(&str)) -> Result<bool> {
    let mut running = Running::start(command, Output::Read)?;
    let stdout = running.child.stdout.take().context("the child has no standard output")?;
    for text in BufReader::new(stdout).lines() {
        line(&text.with_context(|| format!("cannot read the output of {}", shown(command)))?);
    }
    Ok(running.end()?.success())
}

/// A program on the path.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// The destination of a program's standard output; its standard error is always printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Printed,
    Read,
}

/// A running program, and the thread that passes its output to the sink.
struct Running {
    child: Child,
    drained: Option<Receiver<()>>,
    shown: String,
}

impl Running {
    fn start(command: &mut Command, output: Output) -> Result<Self> {
        let shown = shown(command);
        let sink = sink();
        let mut reader = None;
        if sink.is_some() {
            let (read, write) = io::pipe().context("no pipe")?;
            if output == Output::Printed {
                command.stdout(write.try_clone().context("no pipe")?);
            }
            command.stderr(write);
            reader = Some(read);
        }
        if output == Output::Read {
            command.stdout(Stdio::piped());
        }
        let child = command.spawn().with_context(|| format!("cannot run {shown}"));
        if sink.is_some() {
            // Closes the command's own ends of the pipe; otherwise the output would never end.
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        let drained = sink.zip(reader).map(|(sink, reader)| drain(reader, sink));
        Ok(Self { child: child?, drained, shown })
    }

    fn end(mut self) -> Result<ExitStatus> {
        let status = wait(&mut self.child).with_context(|| format!("cannot wait for {}", self.shown))?;
        if let Some(drained) = self.drained {
            let _ = drained.recv_timeout(LATE_OUTPUT);
        }
        Ok(status)
    }
}

/// Waits for a program. Adds the processor time of the program, and of the processes for which it waited, to this
/// thread's.
fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    static REAPING: Mutex<()> = Mutex::new(());
    // The system adds a process's time when the process is reaped. Processes are reaped one at a time, so the
    // difference belongs to this process.
    let pid = WaitId::Pid(Pid::from_child(child));
    while matches!(waitid(pid.clone(), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT), Err(Errno::INTR)) {}
    let _alone = REAPING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = reaped_time();
    let status = child.wait()?;
    CPU.set(CPU.get() + reaped_time().saturating_sub(before));
    Ok(status)
}

/// The processor time of all programs that have been reaped.
fn reaped_time() -> Duration {
    let micros = |time: TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)
        .map(|usage| micros(usage.user_time()) + micros(usage.system_time()));
    Duration::from_micros(usage.unwrap_or(0))
}

/// The processor time of the ended programs that this thread has run.
pub(crate) fn cpu_time() -> Duration {
    CPU.get()
}

/// Passes a pipe's output to the sink, line by line; sends a message at its end.
fn drain(reader: PipeReader, sink: Sink) -> Receiver<()> {
    let (end, ended) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            sink(String::from_utf8_lossy(&line).trim_end_matches('\r'));
        }
        let _ = end.send(());
    });
    ended
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn printed(work: impl FnOnce()) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        printing_to(Arc::new(move |line| sink.lock().unwrap().push(line.to_owned())), work);
        let lines = lines.lock().unwrap();
        lines.clone()
    }

    #[test]
    fn a_sink_receives_what_a_thread_and_its_programs_print_line_by_line() {
        let lines = printed(|| {
            progress("begin");
            say!("one\ntwo");
            assert!(succeeds(command("sh").args(["-c", "echo out; echo err >&2; printf last"])).unwrap());
        });
        assert_eq!(lines, ["==> begin", "one", "two", "out", "err", "last"]);
    }

    #[test]
    fn lines_that_are_read_are_not_printed_and_errors_are() {
        let mut read = Vec::new();
        let printed = printed(|| {
            let mut command = command("sh");
            command.args(["-c", "echo one; echo err >&2; exit 3"]);
            assert!(!lines(&mut command, |line| read.push(line.to_owned())).unwrap());
        });
        assert_eq!((read, printed), (vec!["one".to_owned()], vec!["err".to_owned()]));
    }

    #[test]
    fn the_processor_time_of_a_program_and_its_children_counts_for_the_thread_that_ran_it() {
        let before = cpu_time();
        run(command("sh").args(["-c", "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'; true"]))
            .unwrap();
        let busy = cpu_time() - before;
        assert!(busy > Duration::from_millis(10), "{busy:?}");
        assert_eq!(thread::spawn(cpu_time).join().unwrap(), Duration::ZERO);
    }

    #[test]
    fn a_process_that_is_left_behind_does_not_hold_the_output_open() {
        let lines = printed(|| run(command("sh").args(["-c", "sleep 60 & echo $!"])).unwrap());
        assert_eq!(lines.len(), 1);
        run(command("kill").arg(&lines[0])).unwrap();
    }
}

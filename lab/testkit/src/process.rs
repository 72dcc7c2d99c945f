//! Children that cannot outlive their test, and the signals that stop them.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::wait;

/// A child process in a process group of its own. Dropping the guard kills the whole group; if the test process dies
/// first, the kernel kills the child.
#[derive(Debug)]
pub struct ChildGuard {
    child: Child,
    status: Option<ExitStatus>,
}

impl ChildGuard {
    /// Starts `command`.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        die_with_parent(&mut command);
        let child = spawn_from_lasting_thread(command)?;
        Ok(Self { child, status: None })
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Takes the pipe to the child's standard input, if there is one and it has not been taken.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Takes the pipe from the child's standard output, if there is one and it has not been taken.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Takes the pipe from the child's standard error, if there is one and it has not been taken.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// The child's exit status, if it has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().unwrap_or_else(|error| panic!("wait: {error}"));
        }
        self.status
    }

    /// Waits for the child's end.
    ///
    /// # Panics
    /// When the child is still running after `limit`.
    #[track_caller]
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        let what = format!("the end of process {}", self.pid());
        wait::until_some(&what, limit, || self.try_wait())
    }

    /// Asks it to end (`SIGTERM`).
    pub fn terminate(&mut self) {
        if self.try_wait().is_none() {
            send(self.pid(), Signal::TERM);
        }
    }

    /// Asks the child to end, as Ctrl-C in a terminal does (`SIGINT`).
    pub fn interrupt(&mut self) {
        if self.try_wait().is_none() {
            send(self.pid(), Signal::INT);
        }
    }

    /// Kills the child (`SIGKILL`) and reaps it. The rest of its group lives until the guard is dropped.
    pub fn kill(&mut self) {
        if self.try_wait().is_none() {
            send(self.pid(), Signal::KILL);
            self.wait(wait::GENEROUS);
        }
    }

    /// Stops the child (`SIGSTOP`), and waits until all its threads are stopped.
    #[track_caller]
    pub fn pause(&self) {
        pause(self.pid());
    }

    /// Resumes it (`SIGCONT`).
    #[track_caller]
    pub fn resume(&self) {
        resume(self.pid());
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // The group is killed before the child is reaped, because the id of a reaped child can become another
        // process's.
        let _ = kill_process_group(as_pid(self.child.id()), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Stops process `pid` (`SIGSTOP`), and waits until all its threads are stopped.
///
/// # Panics
/// When there is no such process.
#[track_caller]
pub fn pause(pid: u32) {
    send(pid, Signal::STOP);
    wait::until(&format!("process {pid} to stop"), wait::GENEROUS, || is_stopped(pid));
}

/// Resumes process `pid` (`SIGCONT`).
///
/// # Panics
/// When there is no such process.
#[track_caller]
pub fn resume(pid: u32) {
    send(pid, Signal::CONT);
}

/// Kills process `pid` (`SIGKILL`), without waiting for it.
///
/// # Panics
/// When there is no such process.
#[track_caller]
pub fn kill(pid: u32) {
    send(pid, Signal::KILL);
}

/// Asks process `pid` to end (`SIGTERM`).
///
/// # Panics
/// When there is no such process.
#[track_caller]
pub fn terminate(pid: u32) {
    send(pid, Signal::TERM);
}

/// Returns true if process `pid` exists and is not a zombie.
pub fn is_running(pid: u32) -> bool {
    match thread_states(pid) {
        Some(states) => states.iter().any(|state| !matches!(state, 'Z' | 'X')),
        None => false,
    }
}

#[track_caller]
pub(crate) fn send(pid: u32, signal: Signal) {
    if let Err(error) = kill_process(as_pid(pid), signal) {
        panic!("cannot send {signal:?} to process {pid}: {error}");
    }
}

fn as_pid(pid: u32) -> Pid {
    match i32::try_from(pid).ok().and_then(Pid::from_raw) {
        Some(pid) => pid,
        None => panic!("{pid} is not a process id"),
    }
}

fn is_stopped(pid: u32) -> bool {
    match thread_states(pid) {
        Some(states) => states.iter().all(|state| matches!(state, 'T' | 't' | 'Z' | 'X')),
        None => panic!("process {pid} is gone"),
    }
}

/// The state letters of a process's threads (proc(5), `/proc/pid/task/tid/stat`, third field).
#[cfg(target_os = "linux")]
fn thread_states(pid: u32) -> Option<Vec<char>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let state = |stat: String| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    let states = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    Some(states.filter_map(state).collect()).filter(|states: &Vec<char>| !states.is_empty())
}

/// The state letter of a process as `ps` shows it; other systems have no `/proc`.
#[cfg(not(target_os = "linux"))]
fn thread_states(pid: u32) -> Option<Vec<char>> {
    let shown = Command::new("ps").args(["-o", "state=", "-p", &pid.to_string()]).output().ok()?;
    Some(vec![String::from_utf8_lossy(&shown.stdout).trim().chars().next()?])
}

#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let parent = rustix::process::getpid();
    command.process_group(0);
    let hook = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the parent died before the line above, the kernel sends no signal.
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::Error::other("the parent is gone"))
        }
    };
    // SAFETY: between fork and exec the hook makes two system calls. It allocates only if the parent is gone, and then
    // no process waits for the child.
    unsafe {
        command.pre_exec(hook);
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

/// Starts every child from one thread that never ends. The kernel sends the death signal when the
/// *thread* that forked ends, and the thread of a test or of a pool may end long before the test.
fn spawn_from_lasting_thread(command: Command) -> io::Result<Child> {
    type Order = (Command, mpsc::Sender<io::Result<Child>>);
    static NURSERY: OnceLock<mpsc::Sender<Order>> = OnceLock::new();

    let nursery = NURSERY.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in inbox {
                let _ = reply.send(command.spawn());
            }
        });
        orders
    });
    let gone = |_| io::Error::other("the thread that starts children is gone");
    let (reply, answer) = mpsc::channel();
    nursery.send((command, reply)).map_err(|_| gone(mpsc::RecvError))?;
    answer.recv().map_err(gone)?
}

/// The processor time that process `pid` has used, in hundredths of a second: the unit of `/proc`, USER_HZ of proc(5),
/// on all common platforms.
///
/// # Panics
/// When there is no such process, and on systems without `/proc`.
#[track_caller]
pub fn processor_time(pid: u32) -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    let stat = stat.unwrap_or_else(|error| panic!("process {pid}: {error}"));
    // Splits after the name, because a name may contain spaces. The state is the third field; the times are the 14th
    // and 15th.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    TICK * fields.split(' ').skip(11).take(2).flat_map(str::parse::<u32>).sum()
}

/// Waits until process `pid` has ended (it need not be a child of this process).
///
/// # Panics
/// When it is still running after `limit`.
#[track_caller]
pub fn wait_gone(pid: u32, limit: Duration) -> Duration {
    let started = Instant::now();
    wait::until(&format!("the end of process {pid}"), limit, || !is_running(pid));
    started.elapsed()
}

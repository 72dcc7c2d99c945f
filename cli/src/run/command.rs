//! The user's command as a process group.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use incumbent::Token;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::cgroup::Cgroup;
use super::reach::has_live_members;
use super::{helper, waiting};
use crate::stderr::{is_json, no_process};

/// The interval between two scans of all processes for members of a group (20 ms).
const LOOKING: Duration = Duration::from_millis(20);

/// The time that killed processes usually take to disappear (100 ms).
const LEAVING: Duration = Duration::from_millis(100);

/// The environment variables of a command or a handler.
pub(super) struct Environment<'a> {
    pub(super) key: &'a str,
    pub(super) name: &'a str,
    /// The term's token; `None` if there was no term.
    pub(super) token: Option<Token>,
    pub(super) deadline_file: PathBuf,
}

impl Environment<'_> {
    pub(super) fn set(&self, command: &mut Command) {
        command
            .env("INCUMBENT_KEY", self.key)
            .env("INCUMBENT_NAME", self.name)
            .env("INCUMBENT_DEADLINE_FILE", &self.deadline_file);
        if let Some(token) = self.token {
            set_term(command, token);
        }
    }
}

/// Sets the environment variables of a term.
pub(super) fn set_term(command: &mut Command, token: Token) {
    command.env("INCUMBENT_TOKEN", token.to_string()).env("INCUMBENT_SEQUENCE", token.sequence.0.to_string());
}

/// The command's process, which leads its own process group. At first it waits for its term, and then it is the running
/// command. It is killed when this is dropped.
pub(super) struct Group {
    child: Child,
    pid: Pid,
    /// A descriptor that is readable once the process has ended; `None` if the system has no such descriptor, so that
    /// only a signal reports the end.
    end: Option<AsyncFd<OwnedFd>>,
    /// The socket through which the process receives the message that lets it begin; `None` once that message has been
    /// sent.
    begin: Option<UnixStream>,
    started: Instant,
    /// The process's exit status, and the time at which it was reaped.
    ended: Option<(ExitStatus, Instant)>,
    /// The time of the last check whether only dead processes of the group are left.
    looked: Option<Instant>,
}

impl Group {
    /// Makes the command's process. The process begins as this program, asks the kernel to be killed with its parent,
    /// enters the control group if there is one, and waits. [`begin`](Self::begin) turns it into the command.
    ///
    /// The calling thread must live as long as this process, because the kernel takes the end of that thread for the
    /// end of the parent.
    pub(super) fn prepare(
        command: &[OsString],
        environment: &Environment<'_>,
        within: Option<&Cgroup>,
    ) -> io::Result<Self> {
        let (begin, theirs) = UnixStream::pair()?;
        let mut exec = Command::new(helper::this_program()?);
        exec.arg0("incumbent").arg("run-exec").arg("--parent").arg(std::process::id().to_string());
        if let Some(within) = within {
            exec.arg("--cgroup").arg(within.path());
        }
        exec.args(is_json().then_some("--json")).arg("--").args(command);
        exec.process_group(0).stdin(OwnedFd::from(theirs));
        environment.set(&mut exec);
        let child = exec.spawn().map_err(|error| no_process("the command", error))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the operating system reported no process number"))?;
        let (end, begin) = (end_of(pid), Some(begin));
        Ok(Self { child, pid, end, begin, started: Instant::now(), ended: None, looked: None })
    }

    /// Lets the command begin.
    ///
    /// # Errors
    /// The command cannot begin. If its process has ended meanwhile, that is no error here, but [`reap`](Self::reap)
    /// reports it.
    pub(super) fn begin(&mut self, token: Token) -> io::Result<()> {
        let Some(begin) = self.begin.take() else { return Ok(()) };
        // Continues the process if it was stopped while it waited. The signal precedes the message, because the command
        // itself may react to that signal.
        self.signal(Signal::CONT);
        self.started = Instant::now();
        let stdin = io::stdin();
        let sent = match stdin.is_terminal() {
            // With the terminal as its input, a process outside the foreground group would be stopped at its first
            // read.
            true => waiting::send(&begin, token, File::open("/dev/null")?.as_fd()),
            false => waiting::send(&begin, token, stdin.as_fd()),
        };
        sent.or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
            _ => Err(error),
        })
    }

    /// Returns true if the command's process has not ended.
    pub(super) fn is_alive(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(self.pid), look), Ok(None) | Err(rustix::io::Errno::INTR))
    }

    /// Waits until the command's process has ended, so that [`reap`](Self::reap) or [`is_alive`](Self::is_alive) should
    /// check. Never returns if the process has already been reaped. Cancel-safe.
    pub(super) async fn end(&self) {
        match self.end.as_ref().filter(|_| self.ended.is_none()) {
            // The check that follows will find an error of this wait again.
            Some(end) => drop(end.readable().await),
            None => std::future::pending().await,
        }
    }

    /// Returns true if the command has just ended, and the processes that it left behind are about to end.
    pub(super) fn has_just_ended(&self) -> bool {
        self.ended.is_some_and(|(_, at)| at.elapsed() < LEAVING)
    }

    /// The process id of the command and of its group.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// The time for which the command has run.
    pub(super) fn ran(&self) -> Duration {
        self.started.elapsed()
    }

    /// Sends a signal to the whole group.
    pub(super) fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            // The id is the group's own until the command is reaped.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Kills the whole group, and everything that the group has started `within` the control group.
    pub(super) fn kill(&self, within: Option<&Cgroup>) {
        self.signal(Signal::KILL);
        if let Some(within) = within {
            within.kill();
        }
    }

    /// Kills the processes that the command left behind when it ended. Returns the command's exit status once no
    /// process is left in its group or `within` the control group.
    pub(super) fn reap(&mut self, within: Option<&Cgroup>) -> io::Result<Option<ExitStatus>> {
        let status = match self.ended {
            Some((status, _)) => status,
            None => {
                let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
                match waitid(WaitId::Pid(self.pid), look) {
                    Ok(None) | Err(rustix::io::Errno::INTR) => return Ok(None),
                    Ok(Some(_)) => {}
                    Err(error) => return Err(error.into()),
                }
                self.kill(within);
                self.ended.insert((self.child.wait()?, Instant::now())).0
            }
        };
        // The wait has no limit, because a remaining process may still work.
        let is_populated = within.is_some_and(Cgroup::is_populated);
        if let Some(within) = within.filter(|_| is_populated) {
            within.kill();
        }
        let is_left = is_populated || self.is_left();
        Ok((!is_left).then_some(status))
    }

    /// Returns true if a process of the group is alive.
    fn is_left(&mut self) -> bool {
        match test_kill_process_group(self.pid) {
            Err(rustix::io::Errno::SRCH) => return false,
            // The group exists, perhaps as another user's. On systems other than Linux this error also means dead
            // processes.
            Err(_) if !cfg!(target_os = "linux") => return false,
            _ => {}
        }
        // Dead processes that their parent does not reap stay in the group, but do nothing.
        if self.looked.is_some_and(|at| at.elapsed() < LOOKING) {
            return true;
        }
        self.looked = Some(Instant::now());
        !cfg!(target_os = "linux") || has_live_members(self.pid).unwrap_or(true)
    }
}

/// A descriptor that is readable once the process has ended.
#[expect(
    deprecated,
    reason = "the function that replaces it is unsafe, because some types may close their descriptor; an `OwnedFd` does not"
)]
fn end_of(pid: Pid) -> Option<AsyncFd<OwnedFd>> {
    #[cfg(target_os = "linux")]
    let end = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok();
    #[cfg(not(target_os = "linux"))]
    let end = Some(pid).and(None);
    AsyncFd::with_interest(end?, Interest::READABLE).ok()
}

impl Drop for Group {
    fn drop(&mut self) {
        // A reaped process no longer has a group, and its id may be another process's.
        if let (None, Ok(None)) = (self.ended, self.child.try_wait()) {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// The exit code that a shell reports for this status.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

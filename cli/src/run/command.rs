//! The user's command as a process group.

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use incumbent::Token;
use incumbent_rig::fleet::die_with_parent;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, test_kill_process_group,
    waitid,
};

use super::args::ExecArgs;
use super::cgroup::{self, Cgroup};
use crate::failure::Failure;
use crate::stderr::report;

/// The interval between two scans of all processes for members of a group (20 ms).
const LOOKING: Duration = Duration::from_millis(20);

/// The interval between two checks that a command's process exists (1 ms).
const STARTING: Duration = Duration::from_millis(1);

/// The environment variables of a command or a handler.
pub(super) struct Environment<'a> {
    pub(super) key: &'a str,
    pub(super) name: &'a str,
    /// The term's token; none where there was no term.
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
            command
                .env("INCUMBENT_TOKEN", token.to_string())
                .env("INCUMBENT_SEQUENCE", token.sequence.0.to_string());
        }
    }
}

/// The running command, leader of its own process group. It is killed when this is dropped.
pub(super) struct Group {
    child: Child,
    pid: Pid,
    started: Instant,
    /// Its exit status.
    ended: Option<ExitStatus>,
    /// The last check that only dead processes are left of the group.
    looked: Option<Instant>,
}

impl Group {
    /// Makes the command's process for a term. It begins as this program, asks the kernel to be killed with its
    /// parent, enters the control group where there is one, and stops itself. It becomes the command at the call of
    /// [`go_on`](Self::go_on).
    pub(super) fn start(
        command: &[OsString],
        environment: &Environment<'_>,
        within: Option<&Cgroup>,
    ) -> io::Result<Self> {
        let mut exec = Command::new(std::env::current_exe()?);
        exec.arg("run-exec").arg("--parent").arg(std::process::id().to_string());
        if let Some(within) = within {
            exec.arg("--cgroup").arg(within.path());
        }
        exec.arg("--").args(command);
        exec.process_group(0);
        if io::stdin().is_terminal() {
            // A process outside the terminal's foreground group would be stopped at its first read.
            exec.stdin(Stdio::null());
        }
        environment.set(&mut exec);
        let child = exec.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the operating system gave no process number"))?;
        Ok(Self { child, pid, started: Instant::now(), ended: None, looked: None })
    }

    /// Lets the command begin, as soon as its process exists.
    pub(super) async fn go_on(&self) -> io::Result<()> {
        let look =
            WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::Pid(self.pid), look) {
                Ok(None) | Err(rustix::io::Errno::INTR) => tokio::time::sleep(STARTING).await,
                Ok(Some(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.signal(Signal::CONT);
        Ok(())
    }

    /// The process id of the command and of its group.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// The time that it has run.
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

    /// Kills the whole group, and all that it started `within`.
    pub(super) fn kill(&self, within: Option<&Cgroup>) {
        self.signal(Signal::KILL);
        if let Some(within) = within {
            within.kill();
        }
    }

    /// Returns the command's exit status, once no process is left of it, of its group, and of what it started
    /// `within`. Kills the processes that it leaves behind.
    pub(super) fn reap(&mut self, within: Option<&Cgroup>) -> io::Result<Option<ExitStatus>> {
        let status = match self.ended {
            Some(status) => status,
            None => {
                let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
                match waitid(WaitId::Pid(self.pid), look) {
                    Ok(None) | Err(rustix::io::Errno::INTR) => return Ok(None),
                    Ok(Some(_)) => {}
                    Err(error) => return Err(error.into()),
                }
                self.kill(within);
                *self.ended.insert(self.child.wait()?)
            }
        };
        // Without a limit: a process that is left may still work.
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
            // The group exists, perhaps as another user's. Elsewhere than on Linux this error also means dead
            // processes.
            Err(_) if !cfg!(target_os = "linux") => return false,
            _ => {}
        }
        // A parent that does not reap leaves dead processes in the group; they do nothing.
        if self.looked.is_some_and(|at| at.elapsed() < LOOKING) {
            return true;
        }
        self.looked = Some(Instant::now());
        !cfg!(target_os = "linux") || has_live_members(self.pid).unwrap_or(true)
    }
}

/// Returns true if a process of this group is alive, from the kernel's list of all processes.
fn has_live_members(group: Pid) -> io::Result<bool> {
    for entry in fs::read_dir("/proc")? {
        // The process may have ended meanwhile.
        let Ok(stat) = fs::read_to_string(entry?.path().join("stat")) else { continue };
        if is_live_member(&stat, group) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if the text of /proc/PID/stat is that of a live process of this group.
fn is_live_member(stat: &str, group: Pid) -> bool {
    // PID (NAME) STATE PARENT GROUP ..., and the name may hold anything.
    let Some((_, after)) = stat.rsplit_once(')') else { return false };
    let mut words = after.split_whitespace();
    let (state, number) = (words.next(), words.nth(1).and_then(|word| word.parse().ok()));
    number == Some(group.as_raw_nonzero().get()) && !matches!(state, Some("Z" | "X"))
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

/// The hidden command that becomes the user's. It returns only where that fails: 127 where there is no such command
/// and 126 where it cannot be run, as in shells.
pub(crate) fn exec(args: &ExecArgs) -> Result<u8, Failure> {
    die_with_parent(args.parent)?;
    if let Some(within) = &args.cgroup {
        enter(within);
    }
    // Waits until the guard knows of this process: a supervisor that is stopped at this moment must not leave a
    // command that nothing ends.
    kill_process(getpid(), Signal::STOP).map_err(io::Error::from)?;
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Err(Failure::usage("no command is given"));
    };
    let error = Command::new(program).args(arguments).exec();
    report(format_args!("incumbent: {} cannot be run: {error}", program.to_string_lossy()));
    Ok(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

/// Without its control group the command still has its process group, so it runs all the same.
fn enter(within: &Path) {
    if let Err(error) = cgroup::enter(within) {
        tracing::warn!(%error, "the command could not be put into a control group of its own");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_group_only_those_count_that_are_alive() {
        let group = Pid::from_raw(42).unwrap();
        let stat = |state| format!("43 (a) Z 1 42) {state} 1 42 42 0 -1 4194560 0 0 0 0");
        assert!(is_live_member(&stat("S"), group));
        assert!(is_live_member(&stat("D"), group));
        assert!(!is_live_member(&stat("Z"), group));
        assert!(!is_live_member(&stat("S"), Pid::from_raw(41).unwrap()));
    }
}

//! The user's command as a process group.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use incumbent::Term;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::args::ExecArgs;
use crate::failure::Failure;
use crate::process;

/// The running command, leader of its own process group. It is killed when this is dropped.
pub(super) struct Group {
    child: Child,
    pid: Pid,
}

impl Group {
    /// Starts the command for a term. It begins as this program, which asks the kernel to be killed with
    /// its parent and then becomes the command.
    pub(super) fn start(command: &[OsString], term: &Term, name: &str) -> io::Result<Self> {
        let mut exec = Command::new(std::env::current_exe()?);
        exec.arg("run-exec").arg("--parent").arg(std::process::id().to_string()).arg("--").args(command);
        exec.process_group(0);
        if io::stdin().is_terminal() {
            // Not in the terminal's foreground group, it would be stopped at its first read.
            exec.stdin(Stdio::null());
        }
        let token = term.token();
        exec.env("INCUMBENT_KEY", term.election())
            .env("INCUMBENT_NAME", name)
            .env("INCUMBENT_TOKEN", token.to_string())
            .env("INCUMBENT_SEQUENCE", token.sequence.0.to_string());
        let child = exec.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the operating system gave no process number"))?;
        Ok(Self { child, pid })
    }

    /// The number of the command and of its group.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends a signal to all of the group.
    pub(super) fn signal(&self, signal: Signal) {
        // The number is the group's own until the command is reaped.
        let _ = kill_process_group(self.pid, signal);
    }

    /// How the command ended, if it has; then the rest of its group is killed as well.
    pub(super) fn reap(&mut self) -> io::Result<Option<ExitStatus>> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid), look) {
            Ok(None) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(Some(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.signal(Signal::KILL);
        Ok(Some(self.child.wait()?))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // One that was waited for has no group any more, and its number may be another's.
        if let Ok(None) = self.child.try_wait() {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// The code a shell would give for such an end.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The hidden command that becomes the user's. It returns only where that fails: 127 where there is no
/// such command and 126 where it cannot be run, as shells have it.
pub(crate) fn exec(args: &ExecArgs) -> Result<u8, Failure> {
    process::die_with_parent(args.parent)?;
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Err(Failure::usage("no command is given"));
    };
    let error = Command::new(program).args(arguments).exec();
    eprintln!("incumbent: {} cannot be run: {error}", program.to_string_lossy());
    Ok(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

//! `run` as process 1 of a container.
//!
//! If a process loses its parent in a container, it becomes a child of process 1, and stays as a dead entry until
//! process 1 reaps it. So process 1 does nothing else: it starts the supervisor as a child, passes signals on to it,
//! reaps every child that ends, and ends when the supervisor does.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, WaitOptions, WaitStatus, kill_process, wait};

use super::helper::this_program;
use super::signals::{Asked, Signals};
use crate::stderr::no_process;

/// Runs this command line in a child. Returns its exit code, or a shell's code for the signal that ended it.
pub(crate) async fn supervise() -> io::Result<u8> {
    // The signals are caught before the child exists, so that no child's end is missed.
    let mut signals = Signals::new()?;
    let mut supervisor = Command::new(this_program()?);
    let child = supervisor.arg0("incumbent").args(std::env::args_os().skip(1)).spawn();
    let child = child.map_err(|error| no_process("the supervisor", error))?;
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let child = child.ok_or_else(|| io::Error::other("the operating system reported no process number"))?;
    loop {
        while let Some((ended, status)) = reap() {
            if ended == child {
                return Ok(code(status));
            }
        }
        match signals.any().await {
            // The loop then reaps a child that has just ended.
            Some(Asked::End(signal) | Asked::PassOn(signal)) => drop(kill_process(child, signal)),
            None => {}
        }
    }
}

/// Reaps a child that has ended, if there is one.
fn reap() -> Option<(Pid, WaitStatus)> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(rustix::io::Errno::INTR) => {}
            ended => return ended.ok().flatten(),
        }
    }
}

fn code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

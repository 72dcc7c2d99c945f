//! The candidate's health: the user's check command, run at intervals.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::Duration;

use incumbent::Candidate;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::sync::watch;

use super::args::Args;
use crate::stderr::{notice, warn};

/// The most bytes of a failed check's standard error that are kept.
const SAID: usize = 4096;

/// Whether the candidate may take part: its check succeeds, and nothing else keeps the candidate out.
pub(super) struct Health {
    checked: watch::Receiver<bool>,
    /// True to keep the candidate out of the election, whatever the check's result.
    pub(super) stays_out: bool,
    applied: bool,
}

impl Health {
    /// Starts the check, if there is one. The candidate stays out until the check's first answer.
    pub(super) fn start(args: &Args) -> Self {
        let is_well = args.health.is_none();
        let (sender, checked) = watch::channel(is_well);
        if let Some(command) = args.health.clone() {
            let interval = args.health_interval;
            tokio::spawn(async move {
                let mut failed = false;
                while !sender.is_closed() {
                    let answer = ask(&command, interval).await;
                    if let Some(why) = answer.as_ref().err().filter(|_| !failed) {
                        warn(format_args!(
                            "the health check fails, so this candidate stays out of the election: {why}"
                        ));
                    } else if answer.is_ok() && failed {
                        notice("the health check succeeds again");
                    }
                    failed = answer.is_err();
                    sender.send_if_modified(|before| std::mem::replace(before, !failed) == failed);
                    tokio::time::sleep(interval).await;
                }
            });
        }
        Self { checked, stays_out: false, applied: is_well }
    }

    /// Waits until the check's result changes. Cancel-safe.
    pub(super) async fn changed(&mut self) {
        if self.checked.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Passes a changed result to the candidate.
    pub(super) fn apply(&mut self, candidate: &Candidate) {
        let is_well = *self.checked.borrow() && !self.stays_out;
        if self.applied != is_well {
            self.applied = is_well;
            candidate.set_healthy(is_well);
        }
    }
}

/// Runs the command. The error is the reason for which it counts as failed. The processes in the command's group are
/// killed at its end.
async fn ask(command: &str, limit: Duration) -> Result<(), String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = tokio::process::Command::from(shell)
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let (mut said, mut stderr, mut part) = (Vec::new(), child.stderr.take(), [0; 1024]);
    let mut over = pin!(tokio::time::sleep(limit));
    let ended = loop {
        tokio::select! {
            // What the command wrote before its end is read first.
            biased;
            () = &mut over => break None,
            read = read(&mut stderr, &mut part), if stderr.is_some() => {
                said.extend_from_slice(&part[..read]);
                said.truncate(SAID);
                if read == 0 {
                    stderr = None;
                }
            }
            ended = child.wait() => break Some(ended),
        }
    };
    let why = match ended {
        Some(Ok(status)) if status.success() => return Ok(()),
        Some(Ok(status)) => match status.code() {
            Some(code) => format!("it exited with {code}"),
            None => format!("it was ended by signal {}", status.signal().unwrap_or_default()),
        },
        Some(Err(error)) => format!("its end is not known: {error}"),
        None => {
            if let Some(group) = group {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = child.wait().await;
            }
            format!("it did not end within {limit:?}")
        }
    };
    let said = String::from_utf8_lossy(&said);
    Err(match said.trim().lines().next_back() {
        Some(line) => format!("{why}: {line}"),
        None => why,
    })
}

/// Reads some of the command's standard error, or nothing if that is closed.
async fn read(stderr: &mut Option<ChildStderr>, part: &mut [u8]) -> usize {
    match stderr {
        Some(stderr) => stderr.read(part).await.unwrap_or_default(),
        None => 0,
    }
}

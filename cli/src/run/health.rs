//! The candidate's health: the user's check command, run at intervals.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use incumbent::Candidate;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::watch;

use super::args::Args;
use crate::stderr::report;

/// True if the candidate may take part: its check succeeds, and nothing else keeps it out.
pub(super) struct Health {
    checked: watch::Receiver<bool>,
    /// Keeps it out of the election whatever the check's result.
    pub(super) stays_out: bool,
    applied: bool,
}

impl Health {
    /// Starts the check, where there is one.
    pub(super) fn start(args: &Args) -> Self {
        let (sender, checked) = watch::channel(true);
        if let Some(command) = args.health.clone() {
            let interval = args.health_interval;
            tokio::spawn(async move {
                while !sender.is_closed() {
                    let is_well = ask(&command, interval).await;
                    sender.send_if_modified(|before| {
                        if *before && !is_well {
                            report(format_args!(
                                "incumbent: the health check fails, and this candidate stays out of the election"
                            ));
                        } else if !*before && is_well {
                            report(format_args!("incumbent: the health check succeeds again"));
                        }
                        std::mem::replace(before, is_well) != is_well
                    });
                    tokio::time::sleep(interval).await;
                }
            });
        }
        Self { checked, stays_out: false, applied: true }
    }

    /// Returns when the check's result changes. Cancel-safe.
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

/// Returns true if the command succeeds in time. The processes in its group end with it.
async fn ask(command: &str, limit: Duration) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = tokio::process::Command::from(shell).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            report(format_args!("incumbent: the health check cannot be started: {error}"));
            return false;
        }
    };
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let ended: Result<io::Result<_>, _> = tokio::time::timeout(limit, child.wait()).await;
    if let (Err(_), Some(group)) = (&ended, group) {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait().await;
    }
    matches!(ended, Ok(Ok(status)) if status.success())
}

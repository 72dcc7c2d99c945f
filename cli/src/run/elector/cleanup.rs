//! The cleanup process, which ends the work if the supervisor was killed.
//!
//! While there is work to end, the process holds an instruction: the command to run, and its environment. It runs that
//! command when its standard input ends, because then the supervisor is gone, for whatever reason. A supervisor that
//! ends normally withdraws the instruction first.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use incumbent::incumbent_core::reconcile::{Handler, RunId};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use super::handler::Running;
use super::script::Script;
use crate::run::command::Environment;
use crate::run::helper::{self, Helper, Orders};
use crate::run::runner::Runner;
use crate::stderr::warn;

/// The instruction to carry out when the supervisor is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Instruction {
    /// The script that ends the work.
    script: Script,
    environment: Vec<(String, String)>,
    /// The process group of the handler that begins the work, while it runs. It is killed before the work is ended.
    begins: Option<i32>,
}

impl Instruction {
    pub(super) fn new(script: &Script, environment: &Environment<'_>, begins: Option<Pid>) -> Self {
        let mut named = Command::new("");
        environment.set(&mut named);
        let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        let environment = named.get_envs().filter_map(|(name, value)| Some((text(name), text(value?))));
        Self {
            script: script.clone(),
            environment: environment.collect(),
            begins: begins.map(|group| group.as_raw_nonzero().get()),
        }
    }

    fn command(&self) -> Command {
        let mut command = self.script.command();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env("INCUMBENT_REASON", "KILLED");
        command
    }
}

/// The hidden command of the cleanup process.
#[derive(Debug, clap::Args)]
pub(crate) struct CleanupArgs {
    /// A folder to remove when the supervisor is gone
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The number of further attempts; the first of them is made at once
    #[arg(long)]
    retries: u32,
    /// The wait after a failure, from the second on
    #[arg(long, value_parser = crate::lease::time)]
    retry_every: Duration,
}

/// Runs the hidden command of the cleanup process. The process ends when its standard input does, after it has carried
/// out the instruction.
///
/// # Errors
/// The signals that the process must ignore cannot be caught.
pub(crate) async fn cleanup(args: &CleanupArgs) -> io::Result<()> {
    let mut orders = Orders::new(c"run-cleanup")?;
    let mut instruction: Option<Instruction> = None;
    // If the supervisor died while it wrote, the order is incomplete, and the previous instruction holds.
    while let Some(next) = orders.next().await {
        instruction = next;
    }
    if let Some(instruction) = instruction {
        orders.undisturbed(execute(&instruction, args)).await;
    }
    if let Some(folder) = &args.folder {
        helper::remove(folder);
    }
    Ok(())
}

async fn execute(instruction: &Instruction, args: &CleanupArgs) {
    warn("the process that led is gone, so on-lost is run in its place");
    if let Some(group) = instruction.begins.and_then(Pid::from_raw) {
        // A group that is gone needs no signal.
        let _ = kill_process_group(group, Signal::KILL);
    }
    // As in the reconciler, the command runs again at once after the first failure, and at intervals after further
    // failures.
    for tried in 0..=args.retries {
        if tried > 1 {
            tokio::time::sleep(args.retry_every).await;
        }
        let failure = match Running::spawn(RunId(0), Handler::End, instruction.command()) {
            Ok(mut running) => running.ended().await,
            Err(error) => Some(format!("it cannot be started: {error}")),
        };
        match failure {
            None => return,
            Some(how) => warn(format_args!("on-lost failed: {how}")),
        }
    }
    warn("giving up: the work that on-won began may still be running on this machine");
}

/// The supervisor's handle of the cleanup process.
pub(super) struct Cleanup {
    process: Helper<Option<Instruction>>,
    /// The last instruction sent to it.
    last: Option<Instruction>,
}

impl Cleanup {
    pub(super) fn start(runner: &Runner) -> io::Result<Self> {
        let handlers = &runner.args.handlers;
        let pause = humantime::format_duration(handlers.retry_every).to_string();
        let arguments =
            ["--retries".to_owned(), handlers.retries.to_string(), "--retry-every".to_owned(), pause];
        Ok(Self { process: Helper::start("run-cleanup", runner.file.folder(), arguments)?, last: None })
    }

    /// Sets the instruction from now on; `None` if there is nothing to do.
    pub(super) fn set(&mut self, instruction: Option<Instruction>) {
        if self.last != instruction {
            self.last.clone_from(&instruction);
            self.process.send(instruction);
        }
    }

    /// Waits until the cleanup process has ended, which should not happen. Cancel-safe.
    pub(super) async fn gone(&mut self) {
        self.process.gone().await;
    }

    /// Starts a replacement with the same instruction.
    pub(super) fn replace(&mut self, runner: &Runner) -> io::Result<()> {
        let last = self.last.take();
        *self = Self::start(runner)?;
        self.set(last);
        Ok(())
    }

    /// Withdraws the instruction, and waits until the cleanup process has ended.
    pub(super) async fn dismiss(self) {
        self.process.dismiss(None).await;
    }
}

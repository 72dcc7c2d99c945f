//! The cleanup process: it ends the work where the supervisor was killed.
//!
//! While there is work to end it holds an instruction: the command to run, and its environment. It runs the command
//! when its standard input ends, because then the supervisor is gone, for whatever reason. A supervisor that ends in
//! good order withdraws the instruction first.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use incumbent::incumbent_core::reconcile::{Handler, RunId};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Child;
use tokio::sync::mpsc;

use super::handler::Running;
use super::script::Script;
use crate::process;
use crate::run::args::Args;
use crate::run::command::Environment;
use crate::run::signals::Signals;
use crate::stderr::warn;

/// The instruction to carry out when the supervisor is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Instruction {
    /// The script that ends the work.
    script: Script,
    environment: Vec<(String, String)>,
    /// The process group of the handler that began the work, while it runs: it is killed first.
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
    folder: PathBuf,
    /// How often to try again, the first time at once
    #[arg(long)]
    retries: u32,
    /// How long after a failure, from the second on
    #[arg(long, value_parser = crate::time::time)]
    retry_every: Duration,
}

/// The hidden command of the cleanup process. It ends when its standard input does, after it has carried out the instruction.
pub(crate) async fn cleanup(args: &CleanupArgs, as_json: bool) -> io::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    // A request to end is often sent to every process of a service; the supervisor handles it.
    let mut signals = Signals::new()?;
    process::go_by(c"run-cleanup");
    let mut instruction: Option<Instruction> = None;
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line,
            _ = signals.next() => continue,
        };
        // An incomplete line: the supervisor died while it wrote, and the instruction before it holds.
        match line.ok().flatten().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(next) => instruction = next,
            None => break,
        }
    }
    if let Some(instruction) = instruction {
        tokio::select! {
            () = execute(&instruction, args, as_json) => {}
            () = async { loop { signals.next().await; } } => {}
        }
    }
    // A supervisor that ended in good order has removed it already.
    let _ = std::fs::remove_dir_all(&args.folder);
    Ok(())
}

async fn execute(instruction: &Instruction, args: &CleanupArgs, as_json: bool) {
    warn(as_json, "the process that led is gone, and on-lost is run in its place");
    if let Some(group) = instruction.begins.and_then(Pid::from_raw) {
        // A group that is gone needs no signal.
        let _ = kill_process_group(group, Signal::KILL);
    }
    // As in the reconciler: after a failure it runs again at once, and from then on at intervals.
    for tried in 0..=args.retries {
        if tried > 1 {
            tokio::time::sleep(args.retry_every).await;
        }
        let failure = match Running::spawn(RunId(0), Handler::End, instruction.command(), as_json) {
            Ok(mut running) => running.ended().await,
            Err(error) => Some(format!("it cannot be started: {error}")),
        };
        match failure {
            None => return,
            Some(how) => warn(as_json, &format!("on-lost failed: {how}")),
        }
    }
    warn(as_json, "giving up: what on-won began may still be going on here");
}

/// The cleanup process as its supervisor sees it.
pub(super) struct Cleanup {
    instructions: mpsc::UnboundedSender<Option<Instruction>>,
    process: Child,
    /// The last instruction sent to it.
    last: Option<Instruction>,
}

impl Cleanup {
    pub(super) fn start(folder: &Path, args: &Args, as_json: bool) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        // Another process name than ours, so that killing by our name does not kill both.
        command.arg0("run-cleanup");
        command.arg("run-cleanup").arg("--folder").arg(folder);
        command.arg("--retries").arg(args.handlers.retries.to_string());
        let pause = humantime::format_duration(args.handlers.retry_every).to_string();
        command.arg("--retry-every").arg(pause);
        if as_json {
            command.arg("--json");
        }
        let mut command = tokio::process::Command::from(command);
        // In a process group of its own: signals to the terminal's group do not reach it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut process = command.spawn()?;
        let (instructions, mut to_send) = mpsc::unbounded_channel::<Option<Instruction>>();
        if let Some(mut stdin) = process.stdin.take() {
            tokio::spawn(async move {
                while let Some(instruction) = to_send.recv().await {
                    let Ok(line) = serde_json::to_string(&instruction) else { return };
                    if stdin.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { instructions, process, last: None })
    }

    /// Sets the instruction from now on; none: nothing to do.
    pub(super) fn set(&mut self, instruction: Option<Instruction>) {
        if self.last != instruction {
            self.last.clone_from(&instruction);
            // `gone` notices a cleanup process that is gone.
            let _ = self.instructions.send(instruction);
        }
    }

    /// Returns when the cleanup process has ended, which it should not. Cancel-safe.
    pub(super) async fn gone(&mut self) {
        let _ = self.process.wait().await;
    }

    /// Starts a replacement with the same instruction.
    pub(super) fn replaced(&mut self, folder: &Path, args: &Args, as_json: bool) -> io::Result<()> {
        let last = self.last.take();
        *self = Self::start(folder, args, as_json)?;
        self.set(last);
        Ok(())
    }

    /// Withdraws the instruction, and waits until the cleanup process has ended.
    pub(super) async fn dismiss(self) {
        let Self { instructions, mut process, .. } = self;
        let _ = instructions.send(None);
        drop(instructions);
        let _ = process.wait().await;
    }
}

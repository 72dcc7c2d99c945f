//! A candidate as the demo sees it from outside: a process or a task.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use incumbent::Token;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::candidate;
use super::protocol::{Order, Report, Setup};

/// A message from a member, with the member's number and the number of its run.
pub(super) struct Message {
    pub(super) member: usize,
    pub(super) run: u32,
    pub(super) content: Content,
}

pub(super) enum Content {
    Report(Report),
    /// A line on its standard error.
    Said(String),
    /// Its output has ended.
    End,
}

/// A candidate, across all of its runs.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) run: u32,
    /// The state from its campaign's last report; empty before the first.
    pub(super) state: String,
    /// The token of the last term that it reported won and not yet lost.
    pub(super) token: Option<Token>,
    pub(super) terms: u32,
    /// The fault that the demo made and has not repaired yet.
    pub(super) fault: Option<String>,
    pub(super) is_stopped: bool,
    /// Its output has ended.
    pub(super) output_ended: bool,
    /// The file that the probe of the current or the last run records to.
    pub(super) record: PathBuf,
    running: Option<Running>,
}

enum Running {
    Process { child: Child, pid: Pid, orders: mpsc::UnboundedSender<Order> },
    Task { task: JoinHandle<()>, orders: mpsc::UnboundedSender<Order> },
}

impl Member {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            run: 0,
            state: String::new(),
            token: None,
            terms: 0,
            fault: None,
            is_stopped: false,
            output_ended: false,
            record: PathBuf::new(),
            running: None,
        }
    }

    /// Starts the next run as a process.
    pub(super) fn start_process(
        &mut self,
        member: usize,
        setup: Setup,
        out: &mpsc::UnboundedSender<Message>,
    ) -> io::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("demo-candidate").arg("--parent").arg(std::process::id().to_string());
        // In a process group of its own: Ctrl-C at the terminal is for the demo alone.
        command.process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let gone = || io::Error::other("the candidate's process ended at once");
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).ok_or_else(gone)?;

        self.begin(&setup);
        let run = self.run;
        let (orders, to_send) = mpsc::unbounded_channel();
        if let Some(stdin) = child.stdin.take() {
            tokio::spawn(write(stdin, setup, to_send));
        }
        if let Some(stdout) = child.stdout.take() {
            let out = out.clone();
            tokio::spawn(async move {
                // Sending fails only when the demo has ended.
                let send = |content| drop(out.send(Message { member, run, content }));
                let report = |line: String| {
                    if let Ok(report) = serde_json::from_str(&line) {
                        send(Content::Report(report));
                    }
                };
                each(BufReader::new(stdout).lines(), report).await;
                send(Content::End);
            });
        }
        if let Some(stderr) = child.stderr.take() {
            let out = out.clone();
            let said = move |line| drop(out.send(Message { member, run, content: Content::Said(line) }));
            tokio::spawn(each(BufReader::new(stderr).lines(), said));
        }
        self.running = Some(Running::Process { child, pid, orders });
        Ok(())
    }

    /// Starts the next run as a task of this process.
    pub(super) fn start_task(&mut self, member: usize, setup: Setup, out: &mpsc::UnboundedSender<Message>) {
        self.begin(&setup);
        let (run, out) = (self.run, out.clone());
        let (orders, to_take) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let reports = out.clone();
            let report =
                move |report| drop(reports.send(Message { member, run, content: Content::Report(report) }));
            candidate::take_part(setup, to_take, report).await;
            drop(out.send(Message { member, run, content: Content::End }));
        });
        self.running = Some(Running::Task { task, orders });
    }

    fn begin(&mut self, setup: &Setup) {
        self.run += 1;
        self.state.clear();
        self.record.clone_from(&setup.record);
        self.token = None;
        self.fault = None;
        self.is_stopped = false;
        self.output_ended = false;
    }

    /// The process id; none for a task.
    pub(super) fn pid(&self) -> Option<i32> {
        match self.running {
            Some(Running::Process { pid, .. }) => Some(pid.as_raw_nonzero().get()),
            _ => None,
        }
    }

    /// Whether its process or task exists.
    pub(super) fn is_present(&self) -> bool {
        self.running.is_some()
    }

    /// Whether it takes part: it exists, is not stopped, and has reported.
    pub(super) fn is_well(&self) -> bool {
        self.is_present() && !self.is_stopped && self.fault.is_none() && !self.state.is_empty()
    }

    /// Sends it an order; does nothing where it is gone.
    pub(super) fn order(&self, order: Order) {
        if let Some(Running::Process { orders, .. } | Running::Task { orders, .. }) = &self.running {
            // The demo is about to notice a member that no longer takes orders as gone.
            let _ = orders.send(order);
        }
    }

    /// Kills its process. There is no way to kill a task alone.
    pub(super) fn kill(&self) -> io::Result<()> {
        self.signal(Signal::KILL)
    }

    /// Stops its process (`SIGSTOP`).
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.is_stopped = true;
        self.signal(Signal::STOP)
    }

    /// Lets its process go on (`SIGCONT`).
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.is_stopped = false;
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        // The process id stays its own until it is waited for, and only `reap` does that.
        match &self.running {
            Some(Running::Process { pid, .. }) => Ok(kill_process(*pid, signal)?),
            _ => Ok(()),
        }
    }

    /// Whether its process or task has ended since the last call and all of its output was taken.
    pub(super) fn reap(&mut self) -> bool {
        let has_ended = self.output_ended
            && match &mut self.running {
                Some(Running::Process { child, .. }) => !matches!(child.try_wait(), Ok(None)),
                Some(Running::Task { task, .. }) => task.is_finished(),
                None => false,
            };
        if has_ended {
            self.running = None;
            self.is_stopped = false;
        }
        has_ended
    }
}

/// Writes the setup first, then the orders until there are no more.
async fn write(mut stdin: ChildStdin, setup: Setup, mut orders: mpsc::UnboundedReceiver<Order>) {
    let Ok(mut line) = serde_json::to_string(&setup) else { return };
    loop {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        let Some(order) = orders.recv().await else { return };
        let Ok(next) = serde_json::to_string(&order) else { return };
        line = next;
    }
}

async fn each<R: tokio::io::AsyncBufRead + Unpin>(mut lines: Lines<R>, report: impl Fn(String)) {
    while let Ok(Some(line)) = lines.next_line().await {
        report(line);
    }
}

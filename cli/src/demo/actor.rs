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
use super::protocol::{Order, Part, Report};

/// A message from an actor, with the actor's number and the number of its run.
pub(super) struct Told {
    pub(super) actor: usize,
    pub(super) life: u32,
    pub(super) what: What,
}

pub(super) enum What {
    Report(Report),
    /// A line on its standard error.
    Said(String),
    /// Its output has ended.
    Silence,
}

/// A candidate, across all of its runs.
pub(super) struct Actor {
    pub(super) name: String,
    pub(super) life: u32,
    /// The state from its campaign's last report; empty before the first.
    pub(super) state: String,
    /// The token of the last term that it reported won and not yet lost.
    pub(super) token: Option<Token>,
    pub(super) terms: u32,
    /// The fault that the demo made and has not repaired yet.
    pub(super) suffers: Option<String>,
    pub(super) is_stopped: bool,
    /// Its output has ended.
    pub(super) is_silent: bool,
    /// The file that the probe of the current or the last run records to.
    pub(super) record: PathBuf,
    body: Option<Body>,
}

enum Body {
    Process { child: Child, pid: Pid, orders: mpsc::UnboundedSender<Order> },
    Task { task: JoinHandle<()>, orders: mpsc::UnboundedSender<Order> },
}

impl Actor {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            life: 0,
            state: String::new(),
            token: None,
            terms: 0,
            suffers: None,
            is_stopped: false,
            is_silent: false,
            record: PathBuf::new(),
            body: None,
        }
    }

    /// Starts the next run as a process.
    pub(super) fn start_process(
        &mut self,
        actor: usize,
        part: Part,
        out: &mpsc::UnboundedSender<Told>,
    ) -> io::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("demo-candidate").arg("--parent").arg(std::process::id().to_string());
        // In a process group of its own: Ctrl-C at the terminal is for the demo alone.
        command.process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let gone = || io::Error::other("the candidate's process ended at once");
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).ok_or_else(gone)?;

        self.begin(&part);
        let life = self.life;
        let (orders, to_send) = mpsc::unbounded_channel();
        if let Some(stdin) = child.stdin.take() {
            tokio::spawn(write(stdin, part, to_send));
        }
        if let Some(stdout) = child.stdout.take() {
            let out = out.clone();
            tokio::spawn(async move {
                // Sending fails only when the demo has ended.
                let send = |what| drop(out.send(Told { actor, life, what }));
                let report = |line: String| {
                    if let Ok(report) = serde_json::from_str(&line) {
                        send(What::Report(report));
                    }
                };
                each(BufReader::new(stdout).lines(), report).await;
                send(What::Silence);
            });
        }
        if let Some(stderr) = child.stderr.take() {
            let out = out.clone();
            let said = move |line| drop(out.send(Told { actor, life, what: What::Said(line) }));
            tokio::spawn(each(BufReader::new(stderr).lines(), said));
        }
        self.body = Some(Body::Process { child, pid, orders });
        Ok(())
    }

    /// Starts the next run as a task of this process.
    pub(super) fn start_task(&mut self, actor: usize, part: Part, out: &mpsc::UnboundedSender<Told>) {
        self.begin(&part);
        let (life, out) = (self.life, out.clone());
        let (orders, to_take) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let told = out.clone();
            let tell = move |report| drop(told.send(Told { actor, life, what: What::Report(report) }));
            candidate::play(part, to_take, tell).await;
            drop(out.send(Told { actor, life, what: What::Silence }));
        });
        self.body = Some(Body::Task { task, orders });
    }

    fn begin(&mut self, part: &Part) {
        self.life += 1;
        self.state.clear();
        self.record.clone_from(&part.record);
        self.token = None;
        self.suffers = None;
        self.is_stopped = false;
        self.is_silent = false;
    }

    /// The process id; none for a task.
    pub(super) fn pid(&self) -> Option<i32> {
        match self.body {
            Some(Body::Process { pid, .. }) => Some(pid.as_raw_nonzero().get()),
            _ => None,
        }
    }

    /// Whether its process or task exists.
    pub(super) fn is_present(&self) -> bool {
        self.body.is_some()
    }

    /// Whether it takes part: it exists, is not stopped, and has reported.
    pub(super) fn is_well(&self) -> bool {
        self.is_present() && !self.is_stopped && self.suffers.is_none() && !self.state.is_empty()
    }

    /// Sends it an order; does nothing where it is gone.
    pub(super) fn order(&self, order: Order) {
        if let Some(Body::Process { orders, .. } | Body::Task { orders, .. }) = &self.body {
            // The demo is about to notice an actor that no longer takes orders as gone.
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
        match &self.body {
            Some(Body::Process { pid, .. }) => Ok(kill_process(*pid, signal)?),
            _ => Ok(()),
        }
    }

    /// Whether its process or task has ended since the last call and all of its output was taken.
    pub(super) fn reap(&mut self) -> bool {
        let has_ended = self.is_silent
            && match &mut self.body {
                Some(Body::Process { child, .. }) => !matches!(child.try_wait(), Ok(None)),
                Some(Body::Task { task, .. }) => task.is_finished(),
                None => false,
            };
        if has_ended {
            self.body = None;
            self.is_stopped = false;
        }
        has_ended
    }
}

/// Writes the part first, then the orders until there are no more.
async fn write(mut stdin: ChildStdin, part: Part, mut orders: mpsc::UnboundedReceiver<Order>) {
    let Ok(mut line) = serde_json::to_string(&part) else { return };
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

async fn each<R: tokio::io::AsyncBufRead + Unpin>(mut lines: Lines<R>, tell: impl Fn(String)) {
    while let Ok(Some(line)) = lines.next_line().await {
        tell(line);
    }
}

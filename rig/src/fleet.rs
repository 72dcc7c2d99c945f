//! Candidates as seen from outside: processes or tasks that take orders and report.

use std::collections::BTreeMap;
use std::io;
use std::process::{Command, ExitStatus, Stdio};

use incumbent::Token;
use rustix::process::{Pid, Signal, getppid, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::candidate::{self, Order, Recorded, Report, ReportKind, Setup};

/// All candidates of a run.
#[derive(Debug)]
pub struct Fleet {
    /// The candidates, by their numbers.
    pub members: Vec<Member>,
    sender: mpsc::UnboundedSender<Message>,
    messages: mpsc::UnboundedReceiver<Message>,
}

/// A line of a candidate's output.
#[derive(Clone, Debug)]
pub enum Line {
    /// A report, which was already processed.
    Report(Report),
    /// A line on its standard error, if that is a pipe.
    Stderr(String),
}

#[derive(Debug)]
struct Message {
    member: usize,
    run: u32,
    /// `None` at the end of the output.
    line: Option<Line>,
}

/// A candidate, across all of its runs.
#[derive(Debug)]
pub struct Member {
    /// The candidate's name.
    pub name: String,
    /// The number of its current or last run; 0 before the first.
    pub run: u32,
    /// True if its process is stopped (`SIGSTOP`).
    pub is_stopped: bool,
    /// The number of terms that it has reported.
    pub terms: u32,
    /// The state of each campaign, by its election's key, as reported in this run.
    campaigns: BTreeMap<String, Status>,
    output_ended: bool,
    running: Option<Running>,
}

#[derive(Clone, Debug, Default)]
struct Status {
    state: String,
    token: Option<Token>,
}

#[derive(Debug)]
enum Running {
    Process { child: Child, pid: Pid, orders: mpsc::UnboundedSender<Order> },
    Task { task: JoinHandle<()>, orders: mpsc::UnboundedSender<Order> },
}

impl Fleet {
    /// Candidates with these names; none runs yet.
    pub fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        let (sender, messages) = mpsc::unbounded_channel();
        Self { members: names.into_iter().map(|name| Member::new(name.into())).collect(), sender, messages }
    }

    /// Starts the next run of a candidate as a process, which [serves](candidate::serve). The process ends when this is
    /// dropped. Must be called on a runtime.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start_process(&mut self, member: usize, command: Command, setup: Setup) -> io::Result<()> {
        let mut command = tokio::process::Command::from(command);
        // In its own process group, because Ctrl-C at the terminal is only for the parent.
        command.process_group(0).kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let gone = || io::Error::other("the candidate's process ended at once");
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).ok_or_else(gone)?;
        let send = self.begin(member, &setup);
        let (orders, to_send) = mpsc::unbounded_channel();
        if let Some(stdin) = child.stdin.take() {
            tokio::spawn(write(stdin, setup, to_send));
        }
        if let Some(stderr) = child.stderr.take() {
            let send = send.clone();
            tokio::spawn(each_line(stderr, move |line| send(Some(Line::Stderr(line)))));
        }
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(async move {
                let report = |line: String| {
                    if let Ok(report) = serde_json::from_str(&line) {
                        send(Some(Line::Report(report)));
                    }
                };
                each_line(stdout, report).await;
                send(None);
            });
        }
        self.members[member].running = Some(Running::Process { child, pid, orders });
        Ok(())
    }

    /// Starts the next run of a candidate as a task of this process.
    pub fn start_task(&mut self, member: usize, setup: Setup) {
        let send = self.begin(member, &setup);
        let (orders, to_take) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let reports = send.clone();
            let report = move |report| reports(Some(Line::Report(report)));
            let part = match Recorded::create(&setup.record, report) {
                Ok(output) => candidate::take_part(setup, to_take, output).await,
                Err(error) => Err(error.into()),
            };
            if let Err(failed) = part {
                send(Some(Line::Report(Report::now(None, ReportKind::Failed(failed)))));
            }
            send(None);
        });
        self.members[member].running = Some(Running::Task { task, orders });
    }

    /// Begins a run. Returns the sender of its lines.
    fn begin(&mut self, index: usize, setup: &Setup) -> impl Fn(Option<Line>) + Clone + Send + 'static {
        let member = &mut self.members[index];
        *member = Member {
            run: member.run + 1,
            terms: member.terms,
            campaigns: setup.campaigns.iter().map(|one| (one.key.clone(), Status::default())).collect(),
            ..Member::new(std::mem::take(&mut member.name))
        };
        let (run, sender) = (member.run, self.sender.clone());
        // Sending fails only when the fleet is gone.
        move |line| drop(sender.send(Message { member: index, run, line }))
    }

    /// Returns the next line of any candidate, with its number. Cancel-safe.
    pub async fn next_line(&mut self) -> (usize, Line) {
        loop {
            // The fleet keeps a sender, so that there is always a next message.
            if let Some(message) = self.messages.recv().await
                && let Some(line) = self.take(message)
            {
                return line;
            }
        }
    }

    /// Processes all lines that have come.
    pub fn catch_up(&mut self) {
        while let Ok(message) = self.messages.try_recv() {
            self.take(message);
        }
    }

    /// Processes a message, unless it is from an earlier run.
    fn take(&mut self, Message { member: index, run, line }: Message) -> Option<(usize, Line)> {
        let member = &mut self.members[index];
        if run != member.run {
            return None;
        }
        match &line {
            None => member.output_ended = true,
            Some(Line::Report(report)) => member.take(report),
            Some(Line::Stderr(_)) => {}
        }
        line.map(|line| (index, line))
    }

    /// The leader of that election: the candidate that won the largest token, has not reported its loss, and runs.
    pub fn leader(&self, key: &str) -> Option<(usize, Token)> {
        let running = self.members.iter().enumerate().filter(|(_, member)| member.is_running());
        running.filter_map(|(at, member)| Some((at, member.token(key)?))).max_by_key(|(_, token)| *token)
    }
}

impl Member {
    fn new(name: String) -> Self {
        Self {
            name,
            run: 0,
            is_stopped: false,
            terms: 0,
            campaigns: BTreeMap::new(),
            output_ended: false,
            running: None,
        }
    }

    fn take(&mut self, report: &Report) {
        let Some(status) = report.key.as_ref().and_then(|key| self.campaigns.get_mut(key)) else { return };
        match &report.what {
            ReportKind::Won { token, .. } => {
                status.token = Some(*token);
                self.terms += 1;
            }
            ReportKind::Lost { token, .. } if status.token == Some(*token) => status.token = None,
            ReportKind::State { state } => status.state.clone_from(state),
            _ => {}
        }
    }

    /// The token of the term that it won and has not lost.
    pub fn token(&self, key: &str) -> Option<Token> {
        self.campaigns.get(key)?.token
    }

    /// The code of its campaign's state; empty before the first report.
    pub fn state(&self, key: &str) -> &str {
        self.campaigns.get(key).map_or("", |status| &status.state)
    }

    /// Returns true if it neither leads nor tries to lead in any election.
    pub fn is_idle(&self) -> bool {
        let idle = |status: &Status| status.token.is_none() && status.state == "WAITING";
        self.is_running() && self.campaigns.values().all(idle)
    }

    /// Returns true if it takes part in that election: it runs, has reported, and has not reported that it left.
    pub fn takes_part(&self, key: &str) -> bool {
        self.is_running() && !matches!(self.state(key), "" | "CLOSED")
    }

    /// The process id; none for a task.
    pub fn pid(&self) -> Option<u32> {
        match self.running {
            Some(Running::Process { pid, .. }) => Some(pid.as_raw_nonzero().get().unsigned_abs()),
            _ => None,
        }
    }

    /// Returns true if its process or task exists, as far as known.
    pub fn is_present(&self) -> bool {
        self.running.is_some()
    }

    /// Returns true if it exists and is not stopped.
    pub fn is_running(&self) -> bool {
        self.is_present() && !self.is_stopped
    }

    /// Sends it an order; does nothing if it is gone.
    pub fn order(&self, order: Order) {
        if let Some(Running::Process { orders, .. } | Running::Task { orders, .. }) = &self.running {
            // If a candidate takes no more orders, its end will soon be noticed.
            let _ = orders.send(order);
        }
    }

    /// Kills its process (`SIGKILL`). A single task cannot be killed.
    ///
    /// # Errors
    /// The operating system's.
    pub fn kill(&self) -> io::Result<()> {
        self.signal(Signal::KILL)
    }

    /// Stops its process (`SIGSTOP`).
    ///
    /// # Errors
    /// The operating system's.
    pub fn stop(&mut self) -> io::Result<()> {
        self.is_stopped = true;
        self.signal(Signal::STOP)
    }

    /// Lets its process continue (`SIGCONT`).
    ///
    /// # Errors
    /// The operating system's.
    pub fn resume(&mut self) -> io::Result<()> {
        self.is_stopped = false;
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        // The process keeps its id until it is reaped, and only `exit_status` and `reap` do that.
        match &self.running {
            Some(Running::Process { pid, .. }) => Ok(kill_process(*pid, signal)?),
            _ => Ok(()),
        }
    }

    /// The exit status of its process, once that has ended. The candidate is gone then, even if reports are still to
    /// come.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        let Some(Running::Process { child, .. }) = &mut self.running else { return None };
        let status = child.try_wait().ok()??;
        self.running = None;
        self.is_stopped = false;
        Some(status)
    }

    /// Returns true if its process or task has ended since the last call, and all its output was processed.
    pub fn reap(&mut self) -> bool {
        let has_ended = self.output_ended
            && match &mut self.running {
                Some(Running::Process { child, .. }) => !matches!(child.try_wait(), Ok(None)),
                Some(Running::Task { task, .. }) => task.is_finished(),
                None => false,
            };
        if has_ended {
            self.running = None;
            self.is_stopped = false;
            self.campaigns.values_mut().for_each(|status| status.token = None);
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

async fn each_line(output: impl AsyncRead + Unpin, take: impl Fn(String)) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        take(line);
    }
}

/// Ends this process when `parent`, its parent process, ends. On Linux the kernel does that; elsewhere a child notices
/// that its standard input has ended.
///
/// # Errors
/// The parent has ended already.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the parent died before the line above, there will be no signal.
    let is_there = getppid().map(Pid::as_raw_nonzero).is_some_and(|pid| pid.get().unsigned_abs() == parent);
    if is_there { Ok(()) } else { Err(io::Error::other("the process that started this one is gone")) }
}

//! A candidate as the director sees it from outside: a process.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use incumbent_testkit::process::ChildGuard;
use incumbent_testkit::proxy::Proxy;

use crate::candidate::{Candidacy, Order, Part};
use crate::log::Line;

/// The longest time that a candidate may take to leave.
const FAREWELL: Duration = Duration::from_secs(30);

/// A candidate, across all of its runs.
#[derive(Debug)]
pub(crate) struct Actor {
    pub(crate) name: &'static str,
    pub(crate) life: u32,
    candidacies: Vec<Candidacy>,
    /// The proxy to each server.
    pub(crate) links: Vec<Proxy>,
    pub(crate) is_stopped: bool,
    body: Option<Body>,
}

#[derive(Debug)]
struct Body {
    child: ChildGuard,
    orders: ChildStdin,
    board: Arc<Mutex<Board>>,
}

/// Its reports so far, for one election.
#[derive(Clone, Debug, Default)]
struct Board(BTreeMap<String, Standing>);

#[derive(Clone, Debug, Default)]
struct Standing {
    state: String,
    token: Option<String>,
}

impl Board {
    fn take(&mut self, line: Line) {
        let Some(key) = line.key().map(str::to_owned) else { return };
        let standing = self.0.entry(key).or_default();
        match line {
            Line::Won { token, .. } => standing.token = Some(token),
            Line::Lost { .. } => standing.token = None,
            Line::State { state, .. } => standing.state = state,
            _ => {}
        }
    }
}

impl Actor {
    pub(crate) fn new(name: &'static str, candidacies: Vec<Candidacy>, servers: &[String]) -> Self {
        let links = servers.iter().map(|server| Proxy::to(server)).collect();
        Self { name, life: 0, candidacies, links, is_stopped: false, body: None }
    }

    /// Starts the next run, which writes to a file in that folder.
    pub(crate) fn start(&mut self, folder: &Path) -> Result<()> {
        self.life += 1;
        self.is_stopped = false;
        let servers: Vec<String> = self.links.iter().map(Proxy::address).collect();
        let part = Part {
            name: self.name.into(),
            servers: servers.join(","),
            log: folder.join(format!("{}-{}.jsonl", self.name, self.life)),
            candidacies: self.candidacies.clone(),
        };
        let mut command = Command::new(std::env::current_exe()?);
        let errors = std::fs::File::options().create(true).append(true).open(folder.join("errors.txt"))?;
        command.arg("candidate").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = ChildGuard::spawn(command).with_context(|| format!("cannot start {}", self.name))?;
        let mut orders = child.take_stdin().context("a child without an input")?;
        writeln!(orders, "{}", serde_json::to_string(&part)?)?;
        let stdout = BufReader::new(child.take_stdout().context("a child without an output")?);
        let board = Arc::<Mutex<Board>>::default();
        let reports = Arc::clone(&board);
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Ok(line) = serde_json::from_str(&line) {
                    locked(&reports).take(line);
                }
            }
        });
        self.body = Some(Body { child, orders, board });
        Ok(())
    }

    /// Whether it is running, not stopped, and takes part in that election.
    pub(crate) fn is_well(&self, key: &str) -> bool {
        !self.is_stopped && self.state(key).is_some_and(|state| !matches!(state.as_str(), "" | "CLOSED"))
    }

    /// Whether it neither leads nor tries to lead in any election.
    pub(crate) fn is_idle(&self) -> bool {
        let idle = |standing: &Standing| standing.token.is_none() && standing.state == "WAITING";
        let Some(body) = &self.body else { return false };
        let board = locked(&body.board);
        !self.is_stopped && board.0.len() == self.candidacies.len() && board.0.values().all(idle)
    }

    /// The token of its term.
    pub(crate) fn token(&self, key: &str) -> Option<String> {
        locked(&self.body.as_ref()?.board).0.get(key)?.token.clone()
    }

    fn state(&self, key: &str) -> Option<String> {
        Some(locked(&self.body.as_ref()?.board).0.get(key)?.state.clone())
    }

    /// Sends it an order; does nothing where it is gone.
    pub(crate) fn order(&mut self, order: &Order) {
        let Some(body) = &mut self.body else { return };
        if let Ok(text) = serde_json::to_string(order) {
            // A process that is about to end no longer reads.
            let _ = writeln!(body.orders, "{text}");
        }
    }

    /// Kills it (SIGKILL).
    pub(crate) fn kill(&mut self) {
        if let Some(mut body) = self.body.take() {
            body.child.kill();
        }
    }

    /// Stops it (SIGSTOP).
    pub(crate) fn stop(&mut self) {
        if let Some(body) = &self.body {
            body.child.pause();
            self.is_stopped = true;
        }
    }

    /// Lets it go on (SIGCONT).
    pub(crate) fn resume(&mut self) {
        if let Some(body) = &self.body {
            self.is_stopped = false;
            body.child.resume();
        }
    }

    /// Whether it has ended by itself; it is no longer present then. Returns its exit status.
    pub(crate) fn reap(&mut self) -> Option<std::process::ExitStatus> {
        let status = self.body.as_mut()?.child.try_wait()?;
        self.body = None;
        Some(status)
    }

    /// Waits until it has left, as ordered.
    ///
    /// # Errors
    /// When it does not leave, or not in good order.
    pub(crate) fn leave(&mut self) -> Result<()> {
        let Some(mut body) = self.body.take() else { return Ok(()) };
        drop(body.orders);
        let status = body.child.wait(FAREWELL);
        anyhow::ensure!(status.success(), "{}, life {}, ended with {status}", self.name, self.life);
        Ok(())
    }
}

fn locked(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

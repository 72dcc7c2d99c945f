//! Candidates that are processes of their own, so that they can be killed and stopped.
//!
//! A candidate is this very test binary, started again with a variable in its environment that makes
//! [`the_candidate`] run one. It asks itself all the time whether it leads, and prints a line of JSON for
//! every event and answer; its commands come on its standard input.

use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use incumbent::{Candidate, Clock, Event, Instant, Token};
use incumbent_testkit::process::ChildGuard;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::actor::TIME_LIMIT;
use crate::bench::join;
use crate::probe::{Answers, Sample, never_two};

/// Selects the candidate to be; without it [`the_candidate`] does nothing.
const ROLE: &str = "INCUMBENT_SCENARIO_CANDIDATE";
/// The interval at which a candidate asks itself.
const EVERY: Duration = Duration::from_millis(1);
/// An answer so long after the last one comes from a process that was stopped, and is always printed.
const STOPPED: Duration = Duration::from_millis(100);

#[derive(Serialize, Deserialize)]
struct Role {
    servers: String,
    name: String,
    lease: Duration,
}

/// A line that a candidate prints. Times are nanoseconds of the clock that all processes share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Line {
    Answer { leads: bool, before: u64, after: u64 },
    Won { token: String, started: u64 },
    Lost { token: String, reason: String, at: u64 },
    Left,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    HandOver(String),
    Close,
}

/// A candidate in a process of its own.
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) child: ChildGuard,
    orders: ChildStdin,
    lines: Arc<Mutex<Vec<Line>>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Process {
    pub(crate) fn start(servers: &str, name: &str, lease: Duration) -> Self {
        let role = Role { servers: servers.into(), name: name.into(), lease };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["process::the_candidate", "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, serde_json::to_string(&role).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = ChildGuard::spawn(command).unwrap();
        let orders = child.take_stdin().unwrap();
        let stdout = BufReader::new(child.take_stdout().unwrap());
        let lines = Arc::<Mutex<Vec<Line>>>::default();
        let reading = Arc::clone(&lines);
        let reader = thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // The test harness prints to the same pipe.
                if let Ok(line) = serde_json::from_str(&line) {
                    reading.lock().unwrap().push(line);
                }
            }
        });
        Self { name: name.into(), child, orders, lines, reader: Some(reader) }
    }

    pub(crate) fn order(&mut self, order: &Order) {
        writeln!(self.orders, "{}", serde_json::to_string(order).unwrap()).unwrap();
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        self.lines.lock().unwrap().clone()
    }

    /// Kills it, and reads its remaining output.
    pub(crate) fn kill(&mut self) {
        self.child.kill();
        self.reader.take().unwrap().join().unwrap();
    }

    /// Waits until it has printed a line that fits.
    #[track_caller]
    pub(crate) fn wait_for<T>(&self, what: &str, fits: impl Fn(&Line) -> Option<T>) -> T {
        let what = format!("{} of {}", what, self.name);
        incumbent_testkit::wait::until_some(&what, TIME_LIMIT, || self.lines().iter().find_map(&fits))
    }

    /// Waits until it leads with a token above `above`; returns the token, and the time of the win.
    #[track_caller]
    pub(crate) fn won(&self, above: Option<Token>) -> (Token, Instant) {
        self.wait_for("the win", |line| match line {
            Line::Won { token, started } => {
                let token: Token = token.parse().unwrap();
                (Some(token) > above).then(|| (token, Instant::from_nanos(*started)))
            }
            _ => None,
        })
    }

    /// Waits until it has lost a term; returns the reason, and the time of the read.
    #[track_caller]
    pub(crate) fn lost(&self) -> (String, Instant) {
        self.wait_for("the loss", |line| match line {
            Line::Lost { reason, at, .. } => Some((reason.clone(), Instant::from_nanos(*at))),
            _ => None,
        })
    }

    pub(crate) fn was_reported_as_lost(&self) -> bool {
        self.lines().iter().any(|line| matches!(line, Line::Lost { .. }))
    }

    pub(crate) fn has_won(&self) -> bool {
        self.lines().iter().any(|line| matches!(line, Line::Won { .. }))
    }

    /// Waits for its first answer to a question asked at `since` or later.
    #[track_caller]
    pub(crate) fn first_answer(&self, since: Instant) -> bool {
        self.wait_for("an answer", |line| match line {
            Line::Answer { leads, before, .. } if Instant::from_nanos(*before) >= since => Some(*leads),
            _ => None,
        })
    }

    pub(crate) fn answers(&self) -> Answers {
        let mut answers = Answers::default();
        for line in self.lines() {
            if let Line::Answer { leads, before, after } = line {
                let (before, after) = (Instant::from_nanos(before), Instant::from_nanos(after));
                answers.add(Sample { leads, before, after });
            }
        }
        answers
    }
}

/// Waits until one of them leads with a token above `above`; returns its index, its token, and the time of the win.
#[track_caller]
pub(crate) fn next_leader(processes: &[&Process], above: Token) -> (usize, Token, Instant) {
    incumbent_testkit::wait::until_some("another leader", TIME_LIMIT, || {
        processes.iter().enumerate().find_map(|(at, process)| {
            process.lines().iter().find_map(|line| match line {
                Line::Won { token, started } => {
                    let token: Token = token.parse().unwrap();
                    (token > above).then(|| (at, token, Instant::from_nanos(*started)))
                }
                _ => None,
            })
        })
    })
}

/// Fails the test if two of them ever led at once.
pub(crate) fn never_two_processes(processes: &[&Process]) {
    let answers: Vec<_> = processes.iter().map(|process| process.answers()).collect();
    never_two(processes.iter().map(|process| process.name.as_str()).zip(&answers));
}

/// Not a test: a candidate, where [`Process`] starts this binary again.
#[test]
fn the_candidate() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let role: Role = serde_json::from_str(&role).unwrap();
    // The harness has begun a line.
    println!();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(run(role));
    std::process::exit(0);
}

async fn run(role: Role) {
    let actor = join(&role.servers, &role.name, role.lease).await;
    let candidate = &actor.candidate;
    let mut events = candidate.events();
    answer_all_the_time(candidate.clone());
    let mut orders = read_orders();
    loop {
        tokio::select! {
            Some(event) = events.next() => print_event(event),
            order = orders.recv() => match order {
                Some(Order::HandOver(to)) => drop(candidate.request_hand_over(to)),
                Some(Order::Close) => break drop(candidate.request_close()),
                None => return,
            },
        }
    }
    while let Some(event) = events.next().await {
        print_event(event);
    }
    candidate.close().await.unwrap();
    print(&Line::Left);
}

fn print_event(event: Event) {
    match event {
        Event::Won(term) => {
            print(&Line::Won { token: term.token().to_string(), started: term.started().as_nanos() });
        }
        Event::Lost { term, reason } => print(&Line::Lost {
            token: term.token().to_string(),
            reason: reason.code().into(),
            at: Clock::system().now().as_nanos(),
        }),
        _ => {}
    }
}

fn answer_all_the_time(candidate: Candidate) {
    thread::spawn(move || {
        let clock = Clock::system();
        let mut last = Sample { leads: false, before: clock.now(), after: clock.now() };
        loop {
            let sample = Sample::of(&candidate, &clock);
            let stopped = sample.before.since(last.after) > STOPPED;
            if sample.leads || last.leads || stopped {
                let (before, after) = (sample.before.as_nanos(), sample.after.as_nanos());
                print(&Line::Answer { leads: sample.leads, before, after });
            }
            last = sample;
            thread::sleep(EVERY);
        }
    });
}

fn read_orders() -> mpsc::UnboundedReceiver<Order> {
    let (sender, orders) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in stdin().lines().map_while(Result::ok) {
            let _ = sender.send(serde_json::from_str(&line).unwrap());
        }
    });
    orders
}

fn print(line: &Line) {
    let mut out = stdout().lock();
    writeln!(out, "{}", serde_json::to_string(line).unwrap()).unwrap();
    out.flush().unwrap();
}

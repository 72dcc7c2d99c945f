//! Candidates that are separate processes, so that they can be killed and stopped.
//!
//! A candidate is this test binary, started again with an environment variable that makes [`the_candidate`] run a
//! candidate. The process constantly asks itself whether it leads, and prints a line of JSON for every event and
//! answer. Its commands come on its standard input.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use incumbent::{Instant, Preset, Token};
use incumbent_rig::candidate::{self, CampaignSetup, Order, Output, Report, ReportKind, Setup};
use incumbent_rig::history::Proven;
use incumbent_rig::probe::Reading;
use incumbent_rig::record::Terms;
use incumbent_testkit::process::ChildGuard;
use serde::{Deserialize, Serialize};

use crate::actor::TIME_LIMIT;
use crate::bench::{KEY, store_url};
use crate::probe::{never_two, proven};

/// The variable that makes [`the_candidate`] run a candidate. Without it, that function does nothing.
const ROLE: &str = "INCUMBENT_SCENARIO_CANDIDATE";
/// The time since the last answer from which the next one must come from a process that was stopped. Such an answer is
/// always printed.
const STOPPED: Duration = Duration::from_millis(100);

/// A line that a candidate prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    Report(Report),
    Answer(Reading),
}

impl Line {
    pub(crate) fn what(&self) -> Option<&ReportKind> {
        match self {
            Self::Report(report) => Some(&report.what),
            Self::Answer(_) => None,
        }
    }
}

/// A candidate in a separate process.
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) child: ChildGuard,
    orders: ChildStdin,
    lines: Arc<Mutex<Vec<Line>>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Process {
    pub(crate) fn start(servers: &str, name: &str, lease: Duration) -> Self {
        let store = store_url(servers);
        let campaign = CampaignSetup { store, key: KEY.into(), lease, preset: Preset::Fast, splay: false };
        let setup = Setup { name: name.into(), record: PathBuf::new(), campaigns: vec![campaign] };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["process::the_candidate", "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = ChildGuard::spawn(command).unwrap();
        let mut orders = child.take_stdin().unwrap();
        writeln!(orders, "{}", serde_json::to_string(&setup).unwrap()).unwrap();
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

    /// Kills the process, and reads its remaining output.
    pub(crate) fn kill(&mut self) {
        self.child.kill();
        self.reader.take().unwrap().join().unwrap();
    }

    /// Waits until the candidate has printed a line that `fits`.
    #[track_caller]
    pub(crate) fn wait_for<T>(&self, what: &str, fits: impl Fn(&Line) -> Option<T>) -> T {
        let what = format!("{} of {}", what, self.name);
        incumbent_testkit::wait::until_some(&what, TIME_LIMIT, || self.lines().iter().find_map(&fits))
    }

    /// Waits until the candidate leads with a token above `above`. Returns the token, and the time of the win.
    #[track_caller]
    pub(crate) fn won(&self, above: Option<Token>) -> (Token, Instant) {
        self.wait_for("the win", |line| won(line).filter(|(token, _)| Some(*token) > above))
    }

    /// Waits until the candidate has lost a term. Returns the reason, and the time of the report.
    #[track_caller]
    pub(crate) fn lost(&self) -> (String, Instant) {
        self.wait_for("the loss", |line| match line {
            Line::Report(Report { at, what: ReportKind::Lost { reason, .. }, .. }) => {
                Some((reason.clone(), Instant::from_nanos(*at)))
            }
            _ => None,
        })
    }

    pub(crate) fn was_reported_as_lost(&self) -> bool {
        self.lines().iter().any(|line| matches!(line.what(), Some(ReportKind::Lost { .. })))
    }

    pub(crate) fn has_won(&self) -> bool {
        self.lines().iter().any(|line| won(line).is_some())
    }

    pub(crate) fn has_left(line: &Line) -> Option<()> {
        matches!(line.what(), Some(ReportKind::Left)).then_some(())
    }

    /// Waits for the candidate's first answer to a question that was asked at `since` or later.
    #[track_caller]
    pub(crate) fn first_answer(&self, since: Instant) -> bool {
        self.wait_for("an answer", |line| match line {
            Line::Answer(Reading { leads, before, .. }) if *before >= since => Some(leads.is_some()),
            _ => None,
        })
    }

    /// The terms that the candidate's answers prove.
    pub(crate) fn terms(&self) -> Vec<Proven> {
        let mut terms = Terms::default();
        for line in self.lines() {
            if let Line::Answer(reading) = line {
                terms.note(reading);
            }
        }
        proven(&self.name, terms)
    }
}

/// The token and the time of a win.
pub(crate) fn won(line: &Line) -> Option<(Token, Instant)> {
    match line.what()? {
        ReportKind::Won { token, started } => Some((*token, Instant::from_nanos(*started))),
        _ => None,
    }
}

/// Waits until one of the processes leads with a token above `above`. Returns its index, its token, and the time of the
/// win.
#[track_caller]
pub(crate) fn next_leader(processes: &[&Process], above: Token) -> (usize, Token, Instant) {
    incumbent_testkit::wait::until_some("another leader", TIME_LIMIT, || {
        processes.iter().enumerate().find_map(|(at, process)| {
            let (token, started) =
                process.lines().iter().filter_map(won).find(|(token, _)| *token > above)?;
            Some((at, token, started))
        })
    })
}

/// Fails the test if two of the processes ever led at once.
pub(crate) fn never_two_processes(processes: &[&Process]) {
    never_two(processes.iter().flat_map(|process| process.terms()).collect());
}

/// Not a test, but the candidate of a [`Process`] that started this binary.
#[test]
fn the_candidate() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    // Ends the line that the test harness has begun.
    println!();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(candidate::serve(|_| Ok(Printed::default()))).unwrap();
    std::process::exit(0);
}

/// Prints reports, the answers of a leader, and each answer that follows one.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Option<Reading>>>);

impl Output for Printed {
    fn reading(&self, _campaign: usize, reading: Reading) {
        let last = self.0.lock().unwrap().replace(reading);
        let matters = |last: Reading| last.leads.is_some() || reading.before.since(last.after) > STOPPED;
        if reading.leads.is_some() || last.is_some_and(matters) {
            print(&Line::Answer(reading));
        }
    }

    fn report(&self, report: Report) {
        print(&Line::Report(report));
    }
}

fn print(line: &Line) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(line).unwrap()).unwrap();
}

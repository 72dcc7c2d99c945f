//! The progress and the findings of a hunt, on standard error. There is a line every ten seconds; on a terminal a
//! single line changes.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use incumbent_sim::Choice;
use incumbent_sim::hunt::{Finding, Observer, Report};

use crate::args::Args;

/// The interval between two lines if there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

pub(super) struct Progress {
    interrupted: Arc<AtomicBool>,
    on_terminal: bool,
    /// Whether the summary is JSON, so that only the summary goes to standard output.
    json: bool,
    last: Instant,
}

impl Progress {
    pub(super) fn new(args: &Args, interrupted: Arc<AtomicBool>) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        Self { interrupted, on_terminal, json: args.json, last: Instant::now() }
    }

    /// Removes the changing line.
    fn clear(&self) {
        if self.on_terminal {
            write("\r\x1b[K");
        }
    }
}

impl Observer for Progress {
    fn is_over(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn shows(&mut self, report: &Report) {
        if self.on_terminal {
            write(&format!("\r\x1b[K{}", line(report)));
        } else if self.last.elapsed() >= EVERY {
            self.last = Instant::now();
            write(&format!("{}\n", line(report)));
        }
    }

    fn found(&mut self, finding: &Finding) {
        self.clear();
        let Finding { choice, violation, .. } = finding;
        let text = format!(
            "seed {} on {} fails: {violation}\n  {}\n",
            choice.seed,
            choice.store.name(),
            again(choice)
        );
        if self.json {
            write(&text);
        } else {
            print!("{text}");
        }
    }

    fn shrinks(&mut self, findings: usize) {
        self.clear();
        write(&format!("shrinking {findings} findings\n"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The command that repeats a run from a checkout.
pub(super) fn again(choice: &Choice) -> String {
    choice.command().replacen("incumbent", "cargo", 1)
}

fn line(report: &Report) -> String {
    let hours: f64 = report.stores.iter().map(|of| of.tally.hours()).sum();
    let (runs, rate, findings) = (report.runs(), report.rate(), report.findings.len());
    format!(
        "{:.0} s: {runs} runs, {rate:.0} a second, {hours:.0} simulated hours, {findings} failed",
        report.took.as_secs_f64()
    )
}

fn write(text: &str) {
    let mut error = std::io::stderr().lock();
    // It does no harm if progress cannot be written.
    let _ = error.write_all(text.as_bytes()).and_then(|()| error.flush());
}

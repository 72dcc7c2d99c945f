//! The progress, on a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use incumbent_sim::Tally;

/// The interval between two updates.
const EVERY: Duration = Duration::from_millis(200);

/// A progress line on standard error. If that is not a terminal, nothing is written.
pub(super) struct Progress {
    began: Instant,
    seeds: u64,
    /// When the line was last written; `None` without a terminal.
    shown: Option<Instant>,
    on_terminal: bool,
}

impl Progress {
    pub(super) fn of(seeds: u64, as_json: bool) -> Self {
        Self {
            began: Instant::now(),
            seeds,
            shown: None,
            on_terminal: std::io::stderr().is_terminal() && !as_json,
        }
    }

    pub(super) fn took(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn show(&mut self, tally: &Tally) {
        let due = self.shown.unwrap_or(self.began).elapsed() >= EVERY;
        if self.on_terminal && due {
            self.shown = Some(Instant::now());
            write(&text(tally, self.seeds, self.took()));
        }
    }

    pub(super) fn clear(&mut self) {
        if self.shown.take().is_some() {
            write("");
        }
    }
}

fn write(text: &str) {
    let mut terminal = std::io::stderr().lock();
    // It does no harm if a progress line cannot be written.
    let _ = write!(terminal, "\r\x1b[K{text}").and_then(|()| terminal.flush());
}

fn text(tally: &Tally, seeds: u64, took: Duration) -> String {
    let share = tally.runs as f64 / seeds as f64;
    let left = took.mul_f64((1.0 / share - 1.0).clamp(0.0, 1e6));
    let (runs, hours) = (tally.runs, tally.hours());
    format!("{runs} of {seeds} seeds, {hours:.0} simulated hours, {:.0} s left", left.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_time_taken() {
        let mut tally = Tally::default();
        (tally.runs, tally.time) = (25, Duration::from_secs(7_200));
        let shown = text(&tally, 100, Duration::from_secs(10));
        assert_eq!(shown, "25 of 100 seeds, 2 simulated hours, 30 s left");
    }
}

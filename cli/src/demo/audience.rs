//! The demo's observers: a person at a terminal, a log, or a program.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use super::plan::Plan;
use super::story::{Happening, Mood};
use super::summary::Summary;
use super::table::{View, stamp};
use crate::failure::Failure;
use crate::output::{self, millis, span};
use crate::screen::Screen;

/// The most lines of the log that the largest terminal shows.
const LOG: usize = 200;

/// The demo's output, in one of three formats.
pub(super) struct Audience {
    means: Means,
    /// The last happenings: time, tone, text.
    log: VecDeque<(Duration, Mood, String)>,
    /// Warnings shown once already: several candidates report the same one.
    warnings: HashSet<String>,
    has_left: bool,
}

enum Means {
    /// A live table, on a terminal.
    Table(Screen),
    /// A plain line for each event.
    Lines,
    /// A line of JSON for each event.
    Json,
}

impl Audience {
    pub(super) fn new(at_terminal: bool, as_json: bool) -> std::io::Result<Self> {
        let means = match (as_json, at_terminal) {
            (true, _) => Means::Json,
            (false, true) => Means::Table(Screen::open()?),
            (false, false) => Means::Lines,
        };
        Ok(Self { means, log: VecDeque::new(), warnings: HashSet::new(), has_left: false })
    }

    /// Whether the reader has gone: `incumbent demo | head`.
    pub(super) fn has_left(&self) -> bool {
        self.has_left
    }

    /// Shows the plan before the demo starts.
    pub(super) fn introduce(&mut self, plan: &Plan) -> Result<(), Failure> {
        let Plan { store, key, lease, names, .. } = plan;
        match self.means {
            Means::Table(_) => Ok(()),
            Means::Lines => {
                let bodies = if plan.in_process { "tasks of this process" } else { "a process each" };
                let (count, lease) = (names.len(), span(*lease));
                self.write(format_args!(
                    "{count} candidates, {bodies}, in the election {key:?} on {store}, lease {lease}"
                ))
            }
            Means::Json => self.write(json!({
                "event": "started",
                "store": store,
                "key": key,
                "lease_ms": millis(*lease),
                "candidates": names,
                "processes": !plan.in_process,
                "faults": plan.faults.iter().map(|fault| fault.name()).collect::<Vec<_>>(),
                "seed": plan.seed,
            })),
        }
    }

    /// Reports an event, at this time after the start.
    pub(super) fn tell(&mut self, at: Duration, happening: &Happening) -> Result<(), Failure> {
        if let Means::Json = self.means {
            return self.write(timed(at, happening.json()));
        }
        if let Happening::Warning { message, .. } = happening
            && !self.warnings.insert(message.clone())
        {
            return Ok(());
        }
        let Some(sentence) = happening.sentence() else { return Ok(()) };
        if let Means::Lines = self.means {
            return self.write(format_args!("{}  {sentence}", stamp(at)));
        }
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.log.push_back((at, happening.mood(), sentence));
        Ok(())
    }

    /// Shows the current state, where there is a table to show it in.
    pub(super) fn show(&mut self, view: View) -> Result<(), Failure> {
        let Means::Table(screen) = &mut self.means else { return Ok(()) };
        let view = View { log: self.log.iter().cloned().collect(), ..view };
        let (width, height) = Screen::size();
        Ok(screen.draw(&view.lines(width, height))?)
    }

    /// Restores the terminal.
    pub(super) fn dismiss(&mut self) {
        if let Means::Table(_) = self.means {
            self.means = Means::Lines;
        }
    }

    /// Shows the summary.
    pub(super) fn conclude(&mut self, summary: &Summary) -> Result<(), Failure> {
        match self.means {
            Means::Json => self.write(summary.json()),
            Means::Table(_) | Means::Lines => {
                summary.text().into_iter().try_for_each(|line| self.write(line))
            }
        }
    }

    fn write(&mut self, text: impl std::fmt::Display) -> Result<(), Failure> {
        self.has_left |= !output::line(text)?;
        Ok(())
    }
}

/// The object with the time as its first field.
fn timed(at: Duration, mut told: Value) -> Value {
    let mut line = json!({ "at_ms": millis(at) });
    if let (Some(line), Some(told)) = (line.as_object_mut(), told.as_object_mut()) {
        line.append(told);
    }
    line
}

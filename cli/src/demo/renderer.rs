//! The demo's observers: a person at a terminal, a log, or a program.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use super::event::{DemoEvent, Severity};
use super::plan::Plan;
use super::summary::Summary;
use super::table::{View, stamp};
use crate::failure::Failure;
use crate::output::{self, millis, span};
use crate::screen::Screen;

/// The most lines of the log that the largest terminal shows.
const LOG: usize = 200;

/// The demo's output, in one of three formats.
pub(super) struct Renderer {
    format: Format,
    /// The last events: time, tone, text.
    log: VecDeque<(Duration, Severity, String)>,
    /// Warnings shown once already: several candidates report the same one.
    warnings: HashSet<String>,
    is_gone: bool,
}

enum Format {
    /// A live table, on a terminal.
    Table(Screen),
    /// A plain line for each event.
    Lines,
    /// A line of JSON for each event.
    Json,
}

impl Renderer {
    pub(super) fn new(at_terminal: bool, as_json: bool) -> std::io::Result<Self> {
        let format = match (as_json, at_terminal) {
            (true, _) => Format::Json,
            (false, true) => Format::Table(Screen::open()?),
            (false, false) => Format::Lines,
        };
        Ok(Self { format, log: VecDeque::new(), warnings: HashSet::new(), is_gone: false })
    }

    /// Whether the reader has gone: `incumbent demo | head`.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Shows the plan before the demo starts.
    pub(super) fn introduce(&mut self, plan: &Plan) -> Result<(), Failure> {
        let Plan { store, key, lease, names, .. } = plan;
        match self.format {
            Format::Table(_) => Ok(()),
            Format::Lines => {
                let bodies = if plan.in_process { "tasks of this process" } else { "a process each" };
                let (count, lease) = (names.len(), span(*lease));
                self.write(format_args!(
                    "{count} candidates, {bodies}, in the election {key:?} on {store}, lease {lease}"
                ))
            }
            Format::Json => self.write(json!({
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
    pub(super) fn report(&mut self, at: Duration, event: &DemoEvent) -> Result<(), Failure> {
        if let Format::Json = self.format {
            return self.write(timed(at, event.json()));
        }
        if let DemoEvent::Warning { message, .. } = event
            && !self.warnings.insert(message.clone())
        {
            return Ok(());
        }
        let Some(sentence) = event.sentence() else { return Ok(()) };
        if let Format::Lines = self.format {
            return self.write(format_args!("{}  {sentence}", stamp(at)));
        }
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.log.push_back((at, event.severity(), sentence));
        Ok(())
    }

    /// Shows the current state, where there is a table to show it in.
    pub(super) fn show(&mut self, view: View) -> Result<(), Failure> {
        let Format::Table(screen) = &mut self.format else { return Ok(()) };
        let view = View { log: self.log.iter().cloned().collect(), ..view };
        let (width, height) = Screen::size();
        Ok(screen.draw(&view.lines(width, height))?)
    }

    /// Restores the terminal.
    pub(super) fn close(&mut self) {
        if let Format::Table(_) = self.format {
            self.format = Format::Lines;
        }
    }

    /// Shows the summary.
    pub(super) fn show_summary(&mut self, summary: &Summary) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.write(summary.json()),
            Format::Table(_) | Format::Lines => {
                summary.text().into_iter().try_for_each(|line| self.write(line))
            }
        }
    }

    fn write(&mut self, text: impl std::fmt::Display) -> Result<(), Failure> {
        self.is_gone |= !output::line(text)?;
        Ok(())
    }
}

/// The object with the time as its first field.
fn timed(at: Duration, mut message: Value) -> Value {
    let mut line = json!({ "at_ms": millis(at) });
    if let (Some(line), Some(message)) = (line.as_object_mut(), message.as_object_mut()) {
        line.append(message);
    }
    line
}

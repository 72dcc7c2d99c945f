//! The demo's output: a live table for a person at a terminal, lines for a log, JSON for a program.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use incumbent_rig::schedule::Fault;
use incumbent_rig::trial::Event;
use ratatui::style::Style;
use serde_json::{Value, json};

use super::plan::Demo;
use super::summary::Summary;
use super::table::{View, stamp};
use crate::failure::Failure;
use crate::output::{self, millis, span};
use crate::screen::{Screen, tone};

/// The most lines of the log that the largest terminal shows.
const LOG: usize = 200;

/// The demo's output, in one of three formats.
pub(super) struct Renderer {
    format: Format,
    /// The last events: time, tone, text.
    log: VecDeque<(Duration, Style, String)>,
    /// The warnings that have been shown. Several candidates report the same one.
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

    /// Returns true if the reader is gone, as in `incumbent demo | head`.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Shows the plan before the demo starts.
    pub(super) fn introduce(&mut self, demo: &Demo) -> Result<(), Failure> {
        let (store, trial) = (&demo.store, &demo.trial);
        let (key, lease, names) = (&trial.campaign.key, trial.campaign.lease, &trial.names);
        let processes = trial.command.is_some();
        match self.format {
            Format::Table(_) => {}
            Format::Lines => {
                let bodies = if processes { "a process each" } else { "tasks of this process" };
                let (count, lease) = (names.len(), span(lease));
                self.write(format_args!(
                    "{count} candidates, {bodies}, in the election {key:?} on {store}, lease {lease}"
                ))?;
            }
            Format::Json => self.write(json!({
                "event": "started",
                "store": store,
                "key": key,
                "lease_ms": millis(lease),
                "candidates": names,
                "processes": processes,
                "faults": trial.faults.iter().map(|fault| fault.name()).collect::<Vec<_>>(),
                "seed": trial.seed,
            }))?,
        }
        for note in &demo.notes {
            let note = || note.clone();
            self.show(
                Duration::ZERO,
                || json!({ "event": "note", "message": note() }),
                || Some((tone::PLAIN, note())),
            )?;
        }
        Ok(())
    }

    /// Reports an event that happened at this time after the start.
    pub(super) fn report(&mut self, at: Duration, event: &Event) -> Result<(), Failure> {
        let is_repeated = match event {
            Event::Warning { message, .. } => !self.warnings.insert(message.clone()),
            _ => false,
        };
        self.show(at, || object(event), || sentence(event).filter(|_| !is_repeated))
    }

    fn show(
        &mut self,
        at: Duration,
        object: impl Fn() -> Value,
        sentence: impl Fn() -> Option<(Style, String)>,
    ) -> Result<(), Failure> {
        if let Format::Json = self.format {
            let mut line = json!({ "at_ms": millis(at) });
            if let (Some(line), Value::Object(mut event)) = (line.as_object_mut(), object()) {
                line.append(&mut event);
            }
            return self.write(line);
        }
        let Some((tone, sentence)) = sentence() else { return Ok(()) };
        if let Format::Lines = self.format {
            return self.write(format_args!("{}  {sentence}", stamp(at)));
        }
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.log.push_back((at, tone, sentence));
        Ok(())
    }

    /// Draws the current state if the output is a table.
    pub(super) fn draw(&mut self, view: impl FnOnce() -> View) -> Result<(), Failure> {
        let Format::Table(screen) = &mut self.format else { return Ok(()) };
        let view = View { log: self.log.iter().cloned().collect(), ..view() };
        Ok(screen.draw(&view)?)
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

/// A plain sentence about an event, and its tone; `None` if the viewer already knows of the event.
fn sentence(event: &Event) -> Option<(Style, String)> {
    Some(match event {
        Event::Won { candidate, vacancy: None, .. } => {
            (tone::GOOD, format!("{candidate} is the first leader"))
        }
        Event::Won { candidate, vacancy: Some(vacancy), expected, .. } => {
            let instead = match expected {
                Some(expected) if expected != candidate => format!(", not the named {expected}"),
                _ => String::new(),
            };
            (tone::GOOD, format!("{candidate} leads{instead}, after a vacancy of {}", span(*vacancy)))
        }
        Event::Lost { is_news: false, .. } => return None,
        Event::Lost { candidate, reason, .. } => {
            let reason = reason.to_lowercase().replace('_', " ");
            (tone::PLAIN, format!("{candidate} no longer leads ({reason})"))
        }
        Event::Fault { fault, victim, successor } => {
            let text = match (fault, successor) {
                (Fault::Kill, _) => format!("killed {victim}, the leader (SIGKILL)"),
                (Fault::Stop, _) => {
                    format!("stopped {victim}, the leader, for longer than its lease (SIGSTOP)")
                }
                (Fault::Restart, _) => format!("asked {victim}, the leader, to leave"),
                (Fault::HandOver, Some(to)) => format!("asked {victim}, the leader, to hand over to {to}"),
                (Fault::HandOver, None) => format!("asked {victim}, the leader, to hand over"),
                (Fault::Delete, _) => format!("deleted the key under {victim}, the leader"),
                (Fault::Overwrite, _) => format!("overwrote the key of {victim}, the leader"),
            };
            (tone::WARN, text)
        }
        Event::Repaired { fault: Fault::Stop, victim, after } => {
            (tone::PLAIN, format!("{victim} continues after {} (SIGCONT)", span(*after)))
        }
        Event::Repaired { victim, .. } => (tone::PLAIN, format!("{victim} is started again")),
        Event::Missed { fault, message } => (tone::PLAIN, format!("no {}: {message}", fault.name())),
        Event::Vacant { after, .. } => {
            (tone::BAD, format!("no candidate leads, {} after the fault", span(*after)))
        }
        Event::Warning { candidate, message } => (tone::BAD, format!("{candidate}: {message}")),
        Event::Gone { candidate } => (tone::BAD, format!("{candidate}'s process exited unexpectedly")),
        Event::Overlap(overlap) => {
            let (one, other) = (&overlap.one.candidate, &overlap.other.candidate);
            let lasts = span(overlap.duration());
            (tone::BAD, format!("TWO LEADERS: {one} and {other} both lead, for {lasts} so far"))
        }
    })
}

/// A JSON object, with the event's kind under `event`.
fn object(event: &Event) -> Value {
    match event {
        Event::Won { candidate, token, vacancy, .. } => json!({
            "event": "won",
            "candidate": candidate,
            "token": token.to_string(),
            "vacancy_ms": vacancy.map(millis),
        }),
        Event::Lost { candidate, token, reason, .. } => {
            json!({ "event": "lost", "candidate": candidate, "token": token.to_string(), "reason": reason })
        }
        Event::Fault { fault, victim, successor } => {
            json!({ "event": "fault", "fault": fault.name(), "candidate": victim, "successor": successor })
        }
        Event::Repaired { fault, victim, after } => json!({
            "event": "mended",
            "fault": fault.name(),
            "candidate": victim,
            "after_ms": millis(*after),
        }),
        Event::Missed { fault, message } => {
            json!({ "event": "missed", "fault": fault.name(), "message": message })
        }
        Event::Vacant { fault, after } => {
            json!({ "event": "vacant", "fault": fault.name(), "after_ms": millis(*after) })
        }
        Event::Warning { candidate, message } => {
            json!({ "event": "warning", "candidate": candidate, "message": message })
        }
        Event::Gone { candidate } => json!({ "event": "gone", "candidate": candidate }),
        Event::Overlap(overlap) => json!({
            "event": "overlap",
            "candidates": [overlap.one.candidate, overlap.other.candidate],
            "tokens": [overlap.one.evidence.token.to_string(), overlap.other.evidence.token.to_string()],
            "overlap_ms": millis(overlap.duration()),
        }),
    }
}

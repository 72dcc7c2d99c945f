//! The complete log of a run, in order.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::environment::CONTROLLER;
use crate::kind::Kind;
use crate::log::{self, Election, Line, Nanos, Note};

/// A run, from the logs of all processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) scenario: String,
    pub(crate) seed: u64,
    pub(crate) servers: usize,
    pub(crate) elections: Vec<Election>,
    pub(crate) begin: Nanos,
    /// The time at which the last fault was repaired; none in an aborted run.
    pub(crate) faults_over: Option<Nanos>,
    /// The time at which the candidates were asked to leave, or the last known time.
    pub(crate) end: Nanos,
    pub(crate) lives: Vec<Life>,
    pub(crate) faults: Vec<Incident>,
    pub(crate) foreign: Vec<ForeignTerm>,
    pub(crate) outages: Vec<Outage>,
    pub(crate) stalls: Vec<(Nanos, Nanos)>,
}

/// One run of a candidate's process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    pub(crate) name: String,
    pub(crate) number: u32,
    pub(crate) killed: Option<Nanos>,
    /// The times in which the process was certainly stopped: each begins when it was stopped, and ends just before it
    /// was resumed, if it was.
    pub(crate) stops: Vec<(Nanos, Option<Nanos>)>,
    pub(crate) lines: Vec<Line>,
}

/// A fault.
#[derive(Clone, Debug)]
pub(crate) struct Incident {
    pub(crate) kind: Kind,
    pub(crate) on: String,
    pub(crate) key: String,
    pub(crate) at: Nanos,
    pub(crate) repaired: Option<Nanos>,
}

/// A time in which a candidate of other software led, by its own report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignTerm {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
}

/// A time in which a bucket took no writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) bucket: String,
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
}

impl Life {
    /// Its name with its number.
    pub(crate) fn who(&self) -> String {
        format!("{}-{}", self.name, self.number)
    }
}

impl History {
    /// Reads a folder.
    ///
    /// # Errors
    /// A file is missing or damaged.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let controller = folder.join(CONTROLLER);
        let notes =
            log::read(&controller).with_context(|| format!("cannot read {}", controller.display()))?;
        let mut history = Self::of(notes)?;
        for life in &mut history.lives {
            let path = folder.join(format!("{}.jsonl", life.who()));
            // A process that was killed before it wrote anything has no file.
            if path.exists() || life.killed.is_none() {
                life.lines = log::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            }
        }
        Ok(history)
    }

    /// Builds a history from the controller's notes, without the candidates' lines.
    pub(crate) fn of(notes: Vec<Note>) -> Result<Self> {
        let mut history = Self::default();
        let mut faults = BTreeMap::new();
        let mut lives = BTreeMap::<(String, u32), Life>::new();
        let mut has_ended = false;
        for note in notes {
            if !has_ended {
                history.end = history.end.max(note.at());
            }
            match note {
                Note::Begin { scenario, seed, servers, elections, at } => {
                    history = Self { scenario, seed, servers, elections, begin: at, end: at, ..history };
                }
                Note::Started { name, life, .. } => {
                    let started = Life { name: name.clone(), number: life, ..Life::default() };
                    lives.insert((name, life), started);
                }
                Note::Killed { name, life, at } => of(&mut lives, name, life)?.killed = Some(at),
                Note::Stopped { name, life, at } => of(&mut lives, name, life)?.stops.push((at, None)),
                Note::Resumed { name, life, at } => {
                    if let Some(stop) = of(&mut lives, name, life)?.stops.last_mut() {
                        stop.1 = Some(at);
                    }
                }
                Note::Fault { number, kind, on, key, at } => {
                    faults.insert(number, Incident { kind, on, key, at, repaired: None });
                }
                Note::Repaired { number, at } => {
                    faults.get_mut(&number).context("a fault was repaired that was never made")?.repaired =
                        Some(at);
                }
                Note::ForeignTerm { name, key, from, until } => {
                    history.foreign.push(ForeignTerm { name, key, from, until });
                }
                Note::Outage { bucket, from, until } => history.outages.push(Outage { bucket, from, until }),
                Note::Stall { from, until } => history.stalls.push((from, until)),
                Note::FaultsOver { at } => history.faults_over = Some(at),
                Note::End { .. } => has_ended = true,
            }
        }
        if history.scenario.is_empty() {
            bail!("the controller's log has no beginning");
        }
        history.lives = lives.into_values().collect();
        history.faults = faults.into_values().collect();
        Ok(history)
    }

    /// The events around an instant, in order: the time, and the text with its writer. If an election is named, the
    /// candidates' lines about other elections are left out.
    pub(crate) fn around(&self, at: Nanos, span: Nanos, key: Option<&str>) -> Vec<(Nanos, String)> {
        let near = |when: Nanos| when.abs_diff(at) <= span;
        let belongs = |line: &Line| key.is_none() || line.key().is_none() || line.key() == key;
        let mut lines = Vec::new();
        for life in &self.lives {
            let mut leads = BTreeMap::new();
            for line in &life.lines {
                // Includes only answers that differ from the previous one.
                if let Line::Answer { key, reading } = line {
                    let token = reading.leads.map(|held| held.token);
                    if leads.insert(key.clone(), token) == Some(token) {
                        continue;
                    }
                }
                if near(line.at()) && belongs(line) {
                    lines.push((line.at(), format!("{:<9} {}", life.who(), shown(line))));
                }
            }
            let stops = life.stops.iter().flat_map(|(from, until)| {
                [Some((*from, "stopped")), until.map(|until| (until, "about to be resumed"))]
            });
            let killed = life.killed.map(|killed| (killed, "dead"));
            for (when, what) in stops.flatten().chain(killed).filter(|(when, _)| near(*when)) {
                lines.push((when, format!("{:<9} {what}", life.who())));
            }
        }
        for fault in &self.faults {
            let what = format!("{:<9} {} on {} ({})", "controller", fault.kind, fault.on, fault.key);
            let ends = fault.repaired.map(|repaired| (repaired, format!("{what} ends")));
            lines.extend([(fault.at, what)].into_iter().chain(ends).filter(|(when, _)| near(*when)));
        }
        let foreign = self.foreign.iter().filter(|term| key.is_none_or(|key| key == term.key));
        for term in foreign {
            let line = |when, what| (when, format!("{:<9} {what} ({})", term.name, term.key));
            let turns = [line(term.from, "leads"), line(term.until, "leads no longer")];
            lines.extend(turns.into_iter().filter(|(when, _)| near(*when)));
        }
        lines.sort();
        let seconds = |when: Nanos| when.saturating_sub(self.begin) as f64 / 1e9;
        let stamped = |(when, what)| (when, format!("{:10.4} s  {what}", seconds(when)));
        lines.into_iter().map(stamped).collect()
    }
}

fn of(lives: &mut BTreeMap<(String, u32), Life>, name: String, life: u32) -> Result<&mut Life> {
    let what = format!("{name}-{life} never started");
    lives.get_mut(&(name, life)).context(what)
}

fn shown(line: &Line) -> String {
    serde_json::to_string(line).unwrap_or_else(|_| format!("{line:?}"))
}

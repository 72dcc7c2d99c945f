//! The counts of one or more runs.

use std::fmt;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::Event;
use incumbent_core::candidacy::Rule;

use crate::clock::START;
use crate::kind::{Kind, Store};
use crate::observation::{Observation, View};
use crate::promise::Excuse;

/// The counts of one run or many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Simulated time.
    pub time: Duration,
    /// Faults, by kind.
    pub faults: [u64; Kind::ALL.len()],
    /// Terms that were reported.
    pub terms: u64,
    /// The number of terms of candidates of the Go library, counted by their `OnWon`.
    pub peer_terms: u64,
    /// The number of times that two candidates led at once although the promise did not forbid it.
    pub overlaps: u64,
    /// Writes that the store applied.
    pub writes: u64,
    /// The longest vacancy while there were faults, and the longest one after them.
    pub longest_vacancy: (Duration, Duration),
    /// Inputs that a candidate handled.
    pub steps: u64,
    /// The number of steps in which less was promised, for each reason. One step may have several reasons.
    pub excused: [u64; Excuse::ALL.len()],
    led: Led,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            runs: 0,
            time: Duration::ZERO,
            faults: [0; Kind::ALL.len()],
            terms: 0,
            peer_terms: 0,
            overlaps: 0,
            writes: 0,
            longest_vacancy: Default::default(),
            steps: 0,
            excused: [0; Excuse::ALL.len()],
            led: Led::default(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Led {
    until: Vec<Option<Instant>>,
    /// When a candidate last led.
    last: Option<Instant>,
    quiet: bool,
}

impl Tally {
    pub(crate) fn observe<R: Rule>(&mut self, view: &View<'_>, observation: &Observation<'_, R>) {
        match observation {
            Observation::Fault { kind, begins: true, .. } => self.faults[*kind as usize] += 1,
            Observation::Applied { .. } => self.writes += 1,
            Observation::Output { output, .. } => {
                self.terms += u64::from(matches!(output.event(), Some(Event::Won(_))));
            }
            Observation::Peer { peer, leads } => {
                self.peer_terms += u64::from(*leads);
                let place = view.plan.choice.candidates + peer;
                self.leads(view, place, leads.then_some(Instant::NEVER));
            }
            Observation::Handled { node, until, .. } => {
                self.steps += 1;
                for excuse in view.promises.excuse_of(view.now, *node) {
                    self.excused[excuse as usize] += 1;
                }
                self.leads(view, *node, *until);
            }
            Observation::Clock { node, until } => self.leads(view, *node, *until),
            Observation::Ends { node } => self.leads(view, *node, None),
            Observation::Quiet => {
                self.vacancy(view.now);
                self.led.quiet = true;
                self.led.last = Some(view.now);
            }
            Observation::Over => self.vacancy(view.now),
            _ => {}
        }
    }

    fn leads(&mut self, view: &View<'_>, node: usize, until: Option<Instant>) {
        if self.led.until.is_empty() {
            self.led.until.resize(view.plan.choice.candidates + view.plan.choice.peers, None);
        }
        let before = self.led.until[node];
        if before == until {
            return;
        }
        self.vacancy(view.now);
        self.led.until[node] = until;
        if self.led.until.iter().flatten().filter(|until| **until > view.now).count() > 1 {
            self.overlaps += 1;
        }
        // The time of leadership until now counts, whatever happens next.
        self.led.last = self
            .led
            .until
            .iter()
            .flatten()
            .copied()
            .chain(before.map(|b| b.min(view.now)))
            .max()
            .max(self.led.last.map(|last| last.min(view.now)));
    }

    /// Notes that a candidate begins to lead, or that the run ends. Until then the election was vacant since the last
    /// leader.
    fn vacancy(&mut self, now: Instant) {
        let vacant = now.since(self.led.last.unwrap_or(START));
        let longest = if self.led.quiet { &mut self.longest_vacancy.1 } else { &mut self.longest_vacancy.0 };
        *longest = vacant.max(*longest);
    }

    /// Adds another run's counts.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.time += other.time;
        self.terms += other.terms;
        self.peer_terms += other.peer_terms;
        self.overlaps += other.overlaps;
        self.writes += other.writes;
        for (count, more) in self.faults.iter_mut().zip(other.faults) {
            *count += more;
        }
        self.steps += other.steps;
        for (count, more) in self.excused.iter_mut().zip(other.excused) {
            *count += more;
        }
        self.longest_vacancy.0 = self.longest_vacancy.0.max(other.longest_vacancy.0);
        self.longest_vacancy.1 = self.longest_vacancy.1.max(other.longest_vacancy.1);
    }

    /// Describes the excused steps by reason, without reasons that did not occur.
    pub fn excuses(&self) -> String {
        let counts = Excuse::ALL.iter().zip(self.excused).filter(|(_, count)| *count > 0);
        let words: Vec<_> = counts.map(|(excuse, count)| format!("{} {count}", excuse.name())).collect();
        let words = if words.is_empty() { "none".into() } else { words.join(", ") };
        format!("{} steps, excused: {words}", self.steps)
    }

    /// Simulated time in hours.
    pub fn hours(&self) -> f64 {
        self.time.as_secs_f64() / 3600.0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: u64 = self.faults.iter().sum();
        writeln!(f, "{} runs, {:.1} simulated hours, {faults} faults", self.runs, self.hours())?;
        let Self { terms, writes, overlaps, .. } = self;
        writeln!(f, "{terms} terms, {writes} writes, {overlaps} overlaps where only tokens are promised")?;
        if self.peer_terms > 0 {
            writeln!(f, "{} terms of candidates of the Go library", self.peer_terms)?;
        }
        let (faulty, quiet) = self.longest_vacancy;
        writeln!(
            f,
            "longest vacancy: {:.1} s under faults, {:.1} s after the last one",
            faulty.as_secs_f64(),
            quiet.as_secs_f64()
        )?;
        // Kinds that only etcd has are left out if none of them occurred.
        let shown = |kind: Kind, count: u64| count > 0 || kind.is_of(Store::Nats);
        for (kind, count) in Kind::ALL.iter().zip(self.faults).filter(|(kind, count)| shown(**kind, *count)) {
            writeln!(f, "  {count:>8}  {:<14} {}", kind.name(), kind.says())?;
        }
        Ok(())
    }
}

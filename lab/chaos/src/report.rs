//! The result of a run, as a table and as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::check::{Violation, terms, vacancy};
use crate::history::{History, Incident};
use crate::kind::Kind;
use crate::log::{Election, Nanos};

/// The largest number of violations that are reported.
const LISTED: usize = 20;

/// The figures of one run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) scenario: String,
    pub(crate) seed: u64,
    pub(crate) passed: bool,
    pub(crate) minutes: f64,
    pub(crate) overlaps: usize,
    pub(crate) violations: Vec<String>,
    elections: Vec<Figures>,
    faults: BTreeMap<&'static str, usize>,
    not_reached: Vec<&'static str>,
    /// In seconds, by explanation.
    longest_vacancy: BTreeMap<&'static str, f64>,
}

/// The figures of one election.
#[derive(Clone, Debug, Serialize)]
struct Figures {
    election: String,
    lease_s: f64,
    terms: usize,
    longest_vacancy_s: f64,
    crashes: usize,
    crash_fail_over_p50_s: Option<f64>,
    crash_fail_over_p99_s: Option<f64>,
}

impl Report {
    pub(crate) fn of(history: &History, violations: &[Violation]) -> Self {
        let mut faults = BTreeMap::new();
        for fault in &history.faults {
            *faults.entry(fault.kind.name()).or_default() += 1;
        }
        let store = history.elections.first().map(|election| election.store).unwrap_or_default();
        let possible = Kind::ALL.iter().filter(|kind| kind.is_possible(store, history.servers));
        let not_reached = possible.map(|kind| kind.name()).filter(|name| !faults.contains_key(name));
        let mut longest_vacancy = BTreeMap::<&'static str, f64>::new();
        let mut elections = Vec::new();
        for election in &history.elections {
            let terms = terms::of(history, &election.key);
            let vacancies = vacancy::all(history, election, &terms);
            for vacancy in &vacancies {
                let longest = longest_vacancy.entry(vacancy.why.unwrap_or("NOTHING")).or_default();
                *longest = longest.max(seconds(vacancy.until - vacancy.from));
            }
            let longest = vacancies.iter().map(|vacancy| vacancy.until - vacancy.from).max();
            let crashes = crash_fail_overs(history, election, &terms);
            elections.push(Figures {
                election: election.key.clone(),
                lease_s: election.lease_ms as f64 / 1e3,
                terms: terms.len(),
                longest_vacancy_s: seconds(longest.unwrap_or_default()),
                crashes: crashes.len(),
                crash_fail_over_p50_s: percentile(&crashes, 50),
                crash_fail_over_p99_s: percentile(&crashes, 99),
            });
        }
        Self {
            scenario: history.scenario.clone(),
            seed: history.seed,
            passed: violations.is_empty(),
            minutes: seconds(history.end - history.begin) / 60.0,
            overlaps: violations.iter().filter(|violation| violation.rule == "overlap").count(),
            violations: listed(violations),
            elections,
            not_reached: not_reached.collect(),
            faults,
            longest_vacancy,
        }
    }

    /// A run that was aborted.
    pub(crate) fn broken(scenario: &str, seed: u64, why: String) -> Self {
        Self {
            scenario: scenario.into(),
            seed,
            passed: false,
            minutes: 0.0,
            overlaps: 0,
            violations: vec![why],
            elections: Vec::new(),
            faults: BTreeMap::new(),
            not_reached: Vec::new(),
            longest_vacancy: BTreeMap::new(),
        }
    }
}

/// Lists only the first violations, because one defect can show in every answer.
fn listed(violations: &[Violation]) -> Vec<String> {
    let shown = violations.iter().take(LISTED).map(|one| format!("{}: {}", one.rule, one.what));
    let more = violations.len().saturating_sub(LISTED);
    shown.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

/// The times from a leader's kill to the next win event, if no other fault came in between.
fn crash_fail_overs(history: &History, election: &Election, terms: &[terms::Term]) -> Vec<Nanos> {
    let of_it = |fault: &&Incident| fault.kind == Kind::Kill && fault.key == election.key;
    let mut times = Vec::new();
    for crash in history.faults.iter().filter(of_it) {
        let Some(next) = terms.iter().find(|term| term.started > crash.at) else { continue };
        let meanwhile = |other: &Incident| {
            let is_it = (other.at, other.kind) == (crash.at, crash.kind);
            !is_it && other.at <= next.started && other.repaired.unwrap_or(Nanos::MAX) >= crash.at
        };
        if !history.faults.iter().any(meanwhile) {
            times.push(next.started - crash.at);
        }
    }
    times.sort_unstable();
    times
}

/// The percentile by nearest rank, in seconds; none of an empty slice.
fn percentile(sorted: &[Nanos], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map(|nanos| seconds(*nanos))
}

fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, seed, minutes, overlaps, .. } = self;
        let faults: usize = self.faults.values().sum();
        let terms: usize = self.elections.iter().map(|election| election.terms).sum();
        let verdict = if self.passed { "passed" } else { "FAILED" };
        writeln!(f, "{scenario}, seed {seed}: {verdict}")?;
        writeln!(f, "  {minutes:.1} minutes, {terms} terms, {faults} faults, overlaps {overlaps}")?;
        if !self.elections.is_empty() {
            writeln!(
                f,
                "  election   lease  terms  longest vacancy  fail-over after a crash: p50     p99  crashes"
            )?;
        }
        for election in &self.elections {
            let time = |time: Option<f64>| time.map_or("-".into(), |time| format!("{time:.2} s"));
            writeln!(
                f,
                "  {:<9} {:>4} s {:>6} {:>14.2} s {:>29} {:>7} {:>8}",
                election.election,
                election.lease_s,
                election.terms,
                election.longest_vacancy_s,
                time(election.crash_fail_over_p50_s),
                time(election.crash_fail_over_p99_s),
                election.crashes
            )?;
        }
        if !self.faults.is_empty() {
            writeln!(f, "  fault or cause         times  longest vacancy")?;
        }
        let causes = self.longest_vacancy.keys().filter(|cause| !self.faults.contains_key(*cause));
        for cause in self.faults.keys().chain(causes) {
            let count = self.faults.get(cause).map_or("-".into(), usize::to_string);
            let longest = self.longest_vacancy.get(cause).map_or("-".into(), |time| format!("{time:.2} s"));
            writeln!(f, "  {cause:<22} {count:>5} {longest:>16}")?;
        }
        if !self.not_reached.is_empty() {
            writeln!(f, "  not reached in this time: {}", self.not_reached.join(", "))?;
        }
        for violation in &self.violations {
            writeln!(f, "  VIOLATION {violation}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_many_violations_are_listed_and_the_rest_counted() {
        let violations: Vec<_> =
            (0..25).map(|at| Violation { rule: "token", what: at.to_string(), key: None, at }).collect();
        let lines = listed(&violations);
        assert_eq!((lines.len(), lines[19].as_str(), lines[20].as_str()), (21, "token: 19", "and 5 more"));
        assert_eq!(listed(&violations[..2]), ["token: 0", "token: 1"]);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<Nanos> = (1..=10).map(|n| n * 1_000_000_000).collect();
        assert_eq!(percentile(&values, 50), Some(5.0));
        assert_eq!(percentile(&values, 99), Some(10.0));
        assert_eq!(percentile(&values[..1], 50), Some(1.0));
        assert_eq!(percentile(&[], 50), None);
    }
}

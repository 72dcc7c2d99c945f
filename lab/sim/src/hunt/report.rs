//! The results of a hunt.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::pairs::{Pairs, pairs};
use super::schedule::{Wanted, kinds};
use crate::kind::{Kind, Store};
use crate::oracle::Violation;
use crate::plan::Choice;
use crate::promise::Excuse;
use crate::report::Tally;

/// The number of pairs of kinds that each list of a summary names.
const NAMED: usize = 5;

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its place in the schedule.
    pub number: u64,
    /// The run.
    pub choice: Choice,
    /// The invariant that did not hold.
    pub violation: Violation,
    /// The shortest run that breaks the same invariant, if one was searched for.
    pub shrunk: Option<(Choice, Violation)>,
}

/// The runs on one store.
#[derive(Clone, Debug)]
pub struct OfStore {
    /// The store.
    pub store: Store,
    /// The counts of its runs.
    pub tally: Tally,
    /// For each pair of kinds, the number of runs that had faults of both.
    pub met: Pairs,
    /// The same numbers, but only of runs with a group of few kinds.
    pub in_groups: Pairs,
    /// The kinds of faults that could occur.
    kinds: Vec<Kind>,
}

/// The results of a hunt.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed of the hunt's first run.
    pub seed: u64,
    /// The time that the hunt took, without shrinking.
    pub took: Duration,
    /// The runs, by store.
    pub stores: Vec<OfStore>,
    /// The runs that failed, in the order of the schedule.
    pub findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(wanted: &Wanted) -> Self {
        let peers = wanted.peers.unwrap_or(0);
        let stores = wanted.stores.iter().map(|store| OfStore {
            store: *store,
            tally: Tally::default(),
            met: Pairs::default(),
            in_groups: Pairs::default(),
            kinds: kinds(*store, peers, wanted.faults.as_deref()),
        });
        Self { seed: wanted.seed, took: Duration::ZERO, stores: stores.collect(), findings: Vec::new() }
    }

    /// Counts a run.
    pub(super) fn ran(&mut self, choice: &Choice, tally: &Tally) {
        let Some(store) = self.stores.iter_mut().find(|of| of.store == choice.store) else { return };
        store.tally.add(tally);
        let came: Vec<_> =
            Kind::ALL.iter().copied().filter(|kind| tally.faults[*kind as usize] > 0).collect();
        store.met.count(&came);
        if choice.faults.is_some() {
            store.in_groups.count(&came);
        }
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.stores.iter().map(|of| of.tally.runs).sum()
    }

    /// Runs in a second.
    pub fn rate(&self) -> f64 {
        self.runs() as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// The summary in JSON, on one line.
    pub fn json(&self) -> String {
        let stores: Vec<_> = self.stores.iter().map(OfStore::json).collect();
        let findings: Vec<_> = self.findings.iter().map(Finding::json).collect();
        format!(
            "{{\"seed\":{},\"runs\":{},\"took_s\":{:.3},\"stores\":[{}],\"findings\":[{}]}}",
            self.seed,
            self.runs(),
            self.took.as_secs_f64(),
            stores.join(","),
            findings.join(",")
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for of in &self.stores {
            write!(f, "{of}")?;
        }
        let (runs, took) = (self.runs(), self.took.as_secs_f64());
        write!(f, "{runs} runs from seed {} in {took:.0} s ({:.0} a second): ", self.seed, self.rate())?;
        match self.findings.len() {
            0 => writeln!(f, "nothing found"),
            1 => writeln!(f, "1 run failed"),
            many => writeln!(f, "{many} runs failed"),
        }
    }
}

impl OfStore {
    /// The pairs of kinds that could meet. Those that met least come first.
    fn ranked<'a>(&'a self, met: &'a Pairs) -> Vec<(u64, Kind, Kind)> {
        let counted = pairs(&self.kinds).map(|(one, other)| (met.of(one, other), one, other));
        let mut ranked: Vec<_> = counted.collect();
        ranked.sort_unstable();
        ranked
    }

    fn json(&self) -> String {
        let pairs = self.ranked(&self.met).into_iter().map(|(runs, one, other)| {
            let in_groups = self.in_groups.of(one, other);
            format!("[\"{one}\",\"{other}\",{runs},{in_groups}]")
        });
        let pairs: Vec<_> = pairs.collect();
        let excused = Excuse::ALL.iter().zip(self.tally.excused);
        let excused: Vec<_> =
            excused.map(|(excuse, count)| format!("\"{}\":{count}", excuse.name())).collect();
        let Tally { runs, terms, peer_terms, writes, steps, .. } = self.tally;
        let (store, hours) = (self.store.name(), self.tally.hours());
        format!(
            "{{\"store\":\"{store}\",\"runs\":{runs},\"simulated_hours\":{hours:.3},\"terms\":{terms},\
             \"go_peers_terms\":{peer_terms},\"writes\":{writes},\"steps\":{steps},\"excused\":{{{}}},\"pairs\":[{}]}}",
            excused.join(","),
            pairs.join(",")
        )
    }
}

impl fmt::Display for OfStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { runs, terms, .. } = self.tally;
        let faults: u64 = self.tally.faults.iter().sum();
        let name = self.store.name();
        writeln!(
            f,
            "{name}: {runs} runs, {:.0} simulated hours, {faults} faults, {terms} terms",
            self.tally.hours()
        )?;
        writeln!(f, "  {}", self.tally.excuses())?;
        for (met, what) in [(&self.met, "all runs"), (&self.in_groups, "groups")] {
            let ranked = self.ranked(met);
            let tried = ranked.iter().filter(|(runs, ..)| *runs > 0).count();
            writeln!(f, "  pairs of kinds in {what}: {tried} of {} met", ranked.len())?;
            writeln!(f, "    least: {}", named(ranked.iter()))?;
            writeln!(f, "    most:  {}", named(ranked.iter().rev()))?;
        }
        Ok(())
    }
}

fn named<'a>(pairs: impl Iterator<Item = &'a (u64, Kind, Kind)>) -> String {
    let words = pairs.take(NAMED).map(|(runs, one, other)| format!("{one} with {other} {runs}"));
    words.collect::<Vec<_>>().join(", ")
}

impl Finding {
    /// The shortest failing run found, and its violation.
    pub fn shortest(&self) -> (&Choice, &Violation) {
        self.shrunk
            .as_ref()
            .map_or((&self.choice, &self.violation), |(choice, violation)| (choice, violation))
    }

    fn json(&self) -> String {
        let (choice, violation) = self.shortest();
        format!(
            "{{\"number\":{},\"seed\":{},\"store\":\"{}\",\"invariant\":{},\"says\":{},\"command\":{},\"shortest\":{}}}",
            self.number,
            self.choice.seed,
            self.choice.store.name(),
            quoted(violation.invariant),
            quoted(&violation.says),
            quoted(&self.choice.command()),
            quoted(&choice.command())
        )
    }
}

/// A text as a JSON and TOML string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            // Writing to a string does not fail.
            char if char.is_control() => drop(write!(quoted, "\\u{:04x}", char as u32)),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::START;

    fn tally(kinds: &[Kind]) -> Tally {
        let mut tally = Tally::default();
        (tally.runs, tally.terms, tally.time) = (1, 3, Duration::from_secs(7_200));
        kinds.iter().for_each(|kind| tally.faults[*kind as usize] = 2);
        tally
    }

    fn report() -> Report {
        let kinds = vec![Kind::Loss, Kind::Delay, Kind::Cut];
        let wanted = Wanted { seed: 40, stores: vec![Store::Etcd], faults: Some(kinds), peers: None };
        let mut report = Report::new(&wanted);
        let choice = Choice { store: Store::Etcd, ..Choice::of_seed(40) };
        report.ran(&choice, &tally(&[Kind::Loss, Kind::Delay]));
        report.ran(&Choice { faults: Some(Vec::new()), ..choice }, &tally(&[Kind::Loss, Kind::Cut]));
        let tally = &mut report.stores[0].tally;
        tally.steps = 30;
        tally.excused[Excuse::Clock as usize] = 7;
        tally.excused[Excuse::Tokens as usize] = 1;
        report.took = Duration::from_secs(4);
        report
    }

    #[test]
    fn a_summary_names_the_pairs_that_met_least_and_most() {
        assert_eq!(
            report().to_string(),
            "etcd: 2 runs, 4 simulated hours, 8 faults, 6 terms\n  \
             30 steps, excused: clock 7, tokens 1\n  \
             pairs of kinds in all runs: 2 of 3 met\n    \
             least: delay with cut 0, loss with delay 1, loss with cut 1\n    \
             most:  loss with cut 1, loss with delay 1, delay with cut 0\n  \
             pairs of kinds in groups: 1 of 3 met\n    \
             least: loss with delay 0, delay with cut 0, loss with cut 1\n    \
             most:  loss with cut 1, delay with cut 0, loss with delay 0\n\
             2 runs from seed 40 in 4 s (0 a second): nothing found\n"
        );
    }

    #[test]
    fn a_summary_for_machines_is_json_on_a_line() {
        let mut report = report();
        let violation = Violation::of_contract(START, "c0: a \"text\"".into());
        let choice = Choice::of_seed(41);
        report.findings.push(Finding { number: 1, choice, violation, shrunk: None });
        let json = report.json();
        assert!(!json.contains('\n'));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["seed"], &json["runs"]), (&40.into(), &2.into()));
        assert_eq!(json["stores"][0]["excused"]["clock"], 7);
        assert_eq!(json["stores"][0]["pairs"][0], serde_json::json!(["delay", "cut", 0, 0]));
        assert_eq!(json["findings"][0]["says"], "c0: a \"text\"");
        assert_eq!(json["findings"][0]["shortest"], "cargo sim --seed 41 --seeds 1 --candidates 5");
    }
}

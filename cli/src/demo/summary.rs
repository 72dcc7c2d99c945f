//! The summary.

use std::collections::BTreeMap;
use std::time::Duration;

use incumbent_rig::history::History;
use incumbent_rig::schedule::Fault;
use incumbent_rig::trial::Event;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::{millis, span};

/// The numbers of a demo that has ended.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub(super) store: String,
    pub(super) key: String,
    pub(super) seed: u64,
    pub(super) lasted: Duration,
    /// Terms that were reported won.
    pub(super) terms: u64,
    pub(super) overlaps: usize,
    /// The number of terms whose token was not larger than all earlier ones.
    pub(super) token_regressions: usize,
    pub(super) faults: BTreeMap<Fault, u64>,
    /// Sorted.
    pub(super) vacancies: Vec<Duration>,
}

impl Summary {
    pub(super) fn new(store: String, key: String, seed: u64) -> Self {
        Self {
            store,
            key,
            seed,
            lasted: Duration::ZERO,
            terms: 0,
            overlaps: 0,
            token_regressions: 0,
            faults: BTreeMap::new(),
            vacancies: Vec::new(),
        }
    }

    /// Counts an event.
    pub(super) fn count(&mut self, event: &Event) {
        match event {
            Event::Won { .. } => self.terms += 1,
            Event::Overlap(_) => self.overlaps += 1,
            Event::Fault { fault, .. } => *self.faults.entry(*fault).or_default() += 1,
            Event::Missed { fault, .. } => {
                if let Some(made) = self.faults.remove(fault).filter(|made| *made > 1) {
                    self.faults.insert(*fault, made - 1);
                }
            }
            _ => {}
        }
    }

    /// Adds the numbers that only the whole history shows.
    pub(super) fn judge(&mut self, history: &History) {
        self.overlaps = history.overlaps().len();
        self.token_regressions = history.token_regressions().len();
        self.vacancies = sorted_vacancies(history);
    }

    pub(super) fn exit(&self) -> Exit {
        let sound = self.overlaps == 0 && self.token_regressions == 0 && self.terms > 0;
        if sound { Exit::Done } else { Exit::Failure }
    }

    pub(super) fn json(&self) -> Value {
        let faults = |(fault, count): (&Fault, &u64)| (fault.name().to_owned(), json!(count));
        let vacancy = |part: f64| percentile(&self.vacancies, part).map(millis);
        json!({
            "event": "summary",
            "store": self.store,
            "key": self.key,
            "seed": self.seed,
            "lasted_ms": millis(self.lasted),
            "terms": self.terms,
            "overlaps": self.overlaps,
            "tokens_increase": self.token_regressions == 0,
            "faults": self.faults.iter().map(faults).collect::<serde_json::Map<_, _>>(),
            "vacancy_ms": {
                "p50": vacancy(0.5),
                "p90": vacancy(0.9),
                "p99": vacancy(0.99),
                "max": vacancy(1.0),
            },
        })
    }

    /// For a person.
    pub(super) fn text(&self) -> Vec<String> {
        let counted = |(fault, count): (&Fault, &u64)| format!("{count} {}", fault.name());
        let faults: Vec<String> = self.faults.iter().map(counted).collect();
        let faults = if faults.is_empty() { "no faults".into() } else { faults.join(", ") };
        let terms = if self.terms == 1 { "1 term".into() } else { format!("{} terms", self.terms) };
        let mut lines = vec![format!("{terms} in {}; {faults} (seed {})", span(self.lasted), self.seed)];
        if let (Some(p50), Some(p99), Some(max)) = (
            percentile(&self.vacancies, 0.5),
            percentile(&self.vacancies, 0.99),
            percentile(&self.vacancies, 1.0),
        ) {
            let [p50, p99, max] = [p50, p99, max].map(span);
            lines.push(format!("vacant between two terms for {p50} (p50), {p99} (p99), {max} (longest)"));
        }
        lines.push(match (self.terms, self.overlaps) {
            (0, _) => "no candidate ever led".into(),
            (_, 0) => "there were never two leaders at once".into(),
            (_, 1) => "THERE WERE TWO LEADERS AT ONCE, once".into(),
            (_, n) => format!("THERE WERE TWO LEADERS AT ONCE, {n} times"),
        });
        if self.token_regressions > 0 {
            lines.push(format!("{} TERMS HAD A TOKEN NO LARGER THAN THE LAST", self.token_regressions));
        }
        lines
    }
}

/// The vacancies of a history, the shortest first.
pub(super) fn sorted_vacancies(history: &History) -> Vec<Duration> {
    let mut vacancies = history.vacancies();
    vacancies.sort();
    vacancies
}

/// The smallest value such that at least this fraction of all values is not larger (nearest rank); `None` for an empty
/// slice.
pub(super) fn percentile(sorted: &[Duration], part: f64) -> Option<Duration> {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::incumbent_core::{Incarnation, Revision};
    use incumbent::{Instant, Token};
    use incumbent_rig::history::Proven;
    use incumbent_rig::record::Evidence;

    fn summary() -> Summary {
        Summary {
            lasted: Duration::from_secs(30),
            terms: 12,
            faults: BTreeMap::from([(Fault::Kill, 2), (Fault::HandOver, 1)]),
            vacancies: (1..=100).map(Duration::from_millis).collect(),
            ..Summary::new("memory:".into(), "demo".into(), 7)
        }
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<_> = (1..=100).map(Duration::from_millis).collect();
        let of = |part| percentile(&values, part).unwrap().as_millis();
        assert_eq!([of(0.5), of(0.9), of(0.99), of(1.0)], [50, 90, 99, 100]);
        assert_eq!(percentile(&values[..1], 0.5), Some(Duration::from_millis(1)));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn json_has_what_a_program_wants_to_know() {
        let json = summary().json();
        assert_eq!(json["terms"], 12);
        assert_eq!(json["overlaps"], 0);
        assert_eq!(json["faults"], json!({ "kill": 2, "hand-over": 1 }));
        assert_eq!(json["vacancy_ms"], json!({ "p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0 }));
        assert_eq!(json["tokens_increase"], true);
    }

    #[test]
    fn the_text_has_the_same_numbers() {
        assert_eq!(
            summary().text(),
            [
                "12 terms in 30.00 s; 2 kill, 1 hand-over (seed 7)",
                "vacant between two terms for 50 ms (p50), 99 ms (p99), 100 ms (longest)",
                "there were never two leaders at once",
            ]
        );
    }

    #[test]
    fn a_fault_that_missed_is_not_counted() {
        let mut summary = summary();
        let made = |fault| Event::Fault { fault, victim: "ada".into(), successor: None };
        let missed = |fault| Event::Missed { fault, message: "it no longer leads".into() };
        summary.count(&made(Fault::Delete));
        for fault in [Fault::Kill, Fault::Delete] {
            summary.count(&missed(fault));
        }
        assert_eq!(summary.faults, BTreeMap::from([(Fault::Kill, 1), (Fault::HandOver, 1)]));
    }

    #[test]
    fn the_verdict_is_that_of_the_history() {
        let led = |sequence, since, seen| Proven {
            candidate: "ada".into(),
            evidence: Evidence {
                token: Token { incarnation: Incarnation(1), sequence: Revision(sequence) },
                since: Instant::from_nanos(since),
                seen: Instant::from_nanos(seen),
                deadline: Instant::from_nanos(seen),
                gone: None,
                ended: None,
            },
        };
        let mut judged = summary();
        judged.judge(&History::new(vec![led(1, 10, 20), led(3, 25, 30), led(2, 29, 40)]));
        assert_eq!((judged.overlaps, judged.token_regressions), (1, 1));
        assert_eq!(judged.vacancies, [Duration::ZERO, Duration::from_nanos(5)]);
        assert_eq!(judged.exit(), Exit::Failure);
    }

    #[test]
    fn two_leaders_a_token_that_does_not_grow_and_no_term_at_all_are_failures() {
        assert_eq!(summary().exit(), Exit::Done);
        assert_eq!(Summary { overlaps: 1, ..summary() }.exit(), Exit::Failure);
        assert_eq!(Summary { token_regressions: 1, ..summary() }.exit(), Exit::Failure);
        assert_eq!(Summary { terms: 0, ..summary() }.exit(), Exit::Failure);
    }
}

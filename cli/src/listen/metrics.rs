//! Metrics for Prometheus. The list is in docs/reference/metrics.md.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use incumbent::incumbent_core::store::{Action, Outcome};
use incumbent::{Candidate, Reason, WriteEvent};

const ACTIONS: [&str; 3] = ["acquire", "renew", "release"];
const OUTCOMES: [&str; 6] = ["applied", "refused", "busy", "not_sent", "unknown", "failed"];

/// The buckets of a latency, in seconds: from a store on the same machine to one that hardly answers.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    terms: u64,
    ended: [u64; Reason::ALL.len()],
    warnings: u64,
    writes: [[u64; OUTCOMES.len()]; ACTIONS.len()],
    latency: [Latency; ACTIONS.len()],
}

#[derive(Debug, Default)]
struct Latency {
    up_to: [u64; BUCKETS.len()],
    count: u64,
    sum: Duration,
}

impl Latency {
    fn took(&mut self, span: Duration) {
        let seconds = span.as_secs_f64();
        for (count, limit) in self.up_to.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= limit);
        }
        self.count += 1;
        self.sum += span;
    }
}

impl Metrics {
    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        // No code panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn won(&self) {
        self.counts().terms += 1;
    }

    pub(super) fn lost(&self, reason: Reason) {
        let mut counts = self.counts();
        for (count, _) in counts.ended.iter_mut().zip(Reason::ALL).filter(|(_, known)| *known == reason) {
            *count += 1;
        }
    }

    pub(super) fn warning(&self) {
        self.counts().warnings += 1;
    }

    pub(super) fn wrote(&self, wrote: &WriteEvent<'_>) {
        let action = match wrote.action {
            Action::Acquire(_) => 0,
            Action::Renew(_) => 1,
            Action::Release { .. } => 2,
        };
        let outcome = match wrote.outcome {
            Outcome::Applied { .. } => 0,
            Outcome::Refused { .. } => 1,
            Outcome::Busy => 2,
            Outcome::NotSent => 3,
            Outcome::Unknown => 4,
            Outcome::Failed(_) => 5,
        };
        let mut counts = self.counts();
        counts.writes[action][outcome] += 1;
        counts.latency[action].took(wrote.took);
    }

    /// All metrics as OpenMetrics text, including the candidate's current state.
    pub(super) fn text(&self, candidate: &Candidate) -> String {
        let term = candidate.term().map(|term| term.view()).filter(|_| candidate.is_leader());
        let remaining = term.as_ref().map_or(0.0, |term| term.remaining().as_secs_f64());
        let sequence = term.as_ref().map_or(0, |term| term.token().sequence.0);
        let who = format!(
            "election=\"{}\",candidate=\"{}\"",
            escaped(candidate.election()),
            escaped(candidate.name())
        );
        let mut page = Page { text: String::new(), who };
        page.head("incumbent_build_info", "gauge", "Always 1; the label is the version.");
        page.sample("incumbent_build_info", concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1);
        page.head("incumbent_leader", "gauge", "1 while this candidate leads, else 0.");
        page.sample("incumbent_leader", "", u64::from(term.is_some()));
        page.head(
            "incumbent_lease_remaining_seconds",
            "gauge",
            "Time to the deadline of the leader; 0 while it does not lead.",
        );
        page.sample("incumbent_lease_remaining_seconds", "", remaining);
        page.head(
            "incumbent_token_sequence",
            "gauge",
            "The number in the fencing token that grows; 0 while it does not lead.",
        );
        page.sample("incumbent_token_sequence", "", sequence);
        let counts = self.counts();
        page.head("incumbent_terms", "counter", "Terms that began.");
        page.sample("incumbent_terms_total", "", counts.terms);
        page.head("incumbent_terms_ended", "counter", "Terms that ended, by reason.");
        for (reason, count) in Reason::ALL.iter().zip(counts.ended) {
            let label = format!("reason=\"{}\"", reason.code().to_ascii_lowercase());
            page.sample("incumbent_terms_ended_total", &label, count);
        }
        page.head("incumbent_warnings", "counter", "Warnings: problems that a person should look at.");
        page.sample("incumbent_warnings_total", "", counts.warnings);
        page.head(
            "incumbent_writes",
            "counter",
            "Answers to writes, by what was written and what became of it.",
        );
        for (action, row) in ACTIONS.iter().zip(counts.writes) {
            for (outcome, count) in OUTCOMES.iter().zip(row) {
                let labels = format!("action=\"{action}\",outcome=\"{outcome}\"");
                page.sample("incumbent_writes_total", &labels, count);
            }
        }
        page.head("incumbent_write_duration_seconds", "histogram", "How long the answer to a write took.");
        for (action, latency) in ACTIONS.iter().zip(&counts.latency) {
            for (limit, count) in BUCKETS.iter().zip(latency.up_to) {
                let labels = format!("action=\"{action}\",le=\"{limit:?}\"");
                page.sample("incumbent_write_duration_seconds_bucket", &labels, count);
            }
            let all = format!("action=\"{action}\",le=\"+Inf\"");
            page.sample("incumbent_write_duration_seconds_bucket", &all, latency.count);
            let action = format!("action=\"{action}\"");
            page.sample("incumbent_write_duration_seconds_sum", &action, latency.sum.as_secs_f64());
            page.sample("incumbent_write_duration_seconds_count", &action, latency.count);
        }
        page.text.push_str("# EOF\n");
        page.text
    }
}

struct Page {
    text: String,
    who: String,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "# TYPE {name} {kind}\n# HELP {name} {help}\n");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let comma = if labels.is_empty() { "" } else { "," };
        let _ = writeln!(self.text, "{name}{{{}{comma}{labels}}} {value}", self.who);
    }
}

/// A label's value, with backslash, quotation mark and newline escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_counts_in_every_bucket_that_holds_it() {
        let mut latency = Latency::default();
        for millis in [1, 3, 30, 60_000] {
            latency.took(Duration::from_millis(millis));
        }
        assert_eq!(latency.up_to, [1, 1, 2, 2, 2, 3, 3, 3, 3, 3]);
        assert_eq!((latency.count, latency.sum), (4, Duration::from_millis(60_034)));
    }

    #[test]
    fn every_reason_has_a_count_of_its_own() {
        let metrics = Metrics::default();
        Reason::ALL.into_iter().for_each(|reason| metrics.lost(reason));
        assert_eq!(metrics.counts().ended, [1; Reason::ALL.len()]);
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}

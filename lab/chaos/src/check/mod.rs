//! Reads a history and reports every broken rule, and does nothing else. So it can be tested with histories that are
//! wrong on purpose.

mod answers;
mod events;
pub(crate) mod excuse;
mod outcome;
#[cfg(test)]
mod sample;
pub(crate) mod terms;
pub(crate) mod vacancy;

use incumbent::Token;
use incumbent_rig::check::{Leadership, disorder, overlaps};

use crate::history::History;
use crate::log::Nanos;
use terms::Term;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The rule in one word: `overlap`, `token`, `events`, `answers`, `outcome` or `vacancy`.
    pub(crate) rule: &'static str,
    pub(crate) what: String,
    /// The election that broke the rule; `None` if several did.
    pub(crate) key: Option<String>,
    /// The time at which the violation was noticed.
    pub(crate) at: Nanos,
}

/// All broken rules of a history.
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let mut found = answers::check(history);
    found.extend(events::check(history));
    for election in &history.elections {
        let terms = terms::of(history, &election.key);
        found.extend(one_at_a_time(&election.key, &terms));
        found.extend(tokens_grow(&election.key, &terms));
        found.extend(outcome::check(history, election, &terms));
        found.extend(vacancy::check(history, election, &terms));
    }
    found.sort_by_key(|violation| violation.at);
    found
}

fn leaderships(terms: &[Term]) -> Vec<Leadership<Token>> {
    let proven = terms.iter().filter_map(|term| Some((term, term.proven?)));
    proven
        .map(|(term, (from, until))| Leadership { who: term.who.clone(), from, until, token: term.token })
        .collect()
}

/// No two candidates provably lead at once.
fn one_at_a_time(key: &str, terms: &[Term]) -> Vec<Violation> {
    let led = leaderships(terms);
    let violation = |(one, other): (&Leadership<Token>, &Leadership<Token>)| {
        let shared = one.until.min(other.until) - other.from;
        let what = format!(
            "two leaders of {key} for {:.3} ms: {} with token {} and {} with token {}",
            shared as f64 / 1e6,
            one.who,
            one.token,
            other.who,
            other.token
        );
        Violation { rule: "overlap", what, key: Some(key.into()), at: other.from }
    };
    overlaps(&led).into_iter().map(violation).collect()
}

/// A later term has a larger token, whether or not any answer proves that it led.
fn tokens_grow(key: &str, terms: &[Term]) -> Vec<Violation> {
    let began = |term: &Term| {
        let from = term.started;
        Leadership { who: term.who.clone(), from, until: from, token: term.token }
    };
    let all: Vec<_> = terms.iter().map(began).collect();
    let violation = |(one, other): (&Leadership<Token>, &Leadership<Token>)| {
        let what = format!(
            "a token of {key} that does not grow: {} with {}, and later {} with {}",
            one.who, one.token, other.who, other.token
        );
        Violation { rule: "token", what, key: Some(key.into()), at: other.from }
    };
    disorder(&all).into_iter().map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::sample::{Run, rules};

    #[test]
    fn a_history_in_which_all_is_well_passes() {
        assert_eq!(rules(&Run::well().history()), Vec::<&str>::new());
    }

    #[test]
    fn two_candidates_that_answer_that_they_lead_at_once_are_found() {
        let mut run = Run::new();
        run.term("a-1", 1, 100, 900, "CLOSED");
        run.term("b-1", 2, 898, 1_500, "CLOSED");
        assert_eq!(rules(&run.history()), ["overlap"]);
    }

    #[test]
    fn a_stopped_candidate_led_until_its_deadline() {
        let mut run = Run::new();
        // The last answer, at 500, was under a lease until 1,000. Then the candidate was stopped.
        run.stopped_term("a-1", 1, 100, 500, 1_000, 1_600);
        run.term("b-1", 2, 990, 2_000, "CLOSED");
        assert_eq!(rules(&run.history()), ["overlap"]);
        let mut run = Run::new();
        run.stopped_term("a-1", 1, 100, 500, 1_000, 1_600);
        run.term("b-1", 2, 1_000, 2_000, "CLOSED");
        assert_eq!(rules(&run.history()), Vec::<&str>::new());
    }

    #[test]
    fn a_killed_candidate_led_until_its_last_answer() {
        let mut run = Run::new();
        run.killed_term("a-1", 1, 100, 500, 520);
        run.term("b-1", 2, 510, 900, "CLOSED");
        assert_eq!(rules(&run.history()), Vec::<&str>::new());
    }

    #[test]
    fn a_token_that_is_not_larger_is_found() {
        let mut run = Run::new();
        run.term("a-1", 2, 100, 900, "CLOSED");
        run.term("b-1", 2, 901, 1_500, "CLOSED");
        assert_eq!(rules(&run.history()), ["token"]);
    }
}

//! Answers that `is_leader()` may never give, whatever other candidates do.

use std::collections::BTreeSet;

use super::Violation;
use crate::history::{History, Life};
use crate::log::{Election, Held, Line, Nanos};
use crate::scenario::margin;

pub(super) fn check(history: &History) -> Vec<Violation> {
    let of_life = |life| history.elections.iter().flat_map(move |election| of_election(life, election));
    history.lives.iter().flat_map(of_life).collect()
}

/// A true answer.
struct Yes<'a> {
    held: &'a Held,
    before: Nanos,
    after: Nanos,
}

fn of_election(life: &Life, election: &Election) -> Vec<Violation> {
    let lease = election.lease_ms * 1_000_000;
    let mut found = Vec::new();
    let mut wrong = |what: String, at: Nanos| {
        let what = format!("{} in {}: {what}", life.who(), election.key);
        found.push(Violation { rule: "answers", what, key: Some(election.key.clone()), at });
    };
    let mut over = BTreeSet::new();
    let mut last = None::<&str>;
    for line in &life.lines {
        let Line::Answer { key, leads, before, after } = line else { continue };
        if *key != election.key {
            continue;
        }
        let token = leads.as_ref().map(|held| held.token.as_str());
        if let Some(ended) = last.filter(|last| Some(*last) != token) {
            over.insert(ended);
        }
        last = token;
        let Some(held) = leads else { continue };
        let yes = Yes { held, before: *before, after: *after };
        if yes.before >= held.later {
            wrong(format!("it said it leads, {} after its deadline", ms(yes.before - held.later)), *before);
        }
        if held.deadline > yes.after.saturating_add(lease) {
            wrong("its deadline is further away than its lease is long".into(), *before);
        }
        if over.contains(held.token.as_str()) {
            wrong(format!("it leads again in term {}, which was over", held.token), *before);
        }
        if let Some(stop) = stopped_for_too_long(life, election, &yes) {
            wrong(
                format!("it said it leads in term {} after standing still for {}", held.token, ms(stop)),
                *before,
            );
        }
    }
    found
}

/// The length of a stop that no lease from before it outlives, where the answer came after it. Every
/// renewal was sent before the process was stopped.
fn stopped_for_too_long(life: &Life, election: &Election, yes: &Yes<'_>) -> Option<Nanos> {
    let lease = std::time::Duration::from_millis(election.lease_ms);
    let most = Nanos::try_from((lease - margin(lease)).as_nanos()).unwrap_or(Nanos::MAX);
    let stops = life.stops.iter().filter_map(|(from, until)| Some((*from, (*until)?)));
    let mut later = stops.filter(|(from, until)| until - from >= most && yes.before >= *until);
    // A term that began after the stop does not count.
    let is_older = |from: Nanos| {
        life.lines.iter().any(|line| match line {
            Line::Answer { key, leads: Some(held), before, .. } => {
                *key == election.key && held.token == yes.held.token && *before < from
            }
            _ => false,
        })
    };
    later.find(|(from, _)| is_older(*from)).map(|(from, until)| until - from)
}

fn ms(nanos: Nanos) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use crate::check::sample::{MS, Run, rules};

    #[test]
    fn an_answer_after_the_deadline_is_found() {
        let mut run = Run::new();
        run.answer("a-1", 100, Some((1, 900)));
        run.answer("a-1", 901, Some((1, 900)));
        run.killed("a-1", 902);
        assert_eq!(rules(&run.history()), ["answers"]);
    }

    #[test]
    fn a_deadline_beyond_the_lease_is_found() {
        let mut run = Run::new();
        run.answer("a-1", 100, Some((1, 1_200)));
        run.killed("a-1", 101);
        assert_eq!(rules(&run.history()), ["answers"]);
    }

    #[test]
    fn a_term_that_comes_back_is_found() {
        let mut run = Run::new();
        run.answer("a-1", 100, Some((1, 900)));
        run.answer("a-1", 102, None);
        run.answer("a-1", 104, Some((1, 900)));
        run.killed("a-1", 105);
        assert_eq!(rules(&run.history()), ["answers"]);
    }

    #[test]
    fn the_first_answer_after_a_long_stop_must_be_no() {
        let history = |answer| {
            let mut run = Run::new();
            run.answer("a-1", 100, Some((1, 950)));
            run.stop("a-1", 101, 1_050);
            run.answer("a-1", 1_051, answer);
            run.killed("a-1", 1_060);
            run.history()
        };
        assert_eq!(rules(&history(None)), Vec::<&str>::new());
        // As if the deadline had moved forward during the stop.
        assert_eq!(rules(&history(Some((1, 1_500)))), ["answers"]);
        // A term won since breaks no rule.
        assert_eq!(rules(&history(Some((2, 1_500)))), Vec::<&str>::new());
    }

    #[test]
    fn after_a_short_stop_it_may_still_lead() {
        let mut run = Run::new();
        run.answer("a-1", 100, Some((1, 950)));
        run.stop("a-1", 101, 400);
        run.answer("a-1", 401, Some((1, 950)));
        run.killed("a-1", 402);
        assert_eq!(rules(&run.history()), Vec::<&str>::new());
        assert_eq!(MS, 1_000_000);
    }
}

//! Answers that `is_leader()` may never give, whatever other candidates do.

use std::collections::BTreeSet;
use std::time::Duration;

use incumbent::{Instant, Token};

use super::Violation;
use crate::history::{History, Life};
use crate::log::{Election, Line, Nanos, Reading};
use crate::scenario::margin;

pub(super) fn check(history: &History) -> Vec<Violation> {
    let of_life = |life| history.elections.iter().flat_map(move |election| of_election(life, election));
    history.lives.iter().flat_map(of_life).collect()
}

fn of_election(life: &Life, election: &Election) -> Vec<Violation> {
    let lease = Duration::from_millis(election.lease_ms);
    let mut found = Vec::new();
    let mut wrong = |what: String, at: Instant| {
        let what = format!("{} in {}: {what}", life.who(), election.key);
        let (key, at) = (Some(election.key.clone()), at.as_nanos());
        found.push(Violation { rule: "answers", what, key, at });
    };
    let mut over = BTreeSet::new();
    let mut last = None;
    for line in &life.lines {
        let Line::Answer { key, reading: Reading { before, leads, after } } = line else { continue };
        if *key != election.key {
            continue;
        }
        let token = leads.map(|held| held.token);
        over.extend(last.filter(|_| last != token));
        last = token;
        let Some(held) = leads else { continue };
        if *before >= held.later {
            let late = ms(before.since(held.later));
            wrong(format!("it answered that it leads, {late} after its deadline"), *before);
        }
        if held.deadline > *after + lease {
            wrong("its deadline is further away than one lease".into(), *before);
        }
        if over.contains(&held.token) {
            wrong(format!("it leads again in term {}, which had ended", held.token), *before);
        }
        if let Some(stop) = stopped_for_too_long(life, election, held.token, *before) {
            let stop = ms(stop);
            wrong(
                format!("it answered that it leads in term {} after it was stopped for {stop}", held.token),
                *before,
            );
        }
    }
    found
}

/// The length of a stop before the answer, if it is so long that no earlier lease can outlive it: every renewal was
/// sent before the process was stopped.
fn stopped_for_too_long(life: &Life, election: &Election, token: Token, at: Instant) -> Option<Duration> {
    let lease = Duration::from_millis(election.lease_ms);
    let instants = |(from, until): &(Nanos, Option<Nanos>)| {
        Some((Instant::from_nanos(*from), Instant::from_nanos((*until)?)))
    };
    let stops = life.stops.iter().filter_map(instants);
    let least = lease - margin(election.store, lease);
    let mut later = stops.filter(|(from, until)| until.since(*from) >= least && at >= *until);
    // A term that began after the stop does not count.
    let is_older = |from: Instant| {
        life.lines.iter().any(|line| match line {
            Line::Answer { key, reading: Reading { leads: Some(held), before, .. } } => {
                *key == election.key && held.token == token && *before < from
            }
            _ => false,
        })
    };
    later.find(|(from, _)| is_older(*from)).map(|(from, until)| until.since(from))
}

fn ms(span: Duration) -> String {
    format!("{:.3} ms", span.as_secs_f64() * 1e3)
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
        assert_eq!(rules(&run.history()), ["answers", "token"]);
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
        // An answer that looks as if the deadline had moved while the process was stopped.
        assert_eq!(rules(&history(Some((1, 1_500)))), ["answers"]);
        // An answer in a term that was won after the stop breaks no rule.
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

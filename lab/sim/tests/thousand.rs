//! A thousand candidates in one election, and what they cost the store.

use incumbent_sim::{Choice, Kind, run_traced};

/// Returns the trace of a seed's run with a thousand candidates.
fn trace(seed: u64, faults: &[Kind]) -> String {
    let choice =
        Choice { candidates: 1_000, faults: Some(faults.to_vec()), plain: true, ..Choice::of_seed(seed) };
    let traced = run_traced(&choice, true, false);
    assert_eq!(traced.outcome.violation, None);
    // Once the faults are over, leaders are asked to leave, and their successors lead.
    let before = traced.trace.split(" no more faults\n").next().unwrap_or_default();
    assert_ne!(before, traced.trace, "the trace shows where the faults end");
    before.to_owned()
}

fn is_write(line: &str) -> bool {
    line.contains(" > Ask(Write(")
}

#[test]
fn a_few_candidates_write_at_first_and_then_only_the_leader() {
    for seed in 0..2 {
        let trace = trace(seed, &[]);
        let (before, after) = trace.split_once("> Event(Won(").unwrap();
        // The splay lasts a second, and all candidates learn of the first write within milliseconds.
        let at_first = before.lines().filter(|line| is_write(line)).count();
        assert!(at_first <= 10, "{at_first} writes before a candidate led");
        let leader = before.lines().last().unwrap().split_whitespace().nth(1).unwrap();
        let writers: Vec<_> = after.lines().filter(|line| is_write(line)).collect();
        assert!(
            writers.len() > 100
                && writers
                    .iter()
                    .all(|line| line.contains(" > Ask(Write(")
                        && line.split_whitespace().nth(1) == Some(leader))
        );
    }
}

/// Returns the number of acquires after each release that was open to all candidates.
fn rushes(trace: &str) -> Vec<usize> {
    let mut rushes = Vec::new();
    for vacancy in trace.split(" released, 0ns owed").skip(1) {
        let acquires = vacancy.lines().filter(|line| is_write(line) && line.contains("Acquire(")).count();
        // If a successor is named, one acquire is enough.
        if acquires > 1 {
            rushes.push(acquires);
        }
    }
    rushes
}

#[test]
fn a_release_makes_no_stampede_of_those_who_have_met_before() {
    let rushes = rushes(&trace(21, &[Kind::Resign]));
    assert!(rushes.len() > 40, "{rushes:?}");
    // Before the first release no candidate knows of another. Every lost race doubles the span of the wait.
    for (met, most) in [(0, 999), (1, 500), (4, 300), (10, 210), (20, 130)] {
        assert!(rushes[met..].iter().all(|rush| *rush <= most), "after {met} races: {rushes:?}");
    }
    let late = &rushes[30..];
    assert!(late.iter().sum::<usize>() / late.len() <= 60, "{rushes:?}");
}

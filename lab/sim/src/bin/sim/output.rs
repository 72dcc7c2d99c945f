//! The results, for people and for machines.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use incumbent_sim::{Choice, Excuse, Kind, Outcome, Promise, Script, ScriptedFault, Seeds, Tally, Violation};
use serde_json::{Map, Value, json};

pub(super) fn kind_text(kind: Kind) -> String {
    format!("{:<14} {}{}", kind.name(), kind.says(), under(kind.promise()).1)
}

pub(super) fn kind_json(kind: Kind) -> Value {
    json!({ "fault": kind.name(), "says": kind.says(), "promised": under(kind.promise()).0 })
}

/// Milliseconds, with microseconds as decimals.
fn millis(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}

/// The promise that holds under a fault: a word and its explanation.
const fn under(promise: Promise) -> (&'static str, &'static str) {
    match promise {
        Promise::Full => ("everything", ""),
        Promise::Watching => ("to-watchers", " Promised only to candidates that were watching."),
        Promise::Tokens => ("tokens", " Only tokens still order the terms."),
        Promise::Nothing => ("nothing", " Nothing is promised."),
    }
}

pub(super) fn failure_text(choice: &Choice, violation: &Violation) -> String {
    format!("seed {} fails\n{violation}", choice.seed)
}

pub(super) fn shrunk_text(violation: &Violation, script: &Script) -> String {
    format!("with the fewest faults that reproduce it:\n{violation}\n{script}")
}

pub(super) fn summary_text(jobs: NonZeroUsize, tally: &Tally, took: Duration) -> String {
    let threads = if jobs.get() == 1 { "thread" } else { "threads" };
    let (secs, rate) = (took.as_secs_f64(), rate(tally, took));
    format!("{tally}took {secs:.1} s on {jobs} {threads}: {rate:.0} simulated hours a minute")
}

fn rate(tally: &Tally, took: Duration) -> f64 {
    tally.hours() * 60.0 / took.as_secs_f64().max(1e-9)
}

pub(super) fn failure_json(
    choice: &Choice,
    violation: &Violation,
    shorter: &Violation,
    script: &Script,
) -> Value {
    json!({
        "failed": {
            "seed": choice.seed,
            "violation": violation_json(violation),
            "shrunk": script_json(script, Some(shorter)),
        }
    })
}

pub(super) fn summary_json(seeds: Seeds, jobs: NonZeroUsize, tally: &Tally, took: Duration) -> Value {
    let mut summary = tally_json(tally);
    summary.insert("first_seed".into(), seeds.first().into());
    summary.insert("seeds".into(), seeds.count().into());
    summary.insert("jobs".into(), jobs.get().into());
    summary.insert("took_ms".into(), millis(took).into());
    summary.insert("simulated_hours_a_minute".into(), rate(tally, took).round().into());
    json!({ "summary": summary })
}

/// Converts a line of a trace, such as `  12.000345 c3 > …`.
pub(super) fn trace_json(event: &str) -> Value {
    let (at, event) = event.trim_start().split_once(' ').unwrap_or(("", event));
    json!({ "at_s": at.parse::<f64>().ok(), "event": event })
}

pub(super) fn run_json(script: &Script, outcome: &Outcome, timeline: Option<&Path>) -> Value {
    let mut run = tally_json(&outcome.tally);
    run.insert("script".into(), script_json(script, outcome.violation.as_ref()));
    run.insert("timeline".into(), json!(timeline.map(|file| file.display().to_string())));
    json!({ "run": run })
}

fn tally_json(tally: &Tally) -> Map<String, Value> {
    let faults = Kind::ALL.iter().zip(tally.faults).map(|(kind, count)| (kind.name().into(), count.into()));
    let excused =
        Excuse::ALL.iter().zip(tally.excused).map(|(excuse, count)| (excuse.name().into(), count.into()));
    let (stormy, calm) = tally.longest_vacancy;
    let fields = [
        ("runs", json!(tally.runs)),
        ("simulated_hours", json!((tally.hours() * 1e3).round() / 1e3)),
        ("terms", json!(tally.terms)),
        ("go_peers_terms", json!(tally.peer_terms)),
        ("writes", json!(tally.writes)),
        ("excused_overlaps", json!(tally.overlaps)),
        ("steps", json!(tally.steps)),
        ("excused_steps", Value::Object(excused.collect())),
        ("longest_vacancy_ms", json!({ "under_faults": millis(stormy), "after_the_last": millis(calm) })),
        ("faults", Value::Object(faults.collect())),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn violation_json(violation: &Violation) -> Value {
    let Violation { invariant, states, at, says } = violation;
    let at = millis(Duration::from_nanos(*at));
    json!({ "invariant": invariant, "states": states, "at_ms": at, "says": says })
}

fn script_json(script: &Script, violation: Option<&Violation>) -> Value {
    let faults = script.faults.iter().map(|ScriptedFault { place, kind, from, lasts }| {
        json!({ "place": place, "fault": kind.name(), "at_ms": millis(*from), "lasts_ms": millis(*lasts) })
    });
    json!({
        "seed": script.choice.seed,
        "world": script.world,
        "faults": faults.collect::<Vec<_>>(),
        "violation": violation.map(violation_json),
        "again": script.command,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> Violation {
        let states = "At most one candidate's is_leader is true at any real instant.";
        Violation { invariant: "I1", states, at: 12_345_678_900, says: "c0 and c3 lead at once".into() }
    }

    #[test]
    fn a_seed_that_fails_is_printed_with_the_invariant_its_faults_and_the_command() {
        let choice = Choice { keep: Some(vec![2]), ..Choice::of_seed(5) };
        assert_eq!(
            failure_text(&choice, &broken()),
            "seed 5 fails\nI1 at 12.345678 s: c0 and c3 lead at once\n  \
             I1: At most one candidate's is_leader is true at any real instant."
        );
        let shrunk = shrunk_text(&broken(), &Script::of(&choice));
        let lines: Vec<_> = shrunk.lines().collect();
        assert_eq!(lines[0], "with the fewest faults that reproduce it:");
        assert!(lines[3].starts_with("seed 5: 5 candidates, lease "), "{shrunk}");
        assert!(lines[4].starts_with("    2  "), "{shrunk}");
        assert_eq!(lines[5..], ["again: cargo sim --seed 5 --seeds 1 --candidates 5 --keep 2"]);
    }

    #[test]
    fn a_seed_that_fails_is_printed_as_json() {
        let choice = Choice::of_seed(5);
        let shrunk = Choice { keep: Some(Vec::new()), faults: Some(vec![Kind::Loss]), ..choice.clone() };
        let report = failure_json(&choice, &broken(), &broken(), &Script::of(&shrunk));
        let failed = &report["failed"];
        assert_eq!((&failed["seed"], &failed["violation"]["at_ms"]), (&json!(5), &json!(12_345.679)));
        assert_eq!(failed["shrunk"]["violation"]["invariant"], "I1");
        assert_eq!(failed["shrunk"]["faults"], json!([]));
        assert_eq!(
            failed["shrunk"]["again"],
            "cargo sim --seed 5 --seeds 1 --candidates 5 --faults loss --keep none"
        );
    }

    #[test]
    fn a_line_of_a_trace_is_a_time_and_an_event() {
        assert_eq!(
            trace_json("    12.000345 c3 > Read(ReadId(4))"),
            json!({ "at_s": 12.000345, "event": "c3 > Read(ReadId(4))" })
        );
    }
}

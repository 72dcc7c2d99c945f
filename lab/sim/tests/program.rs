//! Tests of the program `cargo sim`, with many runs and with one run in detail.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use incumbent_testkit::process::ChildGuard;
use incumbent_testkit::terminal::{pieces, terminal};
use serde_json::Value;

/// A generous limit for work that takes seconds.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn sim(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_incumbent-sim"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ended(arguments: &[&str]) -> Ended {
    let output = sim(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[track_caller]
fn refused(arguments: &[&str], message: &[&str]) {
    let ended = ended(arguments);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{arguments:?}: {ended:#?}");
    for part in message {
        assert!(ended.stderr.contains(part), "{part:?} in {ended:#?}");
    }
}

#[track_caller]
fn well(arguments: &[&str]) -> Ended {
    let ended = ended(arguments);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}: {ended:#?}");
    ended
}

#[test]
fn many_seeds_end_with_what_they_went_through() {
    let said = well(&["--seeds", "20", "--seed", "100"]).stdout;
    assert!(said.starts_with("20 runs, "), "{said}");
    for part in
        [" simulated hours, ", " faults\n", " terms, ", "longest vacancy: ", "fail-over", "hours a minute"]
    {
        assert!(said.contains(part), "{part:?} in {said}");
    }
}

#[test]
fn the_number_of_jobs_changes_only_how_long_it_takes() {
    let summary = |jobs| {
        let said = well(&["--seeds", "12", "--jobs", jobs, "--json"]).stdout;
        let mut said = json(&said)["summary"].take();
        let timed = ["jobs", "took_ms", "simulated_hours_a_minute"].map(|name| said[name].take());
        assert!(timed.iter().all(Value::is_number), "{timed:?}");
        said
    };
    let alone = summary("1");
    assert_eq!((&alone["runs"], &alone["seeds"]), (&12.into(), &12.into()));
    assert!(alone["terms"].as_u64() > Some(50) && alone["faults"]["loss"].as_u64() > Some(0), "{alone}");
    assert_eq!(summary("5"), alone);
}

#[test]
fn a_seed_has_one_trace() {
    let trace = || well(&["--seed", "5", "--trace"]).stdout;
    let first = trace();
    assert!(first.starts_with("seed 5: 5 candidates, lease "), "{}", &first[..200]);
    assert!(first.contains("\nagain: cargo sim --seed 5 --seeds 1 --candidates 5\n"));
    assert!(first.contains("> Event(Won("));
    assert!(first == trace());
}

#[test]
fn a_trace_is_lines_of_json_where_that_is_asked_for() {
    let said = well(&["--seed", "5", "--trace", "--json", "--keep", "0"]).stdout;
    let lines: Vec<_> = said.lines().map(json).collect();
    let (last, reported) = lines.split_last().unwrap();
    assert!(
        reported.len() > 100
            && reported.iter().all(|line| line["at_s"].is_number() && line["event"].is_string())
    );
    assert_eq!(last["run"]["script"]["faults"].as_array().unwrap().len(), 1);
    assert_eq!(last["run"]["script"]["violation"], Value::Null);
}

#[test]
fn a_reader_that_goes_away_ends_the_trace_and_is_no_failure() {
    let mut child = ChildGuard::spawn(sim(&["--trace"])).unwrap();
    let mut out = BufReader::new(child.take_stdout().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    drop(out);
    assert_eq!(child.wait(LIMIT).code(), Some(0));
    let reported = std::io::read_to_string(child.take_stderr().unwrap()).unwrap();
    assert_eq!((first.starts_with("seed 0: "), reported.as_str()), (true, ""));
}

#[test]
fn a_run_is_drawn_as_a_picture_or_a_page() {
    let folder = tempfile::tempdir().unwrap();
    for (name, begins) in [("run.svg", "<svg "), ("run.html", "<!doctype html>\n")] {
        let file = folder.path().join(name);
        well(&["--seed", "5", "--timeline", file.to_str().unwrap()]);
        let drawn = std::fs::read_to_string(&file).unwrap();
        assert!(drawn.starts_with(begins) && drawn.contains("</svg>"), "{name}: {}", &drawn[..80]);
    }
    let nowhere = folder.path().join("no/run.svg");
    let ended = ended(&["--timeline", nowhere.to_str().unwrap()]);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stderr.contains("run.svg cannot be written: "), "{ended:#?}");
}

#[test]
fn the_faults_are_listed_with_what_is_promised_under_them() {
    let said = well(&["--faults", "help"]).stdout;
    assert!(
        said.starts_with("loss           Messages between candidates and the store are lost.\n"),
        "{said}"
    );
    assert!(
        said.contains("freeze         A machine is paused, and its clock stops meanwhile. Only tokens still")
    );
    let first = json(well(&["--faults", "help", "--json"]).stdout.lines().next().unwrap());
    assert_eq!((&first["fault"], &first["promised"]), (&"loss".into(), &"everything".into()));
}

#[test]
fn only_the_faults_that_are_named_are_made() {
    let said = well(&["--seeds", "3", "--faults", "loss", "--json"]).stdout;
    let faults = json(&said)["summary"]["faults"].take();
    let made: Vec<_> = faults.as_object().unwrap().iter().filter(|(_, count)| **count != 0).collect();
    assert_eq!(made.len(), 1, "{made:?}");
    let said = well(&["--seeds", "1", "--faults", "none"]).stdout;
    assert!(said.contains(" simulated hours, 0 faults\n"), "{said}");
}

#[test]
fn candidates_of_the_go_library_campaign_beside_ours() {
    let said = well(&["--seeds", "10", "--candidates", "2", "--go-peers", "2", "--json"]).stdout;
    let summary = json(&said)["summary"].take();
    assert!(summary["go_peers_terms"].as_u64() > Some(0) && summary["terms"].as_u64() > Some(0), "{summary}");
    assert_eq!(summary["faults"]["delete"], 0, "they do not survive that");
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    refused(&["--trace", "--seeds", "2"], &["--trace shows one run", "--seeds asks for 2", "--seed"]);
    refused(&["--timeline", "r.svg", "--seeds", "2"], &["--timeline shows one run"]);
    refused(&["--keep", "3", "--seeds", "2"], &["--keep shows one run"]);
    refused(&["--timeline", "run.png"], &["run.png", ".svg", ".html"]);
    refused(&["--timeline", "run"], &["\"run\"", ".svg"]);
    refused(&["--faults", "loss,rain"], &["no fault \"rain\"", "fail-over"]);
    refused(&["--keep", "x"], &["\"x\" is not a place"]);
    refused(&["--keep", "4,9999"], &["place 9999", "the script of seed 0 has"]);
    refused(&["--seeds", "0"], &["--seeds"]);
    refused(&["--candidates", "1001"], &["--candidates", "1..=1000"]);
    refused(&["--jobs", "0"], &["--jobs", "1..=256"]);
    let last = u64::MAX.to_string();
    refused(&["--seed", &last, "--seeds", "2"], &["exceeds the last seed", &last]);
}

#[test]
fn a_terminal_shows_how_far_it_is_and_is_left_clean() {
    let (ours, theirs) = terminal();
    let mut command = sim(&["--seeds", "400"]);
    command.stderr(theirs);
    let mut child = ChildGuard::spawn(command).unwrap();
    let pieces = pieces(ours);
    let said = std::io::read_to_string(child.take_stdout().unwrap()).unwrap();
    assert_eq!(child.wait(LIMIT).code(), Some(0));
    assert!(said.starts_with("400 runs, "), "{said}");
    let shown: String = pieces.iter().collect();
    assert!(shown.contains(" of 400 seeds, ") && shown.contains(" left"), "{shown:?}");
    assert!(shown.ends_with("\r\u{1b}[K"), "{shown:?}");
}

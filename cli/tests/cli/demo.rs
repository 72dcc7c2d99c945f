//! `incumbent demo`.

use std::collections::BTreeSet;
use std::time::Duration;

use incumbent_testkit::etcd::EtcdServer;
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::is_running;
use incumbent_testkit::wait;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Ended, Running, children, ended, incumbent, json};

/// The longest time that all faults may take. Some faults are made twice, because on a busy machine a leader may lose
/// its lease of 2 s just before a fault.
const PLAY: Duration = Duration::from_secs(240);

/// Runs a demo until each of these faults has been made and a candidate has led after the last. Then ends the demo.
#[track_caller]
fn played(arguments: &[&str], faults: &[&str]) -> Ended {
    let mut arguments = arguments.to_vec();
    arguments.extend(["--json", "--for", "10m"]);
    let mut demo = Running::start(incumbent(&arguments));
    let mut awaited: BTreeSet<&str> = faults.iter().copied().collect();
    demo.until_within(PLAY, "a leader after every fault", |line| {
        let reported = json(line);
        let fault = faults.iter().find(|fault| reported["fault"] == **fault);
        match (reported["event"].as_str(), fault) {
            (Some("fault"), Some(fault)) => awaited.remove(fault),
            // The fault could not be made, for instance a hand-over by a leader whose lease has just ended. The demo
            // will try it again.
            (Some("missed"), Some(fault)) => awaited.insert(fault),
            _ => false,
        };
        (reported["event"] == "won" && awaited.is_empty()).then_some(())
    });
    demo.signal(Signal::INT);
    demo.wait()
}

fn summary(demo: &Ended) -> Value {
    let summary = json(demo.stdout.lines().last().unwrap());
    assert_eq!(summary["event"], "summary");
    summary
}

/// Checks that there was never more than one leader, and that the events add up to the summary.
#[track_caller]
fn check(demo: &Ended, faults: &[&str]) {
    let summary = summary(demo);
    assert_eq!(demo.code, Some(0), "{demo:#?}");
    assert_eq!(summary["overlaps"], 0, "{demo:#?}");
    assert_eq!(summary["tokens_increase"], true, "{demo:#?}");
    let reported: Vec<Value> = demo.stdout.lines().map(json).collect();
    let count = |event: &str| reported.iter().filter(|line| line["event"] == event).count() as u64;
    assert_eq!(summary["terms"], count("won"));
    assert!(count("won") > faults.len() as u64, "{demo:#?}");
    let made: Vec<&String> = summary["faults"].as_object().unwrap().keys().collect();
    assert_eq!(
        made.iter().map(|fault| fault.as_str()).collect::<BTreeSet<_>>(),
        faults.iter().copied().collect()
    );
    let faults: u64 =
        summary["faults"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(faults, count("fault") - count("missed"));
    let vacancies: Vec<_> =
        ["p50", "p90", "p99", "max"].map(|part| summary["vacancy_ms"][part].as_f64()).into();
    assert!(vacancies.is_sorted(), "{vacancies:?}");
    assert_eq!(vacancies[0].is_some(), count("won") > 1);
}

#[test]
fn ten_processes_on_sqlite_have_one_leader_at_a_time_through_every_fault() {
    let faults = ["kill", "stop", "restart", "hand-over", "delete", "overwrite"];
    check(&played(&["demo"], &faults), &faults);
}

#[test]
fn processes_on_etcd_have_one_leader_at_a_time() {
    let server = EtcdServer::start(Default::default());
    let store = format!("etcd://{}/app", server.address());
    assert_eq!(ended(&["init", "--new", "--store", &store]).code, Some(0));
    let faults = ["kill", "hand-over", "delete", "overwrite"];
    let chosen = faults.join(",");
    check(&played(&["demo", "--store", &store, "--workers", "3", "--faults", &chosen], &faults), &faults);
}

#[test]
fn processes_on_a_real_server_have_one_leader_at_a_time_and_a_missing_bucket_is_made() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/DEMO", server.url());
    let faults = ["kill", "stop", "restart", "hand-over", "delete", "overwrite"];
    let demo = played(&["demo", "--store", &store, "--workers", "5"], &faults);
    check(&demo, &faults);
    let reported: Vec<Value> = demo.stdout.lines().map(json).collect();
    let note = reported.iter().find(|line| line["event"] == "note").unwrap();
    assert!(note["message"].as_str().unwrap().starts_with("created the bucket DEMO"), "{note}");
    // A second demo finds the bucket, and uses its own key.
    let again =
        played(&["demo", "--store", &store, "--workers", "3", "--faults", "hand-over"], &["hand-over"]);
    check(&again, &["hand-over"]);
    assert_ne!(summary(&again)["key"], summary(&demo)["key"]);
}

#[test]
fn tasks_of_one_process_do_without_kill_and_stop() {
    let faults = ["restart", "hand-over", "delete", "overwrite"];
    check(&played(&["demo", "--in-process", "--workers", "4"], &faults), &faults);
}

#[test]
fn without_faults_the_first_leader_leads_to_the_end() {
    // The time of a few renewals, with a lease that does not end merely because the machine is busy.
    let words = ["demo", "--for", "15s", "--lease", "10s", "--faults", "none", "--workers", "3"];
    let demo = ended(&[&words[..], &["--no-splay", "--json"]].concat());
    check(&demo, &[]);
    let summary = summary(&demo);
    assert_eq!(summary["vacancy_ms"]["max"], Value::Null, "{demo:#?}");
    assert_eq!(summary["terms"], 1);
}

#[test]
fn without_a_terminal_it_says_in_plain_lines_what_happens() {
    let words = ["demo", "--for", "80s", "--faults", "hand-over", "--workers", "3"];
    let mut demo = Running::start(incumbent(&words));
    demo.until("a fault", |line| line.contains("the leader, to hand over to").then_some(()));
    demo.signal(Signal::INT);
    let demo = demo.wait();
    assert_eq!(demo.code, Some(0), "{demo:#?}");
    let first = demo.stdout.lines().next().unwrap();
    assert!(
        first.starts_with("3 candidates, a process each, in the election \"demo\" on sqlite:"),
        "{first}"
    );
    for said in
        ["is the first leader", "the leader, to hand over to", "there were never two leaders at once\n"]
    {
        assert!(demo.stdout.contains(said), "{said:?} in {}", demo.stdout);
    }
    assert!(!demo.stdout.contains('\u{1b}'), "{}", demo.stdout);
}

#[test]
fn a_demo_that_is_killed_leaves_no_process_not_even_a_stopped_one() {
    // The demo is killed, so the test removes its files.
    let litter = tempfile::tempdir().unwrap();
    let mut demo = incumbent(&["demo", "--for", "80s", "--faults", "stop", "--json"]);
    demo.env("TMPDIR", litter.path());
    let mut demo = Running::start(demo);
    demo.until("a stopped leader", |line| (json(line)["event"] == "fault").then_some(()));
    let candidates = children(demo.pid());
    assert_eq!(candidates.len(), 10);
    demo.kill();
    wait::until("the end of every candidate", wait::GENEROUS, || {
        !candidates.iter().any(|pid| is_running(*pid))
    });
}

#[test]
fn a_second_ctrl_c_kills_candidates_that_do_not_leave() {
    let mut demo = Running::start(incumbent(&["demo", "--for", "80s", "--faults", "none", "--json"]));
    demo.until("a leader", |line| (json(line)["event"] == "won").then_some(()));
    let candidates = children(demo.pid());
    // Of the two candidates that still run, at least one does not lead, and that one is ordered to leave at once.
    for candidate in &candidates[2..] {
        incumbent_testkit::process::pause(*candidate);
    }
    demo.signal(Signal::INT);
    wait::until("a candidate to leave", wait::GENEROUS, || {
        candidates[..2].iter().any(|pid| !is_running(*pid))
    });
    demo.signal(Signal::INT);
    let demo = demo.wait();
    assert_eq!(summary(&demo)["overlaps"], 0);
    assert!(!candidates.iter().any(|pid| is_running(*pid)), "{demo:#?}");
}

#[test]
fn a_candidate_that_is_killed_from_outside_is_reported_and_started_again() {
    let mut demo = Running::start(incumbent(&["demo", "--for", "80s", "--faults", "none", "--json"]));
    demo.until("a leader", |line| (json(line)["event"] == "won").then_some(()));
    let victim = children(demo.pid())[0];
    incumbent_testkit::process::kill(victim);
    demo.until("the news", |line| (json(line)["event"] == "gone").then_some(()));
    wait::until("ten candidates", wait::GENEROUS, || children(demo.pid()).len() == 10);
    demo.signal(Signal::TERM);
    let demo = demo.wait();
    assert_eq!(demo.code, Some(0), "{demo:#?}");
}

#[test]
fn the_same_seed_makes_the_same_faults() {
    let first = || {
        let demo =
            played(&["demo", "--seed", "11", "--workers", "3", "--in-process"], &["hand-over", "restart"]);
        let faults = demo.stdout.lines().map(json).filter(|line| line["event"] == "fault");
        faults.take(2).map(|line| line["fault"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(first(), first());
}

//! The program that `cargo xtask hunt` builds.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn hunt(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_incumbent-hunt"));
    command.args(arguments).args(["--red", "none"]);
    command
}

fn ended(arguments: &[&str]) -> Output {
    hunt(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_same_seed_and_number_of_runs_are_the_same_hunt_on_any_number_of_threads() {
    let hunted = |jobs| {
        let output = ended(&["--seed", "40", "--seeds", "9", "--jobs", jobs, "--json"]);
        let mut json = json(&output);
        assert!(json["took_s"].take().is_f64(), "{output:?}");
        json
    };
    let alone = hunted("1");
    assert_eq!((&alone["seed"], &alone["runs"]), (&40.into(), &9.into()));
    assert_eq!(alone["stores"].as_array().unwrap().len(), 3);
    assert_eq!(hunted("3"), alone);
}

#[test]
fn a_hunt_says_where_it_begins_and_ends_with_a_summary() {
    let output = ended(&["--seed", "40", "--seeds", "4", "--store", "nats", "--faults", "loss,cut,pause"]);
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(error.starts_with("hunting from seed 40 on nats, 4 runs, "), "{error}");
    assert!(out.starts_with("nats: 4 runs, ") && out.contains("\n4 runs from seed 40 in "), "{out}");
    assert!(out.ends_with(": nothing found\n"), "{out}");
}

#[test]
fn an_interrupt_ends_a_hunt_with_its_summary() {
    let mut child = hunt(&["--for", "10m", "--store", "nats", "--faults", "loss"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut begins = String::new();
    let mut error = BufReader::new(child.stderr.take().unwrap());
    error.read_line(&mut begins).unwrap();
    assert!(begins.ends_with(" threads\n"), "{begins}");
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).ends_with(": nothing found\n"));
}

#[test]
fn a_command_line_that_cannot_be_read_is_refused() {
    let output = ended(&["--store", "redis"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        error,
        "error: \"redis\" is not simulated: the stores are nats, etcd and kafka\n\nSee `cargo xtask hunt --help`.\n"
    );
}

#[test]
fn help_has_examples() {
    let output = ended(&["--help"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(out.contains("Examples:\n  cargo xtask hunt\n"), "{out}");
}

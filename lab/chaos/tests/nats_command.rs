//! The command in use: what it leaves behind, and its failures.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers fail their test")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use incumbent_testkit::process::{ChildGuard, is_running, wait_gone};
use incumbent_testkit::wait::GENEROUS;

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_incumbent-chaos"))
}

/// A run that has begun to make faults, and the processes that it has started.
fn begun(folder: &Path) -> (ChildGuard, Vec<u32>) {
    let mut command = command();
    command.args(["--only", "one-node", "--minutes", "2"]).env("TMPDIR", folder).stderr(Stdio::piped());
    let mut run = ChildGuard::spawn(command).unwrap();
    let progress = BufReader::new(run.take_stderr().unwrap());
    let mut lines = progress.lines().map_while(Result::ok);
    lines.find(|line| line.contains("leads")).expect("the run ended before the first fault");
    // The run would end if its output were not read.
    std::thread::spawn(move || lines.count());
    let children = children_of(run.pid());
    assert!(children.len() >= 5, "one server and five candidates, though one may just be away: {children:?}");
    (run, children)
}

fn children_of(pid: u32) -> Vec<u32> {
    let listed = Command::new("ps").args(["-o", "pid=", "--ppid", &pid.to_string()]).output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).filter(|pid| is_running(*pid)).collect()
}

#[test]
fn a_controller_that_is_killed_leaves_no_process_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (mut run, children) = begun(folder.path());
    run.kill();
    for child in children {
        wait_gone(child, GENEROUS);
    }
}

#[test]
fn asked_to_end_it_leaves_neither_processes_nor_files_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (mut run, children) = begun(folder.path());
    run.terminate();
    let status = run.wait(GENEROUS * 2);
    assert_eq!(status.code(), Some(1));
    for child in children {
        wait_gone(child, GENEROUS);
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().flatten().map(|one| one.file_name()).collect();
    // All tests of a machine share this folder, in which ports are reserved.
    assert_eq!(left, ["incumbent-test-ports"]);
}

const ONE: &str = "0000000000000001-0000000000000001";
const TWO: &str = "0000000000000001-0000000000000002";

/// Two candidates that each answer twice that they lead, at these milliseconds.
fn check(one: [u64; 2], other: [u64; 2]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &[String]| {
        std::fs::write(folder.path().join(name), lines.concat()).unwrap();
    };
    let election = r#"{"key":"k","bucket":"b","lease_ms":1000}"#;
    let started = |name: &str| format!("{{\"is\":\"started\",\"name\":\"{name}\",\"life\":1,\"at\":0}}\n");
    let notes = [
        format!(
            "{{\"is\":\"begin\",\"scenario\":\"by-hand\",\"seed\":1,\"servers\":1,\"elections\":[{election}],\"at\":0}}\n"
        ),
        started("a"),
        started("b"),
        "{\"is\":\"faults_over\",\"at\":900000000}\n{\"is\":\"end\",\"at\":900000000}\n".into(),
    ];
    write("controller.jsonl", &notes);
    for (name, token, answers) in [("a-1.jsonl", ONE, one), ("b-1.jsonl", TWO, other)] {
        let leads = format!("{{\"token\":\"{token}\",\"deadline\":1000000000,\"later\":1000000000}}");
        let answer = |at: u64| {
            let at = at * 1_000_000;
            format!("{{\"is\":\"answer\",\"key\":\"k\",\"leads\":{leads},\"before\":{at},\"after\":{at}}}\n")
        };
        write(name, &[answers.map(answer).concat(), "{\"is\":\"left\",\"at\":900000000}\n".into()]);
    }
    command().arg("check").arg(folder.path()).output().unwrap()
}

#[test]
fn a_folder_in_which_all_is_well_passes() {
    let output = check([100, 500], [500, 800]);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("by-hand, seed 1: passed"));
}

#[test]
fn a_folder_with_two_leaders_fails_and_shows_what_happened() {
    let output = check([100, 500], [400, 800]);
    assert_eq!(output.status.code(), Some(1));
    let (table, story) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("FAILED") && table.contains("overlaps 1"), "{table}");
    assert!(
        story.contains(&format!(
            "two leaders of k for 100.000 ms: a-1 with token {ONE} and b-1 with token {TWO}"
        )),
        "{story}"
    );
    assert!(story.contains("0.4000 s  b-1"), "{story}");
}

#[test]
fn an_impossible_setting_is_refused_with_the_possible_ones() {
    let output = command().args(["--minutes", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("a number of minutes above 0"));
    let missing = command().args(["check", "/nowhere/at/all"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("controller.jsonl"));
}

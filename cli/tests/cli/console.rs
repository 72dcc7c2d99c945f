//! `incumbent run --store console:`: trying handlers by hand.

use std::process::Stdio;

use crate::support::{Ended, Running, ended, incumbent};

const HANDLERS: [&str; 6] = ["--on-won", "echo begins", "--on-lost", "echo ends", "--on-error", "echo minds"];

fn typed(options: &[&str], text: &str) -> Ended {
    let words = [&["run", "--store", "console:"], options].concat();
    let mut command = incumbent(&words);
    command.stdin(Stdio::piped());
    let mut run = Running::start(command);
    run.type_all(text);
    run.wait()
}

#[test]
fn what_is_typed_runs_the_handlers_in_its_order() {
    let options = [&HANDLERS[..], &["--error-timeout", "0s"]].concat();
    let ended = typed(&options, "LEADER\nLEADER\nNOTLEADER\nERROR\nLEADER\nERROR\n");
    let reported: Vec<&str> = ended.stderr.lines().collect();
    let resumes = "incumbent: the candidacy resumes; messages dropped in between: 0";
    let expected = [
        "on-won: begins",
        "on-lost: ends",
        "on-error: minds",
        resumes,
        "on-won: begins",
        "on-lost: ends",
        "on-error: minds",
        resumes,
    ];
    assert_eq!(reported, expected);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
}

#[test]
fn a_mistake_says_what_is_understood() {
    let ended = typed(&HANDLERS, "LEDAER\nLEADER\n");
    let reported: Vec<&str> = ended.stderr.lines().collect();
    let mistake = "incumbent: \"LEDAER\" is not understood; type one of LEADER, NOTLEADER, ERROR";
    assert_eq!(reported, [mistake, "on-won: begins", "on-lost: ends"]);
}

#[test]
fn the_end_of_what_is_typed_ends_the_work() {
    let ended = typed(&HANDLERS, "LEADER\n");
    assert_eq!(ended.stderr, "on-won: begins\non-lost: ends\n");
    assert_eq!(ended.code, Some(0));
}

#[test]
fn what_is_typed_during_a_cool_down_is_dropped_and_counted() {
    let options = [&HANDLERS[..], &["--error-timeout", "10s"]].concat();
    let words = [&["run", "--store", "console:"], &options[..]].concat();
    let mut command = incumbent(&words);
    let (reader, mut writer) = std::io::pipe().unwrap();
    command.stdin(reader);
    let mut run = Running::start(command);
    std::io::Write::write_all(&mut writer, b"ERROR\nLEADER\nNOTLEADER\n").unwrap();
    run.until_reported("the end of the cool-down", |line| line.ends_with("messages dropped in between: 2"));
    drop(writer);
    assert_eq!(run.wait().code, Some(0));
}

#[test]
fn a_handler_reads_its_arguments_as_they_are_written() {
    let list = r#"["sh", "-c", "echo \"$0|$1\"", "a b", "c  d"]"#;
    let ended = typed(&["--on-won", list], "LEADER\n");
    assert_eq!(ended.stderr, "on-won: a b|c  d\n");
    let ended = typed(&["--on-won", "printf '%s|%s\\n' 'a b' c | tr b x"], "LEADER\n");
    assert_eq!(ended.stderr, "on-won: a x|c\n");
}

#[test]
fn a_handler_that_cannot_be_started_has_failed() {
    let ended = typed(&["--on-won", r#"["/no/such/command"]"#, "--on-error", "echo minds"], "LEADER\n");
    let reported: Vec<&str> = ended.stderr.lines().collect();
    assert!(reported[0].starts_with("incumbent: on-won failed: it cannot be started: "), "{reported:?}");
    assert_eq!(&reported[1..], ["on-error: minds"]);
}

#[test]
fn a_begin_that_fails_has_its_end_run() {
    let ended =
        typed(&["--on-won", "exit 3", "--on-lost", "echo ends", "--on-error", "echo minds"], "LEADER\n");
    assert_eq!(ended.stderr, "incumbent: on-won failed: exit status: 3\non-lost: ends\non-error: minds\n");
}

#[test]
fn an_end_that_keeps_failing_gives_up_loudly() {
    let options = ["--on-won", "true", "--on-lost", "exit 1", "--retries", "2", "--retry-every", "10ms"];
    let ended = typed(&options, "LEADER\nNOTLEADER\n");
    assert_eq!(ended.code, Some(9), "{ended:?}");
    let reported: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(reported.len(), 4, "{reported:?}");
    assert!(
        reported[..3].iter().all(|line| *line == "incumbent: on-lost failed: exit status: 1"),
        "{reported:?}"
    );
    assert!(
        reported[3].starts_with("incumbent: giving up: the end handler failed 3 times, "),
        "{reported:?}"
    );
}

#[test]
fn an_error_of_a_leader_runs_the_end_as_often_as_is_asked_for_in_all() {
    let options = ["--on-won", "true", "--on-lost", "exit 1", "--retries", "2", "--retry-every", "10ms"];
    let ended = typed(&options, "LEADER\nERROR\n");
    assert_eq!(ended.code, Some(9), "{ended:?}");
    let reported: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(reported.len(), 3, "{reported:?}");
    assert!(
        reported[..2].iter().all(|line| *line == "incumbent: on-lost failed: exit status: 1"),
        "{reported:?}"
    );
    assert!(
        reported[2].starts_with("incumbent: giving up: the end handler failed 2 times, "),
        "{reported:?}"
    );
}

#[test]
fn output_that_would_fill_the_pipe_is_logged_to_its_end() {
    let ended = typed(&["--on-won", "yes line | head -n 200000; echo done"], "LEADER\n");
    assert_eq!(ended.stderr.lines().count(), 200_001);
    assert!(ended.stderr.ends_with("on-won: line\non-won: done\n"));
}

#[test]
fn a_handler_that_takes_too_long_is_killed_where_that_is_asked_for() {
    let options = ["--on-won", "exec sleep 1000", "--handler-timeout", "200ms"];
    let ended = typed(&options, "LEADER\n");
    assert_eq!(ended.stderr, "incumbent: on-won failed: signal: 9 (SIGKILL)\n");
}

#[test]
fn with_json_output_and_states_are_lines_of_json() {
    let ended = typed(&["--on-won", "echo one; echo two >&2", "--json"], "LEADER\n");
    let reported: Vec<_> = ended.stderr.lines().map(crate::support::json).collect();
    let output = |stream: &str, line: &str| {
        reported.iter().any(|reported| {
            reported["event"] == "output"
                && reported["handler"] == "on-won"
                && reported["stream"] == stream
                && reported["line"] == line
        })
    };
    assert!(output("stdout", "one") && output("stderr", "two"), "{reported:?}");
    let states: Vec<_> = reported
        .iter()
        .filter(|reported| reported["event"] == "state")
        .map(|reported| &reported["state"])
        .collect();
    assert_eq!(states, ["LEADER", "NOTLEADER", "CLOSED"]);
}

#[test]
fn the_variables_of_elector_are_enough() {
    let mut command = incumbent(&["run"]);
    command.envs([
        ("ELECTOR_BACKEND", "console"),
        ("ELECTOR_START_COMMAND", "echo begins $INCUMBENT_KEY as $INCUMBENT_NAME"),
        ("ELECTOR_STOP_COMMAND", "echo ends"),
        ("ELECTOR_KEY", "jobs"),
        ("ELECTOR_INSTANCE_ID", "ada"),
    ]);
    command.stdin(Stdio::piped());
    let mut run = Running::start(command);
    run.type_all("LEADER\nNOTLEADER\n");
    assert_eq!(run.wait().stderr, "on-won: begins jobs as ada\non-lost: ends\n");
}

#[test]
fn a_command_is_no_handler() {
    let ended = ended(&["run", "--store", "console:", "--key", "jobs", "--", "true"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("console: is for handlers"), "{ended:?}");
}

//! `incumbent run`.

use std::path::Path;

use incumbent::Clock;
use incumbent::store::StoreSettings;
use incumbent_testkit::process::is_running;
use incumbent_testkit::wait;
use rustix::process::Signal;

use crate::support::{Ended, Running, Scratch, children, ended, incumbent, json};

/// The arguments of a candidate, up to the command. Its lease is short enough to wait for its end, and long enough not
/// to end merely because the machine is busy.
pub(crate) fn arguments<'a>(scratch: &'a Scratch, name: &'a str) -> Vec<&'a str> {
    vec!["run", "--store", &scratch.url, "--key", "jobs", "--name", name, "--lease", "10s"]
}

pub(crate) fn command<'a>(
    scratch: &'a Scratch,
    name: &'a str,
    options: &[&'a str],
    script: &'a str,
) -> Vec<&'a str> {
    let mut all = arguments(scratch, name);
    all.extend(options);
    all.extend(["--", "sh", "-c", script]);
    all
}

#[track_caller]
pub(crate) fn started(scratch: &Scratch, name: &str, options: &[&str], script: &str) -> Running {
    Running::start(incumbent(&command(scratch, name, options, script)))
}

#[track_caller]
fn ran(scratch: &Scratch, options: &[&str], script: &str) -> Ended {
    ended(&command(scratch, "ada", options, script))
}

/// The number that the command prints first.
#[track_caller]
pub(crate) fn pid(running: &mut Running) -> u32 {
    running.until("the command's number", |line| line.trim().parse().ok())
}

#[track_caller]
pub(crate) fn state(scratch: &Scratch) -> String {
    let status = ended(&["status", "jobs", "--store", &scratch.url, "--json"]);
    json(&status.stdout)["state"].as_str().unwrap().to_owned()
}

/// Deletes the key as an operator would.
pub(crate) fn delete(scratch: &Scratch) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let settings: StoreSettings = scratch.url.parse().unwrap();
        let operator = settings.operate(&Clock::system()).await.unwrap();
        operator.delete("jobs").await.unwrap();
    });
}

#[test]
fn the_command_knows_its_term_and_its_exit_code_is_passed_on() {
    let scratch = Scratch::made();
    let script = "echo $INCUMBENT_KEY $INCUMBENT_NAME $INCUMBENT_TOKEN $INCUMBENT_SEQUENCE; exit 42";
    let ended = ran(&scratch, &[], script);
    assert_eq!(ended.code, Some(42), "{ended:?}");
    let said: Vec<&str> = ended.stdout.split_whitespace().collect();
    let [key, name, token, sequence] = said[..] else { panic!("{ended:?}") };
    assert_eq!((key, name), ("jobs", "ada"));
    let token: incumbent::Token = token.parse().unwrap();
    assert_eq!(token.sequence.0.to_string(), sequence);
    assert_eq!(state(&scratch), "released");
}

#[test]
fn exit_codes_are_those_of_a_shell() {
    let scratch = Scratch::made();
    assert_eq!(ran(&scratch, &[], "exit 0").code, Some(0));
    assert_eq!(ran(&scratch, &[], "kill -KILL $$").code, Some(137));
    let mut missing = arguments(&scratch, "ada");
    missing.extend(["--", "/no/such/command"]);
    let missing = ended(&missing);
    assert_eq!(missing.code, Some(127));
    assert!(missing.stderr.contains("/no/such/command cannot be run"), "{missing:?}");
    let mut folder = arguments(&scratch, "ada");
    folder.extend(["--", "/"]);
    assert_eq!(ended(&folder).code, Some(126));
}

#[test]
fn a_signal_is_passed_on_and_the_lease_is_held_until_the_command_has_ended() {
    let scratch = Scratch::made();
    let script =
        "trap 'echo ending; read line < \"$FIFO\"; exit 0' TERM; echo $$; while :; do sleep 0.01; done";
    let fifo = scratch.folder.path().join("fifo");
    rustix_mkfifo(&fifo);
    let mut run = incumbent(&command(&scratch, "ada", &["--grace", "60s"], script));
    run.env("FIFO", &fifo);
    let mut run = Running::start(run);
    pid(&mut run);
    run.signal(Signal::TERM);
    run.until("the command to take notice", |line| (line == "ending").then_some(()));
    assert_eq!(state(&scratch), "held");
    std::fs::write(&fifo, "go\n").unwrap();
    let run = run.wait();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(state(&scratch), "released");
}

fn rustix_mkfifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_command_that_ends_by_the_signal_we_were_sent_is_what_was_asked_for() {
    let scratch = Scratch::made();
    for signal in [Signal::TERM, Signal::INT] {
        let mut run = started(&scratch, "ada", &[], "echo $$; exec sleep 1000");
        let command = pid(&mut run);
        run.signal(signal);
        assert_eq!(run.wait().code, Some(0));
        assert!(!is_running(command));
    }
}

#[test]
fn signals_that_do_not_end_are_passed_on_alone() {
    let scratch = Scratch::made();
    let script = "trap 'echo again' HUP; trap 'exit 7' USR1; echo $$; while :; do sleep 0.01; done";
    let mut run = started(&scratch, "ada", &[], script);
    pid(&mut run);
    run.signal(Signal::HUP);
    run.until("the first signal", |line| (line == "again").then_some(()));
    run.signal(Signal::USR1);
    assert_eq!(run.wait().code, Some(7));
}

/// The test sends numbers, because shells have no names for real-time signals.
#[test]
fn every_signal_that_does_not_mean_the_supervisor_itself_is_passed_on() {
    let scratch = Scratch::made();
    let numbers = [14, 10, 12, 18, 23, 24, 25, 26, 27, 28, 29, 16, 34, 36, 38, 50, 64];
    let traps: String = numbers.iter().map(|number| format!("trap 'echo got {number}' {number}; ")).collect();
    let script = format!("{traps} echo $$; while :; do sleep 0.01; done");
    let mut run = started(&scratch, "ada", &[], &format!("exec bash -c '{}'", script.replace('\'', "\"")));
    pid(&mut run);
    for number in numbers {
        run.signal_of_number(number);
        run.until("the signal", |line| (line == format!("got {number}")).then_some(()));
    }
    run.signal(Signal::TERM);
    assert_eq!(run.wait().code, Some(0));
}

#[test]
fn the_signals_by_which_containers_are_stopped_end_the_candidacy() {
    for number in [30, 37] {
        let scratch = Scratch::made();
        let script = format!("trap \"echo asked; exit 0\" {number}; echo $$; while :; do sleep 0.01; done");
        let mut run = started(&scratch, "ada", &[], &format!("exec bash -c '{script}'"));
        pid(&mut run);
        run.signal_of_number(number);
        let run = run.wait();
        assert_eq!((run.code, run.stdout.lines().last()), (Some(0), Some("asked")), "signal {number}");
        assert_eq!(state(&scratch), "released");
    }
}

#[test]
fn a_hangup_that_was_ignored_at_the_start_stays_ignored() {
    let scratch = Scratch::made();
    let script = "echo $$; while :; do sleep 0.01; done";
    let program = incumbent(&command(&scratch, "ada", &[], script));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
    shell.env("NO_COLOR", "1").stdin(std::process::Stdio::null());
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut run = Running::start(shell);
    let command = pid(&mut run);
    run.signal(Signal::HUP);
    run.signal(Signal::USR1);
    // Only the second signal is passed on, and ends the command.
    assert_eq!(run.wait().code, Some(138));
    assert!(!is_running(command));
}

#[test]
fn a_command_that_ignores_the_signal_is_killed_when_the_grace_is_over() {
    let scratch = Scratch::made();
    let script = "trap '' TERM; echo $$; while :; do sleep 0.01; done";
    let mut run = started(&scratch, "ada", &["--grace", "300ms"], script);
    let command = pid(&mut run);
    run.signal(Signal::TERM);
    assert_eq!(run.wait().code, Some(137));
    assert!(!is_running(command));
    assert_eq!(state(&scratch), "released");
}

#[test]
fn a_second_signal_kills_a_command_that_takes_its_time() {
    let scratch = Scratch::made();
    let script = "trap 'echo later' TERM INT; echo $$; while :; do sleep 0.01; done";
    let mut run = started(&scratch, "ada", &["--grace", "1h"], script);
    pid(&mut run);
    run.signal(Signal::TERM);
    run.until("the first signal", |line| (line == "later").then_some(()));
    // A different signal counts as new, and so does the same signal after a second.
    run.signal(Signal::INT);
    assert_eq!(run.wait().code, Some(137));
}

#[test]
fn what_the_command_leaves_behind_in_its_group_ends_with_it() {
    let scratch = Scratch::made();
    let mut run = started(&scratch, "ada", &[], "sleep 1000 & echo $!; exit 3");
    let left_behind = pid(&mut run);
    assert_eq!(run.wait().code, Some(3));
    wait::until("the end of the process left behind", wait::GENEROUS, || !is_running(left_behind));
}

#[test]
fn a_supervisor_that_is_killed_takes_the_whole_group_along() {
    let scratch = Scratch::made();
    let mut run = started(&scratch, "ada", &[], "sleep 1000 & echo $!; echo $$; wait");
    let (grandchild, command) = (pid(&mut run), pid(&mut run));
    run.kill();
    wait::until("the end of both", wait::GENEROUS, || !is_running(command) && !is_running(grandchild));
}

#[test]
fn a_guard_that_is_killed_is_replaced() {
    let scratch = Scratch::made();
    let mut run = started(&scratch, "ada", &[], "sleep 1000 & echo $!; echo $$; wait");
    let (grandchild, command) = (pid(&mut run), pid(&mut run));
    let guards = || children(run.pid()).into_iter().filter(|pid| *pid != command).collect::<Vec<_>>();
    let first = guards();
    assert_eq!(first.len(), 1);
    incumbent_testkit::process::kill(first[0]);
    wait::until("another guard", wait::GENEROUS, || guards().iter().any(|guard| *guard != first[0]));
    // The kernel itself would not end the command's own children.
    run.kill();
    wait::until("the end of both", wait::GENEROUS, || !is_running(command) && !is_running(grandchild));
}

#[test]
fn the_command_of_a_stopped_supervisor_is_dead_before_another_leads() {
    let scratch = Scratch::made();
    // The command ignores every signal that can be ignored.
    let script = "trap '' TERM; sleep 1000 & echo $$; while :; do sleep 0.01; done";
    let mut ada = started(&scratch, "ada", &[], script);
    let command = pid(&mut ada);
    let look = format!(
        "kill -0 {command} 2> /dev/null && ps -o stat= -p {command} | grep -qv Z && echo alive; echo dead"
    );
    let mut ben = started(&scratch, "ben", &[], &look);
    incumbent_testkit::process::pause(ada.pid());
    let ben_saw = ben.until("what the successor sees", |line| Some(line.to_owned()));
    assert_eq!(ben_saw, "dead");
    assert_eq!(ben.wait().code, Some(0));
    // Once the supervisor is resumed, it campaigns and starts the command again.
    incumbent_testkit::process::resume(ada.pid());
    assert_ne!(pid(&mut ada), command);
}

#[test]
fn a_term_ended_from_outside_ends_the_command_at_once_and_the_next_term_begins_it_again() {
    let scratch = Scratch::made();
    let script = "trap '' TERM; echo $INCUMBENT_SEQUENCE; while :; do sleep 0.01; done";
    let mut run = started(&scratch, "ada", &[], script);
    let first = pid(&mut run);
    delete(&scratch);
    let second = pid(&mut run);
    assert!(second > first, "{second} after {first}");
}

#[test]
fn with_once_a_lost_term_is_the_end() {
    let scratch = Scratch::made();
    let mut run = started(&scratch, "ada", &["--once"], "echo $$; exec sleep 1000");
    let command = pid(&mut run);
    delete(&scratch);
    let run = run.wait();
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("--once allows no other"), "{run:?}");
    assert!(!is_running(command));
}

#[test]
fn a_candidate_that_waits_leaves_at_once_when_asked() {
    let scratch = Scratch::made();
    let mut leader = started(&scratch, "ada", &[], "echo $$; exec sleep 1000");
    pid(&mut leader);
    let mut waiting = started(&scratch, "ben", &["-v"], "echo never");
    waiting.until_reported("who leads", |line| line.contains("leader=\"ada\""));
    waiting.signal(Signal::TERM);
    let waiting = waiting.wait();
    assert_eq!((waiting.code, waiting.stdout.as_str()), (Some(0), ""), "{waiting:?}");
    assert_eq!(state(&scratch), "held");
}

#[test]
fn events_are_printed_as_json_on_the_standard_error() {
    let scratch = Scratch::made();
    let ended = ran(&scratch, &["--json"], "exit 5");
    let reported: Vec<_> = ended.stderr.lines().map(json).collect();
    let events: Vec<&str> = reported.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["won", "exited", "lost"], "{ended:?}");
    assert_eq!(reported[1]["code"], 5);
    assert_eq!(reported[2]["reason"], "CLOSED");
}

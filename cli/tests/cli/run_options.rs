//! The options of `incumbent run`.

use std::fs;
use std::io::{BufRead as _, BufReader};

use incumbent_testkit::port::Port;
use incumbent_testkit::process::{ChildGuard, is_running};
use incumbent_testkit::wait;
use rustix::process::Signal;

use crate::run::{delete, pid, state};
use crate::support::{LIMIT, Running, Scratch, ended, incumbent, json};

/// The arguments of a candidate whose lease does not end merely because the machine is busy.
fn arguments<'a>(scratch: &'a Scratch, name: &'a str) -> Vec<&'a str> {
    vec!["run", "--store", &scratch.url, "--key", "jobs", "--name", name, "--lease", "30s"]
}

fn command<'a>(scratch: &'a Scratch, name: &'a str, options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [&arguments(scratch, name), options, &["--", "sh", "-c", script]].concat()
}

fn started(scratch: &Scratch, name: &str, options: &[&str], script: &str) -> Running {
    Running::start(incumbent(&command(scratch, name, options, script)))
}

#[test]
fn a_candidate_that_is_not_elected_in_time_says_who_is_and_ends() {
    let scratch = Scratch::made();
    let mut ada = started(&scratch, "ada", &[], "echo $$; exec sleep 1000");
    pid(&mut ada);
    // The limit is long enough for ben to notice that ada leads.
    let ben = ended(&command(&scratch, "ben", &["--wait", "10s"], "echo never"));
    assert_eq!((ben.code, ben.stdout.as_str()), (Some(8), ""), "{ben:?}");
    assert!(ben.stderr.contains("not elected within 10s; ada leads"), "{ben:?}");
    assert_eq!(state(&scratch), "held");
}

#[test]
fn a_candidate_whose_store_does_not_answer_is_not_elected_in_time_either() {
    let port = Port::free();
    let url = format!("nats://127.0.0.1:{}/ELECTIONS", port.number());
    for rest in [["--", "echo", "never"], ["--on-won", "echo never", "-v"]] {
        let words = ["run", "--store", &url, "--key", "jobs", "--wait", "1s"];
        let waited = ended(&[&words[..], &rest].concat());
        assert_eq!((waited.code, waited.stdout.as_str()), (Some(8), ""), "{waited:?}");
        let said = waited.stderr.lines().last().unwrap();
        assert!(
            said.starts_with("incumbent: not elected within 1s; cannot connect to NATS at "),
            "{waited:?}"
        );
    }
}

#[test]
fn a_leader_whose_standard_error_is_not_read_leads_on() {
    let scratch = Scratch::made();
    for option in ["-v", "--json"] {
        let words = command(&scratch, "ada", &["--on-exit", "restart", option], "echo $INCUMBENT_SEQUENCE");
        let mut run = ChildGuard::spawn(incumbent(&words)).unwrap();
        drop(run.take_stderr());
        let mut lines = BufReader::new(run.take_stdout().unwrap()).lines();
        // The supervisor reports the command's exit before it restarts the command, and so before any output here.
        let [first, second] = [lines.next(), lines.next()].map(|line| line.unwrap().unwrap());
        assert_eq!(first, second, "in the same term");
        run.terminate();
        assert_eq!(run.wait(LIMIT).code(), Some(0));
    }
}

#[test]
fn an_unhealthy_leader_drains_and_leaves_and_leads_again_when_it_is_well() {
    let scratch = Scratch::made();
    let well = scratch.folder.path().join("well");
    fs::write(&well, "").unwrap();
    let check = format!("test -f {}", well.display());
    let options = ["--health", &check, "--health-interval", "100ms"];
    let script = "trap 'echo asked; exit 0' TERM; echo $INCUMBENT_SEQUENCE; while :; do sleep 0.01; done";
    let mut run = started(&scratch, "ada", &options, script);
    let first = pid(&mut run);
    fs::remove_file(&well).unwrap();
    run.until("the SIGTERM", |line| (line == "asked").then_some(()));
    wait::until("the lease to be released", wait::GENEROUS, || state(&scratch) == "released");
    fs::write(&well, "").unwrap();
    assert!(pid(&mut run) > first);
}

#[test]
fn a_health_check_that_hangs_counts_as_failed() {
    let scratch = Scratch::made();
    let options = ["--health", "sleep 1000", "--health-interval", "100ms"];
    let mut run =
        started(&scratch, "ada", &options, "trap 'exit 0' TERM; echo $$; while :; do sleep 0.01; done");
    run.until_reported("the check's failure", |line| line.contains("the health check fails"));
    run.signal(Signal::TERM);
    assert_eq!(run.wait().code, Some(0));
}

#[test]
fn a_candidate_does_not_campaign_before_its_first_health_check_has_answered() {
    let scratch = Scratch::made();
    let options = ["--splay", "0s", "--health", "sleep 0.4; false", "--health-interval", "1s"];
    let mut run = started(&scratch, "ada", &options, "echo ran; sleep 3");
    run.until_reported("the check's failure", |line| line.contains("the health check fails"));
    assert_eq!(state(&scratch), "vacant");
    run.signal(Signal::TERM);
    let run = run.wait();
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
}

#[test]
fn a_health_check_that_fails_says_why() {
    for (check, why) in [
        ("no-such-check", ": it exited with 127: sh: 1: no-such-check: not found"),
        ("echo no disk >&2; exit 3", ": it exited with 3: no disk"),
        ("kill -9 $$", ": it was ended by signal 9"),
        ("sleep 1000", ": it did not end within 200ms"),
    ] {
        let scratch = Scratch::made();
        let options = ["--health", check, "--health-interval", "200ms"];
        let mut run = started(&scratch, "ada", &options, "true");
        run.until_reported(why, |line| line.ends_with(why));
        run.signal(Signal::TERM);
        assert_eq!(run.wait().code, Some(0));
    }
}

#[test]
fn a_command_that_exits_is_started_again_in_the_same_term() {
    let scratch = Scratch::made();
    let script = "echo $INCUMBENT_SEQUENCE; exit 7";
    let mut run = started(&scratch, "ada", &["--on-exit", "restart"], script);
    let sequences: Vec<u32> = (0..3).map(|_| pid(&mut run)).collect();
    assert!(sequences.iter().all(|sequence| *sequence == sequences[0]), "{sequences:?}");
    assert_eq!(state(&scratch), "held");
    run.signal(Signal::TERM);
    let run = run.wait();
    assert!(run.stderr.contains("exited with code 7; starting it again in 1s"), "{run:?}");
    assert!(run.stderr.contains("; starting it again in 2s"), "{run:?}");
    assert_eq!(run.code, Some(0));
}

#[test]
fn a_leader_whose_command_exits_can_resign_and_stay_a_candidate() {
    let scratch = Scratch::made();
    for code in ["0", "7"] {
        let script = format!("echo $INCUMBENT_SEQUENCE; exit {code}");
        let mut run = started(&scratch, "ada", &["--on-exit", "resign"], &script);
        let (first, second) = (pid(&mut run), pid(&mut run));
        assert!(second > first, "{second} after {first}");
        run.signal(Signal::TERM);
        run.wait();
    }
}

#[test]
fn with_once_a_command_that_resigns_ends_with_its_own_code() {
    let scratch = Scratch::made();
    let ended = ended(&command(&scratch, "ada", &["--on-exit", "resign", "--once"], "exit 6"));
    assert_eq!(ended.code, Some(6), "{ended:?}");
}

#[test]
fn a_term_that_is_lost_ends_a_command_that_rests() {
    let scratch = Scratch::made();
    let mut run = started(&scratch, "ada", &["--on-exit", "restart", "--once"], "echo $$; exit 1");
    let command = pid(&mut run);
    wait::until("the command's end", wait::GENEROUS, || !is_running(command));
    delete(&scratch);
    assert_eq!(run.wait().code, Some(1));
}

#[test]
fn a_candidate_is_named_after_its_host_and_process_and_ttl_is_the_lease() {
    let scratch = Scratch::made();
    let words = ["run", "--store", &scratch.url, "--key", "jobs", "--ttl", "5s", "--splay", "0s"];
    let mut run =
        Running::start(incumbent(&[&words[..], &["--", "sh", "-c", "echo $INCUMBENT_NAME"]].concat()));
    let supervisor = run.pid();
    let name = run.until("the name", |line| Some(line.to_owned()));
    assert!(name.ends_with(&format!("-{supervisor}")), "{name}");
    assert_eq!(run.wait().code, Some(0));
}

#[test]
fn what_cannot_go_together_is_refused() {
    let scratch = Scratch::made();
    let refused = |options: &[&str], reported: &str| {
        let ended = ended(&[&arguments(&scratch, "ada")[..], options].concat());
        assert_eq!(ended.code, Some(2), "{options:?}: {ended:?}");
        assert!(ended.stderr.contains(reported), "{reported:?} in {ended:?}");
    };
    refused(&["--on-won", "true", "--", "true"], "--on-won");
    refused(&["--on-won", "true", "--on-exit", "restart"], "--on-exit");
    refused(&["--on-error", "true"], "--on-won CMD and --on-lost CMD");
    refused(&["--on-won", "[1]"], "--on-won begins like a JSON list");
    let no_key = ended(&["run", "--store", &scratch.url, "--", "true"]);
    assert_eq!(no_key.code, Some(2));
    assert!(no_key.stderr.contains("give --key KEY"), "{no_key:?}");
}

#[test]
fn a_candidate_that_does_not_wait_ends_only_where_another_leads() {
    let scratch = Scratch::made();
    let alone = ended(&command(&scratch, "ben", &["--no-wait"], "exit 7"));
    assert_eq!(alone.code, Some(7), "{alone:?}");
    let mut ada = started(&scratch, "ada", &[], "echo $$; exec sleep 1000");
    pid(&mut ada);
    let beaten = ended(&command(&scratch, "ben", &["--no-wait"], "echo never"));
    assert_eq!((beaten.code, beaten.stdout.as_str()), (Some(8), ""), "{beaten:?}");
    assert_eq!(beaten.stderr, "incumbent: not elected: ada leads, and --no-wait forbids waiting\n");
    // In a new store no candidate leads at first, so the candidate waits.
    let fresh = Scratch::new();
    let words =
        ["run", "--store", &fresh.url, "--key", "jobs", "--preset", "fast", "--lease", "2s", "--no-wait"];
    let waited = ended(&[&words[..], &["--", "sh", "-c", "exit 7"]].concat());
    assert_eq!(waited.code, Some(7), "{waited:?}");
}

#[test]
fn a_leader_publishes_its_metadata() {
    let scratch = Scratch::made();
    let options = ["--metadata", "address=10.0.0.7:8080", "--metadata", "note=a=b"];
    let mut ada = started(&scratch, "ada", &options, "echo $$; exec sleep 1000");
    pid(&mut ada);
    let status = ended(&["status", "jobs", "--store", &scratch.url, "--json"]);
    let metadata = &json(&status.stdout)["leader"]["metadata"];
    assert_eq!(*metadata, serde_json::json!({ "address": "10.0.0.7:8080", "note": "a=b" }), "{status:?}");
    let refused = ended(&command(&scratch, "ben", &["--metadata", "address"], "true"));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("a key and a value, such as address=10.0.0.7:8080"), "{refused:?}");
}

#[test]
fn the_margin_and_the_waits_are_settings() {
    let scratch = Scratch::made();
    let words =
        ["--backoff", "50ms", "--interval", "1s", "--skew", "10ms", "--drift-ppm", "100", "--slack", "10ms"];
    assert_eq!(ended(&command(&scratch, "ada", &words, "exit 7")).code, Some(7));
    for (option, setting) in [("--skew", "skew"), ("--slack", "slack")] {
        let refused = ended(&command(&scratch, "ada", &[option, "29s"], "true"));
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert!(refused.stderr.contains(setting), "{refused:?}");
    }
    let asked = std::time::Instant::now();
    assert_eq!(ended(&command(&scratch, "ada", &["--win-delay", "2s"], "exit 7")).code, Some(7));
    assert!(asked.elapsed() >= std::time::Duration::from_secs(2));
    assert_eq!(ended(&command(&scratch, "ada", &["--win-delay", "cautious"], "exit 7")).code, Some(7));
    let refused = ended(&command(&scratch, "ada", &["--win-delay", "soon"], "true"));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("write automatic, cautious, or a time such as 10s"), "{refused:?}");
}

//! `incumbent run --on-won CMD --on-lost CMD`, in real elections.

use std::fs;
use std::path::PathBuf;

use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process::{ChildGuard, is_running};
use incumbent_testkit::wait;
use rustix::process::{Pid, Signal, kill_process};

use crate::listen::counts;
use crate::run::{delete, state};
use crate::support::{Ended, LIMIT, Running, Scratch, children, ended, incumbent};

/// The arguments of a candidate whose lease does not end merely because the machine is busy.
fn arguments<'a>(scratch: &'a Scratch, name: &'a str) -> Vec<&'a str> {
    leased(scratch, name, "30s")
}

fn leased<'a>(scratch: &'a Scratch, name: &'a str, lease: &'a str) -> Vec<&'a str> {
    vec!["run", "--store", &scratch.url, "--key", "jobs", "--name", name, "--lease", lease]
}

fn started(scratch: &Scratch, name: &str, options: &[&str]) -> Running {
    Running::start(incumbent(&[&arguments(scratch, name)[..], options].concat()))
}

fn await_output(run: &mut Running, text: &str) -> String {
    run.until_reported(text, |line| line.contains(text))
}

fn ends(mut run: Running) -> Ended {
    run.signal(Signal::TERM);
    run.wait()
}

fn file(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.folder.path().join(name)
}

#[test]
fn begin_runs_on_winning_and_end_on_leaving_while_the_lease_is_held() {
    let scratch = Scratch::made();
    let program = env!("CARGO_BIN_EXE_incumbent");
    let look = format!("{program} status jobs --store {} --json; echo why $INCUMBENT_REASON", scratch.url);
    let begin = "echo begins $INCUMBENT_KEY $INCUMBENT_NAME $INCUMBENT_SEQUENCE";
    let mut run = started(&scratch, "ada", &["--on-won", begin, "--on-lost", &look]);
    let begun = await_output(&mut run, "on-won: begins jobs ada ");
    assert!(begun.rsplit(' ').next().unwrap().parse::<u64>().is_ok(), "{begun}");
    let ended = ends(run);
    assert!(ended.stderr.contains("\"state\":\"held\""), "{ended:?}");
    assert!(ended.stderr.contains("on-lost: why CLOSED"), "{ended:?}");
    assert!(ended.stderr.ends_with("incumbent: ada no longer leads jobs: closed\n"), "{ended:?}");
    assert!(!ended.stderr.contains("promise"), "{ended:?}");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert_eq!(state(&scratch), "released");
}

#[test]
fn what_begin_leaves_in_the_background_goes_on_until_end() {
    let scratch = Scratch::made();
    let pid = file(&scratch, "pid");
    let begin = format!("sleep 1000 & echo $! > {0}.new; mv {0}.new {0}", pid.display());
    let end = format!("kill $(cat {})", pid.display());
    let mut run = started(&scratch, "ada", &["--on-won", &begin, "--on-lost", &end, "-v"]);
    await_output(&mut run, "\"state\":\"LEADER\"");
    let left: u32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    assert!(is_running(left));
    assert_eq!(ends(run).code, Some(0));
    wait::until("the end of what was begun", wait::GENEROUS, || !is_running(left));
}

#[test]
fn a_failing_begin_releases_the_lease_and_the_candidacy_resumes_after_the_error_timeout() {
    let scratch = Scratch::made();
    let first = file(&scratch, "first");
    let begin = format!("echo begins; test -e {0} || {{ touch {0}; exit 1; }}", first.display());
    let options = ["--on-won", &begin, "--on-error", "echo minds", "--error-timeout", "1s", "-v"];
    let mut run = started(&scratch, "ada", &options);
    await_output(&mut run, "on-won failed: exit status: 1");
    await_output(&mut run, "on-error: minds");
    await_output(&mut run, "the candidacy resumes");
    await_output(&mut run, "on-won: begins");
    await_output(&mut run, "\"state\":\"LEADER\"");
    assert_eq!(ends(run).code, Some(0));
}

#[test]
fn while_one_minds_its_error_another_leads() {
    let scratch = Scratch::made();
    let mut ada = started(&scratch, "ada", &["--on-won", "exit 1", "--error-timeout", "1h"]);
    await_output(&mut ada, "on-won failed");
    let mut ben = started(&scratch, "ben", &["--on-won", "echo begins"]);
    await_output(&mut ben, "on-won: begins");
    assert_eq!(ends(ada).code, Some(0));
    assert_eq!(ends(ben).code, Some(0));
}

#[test]
fn a_failing_end_is_run_again_until_it_succeeds() {
    let scratch = Scratch::made();
    let count = file(&scratch, "count");
    let end = format!("echo x >> {0}; test $(wc -l < {0}) -ge 3", count.display());
    let options = ["--on-won", "echo begins", "--on-lost", &end, "--retry-every", "10ms"];
    let mut run = started(&scratch, "ada", &options);
    await_output(&mut run, "on-won: begins");
    assert_eq!(ends(run).code, Some(0));
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\nx\nx\n");
    assert_eq!(state(&scratch), "released");
}

#[test]
fn an_end_that_keeps_failing_exits_loudly_and_says_who_leads() {
    let scratch = Scratch::made();
    let options =
        ["--on-won", "echo begins", "--on-lost", "exit 1", "--retries", "1", "--retry-every", "10ms"];
    let mut run = started(&scratch, "ada", &options);
    await_output(&mut run, "on-won: begins");
    let ended = ends(run);
    assert_eq!(ended.code, Some(9), "{ended:?}");
    for part in ["giving up: the end handler failed 2 times", "The election is jobs", "before you start"] {
        assert!(ended.stderr.contains(part), "{part:?} in {ended:?}");
    }
}

#[test]
fn a_begin_that_hangs_is_stopped_and_ended() {
    let scratch = Scratch::made();
    let begin = "echo begins; exec sleep 1000";
    let mut run = started(&scratch, "ada", &["--on-won", begin, "--on-lost", "echo ends"]);
    await_output(&mut run, "on-won: begins");
    let ended = ends(run);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("on-lost: ends"), "{ended:?}");
}

#[test]
fn a_begin_that_hangs_and_ignores_the_signal_is_killed() {
    let scratch = Scratch::made();
    let begin = "trap '' TERM; echo begins; while :; do sleep 0.01; done";
    let options = ["--on-won", begin, "--on-lost", "echo ends", "--drain", "2s"];
    let mut run = started(&scratch, "ada", &options);
    await_output(&mut run, "on-won: begins");
    let ended = ends(run);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("on-won failed: signal: 9 (SIGKILL)"), "{ended:?}");
    assert!(ended.stderr.contains("on-lost: ends"), "{ended:?}");
}

#[test]
fn an_end_that_outlasts_the_lease_is_a_broken_promise_reported_while_it_runs() {
    let scratch = Scratch::made();
    let options = ["--on-won", "echo begins", "--on-lost", "echo ends; exec sleep 1000"];
    let mut run = Running::start(incumbent(&[&leased(&scratch, "ada", "10s")[..], &options].concat()));
    await_output(&mut run, "on-won: begins");
    delete(&scratch);
    await_output(&mut run, "on-lost: ends");
    let broken = await_output(&mut run, "the promise of one leader is broken");
    assert!(broken.contains("on-lost is still running"), "{broken}");
    // The handler would run for a long time, but a second signal does not wait for it.
    run.signal(Signal::TERM);
    run.signal(Signal::INT);
    let ended = run.wait();
    assert_eq!(ended.code, Some(9), "{ended:?}");
    assert!(ended.stderr.contains("asked twice to end"), "{ended:?}");
}

#[test]
fn an_end_that_outlasts_the_drain_keeps_the_election_until_it_has_ended() {
    let scratch = Scratch::made();
    let (fifo, well) = (file(&scratch, "fifo"), file(&scratch, "well"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    fs::write(&well, "").unwrap();
    let (end, check) = (format!("read line < {}", fifo.display()), format!("test -f {}", well.display()));
    let options = ["--on-won", "echo begins", "--on-lost", &end, "--drain", "200ms", "-v"];
    let health = ["--health", &check, "--health-interval", "100ms"];
    let mut run = started(&scratch, "ada", &[&options[..], &health].concat());
    await_output(&mut run, "on-won: begins");
    fs::remove_file(&well).unwrap();
    await_output(&mut run, "\"event\":\"lost\"");
    assert_eq!(state(&scratch), "held");
    fs::write(&fifo, "go\n").unwrap();
    wait::until("the election to be given up", wait::GENEROUS, || state(&scratch) == "released");
    let ended = ends(run);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("promise"), "{ended:?}");
}

#[test]
fn a_begin_that_fails_has_its_end_run_before_the_election_is_given_up() {
    let scratch = Scratch::made();
    let program = env!("CARGO_BIN_EXE_incumbent");
    let end = format!("{program} status jobs --store {} --json; echo why $INCUMBENT_REASON", scratch.url);
    let options = ["--on-won", "exit 1", "--on-lost", &end, "--error-timeout", "1h"];
    let mut run = started(&scratch, "ada", &options);
    let said = run.reported_until("the end", |line| line.contains("on-lost: why"));
    assert!(said.contains("on-lost: why HANDLER_FAILED"), "{said}");
    assert!(said.contains("\"state\":\"held\""), "{said}");
    wait::until("the election to be given up", wait::GENEROUS, || state(&scratch) == "released");
    assert_eq!(ends(run).code, Some(0));
}

#[test]
fn where_a_begin_fails_every_output_gives_that_as_the_reason() {
    let scratch = Scratch::made();
    let options = ["--on-won", "exit 1", "--on-lost", "echo why $INCUMBENT_REASON", "--error-timeout", "1h"];
    let mut run = started(&scratch, "ada", &[&options[..], &["--listen", "127.0.0.1:0"]].concat());
    let listens = await_output(&mut run, "listening on ");
    await_output(&mut run, "on-lost: why HANDLER_FAILED");
    let lost = await_output(&mut run, "no longer leads");
    assert_eq!(lost, "incumbent: ada no longer leads jobs: the handler failed");
    let address = listens.rsplit(' ').next().unwrap();
    counts(address, "incumbent_terms_ended_total", "reason=\"handler_failed\"", 1.0);
    assert_eq!(ends(run).code, Some(0));
    let scratch = Scratch::made();
    let words = [&arguments(&scratch, "ada")[..], &["--on-won", "exit 1", "--once", "--json"]].concat();
    let ended = ended(&words);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("\"reason\":\"HANDLER_FAILED\""), "{ended:?}");
}

#[test]
fn a_begin_that_is_killed_for_its_time_has_its_end_run() {
    let scratch = Scratch::made();
    let options = ["--on-won", "exec sleep 1000", "--on-lost", "echo ends", "--handler-timeout", "5s"];
    let mut run = started(&scratch, "ada", &[&options[..], &["--error-timeout", "1h"]].concat());
    await_output(&mut run, "on-won failed: signal: 9 (SIGKILL)");
    await_output(&mut run, "on-lost: ends");
    assert_eq!(ends(run).code, Some(0));
}

#[test]
fn an_end_is_run_though_the_output_of_the_begin_is_not_read() {
    let scratch = Scratch::made();
    let (full, ended) = (file(&scratch, "full"), file(&scratch, "ended"));
    // The handler prints more bytes than the pipe and all buffers in front of it hold.
    let begin = format!("head -c 4000000 /dev/zero | tr '\\0' '\\n' & echo > {}; wait", full.display());
    let end = format!("echo $INCUMBENT_REASON > {0}.new; mv {0}.new {0}", ended.display());
    let words = [&arguments(&scratch, "ada")[..], &["--on-won", &begin, "--on-lost", &end, "-v"]].concat();
    let mut run = ChildGuard::spawn(incumbent(&words)).unwrap();
    wait::until("the begin", wait::GENEROUS, || full.exists());
    delete(&scratch);
    wait::until("the end", wait::GENEROUS, || ended.exists());
    assert_eq!(fs::read_to_string(&ended).unwrap(), "DELETED\n");
    run.terminate();
    assert_eq!(run.wait(LIMIT).code(), Some(0));
}

#[test]
fn with_once_it_ends_after_a_term() {
    let scratch = Scratch::made();
    let options = ["--on-won", "echo begins", "--on-lost", "echo ends $INCUMBENT_REASON", "--once"];
    let mut run = started(&scratch, "ada", &options);
    await_output(&mut run, "on-won: begins");
    delete(&scratch);
    let run = run.wait();
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("on-lost: ends DELETED"), "{run:?}");
}

#[test]
fn a_candidate_that_is_not_elected_in_time_ends() {
    let scratch = Scratch::made();
    let mut ada = started(&scratch, "ada", &["--on-won", "echo begins"]);
    await_output(&mut ada, "on-won: begins");
    let words = [&arguments(&scratch, "ben")[..], &["--on-won", "echo never", "--wait", "1s"]].concat();
    let ben = ended(&words);
    assert_eq!(ben.code, Some(8), "{ben:?}");
    assert!(!ben.stderr.contains("never"), "{ben:?}");
    assert_eq!(ends(ada).code, Some(0));
}

#[test]
fn an_unhealthy_leader_ends_its_work_and_leaves() {
    let scratch = Scratch::made();
    let well = file(&scratch, "well");
    fs::write(&well, "").unwrap();
    let check = format!("test -f {}", well.display());
    let options = ["--on-won", "echo begins", "--on-lost", "echo ends $INCUMBENT_REASON", "--health", &check];
    let mut run = started(&scratch, "ada", &[&options[..], &["--health-interval", "100ms"]].concat());
    await_output(&mut run, "on-won: begins");
    fs::remove_file(&well).unwrap();
    await_output(&mut run, "on-lost: ends UNHEALTHY");
    wait::until("the lease to be released", wait::GENEROUS, || state(&scratch) == "released");
    fs::write(&well, "").unwrap();
    await_output(&mut run, "on-won: begins");
    assert_eq!(ends(run).code, Some(0));
}

#[test]
fn the_work_is_ended_in_good_time_where_the_server_is_silent() {
    let mut server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &url, "--new", "--lease", "15s"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let end = "read -r until rest < $INCUMBENT_DEADLINE_FILE; \
               read -r up rest < /proc/uptime; echo $until $up $INCUMBENT_REASON";
    let words = ["run", "--store", &url, "--key", "jobs", "--on-won", "echo begins", "--on-lost", end];
    let mut run = Running::start(incumbent(&words));
    await_output(&mut run, "on-won: begins");
    server.pause();
    let line = await_output(&mut run, "on-lost: ");
    let words: Vec<&str> = line.split(' ').skip(1).collect();
    let [deadline, now, reason] = words[..] else { panic!("{line}") };
    let (deadline, now) = (deadline.parse::<f64>().unwrap() / 1e9, now.parse::<f64>().unwrap());
    assert_eq!(reason, "EXPIRED");
    assert!(now < deadline, "ended at {now}, the lease was over at {deadline}");
    server.resume();
    await_output(&mut run, "on-won: begins");
    assert_eq!(ends(run).code, Some(0));
    server.stop();
}

#[test]
fn a_supervisor_that_was_stopped_for_longer_ends_the_work_first_of_all() {
    let scratch = Scratch::made();
    let options = ["--on-won", "echo begins", "--on-lost", "echo ends $INCUMBENT_REASON."];
    let candidate =
        |name| Running::start(incumbent(&[&leased(&scratch, name, "10s")[..], &options].concat()));
    let mut ada = candidate("ada");
    await_output(&mut ada, "on-won: begins");
    incumbent_testkit::process::pause(ada.pid());
    let mut ben = candidate("ben");
    await_output(&mut ben, "on-won: begins");
    incumbent_testkit::process::resume(ada.pid());
    await_output(&mut ada, "the promise of one leader is broken");
    await_output(&mut ada, "on-lost: ends EXPIRED.");
    assert_eq!(ends(ben).code, Some(0));
    assert_eq!(ends(ada).code, Some(0));
}

#[test]
fn work_whose_supervisor_is_killed_is_ended_in_its_place() {
    let scratch = Scratch::made();
    let ended = file(&scratch, "ended");
    let end =
        format!("echo $INCUMBENT_REASON $INCUMBENT_SEQUENCE > {0}.new; mv {0}.new {0}", ended.display());
    let begin = "echo begins with $INCUMBENT_SEQUENCE";
    let mut run = started(&scratch, "ada", &["--on-won", begin, "--on-lost", &end, "-v"]);
    let begun = await_output(&mut run, "on-won: begins with ");
    await_output(&mut run, "\"state\":\"LEADER\"");
    run.kill();
    wait::until("the end of the work", wait::GENEROUS, || ended.exists());
    let sequence = begun.rsplit(' ').next().unwrap();
    assert_eq!(fs::read_to_string(&ended).unwrap(), format!("KILLED {sequence}\n"));
    // No other candidate can lead yet, because the killed candidate's lease is not over.
    assert_eq!(state(&scratch), "held");
}

#[test]
fn a_begin_that_runs_when_the_supervisor_is_killed_is_killed_before_the_end() {
    let scratch = Scratch::made();
    let (pid, ended) = (file(&scratch, "pid"), file(&scratch, "ended"));
    let begin = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", pid.display());
    let end = format!(
        "ps -o stat= -p $(cat {}) | grep -qv Z && echo alive > {2}; echo ended >> {2}; mv {2} {1}",
        pid.display(),
        ended.display(),
        file(&scratch, "new").display()
    );
    let mut run = started(&scratch, "ada", &["--on-won", &begin, "--on-lost", &end]);
    wait::until("the begin", wait::GENEROUS, || pid.exists());
    run.kill();
    wait::until("the end of the work", wait::GENEROUS, || ended.exists());
    assert_eq!(fs::read_to_string(&ended).unwrap(), "ended\n");
}

#[test]
fn a_cleanup_process_that_is_killed_is_replaced_and_a_withdrawn_instruction_is_not_executed() {
    let scratch = Scratch::made();
    let count = file(&scratch, "count");
    let end = format!("echo x >> {}", count.display());
    let mut run = started(&scratch, "ada", &["--on-won", "echo begins", "--on-lost", &end, "-v"]);
    await_output(&mut run, "\"state\":\"LEADER\"");
    let cleanup = || children(run.pid());
    let first = wait::until_some("the cleanup process", wait::GENEROUS, || cleanup().first().copied());
    kill_process(Pid::from_raw(first.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    wait::until("another cleanup process", wait::GENEROUS, || {
        cleanup().first().is_some_and(|cleanup| *cleanup != first)
    });
    assert_eq!(ends(run).code, Some(0));
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
}

#[test]
fn an_option_of_elector_beside_a_command_is_refused_with_its_name_here() {
    let scratch = Scratch::made();
    for (theirs, ours) in
        [("--instance-id", "--name NAME"), ("--leader-start-command", "the command after --")]
    {
        let refused =
            ended(&["run", "--store", &scratch.url, "--key", "jobs", theirs, "ada", "--", "echo", "never"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
        let said = format!("incumbent: {theirs} is for handlers; with a command, use {ours}\n");
        assert_eq!(refused.stderr, said);
    }
}

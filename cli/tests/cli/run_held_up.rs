//! `incumbent run` when its supervisor stalls at the worst moment, and when its guard is stopped or killed as well. The
//! leftovers of both are tested too.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use incumbent_testkit::process::{self, is_running};
use incumbent_testkit::wait;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use rustix::process::{Pid, Signal, kill_process};

use crate::run::pid;
use crate::support::{LIMIT, Running, Scratch, children, hand_over, incumbent, takes_part};

/// A command that ignores every signal that can be ignored.
const STUBBORN: &str = "trap '' TERM; echo $$; while :; do sleep 0.01; done";

fn candidate(scratch: &Scratch, name: &str, options: &[&str], script: &str) -> Running {
    let words = ["run", "--store", &scratch.url, "--key", "jobs", "--name", name, "--splay", "0s"];
    let mut run = incumbent(&[&words, options, &["--", "sh", "-c", script]].concat());
    // The folder is separate, so that other tests' supervisors do not find what a killed supervisor left there.
    run.env("TMPDIR", scratch.folder.path());
    Running::start(run)
}

fn gone(what: &str, pid: u32) {
    wait::until(what, LIMIT, || !is_running(pid));
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// The process number of the guard, once its process name is set.
pub(crate) fn guard(run: &Running) -> u32 {
    let is_guard =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "run-guard\n");
    wait::until_some("the guard", LIMIT, || children(run.pid()).into_iter().find(is_guard))
}

/// The first thread of a process, which is stopped until this is dropped. The process's other threads keep running.
struct HeldUp(nix::unistd::Pid);

impl HeldUp {
    fn new(pid: u32) -> Self {
        let pid = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
        ptrace::attach(pid).unwrap();
        waitpid(pid, Some(WaitPidFlag::__WALL)).unwrap();
        Self(pid)
    }
}

impl Drop for HeldUp {
    fn drop(&mut self) {
        let _ = ptrace::detach(self.0, None);
    }
}

#[test]
fn a_supervisor_that_is_held_up_gives_nothing_up_while_its_command_lives() {
    let scratch = Scratch::made();
    let mut ada = candidate(&scratch, "ada", &["--lease", "10s", "--drain", "500ms"], STUBBORN);
    let command = pid(&mut ada);
    let look = format!("ps -o stat= -p {command} | grep -qv Z && echo alive; echo dead; exec sleep 1000");
    let mut ben = candidate(&scratch, "ben", &["--lease", "10s", "-v"], &look);
    takes_part(&mut ben, "ada");
    let held_up = HeldUp::new(ada.pid());
    // The stalled supervisor never learns of the hand-over, but its candidate drains, and the drain ends long before
    // the lease.
    hand_over(&scratch.url, "ben");
    assert_eq!(ben.until("what the successor sees", |line| Some(line.to_owned())), "dead");
    drop(held_up);
}

#[test]
fn a_command_that_was_asked_to_end_is_killed_in_time_though_its_supervisor_is_held_up() {
    let scratch = Scratch::made();
    let script = "trap 'sleep 0.3; echo asked' TERM; echo $$; while :; do sleep 0.01; done";
    let mut ada = candidate(&scratch, "ada", &["--lease", "10m", "--drain", "10s"], script);
    let command = pid(&mut ada);
    ada.signal(Signal::TERM);
    ada.until("the signal", |line| (line == "asked").then_some(()));
    let held_up = HeldUp::new(ada.pid());
    // Its lease lasts for minutes.
    gone("the end of the command", command);
    drop(held_up);
    assert_eq!(ada.wait().code, Some(137));
}

#[test]
fn a_folder_that_hangs_holds_up_no_end_of_the_command() {
    let scratch = Scratch::made();
    let script = "dirname $INCUMBENT_DEADLINE_FILE; cat $INCUMBENT_DEADLINE_FILE; exec sleep 1000";
    let mut ada = candidate(&scratch, "ada", &["--lease", "10s", "--drain", "1h"], script);
    let folder = ada.until("the folder", |line| Some(line.to_owned()));
    let first = ada.until("the deadline", |line| Some(line.to_owned()));
    // The supervisor blocks when it opens this pipe for writing, because the pipe has no reader.
    let next = Path::new(&folder).join("next");
    let is_made = || std::process::Command::new("mkfifo").arg(&next).status().unwrap().success();
    wait::until("the pipe to be made between two renewals", LIMIT, is_made);
    let revision = || {
        let status = crate::support::ended(&["status", "jobs", "--store", &scratch.url, "--json"]);
        crate::support::json(&status.stdout)["revision"].as_u64()
    };
    let before = revision();
    wait::until("a renewal or two", LIMIT, || revision() > before.map(|revision| revision + 2));
    assert_eq!(
        fs::read_to_string(Path::new(&folder).join("deadline")).unwrap().lines().count(),
        1,
        "{first}"
    );
    let mut ben = candidate(&scratch, "ben", &["--lease", "10s", "-v"], "echo leads; exec sleep 1000");
    takes_part(&mut ben, "ada");
    hand_over(&scratch.url, "ben");
    ben.until("the successor", |line| (line == "leads").then_some(()));
}

#[test]
fn a_guard_that_is_stopped_when_its_supervisor_is_killed_ends_the_command_all_the_same() {
    let scratch = Scratch::made();
    let script = "sleep 1000 & echo $!; dirname $INCUMBENT_DEADLINE_FILE; exec sleep 1000";
    let mut ada = candidate(&scratch, "ada", &["--lease", "30s"], script);
    let left = pid(&mut ada);
    let folder = ada.until("the folder", |line| Some(line.to_owned()));
    process::pause(guard(&ada));
    ada.kill();
    gone("what the command has started", left);
    wait::until("the folder to be removed", LIMIT, || !fs::exists(&folder).unwrap());
}

#[test]
fn what_asks_every_process_of_a_service_to_end_does_not_end_the_guard() {
    let scratch = Scratch::made();
    let mut ada = candidate(&scratch, "ada", &["--lease", "30s"], "sleep 1000 & echo $!; exec sleep 1000");
    let left = pid(&mut ada);
    let guard = guard(&ada);
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        kill_process(Pid::from_raw(guard.try_into().unwrap()).unwrap(), signal).unwrap();
    }
    ada.kill();
    gone("what the command has started", left);
}

#[test]
fn what_is_killed_by_the_name_of_the_program_does_not_take_the_guard() {
    let scratch = Scratch::made();
    let mut ada = candidate(&scratch, "ada", &["--lease", "30s"], "echo $$; exec sleep 1000");
    pid(&mut ada);
    let line = fs::read(format!("/proc/{}/cmdline", guard(&ada))).unwrap();
    assert!(line.starts_with(b"run-guard\0"), "{}", String::from_utf8_lossy(&line));
}

#[test]
fn what_is_left_of_a_supervisor_that_was_killed_with_its_guard_is_ended_by_the_next() {
    let scratch = Scratch::made();
    let script = "sleep 1000 & echo $!; dirname $INCUMBENT_DEADLINE_FILE; grep ^0:: /proc/self/cgroup | cut -c 4-; \
                  exec sleep 1000";
    let mut ada = candidate(&scratch, "ada", &["--lease", "5s"], script);
    let left = pid(&mut ada);
    let folder = ada.until("the folder", |line| Some(line.to_owned()));
    let group = ada.until("the control group", |line| Some(line.to_owned()));
    let guard = guard(&ada);
    process::pause(ada.pid());
    kill(guard);
    ada.kill();
    gone("the guard", guard);
    let is_grouped = group.contains("/incumbent-");
    assert!(fs::exists(&folder).unwrap());
    let mut ben = candidate(&scratch, "ben", &["--lease", "5s"], "echo leads; exec sleep 1000");
    wait::until("the folder to be removed", LIMIT, || !fs::exists(&folder).unwrap());
    if is_grouped {
        gone("what was left", left);
    } else {
        kill(left);
    }
    ben.until("the successor", |line| (line == "leads").then_some(()));
}

#[test]
fn two_signals_at_once_are_one() {
    let scratch = Scratch::made();
    let script = "trap 'sleep 0.1; exit 5' TERM; echo $$; while :; do sleep 0.01; done";
    let mut shown = 0;
    while shown < 5 {
        let mut run = candidate(&scratch, "ada", &["--lease", "30s"], script);
        pid(&mut run);
        let begun = Instant::now();
        run.signal(Signal::TERM);
        std::thread::sleep(Duration::from_millis(5));
        run.signal(Signal::TERM);
        let ended = run.wait();
        // On a machine that is held up, the two signals may come a second apart and so count as two.
        if begun.elapsed() < Duration::from_secs(1) {
            assert_eq!(ended.code, Some(5), "{ended:?}");
            shown += 1;
        }
    }
}

#[test]
fn as_process_1_it_looks_at_whatever_ends() {
    let scratch = Scratch::made();
    let may = std::process::Command::new("unshare").args(["-pf", "--mount-proc", "true"]).output();
    if !may.is_ok_and(|ended| ended.status.success()) {
        eprintln!("no namespace of processes can be made here: nothing to test");
        return;
    }
    // Each child is reparented at once and exits soon after. The test polls until each has been reaped.
    let script = "for i in 1 2 3 4 5; do (setsid sh -c 'sleep 0.2; echo $$ >> \"$ENDING\"' &); done; \
                  until [ \"$(wc -l < \"$ENDING\")\" = 5 ]; do sleep 0.05; done; \
                  for pid in $(cat \"$ENDING\"); do looks=0; \
                    while ps -p $pid > /dev/null && [ $looks -lt 600 ]; do sleep 0.05; looks=$((looks + 1)); done; done; \
                  for pid in $(cat \"$ENDING\"); do ps -o stat= -p $pid; done; echo looked; exit 6";
    let words = [
        "run",
        "--store",
        &scratch.url,
        "--key",
        "jobs",
        "--lease",
        "30s",
        "--splay",
        "0s",
        "--",
        "sh",
        "-c",
    ];
    let program = env!("CARGO_BIN_EXE_incumbent");
    let mut run = std::process::Command::new("unshare");
    run.args(["-pf", "--mount-proc", program]).args(words).arg(script);
    let ending = scratch.folder.path().join("ending");
    fs::write(&ending, "").unwrap();
    run.env("ENDING", ending);
    run.stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let ended = Running::start(run).wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(6), "looked\n"), "{ended:?}");
}

//! Children of tests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use incumbent_testkit::process::{self, ChildGuard};
use incumbent_testkit::wait::{self, GENEROUS};

fn shell(script: &str) -> ChildGuard {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    ChildGuard::spawn(command).unwrap()
}

fn first_line(child: &mut ChildGuard) -> String {
    let mut line = String::new();
    BufReader::new(child.take_stdout().unwrap()).read_line(&mut line).unwrap();
    line.trim().into()
}

#[test]
fn dropping_the_guard_kills_the_child_and_its_children() {
    let mut child = shell("sleep 1000 & echo $!; wait");
    let grandchild: u32 = first_line(&mut child).parse().unwrap();
    let pid = child.pid();
    assert!(process::is_running(grandchild));
    drop(child);
    process::wait_gone(pid, GENEROUS);
    process::wait_gone(grandchild, GENEROUS);
}

#[test]
fn a_child_outlives_the_thread_that_started_it() {
    let start = || {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        (rustix::thread::gettid(), ChildGuard::spawn(command).unwrap())
    };
    let (thread, mut child) = thread::spawn(start).join().unwrap();
    // The kernel signals a thread's children before the thread disappears from `/proc`.
    let task = format!("/proc/self/task/{}", thread.as_raw_nonzero());
    wait::until("the end of the thread", GENEROUS, || !Path::new(&task).exists());

    child.take_stdin().unwrap().write_all(b"still here\n").unwrap();
    assert_eq!(first_line(&mut child), "still here");
}

#[test]
fn a_paused_child_does_nothing_until_it_is_resumed() {
    let mut child = shell("trap 'echo caught; exit 7' TERM; echo up; while :; do sleep 0.01; done");
    let mut lines = BufReader::new(child.take_stdout().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "up");

    child.pause();
    child.terminate();
    assert_eq!(child.try_wait(), None);
    child.resume();

    assert_eq!(lines.next().unwrap().unwrap(), "caught");
    assert_eq!(child.wait(GENEROUS).code(), Some(7));
}

#[test]
fn a_killed_child_is_gone_when_kill_returns() {
    let mut child = shell("exec sleep 1000");
    child.kill();
    assert!(!process::is_running(child.pid()));
}

/// Runs this test again in a process that starts a child and is killed.
#[test]
fn a_child_dies_with_a_test_process_that_is_killed() {
    const ROLE: &str = "INCUMBENT_TESTKIT_VICTIM";
    if std::env::var_os(ROLE).is_some() {
        let child = shell("exec sleep 1000");
        println!("child {}", child.pid());
        thread::park();
        return;
    }
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim
        .args(["--exact", "a_child_dies_with_a_test_process_that_is_killed", "--nocapture"])
        .env(ROLE, "1")
        .stdout(Stdio::piped());
    let mut victim = ChildGuard::spawn(victim).unwrap();
    let lines = BufReader::new(victim.take_stdout().unwrap()).lines();
    let named =
        lines.map_while(Result::ok).find_map(|line| line.split_once("child ").map(|(_, pid)| pid.parse()));
    let child: u32 = named.unwrap().unwrap();

    victim.kill();
    wait::until("the child to die", GENEROUS, || !process::is_running(child));
}

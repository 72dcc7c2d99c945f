//! The example: an application composed with a campaigner, each in its own process.

use std::process::Command;

use incumbent_testkit::json::JsonProgram;
use incumbent_testkit::wait::{self, GENEROUS};
use serde_json::Value;

use crate::server;

/// The example's program, which cargo builds with the tests.
fn worker(url: &str, name: &str, pieces: u32) -> JsonProgram {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join("worker_host");
    assert!(program.is_file(), "there is no {}; run `cargo build --examples`", program.display());
    let mut command = Command::new(program);
    command.args([url, name, &pieces.to_string()]);
    JsonProgram::on_stdout(command)
}

fn booked(worker: &JsonProgram) -> Vec<(u64, u64, u64)> {
    let number = |line: &Value, name: &str| line[name].as_u64().unwrap();
    let lines = worker.lines();
    let lines = lines.iter().filter(|line| line["event"] == "booked");
    lines.map(|line| (number(line, "incarnation"), number(line, "sequence"), number(line, "at"))).collect()
}

#[tokio::test]
async fn two_workers_work_one_after_the_other_and_each_under_a_token_of_its_own() {
    let (_server, url) = server().await;
    let mut workers = [worker(&url, "a", 30), worker(&url, "b", 30)];
    for worker in &mut workers {
        worker.await_event("done", GENEROUS);
        assert!(worker.wait(GENEROUS).success());
    }
    let [mut first, mut second] = workers.map(|worker| booked(&worker));
    if first[0].2 > second[0].2 {
        std::mem::swap(&mut first, &mut second);
    }
    assert_eq!((first.len(), second.len()), (30, 30));
    assert!(first.last().unwrap().2 < second[0].2, "one after the other");
    let tokens = |work: &[(u64, u64, u64)]| {
        let mut tokens: Vec<_> = work.iter().map(|work| (work.0, work.1)).collect();
        tokens.dedup();
        tokens
    };
    assert_eq!((tokens(&first).len(), tokens(&second).len()), (1, 1), "one term each");
    assert!(tokens(&first) < tokens(&second));
}

#[tokio::test]
async fn a_worker_that_is_killed_is_followed_under_a_larger_token() {
    let (_server, url) = server().await;
    let mut first = worker(&url, "a", u32::MAX);
    wait::until("the first worker's work", GENEROUS, || !booked(&first).is_empty());
    let mut second = worker(&url, "b", 10);
    first.child().kill();
    second.await_event("done", GENEROUS);
    assert!(second.wait(GENEROUS).success());
    let (before, after) = (booked(&first), booked(&second));
    let (last, next) = (before.last().unwrap(), &after[0]);
    assert!((last.0, last.1) < (next.0, next.1));
    assert!(last.2 < next.2);
}

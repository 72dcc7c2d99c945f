//! The contract of the caller.

use incumbent_core::reconcile::{Input, Message, Misuse, Output, RunId};

use crate::harness::*;

#[test]
fn the_return_of_what_does_not_run_is_misuse_and_changes_nothing() {
    let mut bench = Bench::new();
    let returned = |run| Input::Returned { run: RunId(run), succeeded: true };
    assert_eq!(bench.try_to(returned(1)), Err(Misuse::NotRunning(RunId(1))));
    bench.says(Message::Leader);
    assert_eq!(bench.try_to(returned(2)), Err(Misuse::NotRunning(RunId(2))));
    assert_eq!(Misuse::NotRunning(RunId(2)).to_string(), "run number 2 is not running");
    bench.succeeds(1);
    assert_eq!(bench.try_to(returned(1)), Err(Misuse::NotRunning(RunId(1))));
}

#[test]
fn spurious_calls_do_nothing() {
    let mut bench = Bench::leader();
    for _ in 0..3 {
        assert_eq!(bench.give(Input::Tick), NOTHING);
    }
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut bench = Bench::retrying();
    let now = bench.now;
    bench.now = now.before(secs(1000));
    assert_eq!(bench.give(Input::Tick), NOTHING);
    bench.now = now + secs(5);
    assert_eq!(bench.give(Input::Tick), ["run end 4"]);
}

#[test]
fn a_call_between_two_outputs_loses_none_of_them() {
    let mut bench = Bench::leader();
    bench.reconciler.handle(bench.now, Input::Message(Message::NotLeader)).expect("a message");
    bench.reconciler.handle(bench.now, Input::Message(Message::Leader)).expect("a message");
    let run = RunId(2);
    assert!(matches!(bench.reconciler.poll(), Output::Run { run: ran, .. } if ran == run));
    assert_eq!(bench.succeeds(2), ["relinquish", "state NOTLEADER", "run begin 3"]);
}

#[test]
fn one_handler_runs_at_a_time_and_each_run_has_a_number_of_its_own() {
    let mut bench = Bench::new();
    let mut ran = Vec::new();
    for message in [Message::Leader, Message::NotLeader, Message::Error, Message::Leader] {
        ran.extend(bench.says(message));
        let run = bench.reconciler.running();
        assert!(run.is_some());
        if let Some(run) = run {
            ran.extend(bench.succeeds(run.0));
        }
        ran.extend(bench.pass(secs(30)));
    }
    let ran: Vec<_> = ran.into_iter().filter(|output| output.starts_with("run")).collect();
    assert_eq!(ran, ["run begin 1", "run end 2", "run error 3", "run begin 4"]);
}

#[test]
fn messages_are_the_words_of_the_console() {
    assert_eq!(Message::ALL.map(Message::word), ["LEADER", "NOTLEADER", "ERROR"]);
    assert_eq!(handlers().map(|handler| handler.to_string()), ["begin", "end", "error"]);
}

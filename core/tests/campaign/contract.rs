//! The contract of `handle` and `poll`.

use incumbent_core::campaign::{Answer, Campaign, Input, Misuse, Output, ReadId, State, Timer};
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::store::Outcome;

use crate::harness::*;

#[test]
fn a_new_campaign_wants_nothing() {
    let mut bench = Bench::new();
    assert_eq!(bench.campaign.poll(), Output::WakeAt(None));
    assert_eq!(bench.campaign.state(), State::Idle);
    assert_eq!(bench.campaign.lease(), None);
    assert_eq!(bench.campaign.leader(), None);
    assert_eq!(bench.campaign.name(), "me");
    assert_eq!(bench.campaign.lease_time(), T);
    assert_eq!(bench.campaign.margin(), M);
}

#[test]
fn an_answer_to_a_write_that_was_never_asked_for_is_an_error_and_changes_nothing() {
    let mut bench = Bench::candidate(Entry::Vacant);
    let wake = bench.campaign.poll();
    for attempt in [0, 2, u64::MAX].map(Attempt) {
        let input = Input::Answered(Answer::Wrote { attempt, outcome: acknowledged(10, None) });
        let error = bench.campaign.handle(bench.now + secs(5), input).expect_err("misuse");
        assert_eq!(error, Misuse::UnknownAttempt(attempt));
        assert!(error.to_string().contains(&attempt.0.to_string()), "{error}");
        assert_eq!(bench.campaign.poll(), wake);
    }
    assert_eq!(bench.applied(1, 10), ["inspect", "leader me", "state HOLDING"]);
}

#[test]
fn an_answer_to_a_read_that_was_never_asked_for_is_an_error_and_changes_nothing() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    let wake = bench.campaign.poll();
    for read in [0, 2, u64::MAX].map(ReadId) {
        let input = Input::Answered(Answer::Read { read, result: Ok(Entry::Vacant) });
        let error = bench.campaign.handle(bench.now + secs(5), input).expect_err("misuse");
        assert_eq!(error, Misuse::UnknownRead(read));
        assert_eq!(bench.campaign.poll(), wake);
    }
}

#[test]
fn a_successor_that_no_candidate_can_be_is_an_error_and_changes_nothing() {
    let mut bench = Bench::leader();
    for name in ["", "a\r\nIncumbent-Release: 0 1", " a", &"x".repeat(256)] {
        let input = Input::HandOver(name.into());
        assert_eq!(bench.campaign.handle(bench.now, input), Err(Misuse::NotAName), "{name:?}");
        assert_eq!(bench.campaign.state(), State::Leading);
    }
    assert!(Misuse::NotAName.to_string().contains("successor"));
    assert_eq!(bench.give(Input::HandOver("wörker 7".into())), ["draining HANDED_OVER", "state DRAINING"]);
}

#[test]
fn a_read_is_answered_once() {
    let mut bench = Bench::candidate(theirs(10));
    assert_eq!(bench.read(1, deleted(11)), NOTHING);
}

#[test]
fn a_call_between_two_outputs_loses_none_of_them() {
    let mut bench = Bench::candidate(Entry::Vacant);
    bench.applied(1, 10);
    bench.campaign.handle(bench.now, Input::Inspected(Ok(store_info(bench.now)))).expect("asked for");
    assert_eq!(in_short(&bench.campaign.poll()), "won 10");
    assert_eq!(
        bench.give(Input::Close),
        ["state LEADING", "draining CLOSED", "state DRAINING"],
        "a handler may close the candidate on the win"
    );
}

#[test]
fn polling_again_says_the_same() {
    let mut bench = Bench::leader();
    let wake = bench.campaign.poll();
    for _ in 0..3 {
        assert_eq!(bench.campaign.poll(), wake);
    }
}

#[test]
fn a_tick_before_its_time_does_nothing() {
    let mut bench = Bench::leader();
    for _ in 0..5 {
        bench.sleep(secs(1));
        assert_eq!(bench.tick(), NOTHING);
    }
    assert_eq!(bench.wake(), Some((Timer::Renew, secs(5))));
}

#[test]
fn one_write_is_awaited_at_a_time() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.give(Input::Resign);
    assert_eq!(bench.give(Input::Drained), ["lost 10 RESIGNED", "state RELEASING"], "a renewal is awaited");
    assert_eq!(bench.wrote(2, Outcome::Unknown), NOTHING);
    assert_eq!(bench.next(), ["release 3 over 10 owing 0ms"]);
}

#[test]
fn attempts_are_numbered_without_a_gap_and_never_again() {
    let mut bench = Bench::leader();
    for attempt in 2..300 {
        let mut outputs = bench.next();
        while !outputs.iter().any(|output| output.starts_with("renew")) {
            outputs = bench.next();
        }
        bench.inspected();
        assert!(outputs.contains(&format!("renew {attempt} over {}", attempt + 8)), "{outputs:?}");
        bench.applied(attempt, attempt + 9);
    }
    assert_eq!(bench.applied(1, 10), ["read 2"], "the answer to a forgotten attempt is checked by a read");
    assert_eq!(bench.read(2, mine(308, 299)), NOTHING);
    assert!(bench.leads());
}

#[test]
fn the_states_are_reported_as_they_are() {
    let mut bench = Bench::new();
    for (input, state) in [
        (Input::Campaign, State::Waiting),
        (Input::Answered(Answer::Read { read: ReadId(1), result: Ok(deleted(5)) }), State::Acquiring),
        (
            Input::Answered(Answer::Wrote { attempt: Attempt(1), outcome: acknowledged(10, None) }),
            State::Holding,
        ),
        (Input::Resign, State::Releasing),
        (
            Input::Answered(Answer::Wrote { attempt: Attempt(2), outcome: acknowledged(11, None) }),
            State::Waiting,
        ),
        (Input::Close, State::Closed),
    ] {
        let outputs = bench.give(input);
        assert_eq!(outputs.last(), Some(&format!("state {}", state.code())));
        assert_eq!(bench.campaign.state(), state);
    }
}

#[test]
fn a_campaign_can_be_handed_to_another_thread() {
    fn send<T: Send>() {}
    send::<Campaign>();
}

//! How a campaign enters: the store is inspected once, and again if that fails.

use incumbent_core::campaign::{Settings, Warning};
use incumbent_core::session::{Command, Enter, Input, Timer};

use crate::harness::{Bench, denied, enter, foreign, ms, secs, unreachable};

#[test]
fn the_first_campaign_has_the_store_watched_and_inspected() {
    let mut bench = Bench::new();
    assert_eq!(bench.enter(1, "jobs"), ["watch 1 within 5s", "inspect 1 within 2s"]);
    assert_eq!(bench.wake(), None);
}

#[test]
fn one_inspection_serves_the_campaigns_that_enter_before_it_is_asked_and_the_next_the_rest() {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    let asked = bench.info();
    bench.now = bench.now + ms(1);
    assert_eq!(bench.enter(2, "mail"), [""; 0]);
    assert_eq!(
        bench.give(Input::Inspected { number: 1, result: Ok(asked) }),
        [
            "1 entered",
            "1: ",
            "inspect 2 within 2s",
            "1: waiting",
            "1 read 1 within 10s",
            "1 campaigns",
            "register within 5s"
        ]
    );
    assert_eq!(bench.inspected(2), ["2 entered", "2: ", "2: waiting", "2 read 1 within 10s", "2 campaigns"]);
}

#[test]
fn a_store_that_does_not_answer_is_asked_again_later_and_later() {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    let first = bench.not_inspected(1, unreachable());
    assert_eq!(first, ["1 entered", "1: warning (no answer)"]);
    for (number, wait) in (2..).zip([100, 200, 400, 800, 1600, 3200, 5000, 5000]) {
        assert_eq!(bench.wake(), Some((ms(wait), Timer::Enter(1))));
        assert_eq!(bench.after(ms(wait)), [format!("inspect {number} within 2s")]);
        assert_eq!(bench.not_inspected(number, unreachable()), [""; 0], "reported once while it lasts");
    }
}

#[test]
fn a_campaign_that_fails_fast_is_refused_where_the_store_does_not_answer() {
    let mut bench = Bench::new();
    bench.give(Input::Enter(Box::new(Enter { fail_fast: true, ..enter(1, "jobs") })));
    assert_eq!(bench.not_inspected(1, unreachable()), ["1 refused: no answer"]);
    assert!(!bench.session.is_contested("jobs"));
    assert_eq!(bench.wake(), None);
}

#[test]
fn a_store_that_refuses_at_first_refuses_the_campaign_and_later_is_a_warning() {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    assert_eq!(bench.not_inspected(1, denied()), ["1 refused: no permission"]);
    bench.enter(2, "jobs");
    bench.not_inspected(2, unreachable());
    bench.after(ms(100));
    assert_eq!(bench.not_inspected(3, denied()), ["2: warning (no permission)"]);
    assert_eq!(bench.wake(), Some((ms(200), Timer::Enter(2))));
}

#[test]
fn a_key_with_what_no_one_sees_is_refused_before_the_store_is_asked() {
    for key in ["jobs\n", " jobs", "jobs\u{200b}"] {
        let mut bench = Bench::new();
        assert_eq!(bench.enter(1, key), ["1 refused: key"], "{key:?}");
        assert!(!bench.session.is_contested(key));
    }
}

#[test]
fn a_key_in_quotes_and_what_was_noted_of_the_store_are_warnings_of_each_campaign() {
    let mut bench = Bench::new();
    bench.session.note(Warning::Quoted { setting: "path".into(), text: "'e.db'".into() });
    bench.enter(1, "'jobs'");
    assert_eq!(bench.inspected(1)[..2], ["1 entered", "1: warning QUOTED, warning QUOTED"]);
    bench.enter(2, "jobs");
    assert_eq!(bench.inspected(2)[..2], ["2 entered", "2: warning QUOTED"]);
}

#[test]
fn settings_that_the_store_cannot_keep_are_refused_to_the_caller() {
    let mut bench = Bench::new();
    let settings = Settings { lease: Some(secs(60)), ..Settings::new("c1") };
    bench.give(Input::Enter(Box::new(Enter { settings, ..enter(1, "jobs") })));
    assert_eq!(bench.inspected(1), ["1 refused: lease"]);
}

#[test]
fn settings_that_the_store_cannot_keep_are_a_warning_once_the_caller_has_gone_on() {
    let mut bench = Bench::new();
    let settings = Settings { lease: Some(secs(60)), ..Settings::new("c1") };
    bench.give(Input::Enter(Box::new(Enter { settings, ..enter(1, "jobs") })));
    bench.not_inspected(1, unreachable());
    bench.after(ms(100));
    let outputs = bench.inspected(2);
    assert_eq!(outputs.len(), 1);
    assert!(outputs[0].starts_with("1: warning (lease"), "{outputs:?}");
    assert_eq!(bench.wake(), Some((secs(5), Timer::Enter(1))));
}

/// The number of campaigns that ask for a read in these outputs.
fn asking(outputs: &[String]) -> usize {
    outputs.iter().filter(|output| output.contains(" read ")).count()
}

#[test]
fn of_many_campaigns_as_many_ask_as_the_store_bears_at_first_and_the_next_when_these_are_answered() {
    let mut bench = Bench::new();
    (1..=2_500).for_each(|id| drop(bench.enter(id, &format!("jobs-{id}"))));
    assert_eq!(asking(&bench.inspected(1)), 64);
    // A quick answer frees the request's place, and the window grows by one place.
    assert_eq!(asking(&bench.read(1, 1, foreign(4))), 2);
    assert_eq!(asking(&bench.read(1, 1, foreign(4))), 0, "an answer counts once");
    // If a campaign leaves, the outcome of its question is unknown.
    assert_eq!(asking(&bench.command(2, Command::Close)), 0);
    assert_eq!(asking(&bench.read(2, 1, foreign(5))), 2);
}

#[test]
fn where_no_campaign_is_answered_fewer_and_fewer_ask_and_in_the_end_none() {
    let mut bench = Bench::new();
    (1..=2_500).for_each(|id| drop(bench.enter(id, &format!("jobs-{id}"))));
    bench.inspected(1);
    let asked: Vec<_> = (0..20).map(|_| asking(&bench.after(secs(2)))).collect();
    assert_eq!(asked[..5], [32, 16, 8, 8, 8]);
    // Including the 64 at first.
    assert_eq!(asked.iter().sum::<usize>(), 192);
}

#[test]
fn the_health_of_a_candidate_is_known_before_its_campaign_starts() {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    assert_eq!(bench.command(1, Command::Health(false)), [""; 0]);
    assert_eq!(bench.inspected(1), ["1 entered", "1: "]);
    assert_eq!(
        bench.command(1, Command::Health(true)),
        ["1: waiting", "1 read 1 within 10s", "1 campaigns", "register within 5s"]
    );
}

#[test]
fn a_campaign_that_is_closed_before_it_began_is_over_at_once() {
    let mut bench = Bench::new();
    bench.enter(1, "jobs");
    assert_eq!(bench.command(1, Command::Resign), [""; 0]);
    assert_eq!(bench.command(1, Command::Close), ["1 closed"]);
    assert_eq!(bench.inspected(1), [""; 0]);
}

#[test]
fn unsafe_settings_of_the_store_are_reported_once_to_each_campaign() {
    let mut bench = Bench::with_a_candidate();
    assert_eq!(bench.give(Input::Flaw(Some(denied()))), ["1: warning (no permission)"]);
    assert_eq!(bench.give(Input::Flaw(Some(denied()))), [""; 0]);
    bench.enter(2, "mail");
    assert_eq!(
        bench.inspected(2),
        ["2 entered", "2: warning (no permission)", "2: waiting", "2 read 1 within 10s", "2 campaigns"]
    );
}

//! Answers older than the candidate's knowledge, and a store that really went back.

use incumbent_core::Revision;
use incumbent_core::campaign::{Answer, Input, ReadId, Timer};
use incumbent_core::record::Entry;
use incumbent_core::store::{FaultKind, Outcome, StoreInfo};

use crate::harness::*;

/// Answers every question with a stale answer for `span`, over one new connection after another. Lists the outputs
/// except the questions.
fn all_stale(bench: &mut Bench, span: std::time::Duration, stale: &Entry) -> Vec<String> {
    let end = bench.now + span;
    let mut said = Vec::new();
    let mut outputs: Vec<String> = Vec::new();
    loop {
        let mut answers = Vec::new();
        for output in std::mem::take(&mut outputs) {
            let words: Vec<&str> = output.split(' ').collect();
            let number = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
            match words[0] {
                "read" => answers
                    .push(Input::Answered(Answer::Read { read: ReadId(number), result: Ok(stale.clone()) })),
                "renew" | "acquire" | "release" => answers.push(Input::Answered(Answer::Wrote {
                    attempt: incumbent_core::record::Attempt(number),
                    outcome: Outcome::Refused { current: stale.revision().unwrap_or_default() },
                })),
                "reconnect" => answers.push(Input::Reconnected),
                "inspect" => answers.push(Input::Inspected(Ok(store_info(bench.now)))),
                _ => said.push(output),
            }
        }
        for answer in answers {
            outputs.extend(bench.give(answer));
        }
        if outputs.is_empty() {
            let Some((_, wait)) = bench.wake().filter(|(_, wait)| bench.now + *wait <= end) else {
                bench.now = end;
                return said;
            };
            bench.sleep(wait);
            outputs = bench.tick();
        }
    }
}

#[test]
fn a_stale_read_neither_wins_nor_loses() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    bench.refused(2, 11);
    for (read, stale) in [(2, theirs(9)), (3, deleted(8))] {
        let outputs = bench.read(read, stale);
        assert!(outputs.is_empty() || outputs == ["reconnect"], "{outputs:?}");
        assert!(bench.leads());
        bench.pass(ms(240));
    }

    let mut bench = Bench::candidate(theirs(10));
    bench.pass(T + ms(250));
    assert_eq!(bench.read(2, deleted(9)), ["reconnect"], "not campaigned for");
    assert_eq!(bench.campaign.leader().map(|leader| leader.revision), Some(Revision(10)));
}

#[test]
fn a_stale_refusal_is_retried_elsewhere_and_the_term_survives() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(bench.refused(2, 7), ["reconnect"]);
    assert!(bench.leads());
    assert_eq!(bench.reconnected(), ["inspect"]);
    assert_eq!(bench.next(), ["inspect", "renew 3 over 10"]);
    bench.inspected();
    assert_eq!(bench.applied(3, 11), NOTHING);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn an_isolated_old_leader_of_the_stream_is_asked_until_the_deadline_and_believed_in_nothing() {
    for stale in [theirs(7), deleted(7), mine(9, 1)] {
        let mut bench = Bench::leader();
        let lost = all_stale(&mut bench, T - M - ms(1), &stale);
        assert_eq!(lost, NOTHING, "{stale:?}");
        assert!(bench.leads());
        assert_eq!(all_stale(&mut bench, ms(1), &stale)[0], "lost 10 EXPIRED");
    }
}

#[test]
fn a_term_survives_an_isolated_old_leader_if_the_majority_answers_in_time() {
    let mut bench = Bench::leader();
    all_stale(&mut bench, secs(25), &theirs(7));
    let mut outputs = bench.next();
    while !outputs.iter().any(|output| output.starts_with("renew")) {
        outputs = bench.next();
    }
    let renewal = outputs.iter().find(|output| output.starts_with("renew")).expect("a renewal");
    let attempt = renewal.split(' ').nth(1).and_then(|number| number.parse().ok()).expect("a number");
    bench.inspected();
    bench.applied(attempt, 11);
    assert_eq!(bench.remaining(), Some(T - M));
}

#[test]
fn a_stale_answer_to_whether_the_key_is_absent_is_not_asked_for_again_at_once() {
    let mut bench = Bench::leader();
    assert_eq!(bench.watched(Entry::Vacant), ["read 2"]);
    assert_eq!(bench.read(2, Entry::Vacant), ["reconnect"]);
    bench.reconnected();
    assert_eq!(bench.inspected(), ["read 3"], "the read is repeated at once over a new connection");
    assert_eq!(bench.read(3, theirs(5)), ["reconnect"]);
    bench.reconnected();
    assert_eq!(bench.inspected(), NOTHING, "a store that gives stale answers is not asked again at once");
    assert!(bench.next().contains(&"read 4".to_string()), "the key is read again after a while");
}

#[test]
fn lower_answers_over_two_new_connections_for_a_lease_are_a_regression() {
    let mut bench = Bench::candidate(theirs(1_000));
    bench.pass(T + ms(250));
    assert_eq!(bench.read(2, theirs(5)), ["reconnect"]);
    bench.reconnected();
    bench.inspected();
    let said = all_stale(&mut bench, T - secs(1), &theirs(5));
    assert_eq!(said, NOTHING, "not before a lease has passed");
    let said = all_stale(&mut bench, secs(3), &theirs(5));
    assert_eq!(
        said,
        ["warning StoreReset, barred"],
        "the reset is reported, and the candidate acquires no smaller token"
    );
}

#[test]
fn after_a_regression_no_win_is_reported_before_the_last_holders_lease_is_over() {
    let mut bench = Bench::candidate(with_lease(theirs(1_000), secs(50)));
    bench.pass(secs(50) + ms(250));
    bench.read(2, theirs(5));
    let mut said = Vec::new();
    while said.is_empty() {
        said = all_stale(&mut bench, secs(1), &theirs(5));
    }
    assert_eq!(said, ["warning StoreReset, barred"]);
    let noticed = bench.now;
    bench.give(Input::Accept);
    assert_eq!(bench.watched(released(6, secs(0)))[0], "acquire 1 over 6");
    let mut attempt = 1;
    let mut outputs = bench.applied(1, 7);
    while !outputs.iter().any(|output| output.starts_with("won")) {
        outputs = bench.inspected();
        outputs.extend(bench.next());
        if outputs.iter().any(|output| output.starts_with("renew")) {
            attempt += 1;
            outputs.extend(bench.applied(attempt, 6 + attempt));
        }
    }
    let waited = bench.now.since(noticed);
    assert!(waited > secs(49) && waited <= secs(50), "{waited:?}");
}

#[test]
fn lower_answers_over_one_connection_are_no_regression() {
    let mut bench = Bench::candidate(theirs(10));
    bench.pass(T + ms(250));
    let mut read = 2;
    let end = bench.now + T * 3;
    while bench.now < end {
        let outputs = bench.read(read, theirs(5));
        assert!(outputs.is_empty() || outputs == ["reconnect"], "{outputs:?}");
        while !bench.next().iter().any(|output| output.starts_with("read")) {}
        read += 1;
    }
}

#[test]
fn one_answer_that_is_up_to_date_ends_the_suspicion() {
    let mut bench = Bench::candidate(theirs(10));
    bench.pass(T + ms(250));
    all_stale(&mut bench, secs(20), &theirs(5));
    bench.watched(theirs(10));
    let said = all_stale(&mut bench, secs(20), &theirs(5));
    assert_eq!(said, NOTHING);
}

#[test]
fn a_lower_acknowledgement_ends_the_term_as_a_reset() {
    let mut bench = Bench::leader_far_on();
    bench.pass(secs(10));
    bench.inspected();
    assert_eq!(
        bench.applied(2, 6)[..2],
        ["lost 1000 STORE_RESET", "warning StoreReset, barred"],
        "lost writes that were acknowledged"
    );
    assert!(!bench.leads());
}

#[test]
fn after_a_regression_a_win_needs_a_token_above_every_token_observed() {
    let mut bench = Bench::leader_far_on();
    bench.pass(secs(10));
    bench.inspected();
    let outputs = bench.applied(2, 6);
    assert_eq!(
        outputs[2], "release 3 over 6 owing 0ms",
        "its record leads to no term, so it is released: {outputs:?}"
    );
    bench.applied(3, 7);
    let outputs = bench.pass(secs(60));
    assert!(outputs.iter().all(|output| output == "inspect"), "it stays out: {outputs:?}");
    let outputs = bench.inspected_as(|info| StoreInfo { newest: Some(Revision(1_000)), ..info });
    assert_eq!(outputs, ["acquire 4 over 7", "state ACQUIRING"], "the next token will be larger");
}

#[test]
fn an_operator_may_accept_that_tokens_start_again() {
    let mut bench = Bench::leader_far_on();
    bench.pass(secs(10));
    bench.inspected();
    bench.applied(2, 6);
    bench.applied(3, 7);
    let reset = bench.now;
    assert_eq!(bench.give(Input::Accept), NOTHING);
    assert_eq!(bench.next(), ["acquire 4 over 7", "state ACQUIRING"]);
    bench.applied(4, 8);
    bench.sleep(ms(1));
    assert_eq!(bench.inspected(), NOTHING, "the store went back: no candidate leads for a lease");
    let mut attempt = 5;
    loop {
        let mut outputs = bench.next();
        if outputs.iter().any(|output| output.starts_with("renew")) {
            outputs.extend(bench.applied(attempt, 4 + attempt));
            attempt += 1;
        }
        outputs.extend(bench.inspected());
        if outputs.iter().any(|output| output.starts_with("won")) {
            assert!(outputs.contains(&"won 8".to_string()), "{outputs:?}");
            assert_eq!(bench.now.since(reset), T);
            return;
        }
    }
}

#[test]
fn a_win_whose_token_is_too_small_is_not_reported_and_the_lease_is_released() {
    let mut bench = Bench::candidate(theirs(1_000));
    bench.watched(Entry::Vacant);
    bench.applied(1, 1);
    bench.applied(2, 2);
    bench.inspected_as(|info| StoreInfo { newest: Some(Revision(5_000)), ..info });
    let mut outputs = bench.next();
    while outputs != ["acquire 3 over 2", "state ACQUIRING"] {
        assert_eq!(outputs, ["inspect"]);
        outputs = bench.next();
    }
    let outputs = bench.applied(3, 3);
    assert_eq!(bench.campaign.lease(), None);
    assert_eq!(
        outputs,
        ["warning StoreReset, barred", "release 4 over 3 owing 29000ms", "leader me", "state RELEASING"],
        "what was inspected was not so"
    );
}

#[test]
fn a_release_that_the_store_went_back_under_is_read_again() {
    let mut bench = Bench::leader_far_on();
    bench.pass(secs(10));
    bench.pass(secs(2));
    bench.give(Input::Resign);
    assert_eq!(bench.give(Input::Drained)[1], "release 3 over 1000 owing 0ms");
    assert_eq!(bench.applied(2, 6), ["warning StoreReset, barred"]);
    assert_eq!(bench.refused(3, 6), ["read 2"]);
    assert_eq!(bench.read(2, mine(6, 2)), ["release 4 over 6 owing 0ms"]);
    assert_eq!(bench.applied(4, 7), ["leader vacant", "state WAITING"]);
}

#[test]
fn a_release_acknowledged_below_the_mark_is_over() {
    let mut bench = Bench::leader_far_on();
    bench.give(Input::Resign);
    bench.give(Input::Drained);
    let outputs = bench.applied(2, 6);
    assert_eq!(outputs, ["warning StoreReset, barred", "leader vacant", "state WAITING"]);
}

#[test]
fn a_failed_inspection_is_asked_for_again_less_and_less_often_and_reported_once() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    bench.applied(2, 11);
    let denied = || Input::Inspected(Err(fault(FaultKind::Denied)));
    assert_eq!(bench.give(denied()), ["warning Denied"]);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let (timer, wait) = bench.wake().expect("a wake-up");
        assert_eq!(timer, Timer::Inspect);
        waits.push(wait);
        assert_eq!(bench.next(), ["inspect"]);
        assert_eq!(bench.give(denied()), NOTHING);
    }
    assert!(waits[0] <= ms(120) && waits[5] >= ms(800), "{waits:?}");
    assert!(bench.pass(secs(8)).contains(&"renew 3 over 11".to_string()));
    bench.applied(3, 12);
    assert_eq!(bench.give(denied()), NOTHING, "renewals that work do not end the fault");
    bench.inspected();
    assert_eq!(bench.next(), ["inspect", "renew 4 over 12"]);
    assert_eq!(bench.give(denied()), ["warning Denied"], "an inspection that works does");
    let (timer, wait) = bench.wake().expect("a wake-up");
    assert!(timer == Timer::Inspect && wait <= ms(120), "{timer:?} in {wait:?}");
}

#[test]
fn refusals_of_what_was_sent_before_the_term_do_not_say_that_its_record_is_gone() {
    let mut bench = Bench::candidate(released(5, secs(0)));
    // Two acquires get no answer for now; the third is applied.
    for attempt in [2, 3] {
        let outputs = bench.pass(secs(4));
        assert!(outputs.contains(&format!("acquire {attempt} over 5")), "{outputs:?}");
        bench.reconnected();
    }
    bench.applied(3, 10);
    bench.inspected();
    assert!(bench.leads());
    assert_eq!(bench.refused(1, 0), NOTHING, "the refusal is from before the record existed");
    bench.reconnected();
    bench.inspected();
    assert_eq!(bench.refused(2, 0), NOTHING);
    assert!(bench.leads(), "its record still exists, unchanged");
}

#[test]
fn refused_renewals_that_say_that_nothing_is_there_end_the_term_over_a_second_connection() {
    let mut bench = Bench::leader();
    bench.pass(secs(10));
    assert_eq!(bench.refused(2, 0), ["reconnect"]);
    bench.reconnected();
    bench.inspected();
    let outputs = bench.read(2, Entry::Vacant);
    assert_eq!(outputs[0], "lost 10 DELETED", "{outputs:?}");
}

/// Creates a candidate that knows revision 35 and then finds the key absent. Its first acquires are not answered, and
/// the last of `count` acquires is acknowledged at revision 39.
fn leader_with_unanswered_acquires(count: u64) -> Bench {
    let mut bench = Bench::candidate(theirs(35));
    bench.sleep(T * 2);
    let mut outputs = bench.watched(Entry::Vacant);
    let mut attempt = 1;
    while attempt < count {
        if outputs.contains(&format!("acquire {attempt} over absent")) {
            outputs = bench.wrote(attempt, Outcome::Unknown);
            attempt += 1;
        } else if outputs.contains(&"reconnect".to_string()) {
            outputs = bench.reconnected();
        } else {
            outputs = bench.next();
        }
    }
    while !outputs.contains(&format!("acquire {count} over absent")) {
        outputs = bench.next();
    }
    bench.applied(count, 39);
    bench.reconnected();
    bench.inspected();
    assert!(bench.leads());
    bench
}

#[test]
fn a_late_acknowledgement_below_what_was_known_when_it_was_sent_ends_the_term_though_a_later_one_came_first()
{
    let mut bench = leader_with_unanswered_acquires(4);
    let outputs = bench.applied(1, 33);
    assert_eq!(outputs[..2], ["lost 39 STORE_RESET", "warning StoreReset"], "35 was known: {outputs:?}");
}

#[test]
fn a_late_acknowledgement_below_what_became_known_since_changes_nothing() {
    let mut bench = leader_with_unanswered_acquires(4);
    let remaining = bench.remaining();
    assert_eq!(bench.applied(1, 36), NOTHING);
    assert_eq!(bench.remaining(), remaining);

    // The late acknowledgement does not show either whether the newest record still exists.
    let mut bench = leader_with_unanswered_acquires(4);
    assert_eq!(bench.watched(Entry::Vacant), ["read 2"]);
    assert_eq!(bench.read(2, Entry::Vacant), ["reconnect"]);
    assert_eq!(bench.applied(1, 36), NOTHING);
    bench.reconnected();
    assert_eq!(bench.inspected(), ["read 3"]);
    assert_eq!(bench.read(3, Entry::Vacant)[0], "lost 39 DELETED");
}

#[test]
fn a_lease_after_it_was_overtaken_a_late_acknowledgement_ends_no_term() {
    let mut bench = leader_with_unanswered_acquires(4);
    let (overtaken, mut attempt) = (bench.now, 5);
    while bench.now < overtaken + T {
        let outputs = bench.next();
        if outputs.contains(&format!("renew {attempt} over {}", attempt + 34)) {
            bench.inspected();
            bench.applied(attempt, attempt + 35);
            attempt += 1;
        }
    }
    bench.applied(1, 33);
    assert!(bench.leads(), "no leader relies any more on a lease that the store undid");
}

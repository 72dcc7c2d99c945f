//! The rule that tokens only grow, even in a store that lost acknowledged writes: a candidate uses up a few missing
//! numbers, and stays out if many are missing.

use incumbent_core::campaign::{Answer, Event, Input, Output, State, Warning};
use incumbent_core::record::{Entry, Record, Release, TermInfo};
use incumbent_core::{Incarnation, Instant, Revision, Token};
use std::time::Duration;

use crate::harness::*;

fn token(sequence: u64) -> Token {
    Token { incarnation: INCARNATION, sequence: Revision(sequence) }
}

/// A record of another candidate, whose term has this token.
fn of_term(revision: u64, sequence: u64) -> Entry {
    match theirs(revision) {
        Entry::Live(record) => Entry::Live(Record {
            term_info: Some(TermInfo { token: token(sequence), led_for: Some(T) }),
            ..record
        }),
        other => other,
    }
}

/// Creates a candidate that saw a record at `revision`, of a term with the token `sequence`. Then the store loses
/// acknowledged writes in a power cut: the key is absent, and the candidate's acquire gets the revision `next`.
fn after_a_power_cut(revision: u64, sequence: u64, next: u64) -> (Bench, Vec<String>) {
    let mut bench = Bench::candidate(of_term(revision, sequence));
    bench.watched(Entry::Vacant);
    let outputs = bench.applied(1, next);
    (bench, outputs)
}

/// Lists the reports with their times, until the win or until `lasts` has passed. The store answers at once; its first
/// write gets the revision after `newest`.
fn goes_on(
    bench: &mut Bench,
    first: Vec<String>,
    newest: &mut u64,
    lasts: Duration,
) -> Vec<(Instant, String)> {
    let (end, mut seen, mut outputs) = (bench.now + lasts, Vec::new(), first);
    loop {
        for output in std::mem::take(&mut outputs) {
            seen.push((bench.now, output.clone()));
            let words: Vec<&str> = output.split(' ').collect();
            match words[..] {
                ["won", _] => return seen,
                ["renew" | "acquire" | "release", attempt, "over", ..] => {
                    *newest += 1;
                    outputs.extend(bench.applied(attempt.parse().expect("a number"), *newest));
                }
                ["inspect"] => outputs.extend(bench.inspected()),
                _ => {}
            }
            assert_eq!(bench.leads(), bench.campaign.state() == State::Leading);
        }
        if outputs.is_empty() {
            match bench.wake() {
                Some((_, wait)) if bench.now + wait <= end => outputs = bench.next(),
                _ => return seen,
            }
        }
    }
}

fn count(seen: &[(Instant, String)], begins: &str) -> usize {
    seen.iter().filter(|(_, output)| output.starts_with(begins)).count()
}

#[test]
fn renewals_that_the_store_lost_bar_no_candidate() {
    let (mut bench, outputs) = after_a_power_cut(60, 10, 51);
    let seen = goes_on(&mut bench, outputs, &mut 51, T + secs(1));
    assert_eq!(seen[0].1, "warning StoreReset");
    assert_eq!(count(&seen, "release"), 0, "no number is missing: {seen:?}");
    assert_eq!(seen.last().map(|(_, output)| output.as_str()), Some("won 52"));
}

#[test]
fn a_gap_of_one_is_used_up_and_the_next_term_has_a_larger_token() {
    let (mut bench, outputs) = after_a_power_cut(12, 12, 11);
    let went_back = bench.now;
    let seen = goes_on(&mut bench, outputs, &mut 11, T + secs(1));
    let writes: Vec<&str> =
        seen.iter().map(|(_, output)| output.as_str()).filter(|output| output.contains(" over ")).collect();
    assert_eq!(writes[..3], ["acquire 2 over 11", "release 3 over 12 owing 29900ms", "acquire 4 over 13"]);
    let (reported, won) = seen.last().expect("a win");
    assert_eq!(
        (reported.since(went_back), won.as_str()),
        (T, "won 14"),
        "the win comes exactly a lease after the store went back"
    );
}

#[test]
fn a_gap_is_used_up_with_a_short_rest_between_two_acquires() {
    let (mut bench, outputs) = after_a_power_cut(300, 300, 1);
    let seen = goes_on(&mut bench, outputs, &mut 1, T + secs(1));
    let acquires: Vec<Instant> =
        seen.iter().filter(|(_, output)| output.starts_with("acquire")).map(|(at, _)| *at).collect();
    assert!(acquires.windows(2).all(|pair| pair[1].since(pair[0]) >= ms(100)), "{acquires:?}");
    assert_eq!(count(&seen, "warning"), 1, "it is reported once");
    let won = seen.last().and_then(|(_, output)| output.strip_prefix("won ")?.parse::<u64>().ok());
    assert_eq!(won, Some(302), "{:?}", seen.last());
}

/// Returns the token with which a candidate wins after its store went back twice. The candidate first observed a term
/// of token 88 at revision 117. The store went back to 113, and the candidate observes a term of token 115 there. Then
/// the store goes back to 113 once more.
fn won_after_two_regressions(observe_the_second: impl Fn(&mut Bench)) -> Option<String> {
    let mut bench = Bench::candidate(of_term(117, 88));
    observe_the_second(&mut bench);
    bench.sleep(T * 2);
    let outputs = bench.watched(Entry::Vacant);
    let seen = goes_on(&mut bench, outputs, &mut 113, T * 3);
    seen.last().map(|(_, output)| output.clone())
}

#[test]
fn a_token_in_a_record_that_the_watch_shows_below_the_mark_is_not_won_again() {
    let won = won_after_two_regressions(|bench| {
        assert_eq!(bench.watched(of_term(115, 115)), NOTHING);
        assert_eq!(bench.watched(of_term(116, 115)), NOTHING);
    });
    assert_eq!(won.as_deref(), Some("won 117"));
}

#[test]
fn a_token_in_a_record_that_is_read_below_the_mark_is_not_won_again() {
    let won = won_after_two_regressions(|bench| {
        bench.pass(T + ms(250));
        assert_eq!(bench.read(2, of_term(116, 115)), ["reconnect"], "it is stale");
        bench.reconnected();
    });
    assert_eq!(won.as_deref(), Some("won 117"));
}

#[test]
fn the_token_of_a_term_whose_removal_alone_was_seen_is_not_won_again() {
    for removal in [released(70, Duration::ZERO), deleted(70), expired(70)] {
        // The candidate is cut off since a term of token 10. It misses the next term but sees its end. Then the store
        // goes back.
        let mut bench = Bench::candidate(of_term(60, 10));
        let outputs = bench.watched(removal.clone());
        let seen = goes_on(&mut bench, outputs, &mut 61, T * 4);
        assert_eq!(seen.last().map(|(_, output)| output.as_str()), Some("won 71"), "{removal:?}");
    }
}

#[test]
fn a_release_of_a_former_incarnation_bars_nothing() {
    let mut bench = Bench::candidate(of_term(60, 10));
    let former = match released(5_000, Duration::ZERO) {
        Entry::Released(release) => Entry::Released(Release { incarnation: Incarnation(999), ..release }),
        other => other,
    };
    let outputs = bench.watched(former);
    let seen = goes_on(&mut bench, outputs, &mut 60, T * 4);
    assert_eq!(seen.last().map(|(_, output)| output.as_str()), Some("won 62"));
}

/// The warning about a store that goes back from the token `sequence` to the revision `next`.
fn warning(sequence: u64, next: u64) -> Warning {
    let mut bench = Bench::candidate(of_term(sequence, sequence));
    bench.watched(Entry::Vacant);
    let outcome = acknowledged(next, None);
    let attempt = incumbent_core::record::Attempt(1);
    let outputs = bench.give_in_full(Input::Answered(Answer::Wrote { attempt, outcome }));
    let warning = outputs.into_iter().find_map(|output| match output {
        Output::Event(Event::Warning(warning)) => Some(warning),
        _ => None,
    });
    warning.expect("it is reported")
}

#[test]
fn what_an_election_writes_in_two_minutes_is_used_up_and_for_more_it_stays_out() {
    let reported =
        |seen, next, barred| Warning::StoreReset { seen: Some(token(seen)), next: Some(token(next)), barred };
    assert_eq!(warning(361, 1), reported(361, 2, false));
    assert_eq!(warning(362, 1), reported(362, 2, true));
    let (mut bench, outputs) = after_a_power_cut(1_000, 1_000, 1);
    let seen = goes_on(&mut bench, outputs, &mut 1, secs(600));
    assert_eq!((count(&seen, "acquire"), count(&seen, "won")), (0, 0));
}

#[test]
fn a_store_that_goes_back_again_and_again_is_not_written_to_without_end() {
    let (mut bench, mut outputs) = after_a_power_cut(12, 12, 11);
    let mut acquires = 0;
    for _ in 0..10_000 {
        let acquire = outputs.iter().find(|output| output.starts_with("acquire")).cloned();
        let attempt =
            acquire.and_then(|output| output.split(' ').nth(1).and_then(|number| number.parse().ok()));
        outputs = match attempt {
            Some(attempt) => {
                acquires += 1;
                bench.applied(attempt, 11)
            }
            None if bench.campaign.state() == State::Releasing => break,
            None => bench.next(),
        };
    }
    assert_eq!(acquires, 359, "and the first one");
    assert!(outputs.contains(&"warning StoreReset, barred".to_owned()), "{outputs:?}");
}

#[test]
fn a_claim_above_its_own_record_is_no_token() {
    let mut bench = Bench::candidate(of_term(20, 5_000));
    bench.watched(Entry::Vacant);
    assert_eq!(
        bench.applied(1, 20)[0],
        "warning StoreReset",
        "a stated token counts only up to its record's revision"
    );
}

#[test]
fn a_record_without_a_claim_may_have_won() {
    let mut bench = Bench::candidate(bare(1_000));
    bench.watched(Entry::Vacant);
    assert_eq!(bench.applied(1, 20)[0], "warning StoreReset, barred");
}

#[test]
fn a_reset_is_accepted_only_by_a_candidate_that_it_keeps_out() {
    let mut bench = Bench::leader_far_on();
    assert_eq!(bench.give(Input::Accept), NOTHING);
    bench.pass(secs(10));
    assert_eq!(
        bench.applied(2, 6)[1],
        "warning StoreReset, barred",
        "an acceptance that came too early has no effect"
    );
    bench.applied(3, 7);
    bench.give(Input::Accept);
    assert_eq!(bench.next(), ["acquire 4 over 7", "state ACQUIRING"]);
}

#[test]
fn between_other_candidates_that_use_the_gap_up_as_well_it_rests_all_the_same() {
    let (mut bench, outputs) = after_a_power_cut(300, 300, 1);
    assert!(!outputs.iter().any(|output| output.starts_with("acquire")), "{outputs:?}");
    assert_eq!(bench.pass(ms(100))[0], "acquire 2 over 1");
    assert!(bench.applied(2, 2).contains(&"release 3 over 2 owing 29900ms".to_owned()));
    bench.applied(3, 3);
    // Another candidate was faster, and has already released.
    bench.watched(of_term(4, 4));
    assert_eq!(bench.watched(released(5, secs(29))), ["leader vacant"]);
    assert_eq!(bench.pass(ms(99)), NOTHING);
    assert_eq!(bench.pass(ms(1))[0], "acquire 4 over 5");
}

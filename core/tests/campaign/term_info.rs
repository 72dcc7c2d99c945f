//! The term information in a holder's records, which is for observers.

use incumbent_core::campaign::{Answer, Input, Output, ReadId, Request};
use incumbent_core::record::{Entry, Headers, Kind, TermInfo};
use incumbent_core::store::{Action, Write};
use incumbent_core::{Revision, Token};
use std::time::Duration;

use crate::harness::*;

/// The headers of the record that the candidate writes after an input.
fn written(bench: &mut Bench, input: Input) -> Headers {
    let record = |output: Output| match output {
        Output::Ask(Request::Write(Write { action: Action::Acquire(put) | Action::Renew(put), .. })) => {
            Some(put.headers)
        }
        _ => None,
    };
    bench.give_in_full(input).into_iter().find_map(record).expect("a record")
}

/// The term information in these headers, if a store wrote the record at `revision`.
fn term_info(revision: u64, headers: &Headers) -> Option<TermInfo> {
    let headers = headers.iter().map(|(name, text)| (&**name, text.as_str()));
    Entry::decode(Revision(revision), Kind::Live, b"me", headers).live().and_then(|record| record.term_info)
}

fn token(sequence: u64) -> Token {
    Token { incarnation: INCARNATION, sequence: Revision(sequence) }
}

#[test]
fn the_record_of_the_acquire_has_the_token_of_its_own_revision() {
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    let read = Input::Answered(Answer::Read { read: ReadId(1), result: Ok(Entry::Vacant) });
    let headers = written(&mut bench, read);
    assert_eq!(term_info(10, &headers), Some(TermInfo { token: token(10), led_for: None }));
}

#[test]
fn a_renewal_says_the_terms_token_and_for_how_long_it_has_led() {
    let mut bench = Bench::leader();
    for (attempt, led) in [(2, 10), (3, 20), (4, 30)] {
        bench.sleep(T / 3);
        let headers = written(&mut bench, Input::Tick);
        let led_for = Some(Duration::from_secs(led));
        assert_eq!(term_info(9 + attempt, &headers), Some(TermInfo { token: token(10), led_for }));
        bench.applied(attempt, 9 + attempt);
        bench.inspected();
    }
}

#[test]
fn a_renewal_during_the_win_delay_says_the_token_and_no_time() {
    let mut bench = Bench::holder();
    bench.sleep(T / 3);
    let headers = written(&mut bench, Input::Tick);
    assert_eq!(term_info(11, &headers), Some(TermInfo { token: token(10), led_for: None }));
}

#[test]
fn a_retaken_orphan_has_a_token_of_its_own() {
    let mut bench = Bench::candidate(Entry::Vacant);
    // The acquire is not answered, but its record is found.
    bench.pass(secs(2));
    bench.watched(mine(10, 1));
    let (_, wait) = bench.wake().expect("a wake-up");
    bench.sleep(wait);
    let headers = written(&mut bench, Input::Tick);
    assert_eq!(term_info(11, &headers), Some(TermInfo { token: token(11), led_for: None }));
}

#[test]
fn no_record_is_longer_than_the_one_it_replaces() {
    let length =
        |headers: &Headers| headers.iter().map(|(name, text)| name.len() + text.len()).sum::<usize>();
    let mut bench = Bench::new();
    bench.give(Input::Campaign);
    let read = Input::Answered(Answer::Read { read: ReadId(1), result: Ok(Entry::Vacant) });
    let acquired = length(&written(&mut bench, read));
    bench.applied(1, 10);
    bench.inspected();
    for attempt in 2..=1_001 {
        bench.sleep(T / 3);
        assert_eq!(length(&written(&mut bench, Input::Tick)), acquired, "attempt {attempt}");
        bench.applied(attempt, 9 + attempt);
        bench.inspected();
    }
}

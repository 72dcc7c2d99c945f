//! Each campaign considers an operator's request once.

use incumbent_core::session::{Input, Request};
use incumbent_core::store::StoreInfo;
use incumbent_core::{Incarnation, Revision, Token};

use crate::harness::{Bench, INCARNATION, nonce};

fn hand_over(leader: u64, to: &str) -> Request {
    Request::HandOver { leader: nonce(leader), successor: to.into() }
}

fn requested(bench: &mut Bench, revision: u64, request: Request) -> Vec<String> {
    bench.give(Input::Requested { election: "jobs".into(), revision: Revision(revision), request })
}

#[test]
fn the_leader_that_a_request_names_hands_over_once() {
    let mut bench = Bench::with_a_leader();
    let request = hand_over(1, "c2");
    assert_eq!(
        requested(&mut bench, 8, request.clone()),
        ["1 accepts", "1 leads: draining (handed over), draining"]
    );
    assert_eq!(requested(&mut bench, 8, request), [""; 0]);
}

#[test]
fn a_request_to_another_campaign_or_for_another_election_is_not_considered() {
    let mut bench = Bench::with_a_leader();
    assert_eq!(requested(&mut bench, 8, hand_over(2, "c2")), [""; 0]);
    let request = hand_over(1, "c2");
    let elsewhere = Input::Requested { election: "mail".into(), revision: Revision(9), request };
    assert_eq!(bench.give(elsewhere), [""; 0]);
}

#[test]
fn a_request_to_hand_over_to_the_leader_itself_or_to_no_name_is_ignored() {
    let mut bench = Bench::with_a_leader();
    assert_eq!(requested(&mut bench, 8, hand_over(1, "c1")), ["1 ignores"]);
    assert_eq!(requested(&mut bench, 9, hand_over(1, "")), ["1 ignores"]);
}

#[test]
fn a_candidate_that_does_not_hold_the_election_ignores_a_request_to_hand_over() {
    let mut bench = Bench::with_a_candidate();
    assert_eq!(requested(&mut bench, 8, hand_over(1, "c2")), ["1 ignores"]);
}

#[test]
fn an_acceptance_is_ignored_where_nothing_keeps_the_candidate_out() {
    let mut bench = Bench::with_a_candidate();
    let seen = Token { incarnation: Incarnation(900), sequence: Revision(100) };
    let request = Request::AcceptReset { seen, incarnation: INCARNATION };
    assert_eq!(requested(&mut bench, 8, request), ["1 ignores"]);
}

#[test]
fn an_acceptance_is_honoured_once_for_the_incarnation_and_the_tokens_it_names() {
    let mut bench = Bench::with_a_leader();
    let older = Incarnation(INCARNATION.0 - 1);
    assert_eq!(bench.tick_at_next()[0], "inspect 3 within 2s");
    let result = Ok(StoreInfo { incarnation: older, ..bench.info() });
    let outputs = bench.give(Input::Inspected { number: 3, result });
    assert!(
        outputs.contains(&"1: lost (the store was reset), another warning, waiting".into()),
        "{outputs:?}"
    );
    let led = Token { incarnation: INCARNATION, sequence: Revision(5) };
    let named = Request::AcceptReset { seen: led, incarnation: older };
    let smaller = Token { sequence: Revision(4), ..led };
    let too_few = Request::AcceptReset { seen: smaller, incarnation: older };
    assert_eq!(requested(&mut bench, 8, too_few), ["1 ignores"]);
    let elsewhere = Request::AcceptReset { seen: led, incarnation: INCARNATION };
    assert_eq!(requested(&mut bench, 9, elsewhere), ["1 ignores"]);
    assert_eq!(requested(&mut bench, 10, named.clone())[0], "1 accepts");
    assert_eq!(requested(&mut bench, 10, named), ["1 ignores"]);
}

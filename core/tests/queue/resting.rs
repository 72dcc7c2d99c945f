//! Giving way: a candidate leaves a place that it could not prove for a lease to others.

use std::time::Duration;

use incumbent_core::candidacy::{Obstacle, Waiting};
use incumbent_core::queue::{Failure, Input, Timer};
use incumbent_core::store::FaultKind;

use crate::harness::*;

/// Answers keep-alives and lets reads fail with `failure` until the candidate leaves its place. Returns the outputs
/// after the last read, and how long it took.
fn without_a_proof(bench: &mut Bench, failure: &Failure) -> (Vec<String>, Duration) {
    let began = bench.now;
    loop {
        bench.kept();
        let outputs = bench.read_failed(failure.clone());
        if outputs.iter().any(|output| output.starts_with("revoke")) {
            return (outputs, bench.now.since(began));
        }
        while bench.next() != ["keep alive A1 B"] {}
    }
}

/// Creates a candidate that rests after it blocked the election for a lease.
fn resting() -> Bench {
    let mut bench = Bench::waiting();
    bench.next();
    without_a_proof(&mut bench, &fault(FaultKind::Denied));
    bench.revoked(1);
    bench.removed(2);
    bench
}

/// Answers the keep-alives of a probe.
fn probe_is_kept(bench: &mut Bench, raft_term: u64) -> Vec<String> {
    bench.kept_alive(bench.lease(2), T, raft_term);
    bench.kept_alive(B, T, raft_term)
}

/// Answers the probe's read, with another candidate's place if `claimed`, and otherwise with an empty queue.
fn probe_reads(bench: &mut Bench, claimed: bool) -> Vec<String> {
    let mut snapshot = bench.snapshot();
    (snapshot.place, snapshot.companion) = (None, None);
    snapshot.places.clear();
    snapshot.companions.clear();
    bench.read(if claimed { snapshot.ours(5, "other") } else { snapshot })
}

#[test]
fn a_place_that_cannot_be_read_for_a_lease_is_left_and_its_candidate_rests() {
    for mut bench in [Bench::placed(), Bench::waiting()] {
        if bench.wake().is_some_and(|(timer, _)| timer == Timer::Round) {
            bench.next();
        }
        let (outputs, took) = without_a_proof(&mut bench, &fault(FaultKind::Denied));
        assert_eq!(outputs, ["revoke A1", "state RELEASING"]);
        assert!((T..T + secs(2)).contains(&took), "{took:?}");
        assert_eq!(bench.revoked(1), ["leave 2 A1"]);
        assert_eq!(bench.removed(2), ["warning GAVE_WAY", "state WAITING"]);
        assert_eq!(bench.wake(), Some((Timer::Rest, T / 3)));
    }
}

#[test]
fn a_candidate_that_rests_reports_it_if_no_candidate_leads() {
    let bench = resting();
    let Obstacle::Resting { left } = bench.campaign.obstacle() else {
        panic!("{:?}", bench.campaign.obstacle())
    };
    assert!((10 * T..11 * T).contains(&left), "it rests ten times as long as it blocked: {left:?}");
}

#[test]
fn a_probe_keeps_a_lease_of_its_own_alive_and_reads_and_puts_nothing_into_the_queue() {
    let mut bench = resting();
    assert_eq!(bench.next(), ["grant A2"]);
    assert_eq!(bench.granted(2), ["keep alive A2 B"]);
    assert_eq!(probe_is_kept(&mut bench, TERM), ["read A2 and all"]);
    assert_eq!(bench.read_failed(fault(FaultKind::Denied)), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Rest, T / 3)));
    assert_eq!(bench.next(), ["keep alive A2 B"], "the same lease");
}

#[test]
fn a_probe_that_succeeds_ends_the_rest() {
    let mut bench = resting();
    bench.next();
    bench.granted(2);
    probe_is_kept(&mut bench, TERM);
    assert_eq!(probe_reads(&mut bench, true), ["revoke A2", "grant A3", "state ACQUIRING"]);
}

#[test]
fn a_probe_whose_read_is_of_another_raft_term_than_its_keep_alives_ends_no_rest() {
    let mut bench = resting();
    bench.next();
    bench.granted(2);
    probe_is_kept(&mut bench, TERM + 1);
    assert_eq!(probe_reads(&mut bench, true), NOTHING);
    assert_eq!(bench.wake(), Some((Timer::Rest, T / 3)));
}

#[test]
fn a_candidate_that_no_other_waits_for_rests_no_longer_than_the_worst_fail_over() {
    let mut bench = resting();
    let began = bench.now;
    bench.next();
    // Reads work but keep-alives do not, so no probe succeeds.
    bench.not_granted(2, Failure::Busy);
    let mut outputs = probe_reads(&mut bench, false);
    while outputs.is_empty() {
        let asked = bench.next();
        let looks = ["read nothing and all"];
        // After the worst fail-over the candidate only checks who claims the election.
        assert!(asked == looks || bench.not_granted_last(Failure::Busy) == looks);
        outputs = probe_reads(&mut bench, false);
    }
    assert_eq!(outputs.last().map(String::as_str), Some("state ACQUIRING"));
    let worst = T + ms(500) + secs(2) + T;
    let rested = bench.now.since(began);
    assert_eq!(rested, worst + T / 3, "the first look at the queue is at the first probe");
}

#[test]
fn a_probe_without_an_answer_asks_for_another_member_and_looks_who_is_in_the_queue() {
    let mut bench = resting();
    assert_eq!(bench.next(), ["grant A2"]);
    bench.granted(2);
    assert_eq!(bench.next(), ["reconnect", "read A2 and all"]);
    bench.give(Input::Reconnected);
    assert_eq!(bench.next(), ["reconnect"], "nor is the read answered");
}

#[test]
fn a_leader_that_cannot_read_ends_its_term_at_the_deadline() {
    let mut bench = Bench::leader();
    let deadline = bench.campaign.lease().expect("a lease").deadline;
    bench.next();
    let lost = loop {
        bench.kept();
        bench.read_failed(fault(FaultKind::Denied));
        let outputs = bench.next();
        if outputs != ["keep alive A1 B"] {
            break outputs;
        }
    };
    assert_eq!(lost, ["lost 10 EXPIRED", "leave 2 A1@10", "state RELEASING"]);
    assert_eq!(bench.now, deadline);
}

#[test]
fn a_store_that_answers_nothing_is_no_reason_to_give_way() {
    let mut bench = Bench::waiting();
    bench.next();
    let began = bench.now;
    while bench.now.since(began) < T * 4 {
        let failed = bench.keep_alive_failed(bench.lease(1), Failure::Unknown);
        assert!(!failed.iter().any(|output| output.starts_with("revoke")), "{failed:?}");
        bench.give(Input::Reconnected);
        bench.next();
    }
}

#[test]
fn reads_that_were_never_sent_are_no_reason_to_give_way() {
    let mut bench = Bench::waiting();
    bench.next();
    let began = bench.now;
    while bench.now.since(began) < T * 4 {
        bench.kept();
        // The time limit passes. It is unknown whether the read left this process.
        let outputs = bench.next();
        assert!(!outputs.iter().any(|output| output.starts_with("revoke")), "{outputs:?}");
        while bench.next() != ["keep alive A1 B"] {}
    }
}

#[test]
fn reads_whose_failure_comes_after_their_time_limit_are_a_reason_to_give_way() {
    let mut bench = Bench::waiting();
    bench.next();
    let began = bench.now;
    let outputs = loop {
        bench.kept();
        let sent_at = bench.now;
        bench.next();
        let outputs = bench.read_failed_sent(sent_at, Failure::Unknown);
        if !outputs.is_empty() {
            break outputs;
        }
        while bench.next() != ["keep alive A1 B"] {}
    };
    assert_eq!(outputs, ["revoke A1", "state RELEASING"]);
    let took = bench.now.since(began);
    assert!((T..T + secs(4)).contains(&took), "{took:?}");
}

#[test]
fn keep_alives_of_another_raft_term_than_the_reads_are_a_reason_to_give_way() {
    let mut bench = Bench::waiting();
    bench.next();
    let began = bench.now;
    let outputs = loop {
        bench.kept_as(T, T, TERM + 1);
        let snapshot = bench.snapshot().ours(5, "other");
        let mut outputs = bench.read(snapshot);
        if outputs.is_empty() {
            outputs = bench.next();
        }
        if outputs != ["keep alive A1 B"] {
            break outputs;
        }
    };
    assert_eq!(outputs, ["revoke A1", "state RELEASING"]);
    assert!(bench.now.since(began) < T * 2);
}

#[test]
fn a_proof_that_comes_now_and_then_is_enough() {
    let mut bench = Bench::waiting();
    for _ in 0..20 {
        bench.next();
        bench.kept();
        bench.read_failed(fault(FaultKind::Denied));
        bench.next();
        assert_eq!(bench.prove(|snapshot| snapshot.ours(5, "other")), NOTHING);
    }
}

#[test]
fn a_candidate_that_is_closed_while_it_rests_revokes_the_lease_of_its_probes() {
    let mut bench = resting();
    bench.next();
    bench.granted(2);
    assert_eq!(bench.give(Input::Close), ["revoke A2", "state RELEASING"]);
    assert_eq!(bench.revoked(2), ["state CLOSED"]);
    assert!(bench.campaign.is_settled());
}

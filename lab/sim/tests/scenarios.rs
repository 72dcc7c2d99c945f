//! Interleavings that once led to two leaders, written by hand so that they do not depend on what a seed draws.

#![allow(clippy::panic, reason = "a test may panic; it says why")]

use std::time::Duration;

use incumbent_sim::{Candidate, Kind, PlannedFault, Scenario, Store};

const fn candidate(lease: u64, begins: u64) -> Candidate {
    Candidate { lease: Duration::from_secs(lease), begins: Duration::from_secs(begins), rate: 0 }
}

/// Creates a fault that begins and ends at a number of milliseconds.
const fn fault(kind: Kind, candidate: Option<usize>, from: u64, until: u64) -> PlannedFault {
    let lasts = Duration::from_millis(until - from);
    PlannedFault { kind, candidate, from: Duration::from_millis(from), lasts }
}

/// Runs a scenario and returns its trace.
fn holds(scenario: &Scenario) -> String {
    let traced = scenario.run_traced();
    if let Some(violation) = traced.outcome.violation {
        panic!("{violation}\n{}", traced.trace);
    }
    traced.trace
}

/// Returns the position of the first occurrence, which must exist.
fn first(trace: &str, what: &str) -> usize {
    trace.lines().position(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what:?} in\n{trace}"))
}

/// A leader with a long lease is deleted and does not notice it. Its successor, which has a short lease, waits and is
/// cut off. Then a candidate begins that last observed the leader's record.
fn a_short_record_over_a_deletion(deleted_at: u64) -> Scenario {
    Scenario {
        store: Store::Nats,
        candidates: vec![candidate(10, 0), candidate(5, 2), candidate(10, 2)],
        max_age: Duration::from_secs(30),
        faults: vec![
            // The leader renews three more times, and its last watcher sees none of these renewals.
            fault(Kind::CutReplies, Some(2), 20_500, deleted_at + 5_600),
            fault(Kind::CutReplies, Some(0), deleted_at - 50, deleted_at + 20_000),
            fault(Kind::Delete, None, deleted_at, deleted_at + 1),
            fault(Kind::Cut, Some(1), deleted_at + 400, deleted_at + 20_000),
        ],
        lasts: Duration::from_secs(60),
    }
}

#[test]
fn a_record_does_not_expire_before_the_wait_that_its_holder_owes_is_over() {
    // The deletion may happen at any time between two renewals.
    for deleted_at in (30_500..33_800).step_by(300) {
        let trace = holds(&a_short_record_over_a_deletion(deleted_at));
        let deleted = first(&trace, "deleted");
        let taken = first(&trace, "live c1");
        assert!(deleted < taken, "c1 follows the deletion\n{trace}");
    }
}

#[test]
fn two_clocks_that_drift_apart_as_far_as_the_setting_allows_never_make_two_leaders() {
    for lease in [30, 120, 300, 600, 1_800, 3_600] {
        let drift = i64::from(incumbent_core::campaign::Settings::new("c0").drift_ppm);
        let (mut slow, mut fast) = (candidate(lease, 0), candidate(lease, 2));
        (slow.rate, fast.rate) = (-drift, drift);
        // A third of a lease after its win, the leader renews. Then it is deleted, and does not notice it.
        let renewed = 1_000 * lease / 3 * 1_000_000 / (1_000_000 - drift as u64) + 500;
        let trace = holds(&Scenario {
            store: Store::Nats,
            candidates: vec![slow, fast],
            max_age: Duration::from_secs(lease),
            faults: vec![
                fault(Kind::CutReplies, Some(0), renewed, renewed + 2_000 * lease),
                fault(Kind::Delete, None, renewed + 10, renewed + 11),
            ],
            lasts: Duration::from_secs(4 * lease),
        });
        assert!(first(&trace, "deleted") < first(&trace, "live c1"), "{trace}");
    }
}

#[test]
fn a_candidate_that_knew_a_leader_does_not_believe_that_the_name_was_never_used() {
    let trace = holds(&Scenario {
        store: Store::Nats,
        candidates: vec![candidate(30, 0), candidate(30, 2)],
        max_age: Duration::from_secs(30),
        faults: vec![
            // The other candidate inspects the store over a new connection, because it has received nothing for a
            // lease.
            fault(Kind::CutReplies, Some(1), 5_000, 33_000),
            fault(Kind::Cut, Some(0), 30_300, 90_000),
            fault(Kind::RecreateNew, None, 30_500, 31_000),
        ],
        lasts: Duration::from_secs(120),
    });
    assert!(first(&trace, "made again") < first(&trace, "live c1"), "{trace}");
}

#[test]
fn a_candidate_of_an_etcd_whose_reads_are_denied_for_good_gives_way_to_others() {
    let lease = 10;
    let crashes = (1..9).map(|at| fault(Kind::Crash, None, at * 60_000, at * 60_000 + 5_000));
    let traced = Scenario {
        store: Store::Etcd,
        candidates: vec![candidate(lease, 0), candidate(lease, 2), candidate(lease, 4)],
        max_age: Duration::from_secs(lease),
        // The victim's keep-alives are answered, and the victim is the next to lead.
        faults: [fault(Kind::Denied, Some(1), 20_000, 600_000)].into_iter().chain(crashes).collect(),
        lasts: Duration::from_secs(600),
    }
    .run_traced();
    assert_eq!(traced.outcome.violation, None, "{}", traced.trace);
    let (longest, _) = traced.outcome.tally.longest_vacancy;
    assert!(longest <= Duration::from_secs(3 * lease), "{longest:?} without a leader\n{}", traced.trace);
    let gave_way = traced.trace.lines().filter(|line| line.contains("Warning(GaveWay")).count();
    assert!((1..4).contains(&gave_way), "{gave_way} times\n{}", traced.trace);
}

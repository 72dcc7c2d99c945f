//! Runs in which one candidate cannot prove its claim, while the other candidates and the store are well.

#![allow(clippy::panic, reason = "a test may panic; it says why")]

use incumbent_sim::{Choice, Kind, Script, Store, run};

fn all_hold(store: Store, seeds: std::ops::Range<u64>, faults: &[Kind]) {
    for seed in seeds {
        for plain in [false, true] {
            let choice = Choice { store, plain, faults: Some(faults.to_vec()), ..Choice::of_seed(seed) };
            if let Some(violation) = run(&choice).violation {
                panic!("{violation}\n{}", Script::of(&choice));
            }
        }
    }
}

#[test]
fn one_candidate_that_cannot_prove_leaves_the_election_to_another_and_costs_a_tenth_of_the_time_at_most() {
    all_hold(Store::Nats, 0..150, &[Kind::NoProof]);
}

#[test]
fn so_it_does_where_leaders_resign_and_it_is_elected_again_and_again() {
    all_hold(Store::Nats, 0..100, &[Kind::NoProof, Kind::Resign]);
}

#[test]
fn with_other_faults_what_is_promised_holds() {
    all_hold(Store::Nats, 0..40, &[Kind::NoProof, Kind::Crash, Kind::Loss, Kind::Delete]);
    all_hold(Store::Nats, 0..40, &[Kind::NoProof, Kind::Quorum, Kind::Isolate, Kind::Pause]);
}

#[test]
fn in_an_etcd_one_place_that_cannot_be_proved_is_left_to_another_within_three_leases() {
    all_hold(Store::Etcd, 0..80, &[Kind::NoProof]);
    all_hold(Store::Etcd, 0..60, &[Kind::NoProof, Kind::Resign]);
}

#[test]
fn with_other_faults_of_an_etcd_what_is_promised_holds() {
    all_hold(Store::Etcd, 0..30, &[Kind::NoProof, Kind::Crash, Kind::Loss, Kind::Delete, Kind::Revoke]);
    all_hold(Store::Etcd, 0..30, &[Kind::NoProof, Kind::Quorum, Kind::PausedLeader, Kind::Pause]);
}

#[test]
fn in_a_consumer_group_one_that_cannot_prove_leaves_the_partition_to_another() {
    all_hold(Store::Kafka, 0..60, &[Kind::NoProof]);
    all_hold(Store::Kafka, 0..30, &[Kind::NoProof, Kind::Resign]);
    all_hold(Store::Kafka, 0..20, &[Kind::NoProof, Kind::Crash, Kind::Loss, Kind::Recreate]);
}

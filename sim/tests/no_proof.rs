//! One candidate that cannot prove, while the other candidates and the store are well.

#![allow(clippy::panic, reason = "a test may panic; it says why")]

use incumbent_sim::{Choice, Kind, Script, run};

fn all_hold(seeds: std::ops::Range<u64>, faults: &[Kind]) {
    for seed in seeds {
        for plain in [false, true] {
            let choice = Choice { plain, faults: Some(faults.to_vec()), ..Choice::of_seed(seed) };
            if let Some(violation) = run(&choice).violation {
                panic!("{violation}\n{}", Script::of(&choice));
            }
        }
    }
}

#[test]
fn one_candidate_that_cannot_prove_leaves_the_election_to_another_and_costs_a_tenth_of_the_time_at_most() {
    all_hold(0..150, &[Kind::NoProof]);
}

#[test]
fn so_it_does_where_leaders_resign_and_it_is_elected_again_and_again() {
    all_hold(0..100, &[Kind::NoProof, Kind::Resign]);
}

#[test]
fn beside_other_faults_what_is_promised_holds() {
    all_hold(0..40, &[Kind::NoProof, Kind::Crash, Kind::Loss, Kind::Delete]);
    all_hold(0..40, &[Kind::NoProof, Kind::Quorum, Kind::Isolate, Kind::Pause]);
}

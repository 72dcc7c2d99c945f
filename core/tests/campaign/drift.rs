//! Two clocks that drift apart as far as the setting allows: the leader's clock is slow and the other one fast. The
//! leader's lease must end before the other clock has measured its full length.

use incumbent_core::Instant;
use incumbent_core::campaign::Settings;
use incumbent_core::record::Entry;
use incumbent_core::store::StoreInfo;
use std::time::Duration;

use crate::harness::*;
use crate::lowered_age::reported_after;

/// Leases from the shortest of the standard preset to the longest of the Go library.
const LEASES: [Duration; 9] =
    [secs(5), secs(15), secs(30), secs(120), secs(130), secs(300), secs(600), secs(1_800), secs(3_600)];

const MILLION: u128 = 1_000_000;

fn bench(settings: &Settings, lease: Duration) -> Bench {
    let first = StoreInfo { max_age: Some(lease), ..store_info(Instant::ZERO) };
    Bench::with_info(settings.clone(), bucket(), first).expect("settings that fit the store")
}

/// How long a leader leads, by its own clock, after it sends a renewal whose answer is its last input.
fn leads_on(settings: &Settings, lease: Duration) -> Duration {
    let aged = |info: StoreInfo| StoreInfo { max_age: Some(lease), ..info };
    let mut leader = bench(settings, lease);
    leader.begin(Entry::Vacant);
    leader.applied(1, 10);
    leader.inspected_as(aged);
    leader.pass(lease / 3);
    leader.inspected_as(aged);
    leader.applied(2, 11);
    leader.remaining().expect("it leads")
}

/// The time that a candidate takes, by its own clock, from the deletion of the leader's record to its own win.
fn waits(settings: &Settings, lease: Duration) -> Duration {
    let mut waiter = bench(settings, lease);
    waiter.begin(with_lease(theirs(11), lease));
    waiter.watched(deleted(12));
    waiter.applied(1, 13);
    reported_after(&mut waiter, 13, |info| StoreInfo { max_age: Some(lease), ..info })
}

/// The time from the end of the leader's lease until the other candidate leads, in real nanoseconds, if the two clocks
/// drift by the allowed amount in opposite directions. A negative number is the time for which both lead.
fn apart(settings: &Settings, lease: Duration) -> i128 {
    let drift = u128::from(settings.drift_ppm);
    let leads = leads_on(settings, lease).as_nanos() * MILLION / (MILLION - drift);
    let waits = waits(settings, lease).as_nanos() * MILLION / (MILLION + drift);
    waits as i128 - leads as i128
}

#[test]
fn a_leader_that_does_not_learn_of_a_deletion_stops_before_its_successor_leads() {
    for lease in LEASES {
        let apart = apart(&settings(), lease);
        assert!(apart >= 0, "with a lease of {lease:?} two lead for {} ms", -apart / 1_000_000);
    }
}

#[test]
fn the_drift_of_two_clocks_alone_is_enough_of_a_margin_for_it() {
    for drift_ppm in [50, 500, 5_000, 50_000] {
        let bare = Settings { drift_ppm, skew: Some(secs(0)), slack: Some(secs(0)), ..settings() };
        for lease in LEASES {
            let apart = apart(&bare, lease);
            assert!(apart >= 0, "{drift_ppm} ppm, {lease:?}: two lead for {} µs", -apart / 1_000);
            // The margin is exact up to the square of the drift, so the test fails for any smaller margin.
            let square = lease.as_nanos() * 3 * u128::from(drift_ppm).pow(2) / MILLION.pow(2) + 2;
            assert!(apart as u128 <= square, "{drift_ppm} ppm, {lease:?}: {apart} ns");
        }
    }
}

#[test]
fn a_record_that_a_fast_server_expires_is_gone_after_its_leader_stopped() {
    let drift = u128::from(settings().drift_ppm);
    for lease in LEASES {
        let leads = leads_on(&settings(), lease).as_nanos() * MILLION / (MILLION - drift);
        let there = lease.as_nanos() * MILLION / (MILLION + drift);
        assert!(
            leads <= there,
            "with a lease of {lease:?} it leads for {leads} ns, and its record exists for {there} ns"
        );
    }
}

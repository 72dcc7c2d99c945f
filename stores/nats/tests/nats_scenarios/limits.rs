//! Settings that are changed, limits that are reached, and names that are taken.

use std::time::Duration;

use async_nats::jetstream::stream;
use incumbent::store::StoreAdmin;
use incumbent::store::nats::{InitOptions, Nats, init};
use incumbent::{Clock, ErrorKind, Reason, State, Warning};

use crate::actor::{Reported, next_leader};
use crate::bench::*;
use crate::probe::Probe;

/// The maximum age is lowered under a leader: its lease shrinks with it, a warning reports that, and the term
/// continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_shrinks_with_the_maximum_age() {
    // The shortened lease counts from the last renewal, and a busy machine may take seconds from that renewal to the
    // change.
    const LONGER: Duration = Duration::from_secs(60);
    let bench = Bench::start(LONGER).await;
    let a = bench.join("a").await;
    a.won(1).await;
    let probe = Probe::of(&[&a]);

    change_max_age(&bench, LONG).await;
    let changed =
        |warning: &Warning| *warning == Warning::MaxAgeChanged { from: Some(LONGER), to: Some(LONG) };
    a.warning("the change", changed).await;
    let remaining = a.candidate.term().expect("it leads").remaining();
    assert!(remaining <= LONG - margin(LONG), "{remaining:?}");
    a.renewed_after(now(), LONG).await;
    assert_eq!(a.losses(), []);
    probe.verdict();
}

/// The maximum age is lowered while the leader is cut off. A candidate that watched still waits for the leader's own
/// lease.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_watched_waits_for_the_lease_of_the_holder() {
    let bench = Bench::start(STEADY).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    let first = a.won(1).await;
    let b = bench.join_looking("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    proxy.cut();
    let proven = a.candidate.term().expect("it leads").deadline();
    change_max_age(&bench, Duration::from_secs(1)).await;
    b.is(State::Holding).await;
    assert!(now() < proven, "the record expired no earlier than the lease");
    let next = b.won(1).await;
    assert!(next.token > first.token);
    assert!(next.started >= proven, "reported {:?} before the leader's deadline", proven.since(next.started));
    assert_eq!(a.lost(1).await.reason, Reason::Expired);
    probe.verdict();
}

/// The maximum age is raised under a leader whose lease is not a whole number of seconds. Its records then carry a
/// lease time of their own, which is no shorter than the leader's lease.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_kept_for_its_lease_when_the_maximum_age_is_raised() {
    let lease = Duration::from_millis(9500);
    let bench = Bench::with(InitOptions::new().lease(lease).own_leases(true).never_used(true), lease).await;
    let a = bench.join("a").await;
    a.won(1).await;
    let probe = Probe::of(&[&a]);

    let raised = Duration::from_secs(60);
    change(&bench, |config| config.max_age = raised).await;
    let changed =
        |warning: &Warning| *warning == Warning::MaxAgeChanged { from: Some(lease), to: Some(raised) };
    a.warning("the change", changed).await;
    a.renewed_after(now(), lease).await;
    let stream = bench.jetstream().await.get_stream(STREAM).await.unwrap();
    let record = stream.get_last_raw_message_by_subject(&format!("$KV.{BUCKET}.{KEY}")).await.unwrap();
    assert_eq!(record.headers.get("Nats-TTL").map(|ttl| ttl.as_str()), Some("10s"));
    assert_eq!(record.headers.get("Incumbent-Lease").map(|lease| lease.as_str()), Some("9500"));
    assert_eq!(a.losses(), []);
    probe.verdict();
}

/// The maximum age is removed: there is a warning, because a crashed leader would have no successor, and the term
/// continues.
#[tokio::test(flavor = "multi_thread")]
async fn the_removal_of_the_maximum_age_is_reported() {
    let bench = Bench::start(STEADY).await;
    let a = bench.join("a").await;
    a.won(1).await;
    let probe = Probe::of(&[&a]);

    change(&bench, |config| config.max_age = Duration::ZERO).await;
    let removed = |warning: &Warning| *warning == Warning::MaxAgeChanged { from: Some(STEADY), to: None };
    a.warning("the removal", removed).await;
    a.renewed_after(now(), STEADY).await;
    assert_eq!(a.losses(), []);
    probe.verdict();
}

async fn change_max_age(bench: &Bench, to: Duration) {
    let report =
        init(&settings(&bench.server.url()), &InitOptions::new().lease(to).update(true)).await.unwrap();
    assert!(report.updated);
}

/// A setting of the bucket becomes unsafe during campaigns. Each campaign reports this once, and once more when the
/// setting has been corrected and becomes unsafe again. The term continues, and opening the bucket is refused
/// meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_becomes_unsafe_is_reported_once_and_refused_at_the_next_opening() {
    let bench = Bench::start(STEADY).await;
    let a = bench.join("a").await;
    a.won(1).await;
    let b = bench.join("b").await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    let is_flaw = |warning: &Warning| warning.to_string().contains("its history is 5, and must be 1");
    for times in [1, 2] {
        change(&bench, |config| config.max_messages_per_subject = 5).await;
        a.warnings(times, "the history", is_flaw).await;
        let error = Nats::open(&settings(&bench.server.url()), &Clock::system()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsafeStore, "{error}");
        change(&bench, |config| config.max_messages_per_subject = 1).await;
        // After two renewals, the setting has been inspected again.
        for _ in 0..2 {
            a.renewed_after(now(), STEADY).await;
        }
    }
    let reported = |reported: Vec<Reported>| {
        reported
            .iter()
            .filter(|reported| matches!(reported, Reported::Warning(warning) if is_flaw(warning)))
            .count()
    };
    assert_eq!(reported(a.log().so_far()), 2);
    assert_eq!(a.losses(), []);
    probe.verdict();
}

/// The bucket is full: a warning, and retries until it has space.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_in_a_full_bucket_says_so_and_wins_when_there_is_room() {
    let bench = Bench::start(LONG).await;
    bench.operator.put("filler", &[b'x'; 1000]).await.unwrap();
    change(&bench, |config| config.max_bytes = 1200).await;
    let a = bench.join("a").await;
    let probe = Probe::of(&[&a]);
    a.warning("the full bucket", |warning| warning.to_string().contains("is full")).await;
    change(&bench, |config| config.max_bytes = -1).await;
    a.won(1).await;
    probe.verdict();
}

/// The bucket rejects records of the leader's size: there is a warning, and the leader retries until its deadline. When
/// the bucket accepts them again, a candidate leads, with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_takes_no_renewals_is_reported_and_the_leader_leads_until_its_deadline() {
    let bench = Bench::start(SHORT).await;
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let probe = Probe::of(&[&a]);

    let proven = a.candidate.term().expect("it leads").deadline();
    change(&bench, |config| config.max_message_size = 1).await;
    let closed = now();
    a.warning("the limit", takes_no_write).await;
    let lost = a.lost(1).await;
    assert_eq!(lost.reason, Reason::Expired);
    assert!(lost.at >= proven, "given up {:?} too early", proven.since(lost.at));
    assert!(lost.at < closed + SHORT + BUSY, "{:?}", lost.at.since(closed));

    change(&bench, |config| config.max_message_size = -1).await;
    let next = a.won(2).await;
    assert!(next.token > first.token);
    probe.verdict();
}

/// The bucket rejects renewals for less than a lease: the term continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_takes_no_renewals_for_a_moment_costs_nothing() {
    let bench = Bench::start(LONG).await;
    let a = bench.join("a").await;
    a.won(1).await;
    let probe = Probe::of(&[&a]);

    change(&bench, |config| config.max_message_size = 1).await;
    a.warning("the limit", takes_no_write).await;
    change(&bench, |config| config.max_message_size = -1).await;
    a.renewed_after(now(), LONG).await;
    assert_eq!(a.losses(), []);
    probe.verdict();
}

fn takes_no_write(warning: &Warning) -> bool {
    warning.to_string().contains("refuses writes")
}

/// Changes the bucket's settings, as an operator can with any client.
async fn change(bench: &Bench, change: impl FnOnce(&mut stream::Config)) {
    let jetstream = bench.jetstream().await;
    let mut config = jetstream.get_stream(STREAM).await.unwrap().cached_info().config.clone();
    change(&mut config);
    jetstream.update_stream(&config).await.unwrap();
}

/// Two candidates have the same name. Their nonces tell them apart, a warning reports the equal names, and one leads at
/// a time.
#[tokio::test(flavor = "multi_thread")]
async fn two_candidates_of_one_name_are_distinguished() {
    let bench = Bench::start(STEADY).await;
    let one = bench.join("twin").await;
    let first = one.won(1).await;
    let other = bench.join("twin").await;
    let probe = Probe::of(&[&one, &other]);

    other.warning("the namesake", |warning| matches!(warning, Warning::SameName { .. })).await;
    assert_eq!((one.losses().len(), other.wins().len()), (0, 0));
    one.candidate.close().await.unwrap();
    let (at, next) = next_leader(&[&one, &other], first.token).await;
    assert_eq!(at, 1);
    // The closed candidate does not take the record of the other, which has the same name, for its own.
    one.is(State::Closed).await;
    other.renewed_after(next.started, STEADY).await;
    probe.verdict();
}

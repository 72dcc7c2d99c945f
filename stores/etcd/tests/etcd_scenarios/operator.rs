//! An operator who writes to the queue without regard to the leader.

use incumbent::Reason;
use incumbent_testkit::wait;

use crate::actor::{Actor, TIME_LIMIT, Won, next_leader};
use crate::bench::*;
use crate::probe::Probe;

/// Two candidates; the first leads.
async fn two(bench: &Bench) -> (Actor, Actor, Won, Probe) {
    let a = bench.join("a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    bench.await_queue(&["a", "b"]);
    let probe = Probe::of(&[&a, &b]);
    (a, b, first, probe)
}

/// An operator revokes the lease that the leader's place shows, with the same result.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_revocation_of_its_lease_the_leader_is_followed_once_it_has_reported_its_loss() {
    let bench = Bench::start(LONG).await;
    let (a, b, first, probe) = two(&bench).await;
    let before = now();
    bench.server.ctl(&["lease", "revoke", &bench.place_of("a").lease]);
    let lost = a.lost(1).await;
    assert!(matches!(lost.reason, Reason::Deleted | Reason::Expired), "{:?}", lost.reason);
    assert!(lost.at < before + BUSY, "{:?}", lost.at.since(before));
    let next = b.won(1).await;
    assert!(next.token > first.token);
    bench.await_queue(&["b", "a"]);
    probe.verdict();
}

/// An operator deletes the place of a leader that is cut off. The next candidate of ours waits for the leader's
/// companion to disappear, which is after the leader's deadline.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_deletion_that_the_leader_cannot_see_no_other_of_ours_leads_before_its_deadline() {
    let bench = Bench::start(STEADY).await;
    let proxy = bench.proxy();
    let a = bench.join_through(&proxy, "a").await;
    let first = a.won(1).await;
    let b = bench.join("b").await;
    bench.await_queue(&["a", "b"]);
    let probe = Probe::of(&[&a, &b]);

    proxy.cut();
    bench.server.ctl(&["del", &bench.place_of("a").key]);
    let proven = a.candidate.term().expect("it leads").deadline();
    let next = b.won(1).await;
    assert!(next.started >= proven, "led {:?} before the deadline", proven.since(next.started));
    assert!(next.token > first.token);
    assert_eq!(a.lost(1).await.reason, Reason::Expired);
    proxy.heal();
    probe.verdict();
}

/// An operator overwrites the leader's place, and so removes its lease. The term ends with `Lost(Usurped)`, the owner
/// deletes the key, and the election continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_place_is_written_over_is_usurped_and_removes_it() {
    let bench = Bench::start(LONG).await;
    let (a, b, first, probe) = two(&bench).await;
    bench.server.ctl(&["put", &bench.place_of("a").key, "an operator"]);
    assert_eq!(a.lost(1).await.reason, Reason::Usurped);
    let (_, next) = next_leader(&[&b], first.token).await;
    assert!(next.token > first.token);
    bench.await_queue(&["b", "a"]);
    probe.verdict();
}

/// An operator revokes a waiting candidate's lease. The candidate does not win by that, and enters again at the end of
/// the queue.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_candidate_whose_lease_is_revoked_enters_again_at_the_end() {
    let bench = Bench::start(LONG).await;
    let (a, b, first, probe) = two(&bench).await;
    let c = bench.join("c").await;
    bench.await_queue(&["a", "b", "c"]);
    let of_c = Probe::of(&[&c]);

    bench.server.ctl(&["lease", "revoke", &bench.place_of("b").lease]);
    bench.await_queue(&["a", "c", "b"]);
    assert_eq!(b.wins(), []);
    a.candidate.close().await.unwrap();
    let second = c.won(1).await;
    c.candidate.close().await.unwrap();
    let third = b.won(1).await;
    assert!(first.token < second.token && second.token < third.token);
    crate::probe::never_two([probe.verdict(), of_c.verdict()].concat().concat());
}

/// All leases of the cluster are revoked at once: every term ends, and a candidate leads again with a larger token.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_revocation_of_every_lease_one_leads_again() {
    let bench = Bench::start(STEADY).await;
    let (a, b, first, probe) = two(&bench).await;
    let leases = bench.server.ctl(&["lease", "list"]);
    for lease in leases.lines().skip(1) {
        bench.server.ctl(&["lease", "revoke", lease]);
    }
    a.lost(1).await;
    next_leader(&[&a, &b], first.token).await;
    wait::until("both in the queue", TIME_LIMIT, || bench.places().len() == 2);
    probe.verdict();
}

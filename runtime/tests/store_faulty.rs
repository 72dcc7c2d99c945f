//! The store with faults: it behaves like the inner store without them, and each fault is exactly as described.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../stores/contract/records/mod.rs"]
mod contract;

use std::time::Duration;

use contract::{Fixture, acquire, acquired, applied, next, release, renew};
use futures_util::FutureExt;
use incumbent::clock::Clock;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::{Expect, FaultKind, Outcome};
use incumbent::incumbent_core::{Instant, Revision};
use incumbent::store::{Adapter, Memory, MemorySettings, StoreAdmin};
use incumbent::testing::{Faults, Faulty};

const LEASE: Duration = Duration::from_secs(10);

/// A memory store in which every connection is wrapped, and has no faults.
struct Wrapped(Memory, Clock);

impl Fixture for Wrapped {
    async fn start() -> Self {
        let clock = Clock::manual(Instant::from_nanos(1));
        Self(Memory::open(&MemorySettings::private(), &clock).unwrap(), clock)
    }

    async fn connect(&self) -> Box<dyn Adapter> {
        let boxed: Box<dyn Adapter> = Box::new(self.0.clone());
        Box::new(Faulty::new(boxed).0)
    }

    async fn operator(&self) -> Box<dyn StoreAdmin> {
        Box::new(Faulty::new(self.0.clone()).0)
    }

    async fn recreate(&self) {
        self.0.reset();
    }

    fn clock(&self) -> &Clock {
        &self.1
    }

    fn lease(&self) -> Duration {
        LEASE
    }

    async fn pass(&self, span: Duration) {
        self.1.advance(span);
    }
}

contract::store_contract!(Wrapped);

fn faulty() -> (Faulty<Memory>, Faults) {
    let clock = Clock::manual(Instant::from_nanos(1));
    Faulty::new(Memory::open(&MemorySettings::private(), &clock).unwrap())
}

async fn holder(store: &Faulty<Memory>) -> Option<Revision> {
    store.inner().read("jobs").await.unwrap().revision()
}

#[tokio::test]
async fn a_lost_answer_is_unknown_and_the_write_is_applied() {
    let (store, faults) = faulty();
    faults.lose_answers(1);
    let write = acquire(1, Expect::Absent, "a", LEASE);
    assert_eq!(store.write("jobs", write.clone()).await, Outcome::Unknown);
    assert_eq!(store.write("jobs", write.clone()).await, Outcome::Refused { current: Revision(1) });
}

#[tokio::test]
async fn a_lost_request_is_unknown_and_the_write_is_not_applied() {
    let (store, faults) = faulty();
    faults.lose_requests(2);
    let write = acquire(1, Expect::Absent, "a", LEASE);
    assert_eq!(store.write("jobs", write.clone()).await, Outcome::Unknown);
    assert_eq!(store.write("jobs", write.clone()).await, Outcome::Unknown);
    assert_eq!(holder(&store).await, None);
    applied(store.write("jobs", write.clone()).await);
}

#[tokio::test]
async fn a_held_request_is_unknown_and_compares_when_it_is_delivered() {
    let (store, faults) = faulty();
    let first = acquired(&store, "jobs", "a", LEASE).await;
    faults.hold_requests(2);
    assert_eq!(store.write("jobs", renew(2, first, "a", LEASE)).await, Outcome::Unknown);
    assert_eq!(store.write("jobs", release(3, first, None)).await, Outcome::Unknown);
    assert_eq!(holder(&store).await, Some(first));
    let incarnation = Some(store.inspect().await.unwrap().incarnation);
    let late = Outcome::Applied { revision: Revision(2), incarnation };
    assert_eq!(faults.deliver_held().await, [late, Outcome::Refused { current: Revision(2) }]);
    assert_eq!(faults.deliver_held().await, []);
}

#[tokio::test]
async fn a_busy_store_applies_nothing() {
    let (store, faults) = faulty();
    faults.busy(1);
    let write = acquire(1, Expect::Absent, "a", LEASE);
    assert_eq!(store.write("jobs", write.clone()).await, Outcome::Busy);
    applied(store.write("jobs", write.clone()).await);
}

#[tokio::test]
async fn faults_of_writes_are_met_in_the_order_they_were_asked_for() {
    let (store, faults) = faulty();
    faults.busy(1);
    faults.lose_answers(1);
    faults.busy(1);
    let write = acquire(1, Expect::Absent, "a", LEASE);
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        outcomes.push(store.write("jobs", write.clone()).await);
    }
    let refused = Outcome::Refused { current: Revision(1) };
    assert_eq!(outcomes, [Outcome::Busy, Outcome::Unknown, Outcome::Busy, refused]);
}

#[tokio::test]
async fn denied_writes_fail_with_the_reason_and_reads_go_on() {
    let (store, faults) = faulty();
    faults.deny_writes("no permission to publish to $KV.e.jobs");
    let write = acquire(1, Expect::Absent, "a", LEASE);
    let Outcome::Failed(fault) = store.write("jobs", write.clone()).await else { panic!() };
    assert_eq!(fault.kind, FaultKind::Denied);
    assert_eq!(fault.detail, "no permission to publish to $KV.e.jobs");
    assert_eq!(store.read("jobs").await.unwrap(), Entry::Vacant);
    faults.allow_writes();
    applied(store.write("jobs", write.clone()).await);
}

#[tokio::test(start_paused = true)]
async fn delayed_answers_come_late_to_what_is_done_at_once() {
    let (store, faults) = faulty();
    faults.delay_answers(Duration::from_secs(3));
    let asked = tokio::time::Instant::now();
    let write = acquire(1, Expect::Absent, "a", LEASE);
    let mut writing = store.write("jobs", write.clone());
    assert!(futures_util::poll!(&mut writing).is_pending());
    assert_eq!(holder(&store).await, Some(Revision(1)));
    applied(writing.await);
    assert_eq!(asked.elapsed(), Duration::from_secs(3));
    faults.delay_answers(Duration::ZERO);
    assert!(store.read("jobs").now_or_never().is_some());
}

#[tokio::test]
async fn a_partition_answers_nothing_until_it_is_healed_and_then_with_a_broken_connection() {
    let (store, faults) = faulty();
    faults.partition();
    let write = acquire(1, Expect::Absent, "a", LEASE);
    let (mut writing, mut reading) = (store.write("jobs", write.clone()), store.read("jobs"));
    let mut inspecting = store.inspect();
    assert!(futures_util::poll!(&mut writing).is_pending());
    assert!(futures_util::poll!(&mut reading).is_pending());
    assert!(futures_util::poll!(&mut inspecting).is_pending());
    faults.heal();
    assert_eq!(writing.await, Outcome::Unknown);
    assert_eq!(reading.await.unwrap_err().kind, FaultKind::Unreachable);
    assert_eq!(inspecting.await.unwrap_err().kind, FaultKind::Unreachable);
    assert_eq!(holder(&store).await, None);
    applied(store.write("jobs", write.clone()).await);
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_comes_after_the_request_takes_the_answer_away() {
    let (store, faults) = faulty();
    faults.delay_answers(Duration::from_secs(1));
    let write = acquire(1, Expect::Absent, "a", LEASE);
    let mut writing = store.write("jobs", write.clone());
    assert!(futures_util::poll!(&mut writing).is_pending());
    faults.partition();
    faults.heal();
    assert_eq!(writing.await, Outcome::Unknown);
    assert_eq!(holder(&store).await, Some(Revision(1)));
}

#[tokio::test]
async fn a_watch_is_silent_during_a_partition_and_makes_up_for_it() {
    let (store, faults) = faulty();
    let mut watch = store.watch().await.unwrap();
    faults.partition();
    store.put("jobs", b"x").await.unwrap();
    store.put("jobs", b"y").await.unwrap();
    {
        let mut telling = std::pin::pin!(next(&mut watch));
        assert!(futures_util::poll!(&mut telling).is_pending());
        faults.heal();
        assert_eq!(telling.await.unwrap().entry.revision(), Some(Revision(1)));
    }
    assert_eq!(next(&mut watch).await.unwrap().entry.revision(), Some(Revision(2)));
}

#[tokio::test]
async fn a_killed_watch_delivers_nothing_and_does_not_end_and_a_new_one_works() {
    let (store, faults) = faulty();
    let mut old = store.watch().await.unwrap();
    faults.kill_watches();
    let mut new = store.watch().await.unwrap();
    store.put("jobs", b"x").await.unwrap();
    assert_eq!(next(&mut new).await.unwrap().entry.revision(), Some(Revision(1)));
    let mut telling = std::pin::pin!(next(&mut old));
    assert!(futures_util::poll!(&mut telling).is_pending());
    store.close().await;
    assert_eq!(next(&mut new).await, None);
    assert!(futures_util::poll!(&mut telling).is_pending());
}

#[tokio::test]
async fn stale_reads_return_the_past_until_they_are_fresh_again() {
    let (store, faults) = faulty();
    let old = acquired(&store, "jobs", "a", LEASE).await;
    faults.stale_reads().await.unwrap();
    let new = applied(store.write("jobs", renew(2, old, "a", LEASE)).await);
    acquired(&store, "later", "b", LEASE).await;
    assert_eq!(store.read("jobs").await.unwrap().revision(), Some(old));
    assert_eq!(store.read("later").await.unwrap(), Entry::Vacant);
    assert_eq!(store.list().await.unwrap().len(), 1);
    faults.fresh_reads();
    assert_eq!(store.read("jobs").await.unwrap().revision(), Some(new));
    assert_eq!(store.list().await.unwrap().len(), 2);
}

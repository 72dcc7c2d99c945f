//! The memory store: the contract, with and without markers, and its own properties.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../contract/records/mod.rs"]
mod contract;
#[path = "../../contract/every_store.rs"]
mod every_store;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use contract::{Fixture, acquire, acquired, applied, next, renew};
use incumbent::ErrorKind;
use incumbent::clock::Clock;
use incumbent::incumbent_core::record::Entry;
use incumbent::incumbent_core::store::{Expect, Outcome};
use incumbent::incumbent_core::{Instant, Revision};
use incumbent::store::{Adapter, Memory, MemorySettings, StoreAdmin};

const LEASE: Duration = Duration::from_secs(10);

/// A store in memory. Its clock moves only when a test moves it, so expiry is exact.
struct Bare(Memory, Clock);

/// A store in memory with expiry markers.
struct Marked(Bare);

impl Bare {
    fn with(settings: &MemorySettings) -> Self {
        let clock = Clock::manual(Instant::from_nanos(1_000_000_000));
        Self(Memory::open(settings, &clock).unwrap(), clock)
    }
}

impl Fixture for Bare {
    async fn start() -> Self {
        Self::with(&MemorySettings::private())
    }

    async fn connect(&self) -> Box<dyn Adapter> {
        Box::new(self.0.clone())
    }

    async fn operator(&self) -> Box<dyn StoreAdmin> {
        Box::new(self.0.clone())
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

impl Fixture for Marked {
    async fn start() -> Self {
        Self(Bare::with(&MemorySettings::private().markers(true)))
    }

    async fn connect(&self) -> Box<dyn Adapter> {
        self.0.connect().await
    }

    async fn operator(&self) -> Box<dyn StoreAdmin> {
        self.0.operator().await
    }

    async fn recreate(&self) {
        self.0.recreate().await;
    }

    fn clock(&self) -> &Clock {
        self.0.clock()
    }

    fn lease(&self) -> Duration {
        self.0.lease()
    }

    async fn pass(&self, span: Duration) {
        self.0.pass(span).await;
    }
}

mod without_markers {
    use super::{Bare, contract};

    contract::store_contract!(Bare);
}

mod with_markers {
    use super::{Marked, contract};

    contract::store_contract!(Marked);
}

fn manual() -> Clock {
    Clock::manual(Instant::from_nanos(1_000_000_000))
}

#[tokio::test]
async fn the_same_name_is_the_same_store_while_it_is_open() {
    let clock = manual();
    let settings = MemorySettings::named("shared by two");
    let one = Memory::open(&settings, &clock).unwrap();
    let other = Memory::open(&settings, &clock).unwrap();
    let revision = acquired(&one, "jobs", "a", LEASE).await;
    assert_eq!(other.read("jobs").await.unwrap().revision(), Some(revision));
    let first_life = one.inspect().await.unwrap().incarnation;
    drop((one, other));
    let later = Memory::open(&settings, &clock).unwrap();
    assert_eq!(later.read("jobs").await.unwrap(), Entry::Vacant);
    assert!(later.inspect().await.unwrap().incarnation > first_life);
}

#[tokio::test]
async fn a_store_without_a_name_is_shared_with_its_clones_only() {
    let clock = manual();
    let one = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let other = Memory::open(&MemorySettings::private(), &clock).unwrap();
    let revision = acquired(&one, "jobs", "a", LEASE).await;
    assert_eq!(one.clone().read("jobs").await.unwrap().revision(), Some(revision));
    assert_eq!(other.read("jobs").await.unwrap(), Entry::Vacant);
}

#[tokio::test]
async fn a_name_that_is_open_with_other_settings_is_refused() {
    let settings = MemorySettings::named("marked or not");
    let _open = Memory::open(&settings, &manual()).unwrap();
    let error = Memory::open(&settings.markers(true), &manual()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSetting);
    assert!(error.message().contains("markers=false"), "{error}");
}

#[tokio::test]
async fn a_record_is_over_at_its_very_instant() {
    let Bare(store, clock) = Bare::start().await;
    let revision = acquired(&store, "jobs", "a", LEASE).await;
    clock.advance(LEASE - Duration::from_nanos(1));
    assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision));
    clock.advance(Duration::from_nanos(1));
    assert_eq!(store.read("jobs").await.unwrap(), Entry::Vacant);
    let late = store.write("jobs", renew(2, revision, "a", LEASE)).await;
    assert_eq!(late, Outcome::Refused { current: Revision(0) });
}

#[tokio::test]
async fn markers_of_several_expiries_come_in_the_order_of_their_instants() {
    let Marked(Bare(store, clock)) = Marked::start().await;
    for (key, seconds) in [("late", 3), ("early", 1), ("middle", 2)] {
        acquired(&store, key, "a", Duration::from_secs(seconds)).await;
    }
    let mut watch = store.watch().await.unwrap();
    for _ in 0..3 {
        next(&mut watch).await.unwrap();
    }
    clock.advance(LEASE);
    for (key, revision) in [("early", 4), ("middle", 5), ("late", 6)] {
        let delivered = next(&mut watch).await.unwrap();
        assert_eq!(
            (delivered.key.as_str(), delivered.entry),
            (key, Entry::Expired { revision: Revision(revision) })
        );
    }
}

#[tokio::test]
async fn a_marker_is_acquired_by_its_revision() {
    let Marked(Bare(store, clock)) = Marked::start().await;
    acquired(&store, "jobs", "a", LEASE).await;
    clock.advance(LEASE);
    let absent = store.write("jobs", acquire(2, Expect::Absent, "b", LEASE)).await;
    assert_eq!(absent, Outcome::Refused { current: Revision(2) });
    applied(store.write("jobs", acquire(3, Expect::Revision(Revision(2)), "b", LEASE)).await);
}

#[tokio::test]
async fn a_foreign_record_under_a_key_that_held_none_is_kept_for_thirty_seconds() {
    let Bare(store, clock) = Bare::start().await;
    let revision = store.put("jobs", b"go-1").await.unwrap();
    clock.advance(Duration::from_secs(30) - Duration::from_nanos(1));
    assert_eq!(store.read("jobs").await.unwrap().revision(), Some(revision));
    clock.advance(Duration::from_nanos(1));
    assert_eq!(store.read("jobs").await.unwrap(), Entry::Vacant);
}

#[tokio::test]
async fn only_its_first_incarnation_is_known_never_to_have_been_used() {
    let store = Bare::start().await.0;
    assert!(store.inspect().await.unwrap().never_used);
    store.reset();
    assert!(!store.inspect().await.unwrap().never_used);
}

#[tokio::test]
async fn a_watcher_that_falls_too_far_behind_is_cut_off() {
    let store = Bare::start().await.0;
    let mut watch = store.watch().await.unwrap();
    let mut revision = acquired(&store, "jobs", "a", LEASE).await;
    for attempt in 2..3000 {
        revision = applied(store.write("jobs", renew(attempt, revision, "a", LEASE)).await);
    }
    assert_eq!(next(&mut watch).await, None);
}

#[tokio::test]
async fn a_deletion_says_the_lease_of_the_last_live_record() {
    let fixture = Bare::start().await;
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    acquired(&*store, "jobs", "a", LEASE * 3).await;
    operator.delete("jobs").await.unwrap();
    // A deletion over a tombstone states the lease too, because the previous leader may not have learned of the first
    // deletion yet.
    let revision = operator.delete("jobs").await.unwrap();
    assert_eq!(store.read("jobs").await.unwrap(), Entry::Deleted { revision, lease: Some(LEASE * 3) });
    let revision = operator.delete("never led").await.unwrap();
    assert_eq!(store.read("never led").await.unwrap(), Entry::Deleted { revision, lease: None });
}

mod by_url {
    use incumbent::CampaignOptions;
    use incumbent::store::InitOptions;

    use super::*;

    /// A store under a name of its own in this process.
    struct Named(String);

    impl every_store::Fixture for Named {
        async fn start() -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            Self(format!("memory:every-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
        }

        fn url(&self) -> String {
            self.0.clone()
        }

        fn preparation(&self) -> Option<InitOptions> {
            None
        }

        fn options(&self, name: &str) -> CampaignOptions {
            CampaignOptions::new().name(name).splay(Duration::ZERO)
        }
    }

    every_store::tests!(Named);
}

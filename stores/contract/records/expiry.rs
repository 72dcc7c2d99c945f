//! A record ends with its lease, never earlier, and later by no more than the granularity (which a
//! busy machine may stretch, so these tests wait with a generous limit).

use std::cell::Cell;

use incumbent::incumbent_core::record::Entry;

use super::{Fixture, acquire, acquired, applied, eventually, expect_of, next, renew};

pub(crate) async fn a_record_is_kept_for_its_lease(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let sent = fixture.clock().now();
    acquired(&*store, "jobs", "a", fixture.lease()).await;
    fixture.pass(fixture.lease() / 2).await;
    eventually("the record expires", || async {
        let gone = store.read("jobs").await.unwrap().live().is_none();
        // The clock is read after the answer, so at least this much time has passed.
        let lived = fixture.clock().now().since(sent);
        assert!(!gone || lived >= fixture.lease(), "gone after {lived:?} of {:?}", fixture.lease());
        if !gone {
            fixture.pass(fixture.lease() / 50).await;
        }
        gone.then_some(())
    })
    .await;
}

pub(crate) async fn an_expired_record_is_gone_and_its_key_can_be_acquired(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    acquired(&*store, "jobs", "a", fixture.lease()).await;
    fixture.pass(fixture.lease()).await;
    let gone = expired(fixture, &*store, "jobs").await;
    assert!(matches!(gone, Entry::Vacant | Entry::Expired { .. }), "{gone:?}");
    applied(store.write("jobs", acquire(2, expect_of(&gone), "b", fixture.lease())).await);
    let entry = store.read("jobs").await.unwrap();
    assert_eq!(entry.live().map(|record| record.candidate.as_str()), Some("b"));
}

pub(crate) async fn a_renewal_begins_the_lease_again(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let tries = Cell::new(0);
    eventually("four renewals, each within a lease of the previous one", || async {
        tries.set(tries.get() + 1);
        let key = format!("jobs-{}", tries.get());
        let mut sent = fixture.clock().now();
        let mut revision = acquired(&*store, &key, "a", fixture.lease()).await;
        for attempt in 2..6 {
            fixture.pass(fixture.lease() / 2).await;
            let sending = fixture.clock().now();
            // The write is refused unless the renewal restarted the lease.
            let outcome = store.write(&key, renew(attempt, revision, "a", fixture.lease())).await;
            if fixture.clock().now().since(sent) >= fixture.lease() {
                // The machine was too busy: the answer proves nothing.
                return None;
            }
            (revision, sent) = (applied(outcome), sending);
        }
        Some(())
    })
    .await;
}

pub(crate) async fn a_foreign_record_expires_as_the_one_before_it_would_have(fixture: &impl Fixture) {
    let (store, operator) = (fixture.connect().await, fixture.operator().await);
    acquired(&*store, "jobs", "a", fixture.lease()).await;
    let foreign = operator.put("jobs", b"go-1").await.unwrap();
    assert_eq!(store.read("jobs").await.unwrap().revision(), Some(foreign));
    fixture.pass(fixture.lease()).await;
    expired(fixture, &*store, "jobs").await;
}

pub(crate) async fn an_expired_record_is_not_listed_as_live(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    acquired(&*store, "jobs", "a", fixture.lease()).await;
    fixture.pass(fixture.lease()).await;
    eventually("the list shows nothing live", || async {
        let listed = store.list().await.unwrap();
        listed.iter().all(|watched| watched.entry.live().is_none()).then_some(())
    })
    .await;
}

pub(crate) async fn watchers_receive_an_expiry_where_that_is_promised(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let mut watch = store.watch().await.unwrap();
    let revision = acquired(&*store, "jobs", "a", fixture.lease()).await;
    let delivered = next(&mut watch).await.unwrap();
    assert_eq!(delivered.entry.revision(), Some(revision));
    fixture.pass(fixture.lease()).await;
    if store.capabilities().expiry_pushed {
        let delivered = next(&mut watch).await.unwrap();
        let Entry::Expired { revision: marker } = delivered.entry else { panic!("{delivered:?}") };
        assert_eq!((delivered.key.as_str(), marker > revision), ("jobs", true));
        assert_eq!(store.read("jobs").await.unwrap(), Entry::Expired { revision: marker });
    } else {
        // The watch does not report the expiry: its next change is the next write.
        let gone = expired(fixture, &*store, "jobs").await;
        let write = acquire(2, expect_of(&gone), "b", fixture.lease());
        let after = applied(store.write("jobs", write.clone()).await);
        assert_eq!(next(&mut watch).await.unwrap().entry.revision(), Some(after));
    }
}

/// Waits until the record has expired, and returns the entry.
async fn expired(fixture: &impl Fixture, store: &dyn incumbent::store::Adapter, key: &str) -> Entry {
    let granularity = store.capabilities().granularity;
    fixture.pass(granularity).await;
    eventually("the record expires", || async {
        Some(store.read(key).await.unwrap()).filter(|entry| entry.live().is_none())
    })
    .await
}

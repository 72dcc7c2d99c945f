//! Concurrent writes: the store applies one at a time.

use futures_util::future::join_all;
use incumbent::incumbent_core::Revision;
use incumbent::incumbent_core::store::{Expect, Outcome, Write};
use incumbent::store::Adapter;

use super::{Fixture, acquire, acquired, applied, eventually, renew};

const WRITERS: u64 = 8;

pub(crate) async fn of_many_acquires_at_once_exactly_one_is_applied(fixture: &impl Fixture) {
    let stores = connect(fixture).await;
    for round in 0..10 {
        let key = format!("jobs-{round}");
        one_of(&stores, &key, |writer| {
            acquire(writer, Expect::Absent, &format!("w{writer}"), fixture.lease())
        })
        .await;
    }
}

pub(crate) async fn of_many_renewals_of_one_revision_exactly_one_is_applied(fixture: &impl Fixture) {
    let stores = connect(fixture).await;
    let mut revision = acquired(&*stores[0], "jobs", "w", fixture.lease()).await;
    for _ in 0..10 {
        revision =
            one_of(&stores, "jobs", |writer| renew(writer, revision, &format!("w{writer}"), fixture.lease()))
                .await;
    }
}

pub(crate) async fn writers_of_different_keys_all_get_through(fixture: &impl Fixture) {
    let stores = connect(fixture).await;
    let renewing = stores.iter().enumerate().map(|(writer, store)| async move {
        let key = format!("jobs-{writer}");
        let mut expect = Expect::Absent;
        for attempt in 1..10 {
            // Another writer may lock the store briefly. Then the write is repeated, so none is lost.
            let revision = eventually("the write is applied", || async {
                match store.write(&key, acquire(attempt, expect, "w", fixture.lease())).await {
                    Outcome::Busy => None,
                    outcome => Some(applied(outcome)),
                }
            })
            .await;
            expect = Expect::Revision(revision);
        }
        let record = store.read(&key).await.unwrap();
        assert_eq!(record.revision().map(Expect::Revision), Some(expect));
    });
    join_all(renewing).await;
}

async fn connect(fixture: &impl Fixture) -> Vec<Box<dyn Adapter>> {
    join_all((0..WRITERS).map(|_| fixture.connect())).await
}

/// Sends all writes at once; returns the winner's revision.
async fn one_of(stores: &[Box<dyn Adapter>], key: &str, write: impl Fn(u64) -> Write) -> Revision {
    let writes: Vec<_> = (0..WRITERS).map(write).collect();
    let writing = stores.iter().zip(&writes).map(|(store, write)| store.write(key, write.clone()));
    let outcomes = join_all(writing).await;
    let winners: Vec<(usize, Revision)> = outcomes
        .iter()
        .enumerate()
        .filter_map(|(writer, outcome)| match outcome {
            Outcome::Applied { revision, .. } => Some((writer, *revision)),
            _ => None,
        })
        .collect();
    let [(winner, revision)] = winners[..] else { panic!("not one winner: {outcomes:?}") };
    for outcome in &outcomes {
        let lost = matches!(outcome, Outcome::Refused { .. } | Outcome::Busy | Outcome::Applied { .. });
        assert!(lost, "neither won nor lost: {outcome:?}");
    }
    let entry = stores[0].read(key).await.unwrap();
    let record = entry.live().unwrap_or_else(|| panic!("{entry:?}"));
    assert_eq!((record.revision, record.candidate.as_str()), (revision, format!("w{winner}").as_str()));
    revision
}

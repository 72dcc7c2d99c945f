//! The adapter against real servers.

mod faults;
mod opening;
mod queues;

use std::time::{Duration, UNIX_EPOCH};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use incumbent_core::Revision;
use incumbent_core::queue::{Action, Change, LeaseId, Outcome, Own};
use incumbent_core::record::Nonce;
use incumbent_testkit::wait::GENEROUS;

use super::adapter::Etcd;
use super::keys::Identity;
use super::settings::EtcdSettings;
use incumbent_store::clock::Clock;
use incumbent_store::link::Watched;

const TTL: Duration = Duration::from_secs(30);

/// The settings for these members, with a prefix, and without waiting for an answer.
fn settings(addresses: &str) -> EtcdSettings {
    EtcdSettings::new(addresses).unwrap().prefix("app").fail_fast(true)
}

/// A store with a campaign or an observer of `jobs`.
async fn open(settings: &EtcdSettings) -> Etcd {
    let store = Etcd::open(settings, &Clock::system()).await.unwrap();
    store.follow("jobs");
    store
}

fn identity(name: &str) -> Identity {
    Identity {
        name: name.into(),
        nonce: Nonce(7),
        lease_time: TTL,
        since: UNIX_EPOCH,
        metadata: vec![("zone".into(), "b".into())],
    }
}

/// Enters an election with a lease of this number, and returns what was created.
async fn enter(store: &Etcd, election: &str, name: &str, lease: u64) -> Own {
    let lease = LeaseId(lease);
    store.grant(lease, TTL).await.unwrap();
    let companion = store.share(None, TTL).await.unwrap();
    let action = Action::Enter { lease, companion, replaces: None };
    Own { lease, revision: applied(store.write(election, &identity(name), &action).await) }
}

async fn leave(store: &Etcd, election: &str, own: Own) -> Revision {
    let action = Action::Leave { lease: own.lease, revision: Some(own.revision) };
    applied(store.write(election, &identity(""), &action).await)
}

#[track_caller]
fn applied(outcome: Outcome) -> Revision {
    match outcome {
        Outcome::Applied { revision } => revision,
        other => panic!("{other:?}"),
    }
}

/// The next event, which must arrive soon.
async fn next(watch: &mut BoxStream<'static, Watched<Change>>) -> Option<Watched<Change>> {
    tokio::time::timeout(GENEROUS, watch.next()).await.expect("an event of the watch")
}

/// The names of the candidates of an election, in the order of its queue.
async fn candidates(store: &Etcd, election: Option<&str>) -> Vec<(String, String)> {
    let candidates = store.candidates(election).await.unwrap();
    candidates.into_iter().map(|candidate| (candidate.election, candidate.name)).collect()
}

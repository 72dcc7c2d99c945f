//! Helpers for the tests on etcd.

use std::time::Duration;

use incumbent::store::Settings as _;
use incumbent::store::etcd::{EtcdSettings, init};
use incumbent::{CampaignOptions, Candidate, Event, Events, Preset, Reason, State, Store};
use incumbent_testkit::etcd::{EtcdServer, Options};
use incumbent_testkit::tools::EtcdVersion;

/// A time limit far longer than any step takes, even on a busy machine.
const GENEROUS: Duration = Duration::from_secs(60);

/// A lease that outlasts a stall of a busy machine. Some tests wait for its end, mostly on servers of the older
/// version.
pub(crate) const LEASE: Duration = Duration::from_secs(12);

/// The name of every election here.
pub(crate) const JOBS: &str = "jobs";

/// A server of the newest version on which no election has ever run, so that the first leader need not wait.
pub(crate) async fn server() -> EtcdServer {
    prepared(Options::new()).await
}

/// A server of each version.
pub(crate) async fn servers() -> Vec<EtcdServer> {
    let mut servers = Vec::new();
    for version in EtcdVersion::tested() {
        servers.push(prepared(Options::new().version(version)).await);
    }
    servers
}

/// A server on which no election has ever run.
pub(crate) async fn prepared(options: Options) -> EtcdServer {
    let server = EtcdServer::start(options);
    soon(init(&EtcdSettings::from_url(&url(&server)).unwrap(), true)).await.unwrap();
    server
}

/// A new connection to it.
pub(crate) async fn connect(server: &EtcdServer) -> Store {
    soon(Store::open(&url(server))).await.unwrap()
}

pub(crate) fn url(server: &EtcdServer) -> String {
    format!("etcd://{}", server.address())
}

/// A candidate with a short lease and no splay.
pub(crate) fn options(name: &str) -> CampaignOptions {
    CampaignOptions::new().name(name).preset(Preset::Fast).lease(LEASE).splay(Duration::ZERO)
}

/// A candidate that leads.
pub(crate) async fn leader(store: &Store, name: &str) -> Candidate {
    let candidate = candidate(store, name).await;
    drop(soon(candidate.next_term()).await.unwrap());
    candidate
}

/// A candidate that has a place behind other candidates.
pub(crate) async fn waiting(store: &Store, name: &str) -> Candidate {
    let candidate = candidate(store, name).await;
    until(async || places(store).await.iter().any(|place| place == name)).await;
    candidate
}

pub(crate) async fn candidate(store: &Store, name: &str) -> Candidate {
    soon(store.campaign(JOBS, options(name))).await.unwrap()
}

/// The names of the candidates, in the order of the queue.
pub(crate) async fn places(store: &Store) -> Vec<String> {
    let candidates = soon(store.candidates(JOBS)).await.unwrap().unwrap();
    candidates.into_iter().map(|candidate| candidate.name).collect()
}

/// Waits, but no longer than [`GENEROUS`].
pub(crate) async fn soon<F: IntoFuture>(work: F) -> F::Output {
    tokio::time::timeout(GENEROUS, work).await.expect("it takes too long")
}

/// Waits until `done` returns true.
pub(crate) async fn until(mut done: impl AsyncFnMut() -> bool) {
    soon(async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Waits until the candidate is in that state.
pub(crate) async fn until_state(candidate: &Candidate, state: State) {
    until(async || candidate.state() == state).await;
}

/// The reason of the next loss.
pub(crate) async fn lost(events: &mut Events) -> Reason {
    loop {
        match soon(events.next()).await.expect("the campaign is over") {
            Event::Lost { reason, .. } => return reason,
            _ => continue,
        }
    }
}

/// All keys of the server.
pub(crate) fn keys(server: &EtcdServer) -> Vec<String> {
    let listed = server.ctl(&["get", "", "--prefix", "--keys-only"]);
    listed.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The number of leases on the server.
pub(crate) fn leases(server: &EtcdServer) -> usize {
    server.ctl(&["lease", "list"]).lines().skip(1).count()
}

/// Puts a foreign candidate, which lives as long as the server, at the end of the queue.
pub(crate) fn put_foreign(server: &EtcdServer, name: &str) {
    let granted = server.ctl(&["lease", "grant", "600"]);
    let lease = granted.split_whitespace().nth(1).expect("lease ID granted with TTL(600s)");
    server.ctl(&["put", &format!("{JOBS}/{lease}"), name, &format!("--lease={lease}")]);
}

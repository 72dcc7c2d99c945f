//! All connections list the candidates of an election.

use std::time::Duration;

use incumbent::store::CandidateInfo;
use incumbent::{CampaignOptions, Candidate, Preset, Store};

use super::{Fixture, eventually};

/// A store on its own connection.
async fn store(fixture: &impl Fixture) -> Store {
    Store::from_adapter(fixture.connect().await, fixture.clock().clone()).unwrap()
}

async fn register(fixture: &impl Fixture, store: &Store, election: &str, name: &str) -> Candidate {
    let options = CampaignOptions::new().name(name).preset(Preset::Test).lease(fixture.lease());
    store.campaign(election, options.splay(Duration::ZERO)).await.unwrap()
}

/// All candidates, sorted, each as "election name": two that entered over two connections at the same time may come in
/// either order.
fn names(present: Option<Vec<CandidateInfo>>) -> Vec<String> {
    let present = present.expect("this store lists candidates");
    let mut names: Vec<_> = present.iter().map(|one| format!("{} {}", one.election, one.name)).collect();
    names.sort();
    names
}

/// Asks for candidates over `store` until the answer is `expected`. On a busy machine, another connection may announce
/// its candidates too late for a single call.
async fn until_told(store: &Store, expected: &[&str]) {
    let what = format!("the candidates {expected:?}");
    eventually(&what, || async { (names(store.all_candidates().await.unwrap()) == expected).then_some(()) })
        .await;
}

/// The only candidate of `jobs`, once it is listed.
async fn alone(store: &Store) -> CandidateInfo {
    eventually("a single candidate", || async {
        let mut listed = store.candidates("jobs").await.unwrap().unwrap();
        (listed.len() == 1).then(|| listed.remove(0))
    })
    .await
}

pub(crate) async fn without_candidates_none_are_listed(fixture: &impl Fixture) {
    let store = store(fixture).await;
    assert_eq!(store.all_candidates().await.unwrap(), Some(Vec::new()));
    assert_eq!(store.candidates("jobs").await.unwrap(), Some(Vec::new()));
}

pub(crate) async fn the_candidates_of_all_connections_are_listed(fixture: &impl Fixture) {
    let (one, two, aside) = (store(fixture).await, store(fixture).await, store(fixture).await);
    let _ada = register(fixture, &one, "jobs", "ada").await;
    let _ben = register(fixture, &two, "jobs", "ben").await;
    let _cleo = register(fixture, &two, "reports", "cleo").await;
    for store in [&one, &two, &aside] {
        until_told(store, &["jobs ada", "jobs ben", "reports cleo"]).await;
        let of_one = || async { names(store.candidates("reports").await.unwrap()) };
        eventually("those of one election", || async { (of_one().await == ["reports cleo"]).then_some(()) })
            .await;
        assert_eq!(names(store.candidates("nightly").await.unwrap()), Vec::<String>::new());
    }
}

pub(crate) async fn a_candidate_is_listed_with_its_campaign_and_its_time_of_registration(
    fixture: &impl Fixture,
) {
    let (one, aside) = (store(fixture).await, store(fixture).await);
    let ada = register(fixture, &one, "jobs", "ada").await;
    let before = alone(&aside).await;
    fixture.pass(Duration::from_millis(500)).await;
    let after = alone(&aside).await;
    let longer = before.standing_for + Duration::from_millis(500);
    assert!(after.standing_for >= longer, "{before:?} {after:?}");
    assert!(before.nonce.is_some());
    assert_eq!(before.nonce, after.nonce);
    // Two candidates with the same name count as two.
    let _other = register(fixture, &aside, "jobs", "ada").await;
    until_told(&aside, &["jobs ada", "jobs ada"]).await;
    drop(ada);
}

pub(crate) async fn a_candidate_that_leaves_the_race_is_not_listed_until_it_is_back(fixture: &impl Fixture) {
    let (one, aside) = (store(fixture).await, store(fixture).await);
    let ada = register(fixture, &one, "jobs", "ada").await;
    let ben = register(fixture, &one, "jobs", "ben").await;
    let cleo = register(fixture, &one, "jobs", "cleo").await;
    until_told(&aside, &["jobs ada", "jobs ben", "jobs cleo"]).await;
    ben.set_healthy(false);
    until_told(&aside, &["jobs ada", "jobs cleo"]).await;
    ben.set_healthy(true);
    until_told(&aside, &["jobs ada", "jobs ben", "jobs cleo"]).await;
    ben.close().await.unwrap();
    until_told(&aside, &["jobs ada", "jobs cleo"]).await;
    drop(cleo);
    until_told(&aside, &["jobs ada"]).await;
    // A candidate that resigns stays in the election.
    ada.resign().await.unwrap();
    until_told(&aside, &["jobs ada"]).await;
}

pub(crate) async fn a_connection_that_ends_takes_its_candidates_along(fixture: &impl Fixture) {
    let (one, two, aside) = (store(fixture).await, store(fixture).await, store(fixture).await);
    let ada = register(fixture, &one, "jobs", "ada").await;
    let _ben = register(fixture, &two, "jobs", "ben").await;
    let cleo = register(fixture, &aside, "jobs", "cleo").await;
    until_told(&aside, &["jobs ada", "jobs ben", "jobs cleo"]).await;
    two.close().await.unwrap();
    until_told(&aside, &["jobs ada", "jobs cleo"]).await;
    drop((ada, one));
    until_told(&aside, &["jobs cleo"]).await;
    drop(cleo);
    until_told(&aside, &[]).await;
}

pub(crate) async fn a_thousand_candidates_of_one_connection_are_all_listed(fixture: &impl Fixture) {
    let (one, aside) = (store(fixture).await, store(fixture).await);
    let keys: Vec<_> = (0..1000).map(|n| format!("election-{n:03}")).collect();
    let entering = keys.iter().map(|key| register(fixture, &one, key, "ada"));
    let candidates = futures_util::future::join_all(entering).await;
    let expected: Vec<_> = keys.iter().map(|key| format!("{key} ada")).collect();
    until_told(&aside, &expected.iter().map(String::as_str).collect::<Vec<_>>()).await;
    drop(candidates);
}

//! One watch of a store, for any number of guests.

use std::time::Duration;

use incumbent::Clock;
use incumbent::incumbent_core::campaign::Settings;

use crate::support::*;

#[tokio::test]
async fn the_watch_tells_a_release_long_before_a_poll_would() {
    let clock = Clock::system();
    let (campaigner, stores) = (campaigner(), stores("memory:", &clock).await);
    // Leases of a minute: no candidate would read the key again before that.
    let long = |name| Settings { lease: Some(Duration::from_secs(60)), ..settings(name) };
    let mut first = campaigner.campaign(&stores, "elections", "jobs", long("first")).await.unwrap();
    won(&mut first).await;
    let mut others = Vec::new();
    for name in ["b", "c", "d", "e"] {
        others.push(campaigner.campaign(&stores, "elections", "jobs", long(name)).await.unwrap());
    }
    for other in &mut others {
        until(other, |event| {
            matches!(event, incumbent::incumbent_core::campaign::Event::LeaderChanged(Some(_))).then_some(())
        })
        .await;
    }
    first.close();
    draining(&mut first).await;
    let before = clock.now();
    first.drained();
    let next = async {
        loop {
            if let Some(leader) = others.iter().find(|other| other.is_leader()) {
                return leader.token();
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), next).await.unwrap();
    assert!(clock.now().since(before) < Duration::from_secs(30));
}

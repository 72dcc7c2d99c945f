//! A bucket that is deleted and created again under a leader.

use std::time::Duration;

use async_nats::jetstream;
use incumbent::incumbent_core::campaign::{Event, Preset, Settings};
use incumbent::{Clock, Reason, Token};
use incumbent_testkit::wait::GENEROUS;
use incumbent_wasmtime::{Campaigner, Candidate, Host, Stores};

use crate::compiled::compiled;
use crate::{make_bucket, server};

async fn until<T>(election: &mut Candidate, pick: impl Fn(Event) -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(picked) = pick(election.next().await.expect("the campaign continues")) {
                return picked;
            }
        }
    };
    tokio::time::timeout(GENEROUS, wait).await.expect("it happens before long")
}

async fn won(election: &mut Candidate) -> Token {
    until(election, |event| match event {
        Event::Won(term) => Some(term.token),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn a_leader_whose_bucket_was_replaced_loses_and_leads_again_under_a_larger_token() {
    let (server, url) = server().await;
    let clock = Clock::system();
    let host = Host::new().unwrap();
    let campaigner =
        Campaigner::from_component(&host, &compiled(host.engine(), "incumbent-campaigner")).unwrap();
    let stores =
        Stores::new(clock.clone()).with("elections", incumbent::store::open(&url, &clock).await.unwrap());
    let settings = Settings { preset: Preset::Fast, splay: Some(Duration::ZERO), ..Settings::new("a") };
    let mut leader = campaigner.campaign(&stores, "elections", "jobs", settings).await.unwrap();
    let token = won(&mut leader).await;

    let jetstream = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    jetstream.delete_key_value("elections").await.unwrap();
    make_bucket(&server).await;
    let reason = until(&mut leader, |event| match event {
        Event::Lost { reason, .. } => Some(reason),
        _ => None,
    });
    // Either candidate may reach the new bucket first.
    let reason = reason.await;
    assert!(matches!(reason, Reason::StoreReset | Reason::Expired), "{reason:?}");
    let next = won(&mut leader).await;
    assert!(next.incarnation > token.incarnation, "{next} after {token}");
}

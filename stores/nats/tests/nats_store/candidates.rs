//! The candidates in the elections of a bucket, requested over plain NATS.

use std::time::Duration;

use async_nats::Client;
use futures_util::StreamExt;
use incumbent::store::nats::{ConnectionEvent, InitOptions, init};
use incumbent::store::{CandidateInfo, StoreAdmin, StoreSettings};
use incumbent::{CampaignOptions, Candidate, Event, Store};
use incumbent_testkit::nats::{NatsCluster, NatsServer, Options};
use incumbent_testkit::wait;

use crate::support::*;

/// A time limit far longer than any step takes, even on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const CALLS: &str = "_incumbent.roll.elections";

async fn connect(url: &str) -> Store {
    within(Store::open(&format!("{url}/{BUCKET}"))).await.unwrap()
}

async fn register(store: &Store, election: &str, name: &str) -> Candidate {
    let options = CampaignOptions::new().name(name).splay(Duration::ZERO);
    within(store.campaign(election, options)).await.unwrap()
}

fn names(present: &[CandidateInfo]) -> Vec<String> {
    present.iter().map(|one| format!("{} {}", one.election, one.name)).collect()
}

/// Asks for candidates over `store` until the answer is `expected`.
async fn until_told(store: &Store, expected: &[&str]) {
    wait::until_async(&format!("the candidates {expected:?}"), TIME_LIMIT, || async {
        within(store.all_candidates())
            .await
            .is_ok_and(|listed| listed.is_some_and(|listed| names(&listed) == expected))
    })
    .await;
}

/// Sends a call as a plain client, and returns the first answer; `None` if a later call is answered first.
async fn first_answer(client: &Client, call: &str) -> Option<String> {
    let mut answers = client.subscribe(format!("{CALLS}.mine")).await.unwrap();
    client.publish_with_reply(CALLS, format!("{CALLS}.mine"), call.to_owned().into()).await.unwrap();
    // Calls arrive in order. If this later call is answered first, the earlier one will never be answered.
    let mut later = client.subscribe(format!("{CALLS}.later")).await.unwrap();
    client.publish_with_reply(CALLS, format!("{CALLS}.later"), "".into()).await.unwrap();
    tokio::select! {
        biased;
        answer = answers.next() => answer.map(|answer| String::from_utf8(answer.payload.to_vec()).unwrap()),
        _ = within(later.next()) => None,
    }
}

/// The subjects subscribed on connections with that name, except inboxes.
fn call_subscriptions(server: &NatsServer) -> Vec<String> {
    let connections = wait::until_some("the connections", TIME_LIMIT, || server.monitoring("/connz?subs=1"));
    let all = connections["connections"].as_array().unwrap().iter();
    let subjects = all.flat_map(|one| one["subscriptions_list"].as_array().cloned().unwrap_or_default());
    let subjects = subjects.map(|subject| subject.as_str().unwrap().to_owned());
    subjects.filter(|subject| !subject.starts_with("_INBOX.")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_connections_with_candidates_receive_calls_and_only_while_they_have_some() {
    let bench = Bench::start().await;
    let (store, aside) = (connect(&bench.server.url()).await, connect(&bench.server.url()).await);
    let mut observer = aside.observe("jobs").await.unwrap();
    assert_eq!(within(observer.next()).await.unwrap().leader, None);
    until_told(&aside, &[]).await;
    wait::until("calls to be received by no connection", TIME_LIMIT, || {
        call_subscriptions(&bench.server).is_empty()
    });
    let ada = register(&store, "jobs", "ada").await;
    until_told(&aside, &["jobs ada"]).await;
    wait::until("calls to be received once", TIME_LIMIT, || call_subscriptions(&bench.server) == [CALLS]);
    within(ada.close()).await.unwrap();
    wait::until("calls to be received no more", TIME_LIMIT, || call_subscriptions(&bench.server).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_waits_writes_nothing_and_neither_does_a_call() {
    let bench = Bench::start().await;
    bench.store.put("jobs", b"another").await.unwrap();
    let (store, aside) = (connect(&bench.server.url()).await, connect(&bench.server.url()).await);
    let before = aside.store_info().await.unwrap().newest;
    let _ada = register(&store, "jobs", "ada").await;
    let _ben = register(&store, "jobs", "ben").await;
    wait::until_async("both to be listed", TIME_LIMIT, || async {
        within(aside.candidates("jobs")).await.unwrap().is_some_and(|listed| listed.len() == 2)
    })
    .await;
    assert_eq!(aside.store_info().await.unwrap().newest, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_about_another_incarnation_of_the_bucket_is_not_answered() {
    let bench = Bench::start().await;
    let store = connect(&bench.server.url()).await;
    let _ada = register(&store, "jobs", "ada").await;
    until_told(&store, &["jobs ada"]).await;
    let client = async_nats::connect(bench.server.url()).await.unwrap();
    let incarnation = store.store_info().await.unwrap().incarnation.0;
    let call = |incarnation: u64| format!(r#"{{"incarnation": "{incarnation}"}}"#);
    let answer = first_answer(&client, &call(incarnation)).await.expect("an answer");
    assert!(answer.contains(r#""election":"jobs","name":"ada""#), "{answer}");
    assert_eq!(first_answer(&client, &call(incarnation + 1)).await, None);
    assert_eq!(first_answer(&client, "what?").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_made_again_is_named_by_its_new_incarnation() {
    // The lease is short, because the candidate notices the new bucket only when it renews.
    let short = InitOptions::new().lease(Duration::from_secs(5));
    let bench = Bench::with(&short).await;
    let (store, aside) = (connect(&bench.server.url()).await, connect(&bench.server.url()).await);
    let _ada = register(&store, "jobs", "ada").await;
    until_told(&aside, &["jobs ada"]).await;
    bench.jetstream().await.delete_stream(format!("KV_{BUCKET}")).await.unwrap();
    init(&settings(&bench.server.url()), &short).await.unwrap();
    until_told(&aside, &["jobs ada"]).await;
}

/// A caller chooses the subject of the answers, but it cannot make a candidate write a record in this way.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_nowhere_but_beside_the_call() {
    let bench = Bench::start().await;
    let store = connect(&bench.server.url()).await;
    let _ada = register(&store, "jobs", "ada").await;
    until_told(&store, &["jobs ada"]).await;
    let client = async_nats::connect(bench.server.url()).await.unwrap();
    let mut elsewhere = client.subscribe("elsewhere").await.unwrap();
    for reply in ["$KV.elections.reports", "elsewhere", "_incumbent.roll.elections"] {
        client.publish_with_reply(CALLS, reply, "".into()).await.unwrap();
    }
    // Received after those, and answered.
    assert!(first_answer(&client, "{}").await.is_some());
    assert_eq!(store.leader("reports").await.unwrap(), None);
    client.publish("elsewhere", "the end".into()).await.unwrap();
    assert_eq!(within(elsewhere.next()).await.unwrap().payload, "the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_cannot_be_read_name_no_candidate() {
    let bench = Bench::start().await;
    let store = connect(&bench.server.url()).await;
    let client = async_nats::connect(bench.server.url()).await.unwrap();
    let mut calls = client.subscribe(CALLS).await.unwrap();
    client.flush().await.unwrap();
    let answering = tokio::spawn(async move {
        while let Some(call) = calls.next().await {
            let reply = call.reply.unwrap();
            for answer in [
                "",
                "\u{0}",
                "[[[[",
                r#"{"candidates": {}}"#,
                r#"{"candidates": [{"election": "a b", "name": "x", "standing_ms": 1}]}"#,
                r#"{"version": 2, "candidates": [{"election": "jobs", "name": "zoe", "standing_ms": 7, "state": 1}]}"#,
            ] {
                client.publish(reply.clone(), answer.into()).await.unwrap();
            }
        }
    });
    let zoe = CandidateInfo {
        election: "jobs".into(),
        name: "zoe".into(),
        nonce: None,
        standing_for: Duration::from_millis(7),
    };
    wait::until_async("the one that can be read", TIME_LIMIT, || async {
        let listed = within(store.all_candidates()).await.unwrap().unwrap();
        // On a busy machine the last answer may come too late.
        assert!(listed.is_empty() || listed == [zoe.clone()], "{listed:?}");
        !listed.is_empty()
    })
    .await;
    answering.abort();
}

/// A user has permissions from before requests for candidates existed. The only difference is that its candidates are
/// not listed.
#[tokio::test(flavor = "multi_thread")]
async fn where_requests_for_candidates_are_not_permitted_campaigns_run_without_warning() {
    let strict = "permissions: { \
        publish: { allow: [\"$KV.elections.>\", \"$JS.API.>\", \"$JS.FC.>\"] }, \
        subscribe: { allow: [\"_INBOX.>\"] } }";
    let config = format!(
        "accounts {{ A: {{ jetstream: enabled, users: [ \
         {{ user: admin, password: p }}, {{ user: old, password: p, {strict} }} ] }} }}"
    );
    let server = NatsServer::start(Options::new().config(config));
    let url = |user: &str| server.url().replace("nats://", &format!("nats://{user}:p@"));
    init(&settings(&url("admin")), &InitOptions::new().lease(LEASE).never_used(true)).await.unwrap();
    let listed = Events::default();
    let listening = StoreSettings::Nats(Box::new(listed.listen(&settings(&url("old")))));
    let old = within(Store::builder().open_settings(listening)).await.unwrap();
    let admin = connect(&url("admin")).await;
    let ada = register(&old, "jobs", "ada").await;
    let mut events = ada.events();
    drop(within(ada.next_term()).await.unwrap());
    // The old user may not ask, and a user who may ask gets no answer from the old user's candidates.
    wait::until_async("the denial to be listed in time", TIME_LIMIT, || async {
        within(old.all_candidates()).await.unwrap().is_none()
    })
    .await;
    assert_eq!(within(admin.all_candidates()).await.unwrap(), Some(Vec::new()));
    let cleo = register(&admin, "jobs", "cleo").await;
    until_told(&admin, &["jobs cleo"]).await;
    within(ada.resign()).await.unwrap();
    drop(within(cleo.next_term()).await.unwrap());
    within(ada.close()).await.unwrap();
    while let Some(event) = within(events.next()).await {
        assert!(!matches!(event, Event::Warning(_)), "{event:?}");
    }
    let denied = |event: &ConnectionEvent| matches!(event, ConnectionEvent::NotPermitted { .. });
    assert!(!listed.so_far().iter().any(denied), "{:?}", listed.so_far());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_is_listed_across_servers_and_after_its_own_is_gone() {
    let mut cluster = NatsCluster::start(3);
    wait::until_async("a place for three replicas", TIME_LIMIT, || async {
        init(&settings(&cluster.addresses()), &InitOptions::new().lease(LEASE).replicas(3)).await.is_ok()
    })
    .await;
    let store = connect(&format!("nats://{},{}", cluster[0].address(), cluster[1].address())).await;
    let aside = connect(&cluster[2].url()).await;
    let _ada = register(&store, "jobs", "ada").await;
    until_told(&aside, &["jobs ada"]).await;
    let own = [0, 1]
        .into_iter()
        .find(|node| call_subscriptions(&cluster[*node]) == [CALLS])
        .expect("one of the two");
    cluster[own].kill();
    until_told(&aside, &["jobs ada"]).await;
    assert_eq!(call_subscriptions(&cluster[1 - own]), [CALLS]);
}

//! The test kit's server is real, and so is every fault that it offers.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use async_nats::jetstream;
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::tools::NatsVersion;
use incumbent_testkit::wait::{self, GENEROUS};

async fn jetstream_of(server: &NatsServer) -> jetstream::Context {
    jetstream::new(async_nats::connect(server.url()).await.unwrap())
}

async fn bucket(context: &jetstream::Context) -> jetstream::kv::Store {
    let config = jetstream::kv::Config { bucket: "elections".into(), ..Default::default() };
    context.create_key_value(config).await.unwrap()
}

#[tokio::test]
async fn every_version_serves_a_bucket_as_soon_as_it_has_started() {
    for version in NatsVersion::tested() {
        let server = NatsServer::start(Options::new().version(version));
        let elections = bucket(&jetstream_of(&server).await).await;
        assert_eq!(elections.create("a", "1".into()).await.unwrap(), 1);
        if version != NatsVersion::Newest {
            let varz = wait::until_some("the version", GENEROUS, || server.monitoring("/varz"));
            assert_eq!(varz["version"], version.number());
        }
    }
}

#[tokio::test]
async fn a_killed_server_comes_back_on_its_address_with_its_store() {
    let mut server = NatsServer::start(Options::new());
    let address = server.address();
    bucket(&jetstream_of(&server).await).await.put("a", "1".into()).await.unwrap();

    server.kill();
    assert!(std::net::TcpStream::connect(&address).is_err());
    server.restart();

    assert_eq!(server.address(), address);
    let elections = jetstream_of(&server).await.get_key_value("elections").await.unwrap();
    assert_eq!(elections.get("a").await.unwrap().unwrap(), "1");
}

#[tokio::test]
async fn a_server_stopped_by_its_leave_comes_back_with_its_store() {
    let mut server = NatsServer::start(Options::new());
    bucket(&jetstream_of(&server).await).await.put("a", "1".into()).await.unwrap();
    server.stop();
    server.restart();
    let elections = jetstream_of(&server).await.get_key_value("elections").await.unwrap();
    assert_eq!(elections.get("a").await.unwrap().unwrap(), "1");
}

#[tokio::test]
async fn a_paused_server_answers_only_after_it_is_resumed() {
    let server = NatsServer::start(Options::new());
    let client = async_nats::connect(server.url()).await.unwrap();
    client.flush().await.unwrap();

    server.pause();
    assert!(server.monitoring("/varz").is_none());
    server.resume();

    wait::until_async("an answer", GENEROUS, || async {
        tokio::time::timeout(Duration::from_secs(1), client.flush()).await.is_ok()
    })
    .await;
    wait::until("an answer to another client", GENEROUS, || server.monitoring("/varz").is_some());
}

#[tokio::test]
async fn permissions_given_as_text_are_in_force_and_can_be_taken_away_while_it_runs() {
    let users = |subject: &str| {
        format!(
            "authorization {{ users: [{{ user: u, password: p, permissions: \
             {{ publish: \"{subject}\", subscribe: \">\" }} }}] }}"
        )
    };
    let mut server = NatsServer::start(Options::new().config(users("open.>")));
    assert!(async_nats::connect(server.url()).await.is_err());

    let connect = || async_nats::ConnectOptions::with_user_and_password("u".into(), "p".into());
    let client = connect().connect(server.url()).await.unwrap();
    let mut heard = client.subscribe("open.door").await.unwrap();
    client.publish("open.door", "1".into()).await.unwrap();
    assert_eq!(next(&mut heard).await, "1");

    server.reconfigure(users("shut.>"));

    let client = connect().connect(server.url()).await.unwrap();
    let mut heard = client.subscribe("*.door").await.unwrap();
    client.publish("open.door", "2".into()).await.unwrap();
    client.publish("shut.door", "3".into()).await.unwrap();
    assert_eq!(next(&mut heard).await, "3");
}

async fn next(heard: &mut async_nats::Subscriber) -> String {
    use futures_util::StreamExt;
    let message = tokio::time::timeout(GENEROUS, heard.next()).await.unwrap().unwrap();
    String::from_utf8(message.payload.to_vec()).unwrap()
}

#[test]
#[should_panic(expected = "nats-server ended")]
fn a_configuration_the_server_refuses_fails_the_test_with_its_log() {
    let _ = NatsServer::start(Options::new().config("no_such_setting: {"));
}

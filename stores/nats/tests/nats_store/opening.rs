//! Stores that are refused when they are opened, and the errors.

use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, Source, StorageType};
use incumbent::store::StoreSettings;
use incumbent::store::nats::Nats;
use incumbent::text::Names;
use incumbent::{CampaignOptions, Clock, ErrorKind, Preset, Store};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::port::Port;
use incumbent_testkit::wait::{self, GENEROUS};

use crate::support::*;

fn bucket() -> Config {
    Config {
        name: "KV_elections".into(),
        subjects: vec!["$KV.elections.>".into()],
        max_messages_per_subject: 1,
        max_age: LEASE,
        discard: DiscardPolicy::New,
        num_replicas: 1,
        storage: StorageType::File,
        ..Config::default()
    }
}

async fn refused(config: Config) -> incumbent::Error {
    let server = NatsServer::start(Options::new());
    jetstream(&server.url()).await.create_stream(config).await.unwrap();
    refusal(&settings(&server.url())).await
}

#[tokio::test]
async fn a_bucket_any_client_made_can_be_opened() {
    let server = NatsServer::start(Options::new());
    let config =
        async_nats::jetstream::kv::Config { bucket: BUCKET.into(), max_age: LEASE, ..Default::default() };
    jetstream(&server.url()).await.create_key_value(config).await.unwrap();
    open(&settings(&server.url())).await;
}

#[tokio::test]
async fn a_missing_bucket_is_reported_with_the_call_that_creates_it() {
    let server = NatsServer::start(Options::new());
    let error = refusal(&settings(&server.url())).await;
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let missing = "the NATS bucket \"elections\" does not exist; ";
    assert_eq!(error.message(), format!("{missing}`StoreSettings::init` creates it"));
    assert_eq!(error.text().spelled(Names::Python), format!("{missing}`incumbent.init(url)` creates it"));
}

#[tokio::test]
async fn a_bucket_without_a_ttl_is_unsafe() {
    let error = refused(Config { max_age: Duration::ZERO, ..bucket() }).await;
    assert_eq!(error.kind(), ErrorKind::UnsafeStore);
    assert!(error.message().contains("no TTL"), "{error}");
}

#[tokio::test]
async fn a_bucket_with_a_history_is_unsafe() {
    let error = refused(Config { max_messages_per_subject: 5, ..bucket() }).await;
    assert_eq!(error.kind(), ErrorKind::UnsafeStore);
    assert!(error.message().contains("history is 5"), "{error}");
}

#[tokio::test]
async fn a_bucket_in_memory_is_unsafe() {
    let error = refused(Config { storage: StorageType::Memory, ..bucket() }).await;
    assert_eq!(error.kind(), ErrorKind::UnsafeStore);
    assert!(error.message().contains("kept in memory"), "{error}");
}

#[tokio::test]
async fn a_mirror_is_unsafe() {
    let server = NatsServer::start(Options::new());
    let jetstream = jetstream(&server.url()).await;
    jetstream
        .create_stream(Config { name: "KV_other".into(), subjects: vec!["$KV.other.>".into()], ..bucket() })
        .await
        .unwrap();
    let mirror = Some(Source { name: "KV_other".into(), ..Default::default() });
    jetstream.create_stream(Config { subjects: vec![], mirror, ..bucket() }).await.unwrap();
    let error = refusal(&settings(&server.url())).await;
    assert_eq!(error.kind(), ErrorKind::UnsafeStore);
    assert!(error.message().contains("mirrors another"), "{error}");
}

#[tokio::test]
async fn a_bucket_that_drops_the_oldest_when_full_is_unsafe() {
    let error = refused(Config { discard: DiscardPolicy::Old, max_messages: 100, ..bucket() }).await;
    assert_eq!(error.kind(), ErrorKind::UnsafeStore);
    assert!(error.message().contains("discard \"old\""), "{error}");
}

#[tokio::test]
async fn a_bucket_that_can_hold_no_record_is_unsafe() {
    for (config, setting) in [
        (Config { max_bytes: 300, ..bucket() }, "max_bytes is 300"),
        (Config { max_message_size: 150, ..bucket() }, "max_msg_size is 150"),
    ] {
        let error = refused(config).await;
        assert_eq!(error.kind(), ErrorKind::UnsafeStore);
        assert!(error.message().contains(setting), "{error}");
    }
}

/// The limits that are refused are below the size of the shortest record, whose name and key have one character.
#[tokio::test]
async fn a_bucket_with_room_for_the_shortest_record_twice_is_led() {
    // A lease that does not end merely because the machine is busy.
    let max_age = Duration::from_secs(10);
    let server = NatsServer::start(Options::new());
    let jetstream = jetstream(&server.url()).await;
    jetstream.create_stream(Config { max_age, ..bucket() }).await.unwrap();
    let store = Store::builder().open_settings(StoreSettings::Nats(Box::new(settings(&server.url()))));
    let store = store.await.unwrap();
    let options = CampaignOptions::new().name("a").preset(Preset::Test).lease(max_age);
    let candidate = within(store.campaign("k", options.splay(Duration::ZERO))).await.unwrap();
    let term = within(candidate.next_term()).await.unwrap();
    let bytes = jetstream.get_stream("KV_elections").await.unwrap().cached_info().state.bytes;
    let max_bytes = 2 * i64::try_from(bytes).unwrap() + 1;
    jetstream.update_stream(Config { max_age, max_bytes, max_messages: 1, ..bucket() }).await.unwrap();
    // Two renewals later.
    let goal = term.deadline() + max_age / 2;
    wait::until_async("renewals", GENEROUS, || async { term.deadline() > goal }).await;
    assert!(term.is_current());
    within(candidate.close()).await.unwrap();
    drop(within(Nats::open(&settings(&server.url()), &Clock::system())).await.unwrap());
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    let port = Port::free();
    let error = refusal(&settings(&format!("nats://ada:hunter2@127.0.0.1:{}", port.number()))).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnavailable);
    assert!(error.message().contains(&format!("nats://127.0.0.1:{}", port.number())), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_server_without_jetstream_says_what_to_enable() {
    let config = "accounts { A: { users: [ {user: u, password: p} ] } }";
    let server = NatsServer::start(Options::new().config(config));
    let error = refusal(&settings(&server.url().replace("nats://", "nats://u:p@"))).await;
    assert_eq!(error.kind(), ErrorKind::Broken);
    assert!(error.message().contains("JetStream"), "{error}");
}

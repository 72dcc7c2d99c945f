//! Messages longer than any of our records, from servers that allow them.

use async_nats::jetstream::message::PublishMessage;
use incumbent::incumbent_core::record::{Entry, Kind};
use incumbent::incumbent_core::store::Expect;
use incumbent::store::nats::{InitOptions, init};
use incumbent::store::{Adapter, StoreAdmin};
use incumbent_testkit::nats::{NatsServer, Options};

use crate::support::*;

#[tokio::test]
async fn megabytes_under_a_key_are_reported_by_their_length_and_give_way_to_a_deletion() {
    let server = NatsServer::start(Options::new().config("max_payload: 8MB"));
    init(&settings(&server.url()), &InitOptions::new(LEASE)).await.unwrap();
    let (store, _) = open(&settings(&server.url())).await;
    let mut watch = within(store.watch()).await.unwrap();
    for bytes in [1_000_000, 7_000_000_u64] {
        let value = vec![b'x'; usize::try_from(bytes).unwrap()];
        let revision = within(store.put(KEY, &value)).await.unwrap();
        let expected = Entry::oversize(revision, Kind::Live, bytes);
        assert_eq!(next(&mut watch).await.entry, expected);
        assert_eq!(read(&store, KEY).await, expected);
        let listed = within(store.list()).await.unwrap();
        assert_eq!(listed.into_iter().map(|watched| watched.entry).collect::<Vec<_>>(), [expected]);
    }
    let revision = within(store.delete(KEY)).await.unwrap();
    applied(&store, KEY, &acquire(Expect::Revision(revision))).await;
}

#[tokio::test]
async fn thousands_of_headers_are_counted_with_the_value() {
    let bench = Bench::start().await;
    let jetstream = bench.jetstream().await;
    let send = async |headers: usize, value: usize| {
        let publish = (0..headers).fold(PublishMessage::build(), |publish, number| {
            publish.header(format!("Incumbent-Meta-{number:04}").as_str(), "12345")
        });
        let publish = publish.payload(vec![b'x'; value].into());
        let sent = jetstream.send_publish(format!("$KV.{BUCKET}.{KEY}"), publish).await.unwrap();
        within(async { sent.await.unwrap() }).await.sequence
    };
    // The server itself takes no more than 64 KiB of headers.
    send(2_000, 10).await;
    let entry = read(&bench.store, KEY).await;
    let record = entry.live().unwrap();
    assert_eq!((record.metadata.len(), record.oversize), (2_000, None));
    send(2_000, 512).await;
    assert_eq!(read(&bench.store, KEY).await.live().unwrap().metadata.len(), 2_000);
    let sequence = send(2_000, 20_000).await;
    let bytes = 2_000 * (19 + 5) + 20_000;
    let expected = Entry::oversize(incumbent_core::Revision(sequence), Kind::Live, bytes);
    assert_eq!(read(&bench.store, KEY).await, expected);
}

//! The least that a hand-over can take: publish the tombstone, deliver it to a watcher, publish the acquire, get its
//! acknowledgement.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::push::{Ordered, OrderedConfig};
use async_nats::jetstream::{self, Context};
use futures_util::StreamExt;

/// Two clients: one leaves, and the other waits.
pub(crate) struct Pair {
    leaver: Context,
    waiter: Context,
    watch: Ordered,
    subject: String,
    revision: u64,
}

impl Pair {
    pub(crate) async fn start(url: &str, bucket: &str) -> Self {
        let connect = async || jetstream::new(async_nats::connect(url).await.expect("the server is up"));
        let (leaver, waiter) = (connect().await, connect().await);
        let subject = format!("$KV.{bucket}.bare");
        let stream = waiter.get_stream(format!("KV_{bucket}")).await.expect("the bucket is there");
        let config = OrderedConfig {
            deliver_subject: waiter.client().new_inbox(),
            filter_subject: subject.clone(),
            ..OrderedConfig::default()
        };
        let consumer = stream.create_consumer(config).await.expect("a consumer");
        let watch = consumer.messages().await.expect("a watch");
        let mut pair = Self { leaver, waiter, watch, subject, revision: 0 };
        pair.revision = publish(&pair.waiter, &pair.subject, HeaderMap::new(), "bare", 0).await;
        pair.await_revision(pair.revision).await;
        pair
    }

    pub(crate) async fn hand_over(&mut self) -> Duration {
        let mut headers = HeaderMap::new();
        headers.insert("KV-Operation", "PURGE");
        let (leaver, subject, revision) = (self.leaver.clone(), self.subject.clone(), self.revision);
        let began = Instant::now();
        let leaving = tokio::spawn(async move { publish(&leaver, &subject, headers, "", revision).await });
        let tombstone = self.await_newer(revision).await;
        self.revision = publish(&self.waiter, &self.subject, HeaderMap::new(), "bare", tombstone).await;
        let took = began.elapsed();
        leaving.await.expect("the leaver does not panic");
        self.await_revision(self.revision).await;
        took
    }

    async fn await_revision(&mut self, revision: u64) {
        while self.await_newer(revision - 1).await < revision {}
    }

    async fn await_newer(&mut self, than: u64) -> u64 {
        loop {
            let message = self.watch.next().await.expect("the watch continues").expect("a message");
            let sequence = message.info().expect("a stream's message").stream_sequence;
            if sequence > than {
                return sequence;
            }
        }
    }
}

/// Publishes by compare-and-swap, and returns the sequence.
async fn publish(
    jetstream: &Context,
    subject: &str,
    mut headers: HeaderMap,
    value: &'static str,
    expected: u64,
) -> u64 {
    headers.insert("Nats-Expected-Last-Subject-Sequence", expected.to_string());
    let sent = jetstream.publish_with_headers(subject.to_string(), headers, value.into()).await;
    sent.expect("sent").await.expect("acknowledged").sequence
}

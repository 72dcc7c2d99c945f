//! The least work that leading many elections can take: create each key, then renew each three times per lease.

use std::time::Duration;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::push::{Ordered, OrderedConfig};
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{self, Context};
use async_nats::{Client, HeaderMap};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep_until};

use crate::side::{asked, now, report, report_with_memory};

/// The number of times per second at which due renewals are sent.
const TURNS_PER_SECOND: u32 = 20;

/// Creates each key, and renews it until this process is killed. A lost key is created again at its next turn.
pub(crate) async fn lead(url: &str, elections: u32, lease: Duration) {
    let (server, bucket) = url.rsplit_once('/').expect("a bucket's URL");
    let jetstream = patient(async_nats::connect(server).await.expect("the server is up"));
    report_with_memory("ready");
    asked().await;
    let mut written = create(&jetstream, bucket, elections).await;
    let at = now().as_nanos();
    report_with_memory("settled");
    report(&format!("won {at}"));
    let turns = (lease / 3).as_secs() as u32 * TURNS_PER_SECOND;
    let mut due = Instant::now();
    for turn in (0..turns).cycle() {
        due += Duration::from_secs(1) / TURNS_PER_SECOND;
        sleep_until(due).await;
        let share = |part: u32| (u64::from(elections) * u64::from(part) / u64::from(turns)) as usize;
        let renewing: FuturesUnordered<_> = written[share(turn)..share(turn + 1)]
            .iter_mut()
            .map(|(number, revision)| async {
                *revision = write(&jetstream, bucket, *number, *revision).await.unwrap_or(0);
            })
            .collect();
        renewing.for_each(|()| std::future::ready(())).await;
    }
}

/// Creates each key, watches the bucket, and inspects the bucket once the records are there, as a candidate must.
pub(crate) async fn watch_and_lead(url: &str, elections: u32) {
    let (server, bucket) = url.rsplit_once('/').expect("a bucket's URL");
    let client = async_nats::connect(server).await.expect("the server is up");
    let jetstream = patient(client.clone());
    let stream = jetstream.get_stream(format!("KV_{bucket}")).await.expect("the bucket is there");
    report_with_memory("ready");
    asked().await;
    let watched = watched(&stream, &client, bucket).await.take(elections as usize);
    let created = async {
        create(&jetstream, bucket, elections).await;
        let inspected = stream.get_info().await.expect("the server answers");
        assert!(inspected.state.messages >= u64::from(elections), "all records are there");
    };
    let watched = watched.for_each(async |message| drop(message.expect("in order")));
    tokio::join!(created, watched);
    let at = now().as_nanos();
    report_with_memory("settled");
    report(&format!("won {at}"));
}

/// Watches a bucket until this process is killed.
pub(crate) async fn watch(url: &str) {
    let (server, bucket) = url.rsplit_once('/').expect("a bucket's URL");
    let client = async_nats::connect(server).await.expect("the server is up");
    let stream = jetstream::new(client.clone()).get_stream(format!("KV_{bucket}")).await;
    let stream = stream.expect("the bucket is there");
    report_with_memory("ready");
    asked().await;
    // An ordered consumer that missed a message begins again.
    watched(&stream, &client, bucket).await.for_each(async |message| drop(message)).await;
}

/// A context that waits for an answer as long as a busy server may take.
fn patient(client: Client) -> Context {
    let mut jetstream = jetstream::new(client);
    jetstream.set_timeout(Duration::from_secs(30));
    jetstream
}

async fn watched(stream: &Stream, client: &Client, bucket: &str) -> Ordered {
    let config = OrderedConfig {
        deliver_subject: client.new_inbox(),
        deliver_policy: DeliverPolicy::LastPerSubject,
        filter_subject: format!("$KV.{bucket}.>"),
        ..OrderedConfig::default()
    };
    let consumer = stream.create_consumer(config).await.expect("it is allowed");
    consumer.messages().await.expect("it delivers")
}

/// Creates all records at the same time, and returns their numbers and revisions.
async fn create(jetstream: &Context, bucket: &str, elections: u32) -> Vec<(u32, u64)> {
    let creating: FuturesUnordered<_> =
        (0..elections)
            .map(|number| async move {
                (number, write(jetstream, bucket, number, 0).await.expect("it was vacant"))
            })
            .collect();
    creating.collect().await
}

/// Writes a record of the usual size, and returns its revision; `None` if the key has another revision, or if no answer
/// came.
async fn write(jetstream: &Context, bucket: &str, number: u32, expected: u64) -> Option<u64> {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", expected.to_string());
    headers.insert("Incumbent-Nonce", format!("{number:032x}.{expected}"));
    headers.insert("Incumbent-Lease", "30000");
    let subject = format!("$KV.{bucket}.election-{number}");
    let sent = jetstream.publish_with_headers(subject, headers, "ada".into()).await.ok()?;
    Some(sent.await.ok()?.sequence)
}

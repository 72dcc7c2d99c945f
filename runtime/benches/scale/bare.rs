//! The least that leading many elections can be: create each key, then renew each three times in a lease.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::push::OrderedConfig;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use async_nats::jetstream::{self, Context};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep_until};

use crate::side::{asked, now, report, report_with_memory};

/// Writes of one turn of renewals.
const TURNS_PER_SECOND: u32 = 20;

pub(crate) async fn lead(url: &str, elections: u32, lease: Duration) {
    let (server, bucket) = url.rsplit_once('/').expect("a bucket's URL");
    let jetstream = jetstream::new(async_nats::connect(server).await.expect("the server is up"));
    report_with_memory("ready");
    asked().await;
    let creating: FuturesUnordered<_> =
        (0..elections).map(|number| write(&jetstream, bucket, number, 0)).collect();
    let mut written: Vec<(u32, u64)> = creating.collect().await;
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
                *revision = write(&jetstream, bucket, *number, *revision).await.1
            })
            .collect();
        renewing.for_each(|()| std::future::ready(())).await;
    }
}

/// Creates each key with all the messages that a candidate has for it: it watches the bucket, and reads the key before.
pub(crate) async fn read_and_lead(url: &str, elections: u32) {
    let (server, bucket) = url.rsplit_once('/').expect("a bucket's URL");
    let client = async_nats::connect(server).await.expect("the server is up");
    let jetstream = jetstream::new(client.clone());
    let stream = jetstream.get_stream(format!("KV_{bucket}")).await.expect("the bucket is there");
    report_with_memory("ready");
    asked().await;
    let config = OrderedConfig {
        deliver_subject: client.new_inbox(),
        deliver_policy: DeliverPolicy::LastPerSubject,
        filter_subject: format!("$KV.{bucket}.>"),
        ..OrderedConfig::default()
    };
    let consumer = stream.create_consumer(config).await.expect("it is allowed");
    let watched = consumer.messages().await.expect("it delivers").take(elections as usize);
    let (stream, jetstream) = (&stream, &jetstream);
    let creating: FuturesUnordered<_> = (0..elections)
        .map(|number| async move {
            let subject = format!("$KV.{bucket}.election-{number}");
            let found = stream.get_last_raw_message_by_subject(&subject).await;
            assert_eq!(found.expect_err("it is vacant").kind(), LastRawMessageErrorKind::NoMessageFound);
            write(jetstream, bucket, number, 0).await
        })
        .collect();
    let created = creating.for_each(|_| std::future::ready(()));
    let watched = watched.for_each(async |message| drop(message.expect("in order")));
    tokio::join!(created, watched);
    let at = now().as_nanos();
    report_with_memory("settled");
    report(&format!("won {at}"));
}

/// Writes a record of the usual size, and returns its revision.
async fn write(jetstream: &Context, bucket: &str, number: u32, expected: u64) -> (u32, u64) {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", expected.to_string());
    headers.insert("Incumbent-Nonce", format!("{number:032x}.{expected}"));
    headers.insert("Incumbent-Lease", "30000");
    let subject = format!("$KV.{bucket}.election-{number}");
    let sent = jetstream.publish_with_headers(subject, headers, "ada".into()).await;
    (number, sent.expect("sent").await.expect("acknowledged").sequence)
}

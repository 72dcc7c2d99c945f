//! The heap allocations of a renewal on NATS and of its watch message, compared with a bare client that writes and
//! watches the same.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::client::Request;
use async_nats::jetstream::{self, consumer};
use async_nats::{Client, HeaderMap, HeaderName};
use futures_util::StreamExt;
use futures_util::future::join_all;
use incumbent::store::Settings as _;
use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent::{CampaignOptions, Store};
use incumbent_testkit::nats::{NatsServer, Options};

/// The most allocations of ours for one renewal and its watch message, with the inspections averaged in. The count is
/// 12.8.
const BUDGET: f64 = 14.0;
/// A lease with which each record is renewed every two seconds.
const LEASE: Duration = Duration::from_secs(6);
const ELECTIONS: usize = 1_000;
const WRITES: u64 = 500;

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[tokio::test]
async fn a_renewal_and_its_watch_message_allocate_little_more_than_those_of_a_bare_client() {
    let server = NatsServer::start(Options::new());
    let client = async_nats::connect(server.url()).await.unwrap();
    bucket(&server, "BARE").await;
    let bare = bare(&client).await;
    let url = bucket(&server, "OURS").await;
    let ours = ours(&client, &url).await;
    println!("allocations of a write and its watch message: bare {bare:.1}, ours {ours:.1}");
    assert!(ours - bare <= BUDGET, "bare {bare:.1}, ours {ours:.1}");
}

/// Makes a bucket, and returns its URL.
async fn bucket(server: &NatsServer, name: &str) -> String {
    let url = format!("{}/{name}", server.url());
    let options = InitOptions::new().lease(LEASE).never_used(true);
    init(&NatsSettings::from_url(&url).unwrap(), &options).await.unwrap();
    url
}

/// The allocations of each renewal.
async fn ours(client: &Client, url: &str) -> f64 {
    let store = Store::open(url).await.unwrap();
    let names: Vec<_> = (0..ELECTIONS).map(|number| format!("election-{number}")).collect();
    let options = || CampaignOptions::new().name("ada").splay(Duration::ZERO);
    let candidates = join_all(names.iter().map(|name| store.campaign(name, options()))).await;
    let candidates: Vec<_> = candidates.into_iter().map(Result::unwrap).collect();
    let terms: Vec<_> = join_all(candidates.iter().map(|candidate| candidate.next_term())).await;
    let jetstream = jetstream::new(client.clone());
    let mut stream = jetstream.get_stream("KV_OURS").await.unwrap();
    // The count begins after the first round, because renewals are spread only from then on.
    let first = written(&mut stream).await;
    while written(&mut stream).await < first + 2 * ELECTIONS as u64 {
        tokio::time::sleep(LEASE / 20).await;
    }
    let (before, allocated) = (written(&mut stream).await, COUNT.load(Ordering::Relaxed));
    tokio::time::sleep(LEASE).await;
    let allocated = COUNT.load(Ordering::Relaxed) - allocated;
    let renewals = written(&mut stream).await - before;
    assert!(renewals >= 2 * ELECTIONS as u64, "each is renewed twice or more: {renewals}");
    assert!(terms.iter().all(|term| term.as_ref().is_ok_and(|term| term.is_current())));
    allocated as f64 / renewals as f64
}

/// The number of messages that have ever been written to the stream.
async fn written(stream: &mut jetstream::stream::Stream) -> u64 {
    stream.info().await.unwrap().state.last_sequence
}

/// The allocations of a write with the headers of a renewal, and of its message to a consumer.
async fn bare(client: &Client) -> f64 {
    let jetstream = jetstream::new(client.clone());
    let stream = jetstream.get_stream("KV_BARE").await.unwrap();
    let inbox = client.new_inbox();
    let mut messages = client.subscribe(inbox.clone()).await.unwrap();
    let config = consumer::push::Config {
        deliver_subject: inbox,
        ack_policy: consumer::AckPolicy::None,
        ..consumer::push::Config::default()
    };
    stream.create_consumer(config).await.unwrap();
    let mut sequence = write(client, 0).await;
    let _ = messages.next().await.unwrap();
    let before = COUNT.load(Ordering::Relaxed);
    for _ in 0..WRITES {
        sequence = write(client, sequence).await;
        let message = messages.next().await.unwrap();
        assert_eq!(message.payload, "ada");
    }
    (COUNT.load(Ordering::Relaxed) - before) as f64 / WRITES as f64
}

/// Replaces the message with this sequence, and returns the new message's sequence.
async fn write(client: &Client, expected: u64) -> u64 {
    let mut headers = HeaderMap::new();
    let mut add = |name: &'static str, value: String| headers.insert(HeaderName::from_static(name), value);
    add("Nats-Expected-Last-Subject-Sequence", expected.to_string());
    // A text of the right length, so that no digits are formatted one by one into a growing string.
    add("Incumbent-Nonce", "0".repeat(43));
    add("Incumbent-Lease", LEASE.as_millis().to_string());
    add("Incumbent-Term", "0".repeat(47));
    let payload = Some(String::from("ada").into());
    let request = Request { payload, headers: Some(headers), timeout: Some(None), inbox: None };
    let answer = client.send_request("$KV.BARE.jobs", request).await.unwrap();
    serde_json::from_slice::<Acknowledgement>(&answer.payload).unwrap().seq
}

#[derive(serde::Deserialize)]
struct Acknowledgement {
    seq: u64,
}

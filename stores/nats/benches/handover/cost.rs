//! The cost of leading and of waiting.

use std::hint::black_box;
use std::time::{Duration, Instant};

use incumbent::{CampaignOptions, Candidate, Clock, Preset, Store};

/// The number of writes that are counted: three leases.
const WRITES: u64 = 9;
const WAITING: usize = 5;
const CALLS: usize = 5_000_000;

pub(crate) struct Writes {
    pub(crate) leader: f64,
    pub(crate) candidate: f64,
    pub(crate) writes: usize,
}

/// The writes that the store applied per lease: with a leader alone, and with waiting candidates.
pub(crate) async fn writes(server: &str, bucket: &str, url: &str, lease: Duration) -> Writes {
    let jetstream = async_nats::jetstream::new(async_nats::connect(server).await.expect("the server is up"));
    let stream = format!("KV_{bucket}");
    let applied = async || {
        let stream = jetstream.get_stream(&stream).await.expect("the bucket is there");
        stream.cached_info().state.last_sequence
    };
    let store = Store::open(url).await.expect("the bucket is there");
    let leader = campaign(&store, "leader").await;
    let _term = leader.next_term().await.expect("the first candidate wins");
    // Counts from one write to another, so that no partial lease is counted.
    let over = async || {
        let past = async |revision: u64| {
            let mut now = applied().await;
            while now <= revision {
                tokio::time::sleep(Duration::from_millis(2)).await;
                now = applied().await;
            }
            (now, Instant::now())
        };
        let (first, began) = past(applied().await).await;
        let (last, ended) = past(first + WRITES - 1).await;
        (last - first) as f64 / ((ended - began).as_secs_f64() / lease.as_secs_f64())
    };
    let alone = over().await;
    let mut waiting = Vec::new();
    for name in 0..WAITING {
        waiting.push(campaign(&store, &format!("waiting-{name}")).await);
    }
    let together = over().await;
    store.close().await.expect("closed once");
    // Timers are slightly late, by varying amounts.
    let more = if together - alone < 0.05 { 0.0 } else { together - alone };
    Writes { leader: alone, candidate: more / WAITING as f64, writes: WRITES as usize }
}

async fn campaign(store: &Store, name: &str) -> Candidate {
    let options = CampaignOptions::new().name(name).preset(Preset::Fast).splay(Duration::ZERO);
    store.campaign("cost", options).await.expect("sound settings")
}

pub(crate) struct PerCall {
    pub(crate) value: f64,
    pub(crate) calls: usize,
}

/// The nanoseconds that one call of `is_leader()` takes while leading, and those of one clock read.
pub(crate) async fn is_leader() -> (PerCall, PerCall) {
    let store = Store::open("memory:").await.expect("memory is there");
    let candidate = campaign(&store, "leader").await;
    let term = candidate.next_term().await.expect("the only candidate wins");
    let clock = Clock::system();
    let is_leader = per_call(|| {
        black_box(candidate.is_leader());
    });
    let reading = per_call(|| {
        black_box(clock.now());
    });
    assert!(term.is_current(), "the candidate lost its term during the measurement");
    drop(term);
    store.close().await.expect("closed once");
    (is_leader, reading)
}

fn per_call(mut call: impl FnMut()) -> PerCall {
    let began = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    PerCall { value: began.elapsed().as_secs_f64() * 1e9 / CALLS as f64, calls: CALLS }
}

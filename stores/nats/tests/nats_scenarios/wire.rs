//! What one election costs on the wire, by the server's own counters.

use std::fmt;
use std::ops::Sub;
use std::time::Duration;

use futures_util::StreamExt;
use incumbent::store::nats::{InitOptions, init};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::wait;

use crate::actor::TIME_LIMIT;
use crate::bench::*;

/// The budgets: the largest allowed counts in each phase. Lower a budget when its count falls.
const BUDGETS: [(Phase, Traffic); 3] = [
    (Phase::Win, Traffic { messages_in: 8, bytes_in: 640, messages_out: 10, bytes_out: 5_600 }),
    (Phase::Renewals, Traffic { messages_in: 20, bytes_in: 2_150, messages_out: 64, bytes_out: 15_600 }),
    (Phase::Release, Traffic { messages_in: 1, bytes_in: 190, messages_out: 3, bytes_out: 350 }),
];

/// A phase of the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The store is opened, and the only candidate wins.
    Win,
    /// The candidate renews its lease [`RENEWALS`] times. The heartbeats of the watch meanwhile are included.
    Renewals,
    /// The candidate is closed, which releases the lease, and then the store is closed.
    Release,
}

const RENEWALS: u64 = 10;
/// The time without a change of the counters after which nothing is in flight. A renewal is due every 2 s.
const QUIET: Duration = Duration::from_millis(500);
/// The number of elections to try. On a busy machine an answer may be late and its request repeated, so the counts of
/// another election are taken.
const ELECTIONS: usize = 3;

/// The server's counters of its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Traffic {
    messages_in: u64,
    bytes_in: u64,
    messages_out: u64,
    bytes_out: u64,
}

impl Traffic {
    fn of(server: &NatsServer) -> Option<Self> {
        let counters = server.monitoring("/varz")?;
        let counter = |name: &str| counters[name].as_u64();
        Some(Self {
            messages_in: counter("in_msgs")?,
            bytes_in: counter("in_bytes")?,
            messages_out: counter("out_msgs")?,
            bytes_out: counter("out_bytes")?,
        })
    }

    fn is_within(self, budget: Self) -> bool {
        self.messages_in <= budget.messages_in
            && self.bytes_in <= budget.bytes_in
            && self.messages_out <= budget.messages_out
            && self.bytes_out <= budget.bytes_out
    }
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            messages_in: self.messages_in - before.messages_in,
            bytes_in: self.bytes_in - before.bytes_in,
            messages_out: self.messages_out - before.messages_out,
            bytes_out: self.bytes_out - before.bytes_out,
        }
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { messages_in, bytes_in, messages_out, bytes_out } = self;
        write!(f, "{messages_in} messages of {bytes_in} bytes in, {messages_out} of {bytes_out} bytes out")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_election_sends_no_more_than_its_budget() {
    let mut over = Vec::new();
    for _ in 0..ELECTIONS {
        let phases = election().await;
        over = Vec::new();
        for ((phase, budget), traffic) in BUDGETS.into_iter().zip(phases) {
            println!("{phase:?}: {traffic}; the budget is {budget}");
            if !traffic.is_within(budget) {
                over.push(format!("{phase:?} took {traffic}, and its budget is {budget}"));
            }
        }
        if over.is_empty() {
            return;
        }
    }
    panic!("{}", over.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_sent_nothing_of_elections_that_it_takes_no_part_in() {
    let bench = Bench::start(LONG).await;
    let observing = open(&bench.server.url(), LONG).await;
    let observer = observing.observe("mail").await.unwrap();
    let leading = open(&bench.server.url(), LONG).await;
    let candidate = leading.campaign(KEY, options("a", LONG)).await.unwrap();
    drop(candidate.next_term().await.unwrap());
    candidate.resign().await.unwrap();

    let jetstream = bench.jetstream().await;
    let delivered = || async {
        let stream = jetstream.get_stream(STREAM).await.ok()?;
        let mut consumers = stream.consumers();
        let mut delivered = [None; 2];
        while let Some(consumer) = consumers.next().await {
            let consumer = consumer.ok()?;
            let shows = |key| consumer.config.filter_subjects.contains(&format!("$KV.{BUCKET}.{key}"));
            let place = usize::from(shows(KEY));
            assert!(shows(KEY) != shows("mail"), "{:?}", consumer.config);
            delivered[place] = Some(consumer.delivered.consumer_sequence);
        }
        (delivered[1]? >= 2).then_some(delivered[0])
    };
    let of_observer =
        wait::until_some_async("its own watch to show the win and the release", TIME_LIMIT, delivered);
    assert_eq!(of_observer.await, Some(0));
    drop(observer);
}

/// The traffic of each phase.
async fn election() -> [Traffic; BUDGETS.len()] {
    let server = NatsServer::start(Options::new());
    init(&settings(&server.url()), &InitOptions::new().lease(SHORT).never_used(true)).await.unwrap();
    wait::until("the bucket's maker to be gone", TIME_LIMIT, || {
        server.monitoring("/connz").is_some_and(|connections| connections["num_connections"] == 0)
    });
    let begin = quiet(&server).await;

    let store = open(&server.url(), SHORT).await;
    let candidate = store.campaign(KEY, options("a", SHORT)).await.unwrap();
    let term = candidate.next_term().await.unwrap();
    let won = quiet(&server).await;

    let last = last_sequence(&server).expect("the bucket has a record") + RENEWALS;
    let renewed = || async { last_sequence(&server) >= Some(last) };
    wait::until_async("ten renewals", TIME_LIMIT, renewed).await;
    let led = quiet(&server).await;
    assert_eq!(last_sequence(&server), Some(last), "no more was written than the renewals");
    assert!(term.is_current());
    drop(term);

    candidate.close().await.unwrap();
    store.close().await.unwrap();
    let end = quiet(&server).await;
    assert_eq!(last_sequence(&server), Some(last + 1), "it was released");
    [won - begin, led - won, end - led]
}

/// Waits until nothing is in flight, and returns the counters.
async fn quiet(server: &NatsServer) -> Traffic {
    let read = || wait::until_some("the counters", TIME_LIMIT, || Traffic::of(server));
    let mut before = read();
    loop {
        tokio::time::sleep(QUIET).await;
        let now = read();
        if now == before {
            return now;
        }
        before = now;
    }
}

/// The number of writes that the bucket has had, read without a request to the store.
fn last_sequence(server: &NatsServer) -> Option<u64> {
    let streams = server.monitoring("/jsz?accounts=1&streams=1")?;
    let details = streams["account_details"][0]["stream_detail"].as_array()?;
    details.iter().find(|stream| stream["name"] == STREAM)?["state"]["last_seq"].as_u64()
}

//! What leading and waiting cost the server per lease: keep-alives, reads, and revisions (one for each write).

use std::time::{Duration, Instant};

use incumbent::{CampaignOptions, Candidate, Preset, Store};
use incumbent_testkit::etcd::EtcdServer;
use incumbent_testkit::figure::Figure;

/// The shortest lease on a server with default settings.
const LEASE: Duration = Duration::from_secs(6);
/// The number of keep-alives that are counted: two leases, each with three rounds of two.
const COUNTED: u64 = 12;
const WAITING: usize = 5;

/// The server's counters.
#[derive(Clone, Copy)]
struct Counters {
    keep_alives: u64,
    transactions: u64,
    revision: u64,
    at: Instant,
}

impl Counters {
    fn read(server: &EtcdServer) -> Self {
        let keep_alives = server.metric("grpc_server_msg_received_total", "LeaseKeepAlive");
        let transactions = server.metric("grpc_server_handled_total", "Txn");
        Self { keep_alives, transactions, revision: server.revision(), at: Instant::now() }
    }
}

/// The rates per lease between two readings.
struct Rates {
    keep_alives: f64,
    transactions: f64,
    revisions: u64,
    counted: usize,
}

/// Counts from one keep-alive to another, so that no partial round is counted.
async fn count(server: &EtcdServer) -> Rates {
    let past = async |number: u64| loop {
        let now = Counters::read(server);
        if now.keep_alives > number {
            // Includes the reads of the same round.
            tokio::time::sleep(LEASE / 20).await;
            return Counters { at: now.at, ..Counters::read(server) };
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let first = past(Counters::read(server).keep_alives).await;
    let last = past(first.keep_alives + COUNTED - 1).await;
    let leases = (last.at - first.at).as_secs_f64() / LEASE.as_secs_f64();
    Rates {
        keep_alives: (last.keep_alives - first.keep_alives) as f64 / leases,
        transactions: (last.transactions - first.transactions) as f64 / leases,
        revisions: last.revision - first.revision,
        counted: usize::try_from(last.keep_alives - first.keep_alives).expect("a few"),
    }
}

/// Counts while a leader leads quietly, alone and with others waiting on another connection.
pub(crate) async fn measure(server: &EtcdServer, url: &str) -> Vec<Figure> {
    let store = Store::open(url).await.expect("the server is up");
    let leader = campaign(&store, "leader").await;
    let _term = leader.next_term().await.expect("the first candidate wins");
    let alone = count(server).await;

    let waiting_store = Store::open(url).await.expect("the server is up");
    let mut waiting = Vec::new();
    for name in 0..WAITING {
        waiting.push(campaign(&waiting_store, &format!("waiting-{name}")).await);
    }
    while waiting.iter().any(|candidate| candidate.leader().is_none()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let together = count(server).await;
    waiting_store.close().await.expect("closed once");
    store.close().await.expect("closed once");

    let each = |with: f64, without: f64| (with - without) / WAITING as f64;
    let figure = |name: &str, value, unit, most, counted| Figure::bounded(name, value, unit, most, counted);
    let plain = |name: &str, value, counted| Figure::plain(name, value, "per T", counted);
    vec![
        // Rounds are a third of a lease apart, and each keeps two leases alive. Timers fire late, never early.
        figure("keep-alives of a leader", alone.keep_alives, "per T", 6.1, alone.counted),
        figure("reads of a leader", alone.transactions, "per T", 3.1, alone.counted),
        figure("revisions while a leader leads", alone.revisions as f64, "in all", 0.0, alone.counted),
        plain(
            "keep-alives of a waiting candidate",
            each(together.keep_alives, alone.keep_alives),
            together.counted,
        ),
        plain(
            "reads of a waiting candidate",
            each(together.transactions, alone.transactions),
            together.counted,
        ),
        figure("revisions while candidates wait", together.revisions as f64, "in all", 0.0, together.counted),
    ]
}

async fn campaign(store: &Store, name: &str) -> Candidate {
    let options = CampaignOptions::new().name(name).preset(Preset::Fast).lease(LEASE).splay(Duration::ZERO);
    store.campaign("cost", options).await.expect("sound settings")
}

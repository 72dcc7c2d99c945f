//! A connection has candidates in two elections, and its permissions on one of them are withdrawn. The keys of that
//! election can no longer be deleted, and depend on a lease that the other election's candidate keeps alive.

use incumbent::Warning;
use incumbent_testkit::etcd::{EtcdServer, Options};
use incumbent_testkit::tools::EtcdVersion;

use crate::actor::Actor;
use crate::bench::{BUSY, KEY, PREFIX, STEADY, declare_new, join, now, on_each_version, open, options, url};
use crate::probe::Probe;

/// The other election of the connection.
const OTHER: &str = "mails";

/// A server on which the user `x` may take part in two elections, by a separate permission for each, and the user `y`
/// in all.
struct Guarded {
    server: EtcdServer,
    version: EtcdVersion,
}

impl Guarded {
    async fn start(version: EtcdVersion) -> Self {
        let server = EtcdServer::start(Options::new().version(version));
        declare_new(&url(&server.address())).await;
        let birth = format!("{PREFIX}.incumbent");
        for arguments in [
            &["user", "add", "root:root"][..],
            &["user", "grant-role", "root", "root"],
            &["role", "add", "x"],
            &["role", "grant-permission", "x", "readwrite", &birth],
            &["role", "grant-permission", "--prefix=true", "x", "read", &birth],
            &["role", "add", "y"],
            &["role", "grant-permission", "--prefix=true", "y", "readwrite", PREFIX],
            &["user", "add", "x:secret"],
            &["user", "grant-role", "x", "x"],
            &["user", "add", "y:secret"],
            &["user", "grant-role", "y", "y"],
        ] {
            server.ctl(arguments);
        }
        for range in [KEY, OTHER].into_iter().flat_map(ranges) {
            server.ctl(&["role", "grant-permission", "--prefix=true", "x", "readwrite", &range]);
        }
        server.ctl(&["auth", "enable"]);
        Self { server, version }
    }

    fn url_of(&self, user: &str) -> String {
        format!("etcd://{user}:secret@{}/{PREFIX}", self.server.address())
    }

    /// The candidates of `x` in both elections, on one connection.
    async fn both(&self) -> [Actor; 2] {
        let store = open(&self.url_of("x"), STEADY).await;
        let other = Actor::new(store.campaign(OTHER, options("x", STEADY)).await.unwrap());
        other.won(1).await;
        [Actor::new(store.campaign(KEY, options("x", STEADY)).await.unwrap()), other]
    }

    fn take(&self, range: &str) {
        let user = ["--user", "root:root"];
        let taking = ["role", "revoke-permission", "--prefix=true", "x", range];
        self.server.ctl(&[&user[..], &taking].concat());
    }

    /// Waits until `leader` has led for three more leases while the leader of the other election has kept its term.
    async fn goes_on(&self, leader: &Actor, other: &Actor) {
        leader.renewed_after(now() + 3 * STEADY, STEADY).await;
        assert_eq!(leader.losses(), [], "{}", self.version);
        assert_eq!((other.wins().len(), other.losses().len()), (1, 0), "{}", self.version);
        assert!(other.candidate.is_leader(), "{}", self.version);
    }
}

/// The places and the companions of an election.
fn ranges(election: &str) -> [String; 2] {
    [format!("{PREFIX}{election}/"), format!("{PREFIX}.incumbent/{election}/")]
}

/// The leader of two elections loses the permission on the places of one of them. That election has another leader
/// within four leases, and the term in the other election continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_loses_the_permission_on_the_places_of_one_election_holds_no_one_back() {
    on_each_version(|version| async move {
        let bench = Guarded::start(version).await;
        let [x, other] = bench.both().await;
        x.won(1).await;
        let y = join(&bench.url_of("y"), "y", STEADY).await;
        y.observes("x").await;
        let probe = Probe::of(&[&x, &y]);

        let taken = now();
        bench.take(&ranges(KEY)[0]);
        let second = y.won(1).await;
        assert!(second.started < taken + 4 * STEADY + BUSY, "{version}: {:?}", second.started.since(taken));
        bench.goes_on(&y, &other).await;
        probe.verdict();
    })
    .await;
}

/// A candidate that waits in one election and leads another loses every permission on the first. Its companion there
/// can no longer be deleted or, on newer servers, kept alive. The companion in the other election moves to another
/// lease, and the term there continues. The first election has another leader within four leases.
#[tokio::test(flavor = "multi_thread")]
async fn a_companion_that_cannot_be_deleted_runs_out_and_ends_no_other_term() {
    on_each_version(|version| async move {
        let bench = Guarded::start(version).await;
        let y = join(&bench.url_of("y"), "y", STEADY).await;
        y.won(1).await;
        let [x, other] = bench.both().await;
        x.observes("y").await;
        let z = join(&bench.url_of("y"), "z", STEADY).await;
        z.observes("y").await;
        let probe = Probe::of(&[&x, &y, &z]);

        let taken = now();
        ranges(KEY).iter().for_each(|range| bench.take(range));
        y.candidate.close().await.unwrap();
        let second = z.won(1).await;
        assert!(second.started < taken + 4 * STEADY + BUSY, "{version}: {:?}", second.started.since(taken));
        // Newer servers keep a place alive only with a permission on it, so it runs out before its candidate gives way.
        if version == EtcdVersion::V3_4 {
            let moves = |warning: &Warning| warning.to_string().contains("move to another lease");
            x.warning("that the other candidates move", moves).await;
            x.warning("that it gave way", |warning| warning.code() == "GAVE_WAY").await;
        }
        bench.goes_on(&z, &other).await;
        probe.verdict();
    })
    .await;
}

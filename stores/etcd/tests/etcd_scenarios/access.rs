//! Authentication and TLS: tokens that expire, permissions that are withdrawn, certificates of the server and its
//! clients.

use incumbent::{Reason, Store};
use incumbent_testkit::certificates::Certificates;
use incumbent_testkit::etcd::{EtcdServer, Options};
use incumbent_testkit::wait;
use std::fs;
use tempfile::TempDir;

use crate::actor::{TIME_LIMIT, next_leader};
use crate::bench::{BUSY, KEY, LONG, PREFIX, STEADY, declare_new, join, now, on_each_version, url};
use crate::probe::Probe;

/// Runs `etcdctl` as the root user.
fn root(server: &EtcdServer, arguments: &[&str]) -> String {
    server.ctl(&[&["--user", "root:root"], arguments].concat())
}

/// A server that asks its users for a name and a password, and the URL for a user that may read and write elections.
async fn guarded(options: Options) -> (EtcdServer, String) {
    let server = EtcdServer::start(options);
    declare_new(&url(&server.address())).await;
    for arguments in [
        &["user", "add", "root:root"][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", "elections"],
        &["role", "grant-permission", "--prefix=true", "elections", "readwrite", PREFIX],
        &["user", "add", "app:secret"],
        &["user", "grant-role", "app", "elections"],
        &["auth", "enable"],
    ] {
        server.ctl(arguments);
    }
    let of_app = format!("etcd://app:secret@{}/{PREFIX}", server.address());
    (server, of_app)
}

/// Tokens last three seconds, and rounds are a third of the lease apart, so each round needs a new token. On a busy
/// machine, a token of a shorter life would expire between the login and the request.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_goes_on_when_its_tokens_run_out() {
    let folder = TempDir::new().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "a secret of thirty-two characters").unwrap();
    let token = format!("--auth-token=jwt,priv-key={},sign-method=HS256,ttl=3s", secret.display());
    let options = Options::new().arguments([token]);
    on_each_version(|version| {
        let options = options.clone().version(version);
        async move {
            let (_server, url) = guarded(options).await;
            let a = join(&url, "a", LONG).await;
            let first = a.won(1).await;
            let b = join(&url, "b", LONG).await;
            b.observes("a").await;
            let probe = Probe::of(&[&a, &b]);

            // Two rounds have been sent after this wait.
            a.renewed_after(first.started + LONG / 3, LONG).await;
            assert_eq!(a.losses(), [], "{version}");
            let released = now();
            a.candidate.close().await.unwrap();
            assert!(b.won(1).await.started < released + LONG, "{version}");
            probe.verdict();
        }
    })
    .await;
}

/// After a restart, the server has forgotten the tokens that it issued: the leader gets a new one, and its term
/// continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_goes_on_when_the_server_has_forgotten_its_token() {
    let (mut server, url) = guarded(Options::new()).await;
    let a = join(&url, "a", LONG).await;
    a.won(1).await;
    let b = join(&url, "b", LONG).await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);
    server.restart();
    a.renewed_after(now(), LONG).await;
    a.candidate.close().await.unwrap();
    b.won(1).await;
    assert_eq!(a.losses().len(), 1);
    probe.verdict();
}

/// An operator withdraws the permission from the role: a warning, `Lost(Expired)` at the deadline, and a candidate
/// leads again when the permission is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_without_permission_leads_until_its_deadline_and_one_leads_again_with_it() {
    let (server, url) = guarded(Options::new()).await;
    let a = join(&url, "a", STEADY).await;
    let first = a.won(1).await;
    let b = join(&url, "b", STEADY).await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);

    root(&server, &["role", "revoke-permission", "--prefix=true", "elections", PREFIX]);
    a.warning("the missing permission", |warning| warning.code() == "PERMISSION_DENIED").await;
    assert_eq!(a.lost(1).await.reason, Reason::Expired);
    root(&server, &["role", "grant-permission", "--prefix=true", "elections", "readwrite", PREFIX]);
    next_leader(&[&a, &b], first.token).await;
    probe.verdict();
}

/// An operator withdraws the role from one user. That user's candidate is next to lead, but cannot read the queue to
/// find out; on 3.4 its keep-alives are still answered. The candidate leaves the queue, and the one behind it leads
/// within three leases.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_loses_its_role_holds_no_one_else_back() {
    on_each_version(|version| async move {
        let (server, url) = guarded(Options::new().version(version)).await;
        root(&server, &["user", "add", "other:secret"]);
        root(&server, &["user", "grant-role", "other", "elections"]);
        let of_other = url.replace("app:", "other:");
        let a = join(&url, "a", STEADY).await;
        a.won(1).await;
        let b = join(&of_other, "b", STEADY).await;
        b.observes("a").await;
        let c = join(&url, "c", STEADY).await;
        c.observes("a").await;
        let probe = Probe::of(&[&a, &b, &c]);

        root(&server, &["user", "revoke-role", "other", "elections"]);
        let released = now();
        a.candidate.close().await.unwrap();
        let second = c.won(1).await;
        assert!(second.started < released + 3 * STEADY + BUSY, "{version}");
        probe.verdict();
    })
    .await;
}

/// On a server that requires client certificates, our candidates with a certificate take part, and without one there is
/// no connection.
#[tokio::test(flavor = "multi_thread")]
async fn candidates_with_certificates_hand_over_on_a_server_that_wants_them() {
    let certificates = Certificates::new();
    let server = EtcdServer::start(Options::new().arguments(certificates.of_etcd(true)));
    let [ca, certificate, key] = ["ca.pem", "client.pem", "client.key"].map(|file| certificates.shown(file));
    let trusting = format!("etcds://{}/{PREFIX}?tls_ca={ca}", server.address());
    let url = format!("{trusting}&tls_cert={certificate}&tls_key={key}");
    declare_new(&url).await;
    let a = join(&url, "a", LONG).await;
    a.won(1).await;
    let b = join(&url, "b", LONG).await;
    b.observes("a").await;
    let probe = Probe::of(&[&a, &b]);
    let store = Store::open(&url).await.unwrap();
    let names = || async {
        let listed = store.candidates(KEY).await.unwrap().unwrap_or_default();
        listed.into_iter().map(|one| one.name).collect::<Vec<_>>() == ["a", "b"]
    };
    wait::until_async("both candidates", TIME_LIMIT, names).await;
    a.candidate.hand_over("b").await.unwrap();
    b.won(1).await;
    probe.verdict();

    let refused = Store::builder().fail_fast(true).open(&trusting).await;
    assert!(refused.is_err(), "a client without a certificate is served");
}

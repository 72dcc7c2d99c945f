//! Refusals that come at once on connecting, and their messages.

use std::process::Command;

use incumbent_testkit::certificates::Certificates;
use incumbent_testkit::etcd::{EtcdServer, Options};
use incumbent_testkit::port::Port;
use incumbent_testkit::process::ChildGuard;
use incumbent_testkit::tools::{self, EtcdVersion};
use incumbent_testkit::wait;

use super::*;
use incumbent_store::{Error, ErrorKind};

async fn refusal(settings: &EtcdSettings) -> Error {
    match Etcd::open(settings, &Clock::system()).await {
        Ok(store) => panic!("it is open: {store:?}"),
        Err(error) => error,
    }
}

fn with_tls(certificates: &Certificates, client_certificates: bool) -> EtcdServer {
    EtcdServer::start(Options::new().arguments(certificates.of_etcd(client_certificates)))
}

fn trusting(certificates: &Certificates, server: &EtcdServer) -> EtcdSettings {
    settings(&server.address()).tls_ca(certificates.path("ca.pem"))
}

#[track_caller]
fn says(error: &Error, kind: ErrorKind, parts: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.message().contains(part), "no {part:?} in: {error}");
    }
}

#[tokio::test]
async fn servers_are_known_by_their_shortest_lease() {
    for version in EtcdVersion::tested() {
        let server = EtcdServer::start(Options::new().version(version));
        let found = open(&settings(&server.address())).await.server();
        assert_eq!(found.shortest, Some(Duration::from_secs(2)));
    }
}

#[tokio::test]
async fn the_first_member_that_answers_is_used() {
    let nothing = Port::free();
    let server = EtcdServer::start(Options::new());
    let both = settings(&format!("127.0.0.1:{},{}", nothing.number(), server.address()));
    open(&both).await.inspect().await.unwrap();
}

#[tokio::test]
async fn where_no_member_answers_each_is_named() {
    let (one, other) = (Port::free(), Port::free());
    let addresses = [one.number(), other.number()].map(|port| format!("127.0.0.1:{port}"));
    let error = refusal(&settings(&addresses.join(","))).await;
    says(&error, ErrorKind::StoreUnavailable, &[&addresses[0], &addresses[1], "refused"]);
}

#[tokio::test]
async fn a_store_that_is_to_be_waited_for_opens_when_a_member_comes_up() {
    let mut server = EtcdServer::start(Options::new());
    server.kill();
    let settings = settings(&server.address()).fail_fast(false);
    let opening = tokio::spawn(async move { Etcd::open(&settings, &Clock::system()).await });
    server.restart();
    tokio::time::timeout(GENEROUS, opening).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_server_with_tls_is_trusted_by_its_authority() {
    let certificates = Certificates::new();
    let server = with_tls(&certificates, false);
    open(&trusting(&certificates, &server)).await.inspect().await.unwrap();
    let stranger = Certificates::new();
    let error = refusal(&trusting(&certificates, &server).tls_ca(stranger.path("ca.pem"))).await;
    says(&error, ErrorKind::Authentication, &["TLS", "certificate", "tls_ca"]);
}

#[tokio::test]
async fn a_server_that_wants_a_client_certificate_says_so() {
    let certificates = Certificates::new();
    let server = with_tls(&certificates, true);
    let without = trusting(&certificates, &server);
    let error = refusal(&without).await;
    says(&error, ErrorKind::Authentication, &["TLS", "tls_cert"]);
    let with =
        without.tls_client_certificate(certificates.path("client.pem"), certificates.path("client.key"));
    open(&with).await.inspect().await.unwrap();
}

#[tokio::test]
async fn tls_where_there_is_none_and_the_reverse_name_the_scheme_to_write() {
    let certificates = Certificates::new();
    let (with, without) = (with_tls(&certificates, false), EtcdServer::start(Options::new()));
    let error = refusal(&trusting(&certificates, &without)).await;
    says(&error, ErrorKind::Authentication, &["has no TLS", "write etcd://"]);
    let error = refusal(&settings(&with.address())).await;
    says(&error, ErrorKind::Authentication, &["requires TLS", "etcds://"]);
}

#[tokio::test]
async fn credentials_that_do_not_fit_are_refused_at_once() {
    for version in EtcdVersion::tested() {
        let server = EtcdServer::start(Options::new().version(version));
        // A server without authentication accepts any user, as etcd's own clients expect.
        let ada = settings(&server.address()).fail_fast(false).user_and_password("ada", "pw");
        open(&ada).await.inspect().await.unwrap();
        for command in [
            &["user", "add", "root:secret"][..],
            &["user", "grant-role", "root", "root"],
            &["role", "add", "candidate"],
            &["role", "grant-permission", "candidate", "readwrite", "--prefix", "app/"],
            &["user", "add", "ada:pw"],
            &["user", "grant-role", "ada", "candidate"],
            &["auth", "enable"],
        ] {
            server.ctl(command);
        }
        let anonymous = settings(&server.address()).fail_fast(false);
        says(&refusal(&anonymous).await, ErrorKind::Authentication, &["requires a user"]);
        let wrong = anonymous.clone().user_and_password("ada", "hunter2");
        let error = refusal(&wrong).await;
        says(&error, ErrorKind::Authentication, &["does not accept", "check them"]);
        assert!(!format!("{error} {error:?}").contains("hunter2"));
        let elsewhere = ada.clone().prefix("other");
        says(&refusal(&elsewhere).await, ErrorKind::PermissionDenied, &["incumbent permissions"]);

        let store = open(&ada).await;
        store.inspect().await.unwrap();
        let own = enter(&store, "jobs", "heron", 0xa1).await;
        let kept: Vec<_> = store.keep_alive(vec![own.lease]).collect().await;
        assert_eq!(kept[0].result.as_ref().unwrap().ttl, TTL);
        let mut watch = store.watch().await.unwrap();
        leave(&store, "jobs", own).await;
        store.entry("jobs").await.unwrap();
        assert!(futures_util::poll!(watch.next()).is_pending(), "it stays open");
    }
}

#[tokio::test]
async fn a_server_of_another_protocol_is_no_store() {
    let server = incumbent_testkit::nats::NatsServer::start(incumbent_testkit::nats::Options::new());
    let address = server.url().replace("nats://", "");
    let error = refusal(&settings(&address)).await;
    says(&error, ErrorKind::Unsupported, &["etcd's protocol", "port"]);
}

#[tokio::test]
async fn a_proxy_is_refused() {
    let server = EtcdServer::start(Options::new());
    let port = Port::free();
    let address = format!("127.0.0.1:{}", port.number());
    let mut command = Command::new(tools::etcd(EtcdVersion::Newest).unwrap());
    command.args(["grpc-proxy", "start", "--endpoints", &server.address()]);
    command.args(["--listen-addr", &address, "--advertise-client-url", &address]);
    let _proxy = ChildGuard::spawn(command).unwrap();
    let error = wait::until_some_async("an answer of the proxy", GENEROUS, || async {
        Some(refusal(&settings(&address)).await).filter(|error| error.kind() != ErrorKind::StoreUnavailable)
    })
    .await;
    says(&error, ErrorKind::Unsupported, &["proxy", "addresses of members"]);
}

#[tokio::test]
async fn a_learner_is_left_for_a_voting_member() {
    let (server, learner) = EtcdServer::start(Options::new()).with_learner();
    let error = refusal(&settings(&learner.address())).await;
    says(&error, ErrorKind::StoreUnavailable, &["learner", "voting members"]);
    let both = settings(&format!("{},{}", learner.address(), server.address()));
    let store = open(&both).await;
    store.inspect().await.unwrap();
    store.reconnect().await;
    store.inspect().await.unwrap();
}

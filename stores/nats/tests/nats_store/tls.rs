//! TLS, with certificates of our own.

use std::path::Path;

use incumbent::ErrorKind;
use incumbent::incumbent_core::store::Expect;
use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent_testkit::certificates::Certificates;
use incumbent_testkit::nats::{NatsServer, Options};

use crate::support::*;

/// The part of a server's configuration that gives it the certificate.
fn config(certificates: &Certificates, more: &str) -> String {
    let [certificate, key, ca] = ["server.pem", "server.key", "ca.pem"].map(|file| certificates.shown(file));
    format!("tls {{ cert_file: \"{certificate}\", key_file: \"{key}\", ca_file: \"{ca}\", {more} }}")
}

fn tls(server: &NatsServer, ca: &Path) -> NatsSettings {
    settings(&server.url().replace("nats://", "tls://")).tls_ca(ca)
}

async fn works(settings: &NatsSettings) {
    init(settings, &InitOptions::new().lease(LEASE)).await.unwrap();
    let (store, _) = open(settings).await;
    applied(&store, KEY, &acquire(Expect::Absent)).await;
}

#[tokio::test]
async fn a_server_whose_authority_is_trusted() {
    let certificates = Certificates::new();
    let server = NatsServer::start(Options::new().config(config(&certificates, "")));
    works(&tls(&server, &certificates.path("ca.pem"))).await;
}

#[tokio::test]
async fn a_server_whose_authority_is_not_trusted_is_not_connected_to() {
    let certificates = Certificates::new();
    let server = NatsServer::start(Options::new().config(config(&certificates, "")));
    let error = refusal(&tls(&server, &Certificates::new().path("ca.pem"))).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnavailable);
    assert!(error.message().contains("certificate"), "{error}");
}

#[tokio::test]
async fn a_server_that_wants_a_client_certificate() {
    let certificates = Certificates::new();
    let server = NatsServer::start(Options::new().config(config(&certificates, "verify: true")));
    let without = tls(&server, &certificates.path("ca.pem"));
    works(
        &without
            .clone()
            .tls_client_certificate(certificates.path("client.pem"), certificates.path("client.key")),
    )
    .await;
    assert_eq!(refusal(&without).await.kind(), ErrorKind::StoreUnavailable);
}

#[tokio::test]
async fn a_server_that_begins_with_tls() {
    let certificates = Certificates::new();
    let server = NatsServer::start(Options::new().config(config(&certificates, "handshake_first: true")));
    works(&tls(&server, &certificates.path("ca.pem")).tls_first(true)).await;
}

#[tokio::test]
async fn a_server_without_tls_is_not_connected_to_where_tls_is_wanted() {
    let certificates = Certificates::new();
    let server = NatsServer::start(Options::new());
    let error = refusal(&tls(&server, &certificates.path("ca.pem"))).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnavailable);
}

//! TLS, with certificates of our own.

use std::fs;
use std::path::{Path, PathBuf};

use incumbent::ErrorKind;
use incumbent::incumbent_core::store::Expect;
use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent_testkit::nats::{NatsServer, Options};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::support::*;

/// An authority, and what it signed, as files.
struct Certificates {
    folder: TempDir,
}

impl Certificates {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        for (file, name) in [("server", "127.0.0.1"), ("client", "worker-1")] {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![name.to_string()]).unwrap();
            let certificate = params.signed_by(&key, &authority).unwrap();
            fs::write(folder.path().join(format!("{file}.pem")), certificate.pem()).unwrap();
            fs::write(folder.path().join(format!("{file}.key")), key.serialize_pem()).unwrap();
        }
        Self { folder }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn config(&self, more: &str) -> String {
        let path = |file: &str| self.path(file).display().to_string();
        format!(
            "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", {more} }}",
            path("server.pem"),
            path("server.key"),
            path("ca.pem")
        )
    }
}

fn tls(server: &NatsServer, ca: &Path) -> NatsSettings {
    settings(&server.url().replace("nats://", "tls://")).tls_ca(ca)
}

async fn works(settings: &NatsSettings) {
    init(settings, &InitOptions::new(LEASE)).await.unwrap();
    let (store, _) = open(settings).await;
    applied(&store, KEY, &acquire(Expect::Absent)).await;
}

#[tokio::test]
async fn a_server_whose_authority_is_trusted() {
    let certificates = Certificates::new();
    let server = NatsServer::start(Options::new().config(certificates.config("")));
    works(&tls(&server, &certificates.path("ca.pem"))).await;
}

#[tokio::test]
async fn a_server_whose_authority_is_not_trusted_is_not_connected_to() {
    let certificates = Certificates::new();
    let server = NatsServer::start(Options::new().config(certificates.config("")));
    let error = refusal(&tls(&server, &Certificates::new().path("ca.pem"))).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnavailable);
    assert!(error.message().contains("certificate"), "{error}");
}

#[tokio::test]
async fn a_server_that_wants_a_client_certificate() {
    let certificates = Certificates::new();
    let server = NatsServer::start(Options::new().config(certificates.config("verify: true")));
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
    let server = NatsServer::start(Options::new().config(certificates.config("handshake_first: true")));
    works(&tls(&server, &certificates.path("ca.pem")).tls_first(true)).await;
}

#[tokio::test]
async fn a_server_without_tls_is_not_connected_to_where_tls_is_wanted() {
    let certificates = Certificates::new();
    let server = NatsServer::start(Options::new());
    let error = refusal(&tls(&server, &certificates.path("ca.pem"))).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnavailable);
}

//! `etcds://`: certificate authorities, client certificates, and users over TLS.

use incumbent_testkit::certificates::Certificates;
use incumbent_testkit::etcd::{EtcdServer, Options};
use rustix::process::Signal;
use serde_json::json;

use super::{examined, leading, refused, status};
use crate::support::{Running, ended, incumbent, sequence, takes_part};

/// A server with TLS, its certificates, and the URL of a client that trusts its CA.
struct Secured {
    certificates: Certificates,
    server: EtcdServer,
    trusting: String,
}

impl Secured {
    fn start(client_certificates: bool) -> Self {
        let certificates = Certificates::new();
        let options = Options::new().arguments(certificates.of_etcd(client_certificates));
        let server = EtcdServer::start(options);
        let trusting = format!("etcds://{}/app?tls_ca={}", server.address(), certificates.shown("ca.pem"));
        Self { certificates, server, trusting }
    }

    /// The URL of a client that also has a certificate.
    fn certified(&self) -> String {
        self.presenting(&self.certificates, "client.pem", "client.key")
    }

    fn presenting(&self, of: &Certificates, certificate: &str, key: &str) -> String {
        format!("{}&tls_cert={}&tls_key={}", self.trusting, of.shown(certificate), of.shown(key))
    }

    /// Runs `etcdctl`.
    fn ctl(&self, arguments: &[&str]) -> String {
        self.server.ctl(&[&["--cacert", &self.certificates.shown("ca.pem")], arguments].concat())
    }
}

fn prepare(store: &str) {
    let made = ended(&["init", "--store", store, "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
}

#[test]
fn with_an_authority_and_a_client_certificate_a_command_leads_and_an_operator_looks_on_and_evicts() {
    let secured = Secured::start(true);
    let store = secured.certified();
    prepare(&store);
    let mut ada = leading(&store, "ada");
    let mut ben = super::campaigning(&store, "ben");
    takes_part(&mut ben, "ada");
    assert_eq!(status(&store)["leader"]["name"], "ada");
    let observed = ended(&["observe", "jobs", "--count", "1", "--store", &store]);
    assert!(observed.stdout.contains(" jobs: ada leads"), "{observed:?}");
    assert_eq!(examined(&store, 0)["settings"]["permitted"], json!({ "read": true, "write": true }));
    let evicted = ended(&["evict", "jobs", "--yes", "--store", &store]);
    assert_eq!(evicted.code, Some(0), "{evicted:?}");
    sequence(&mut ben);
    ada.signal(Signal::TERM);
    assert_eq!(ada.wait().code, Some(0));
}

#[test]
fn without_the_client_certificate_that_the_server_wants_every_command_names_the_settings() {
    let secured = Secured::start(true);
    for command in [
        &["status", "jobs", "--fail-fast"][..],
        &["observe", "jobs", "--fail-fast"],
        &["doctor"],
        &["init"],
        &["run", "--key", "jobs", "--fail-fast", "--on-won", "true"],
    ] {
        let arguments = [command, &["--store", &secured.trusting]].concat();
        refused(&arguments, 6, &["TLS", "tls_cert", "tls_key"]);
    }
}

#[test]
fn a_server_of_another_authority_and_a_certificate_of_another_authority_are_refused() {
    let secured = Secured::start(true);
    let other = Certificates::new();
    let mistrusting =
        secured.certified().replace(&secured.certificates.shown("ca.pem"), &other.shown("ca.pem"));
    let foreign = secured.presenting(&other, "client.pem", "client.key");
    for command in [&["status", "jobs", "--fail-fast"][..], &["doctor"], &["init"]] {
        refused(&[command, &["--store", &mistrusting]].concat(), 6, &["certificate", "tls_ca"]);
        let ended = ended(&[command, &["--store", &foreign]].concat());
        // The server closes the connection with a TLS alert, which may be lost.
        assert!(matches!(ended.code, Some(3 | 6)), "{ended:?}");
        assert!(ended.stderr.contains(&secured.server.address()), "{ended:?}");
    }
    // The system trust store lacks this CA.
    let trusting_the_system = format!("etcds://{}/app", secured.server.address());
    let said = ["certificate", "tls_ca"];
    refused(&["status", "jobs", "--fail-fast", "--store", &trusting_the_system], 6, &said);
}

#[test]
fn files_that_are_not_there_or_hold_something_else_are_named_before_anything_is_sent() {
    let secured = Secured::start(true);
    let (certificates, trusting) = (&secured.certificates, &secured.trusting);
    let key_as_certificate = secured.presenting(certificates, "client.key", "client.key");
    let missing = secured.presenting(certificates, "nothing.pem", "client.key");
    let without_key = format!("{trusting}&tls_cert={}", certificates.shown("client.pem"));
    let clear = trusting.replace("etcds://", "etcd://");
    for (store, parts) in [
        (&missing, &["nothing.pem"][..]),
        (&key_as_certificate, &["client.key"]),
        (&without_key, &["tls_cert", "tls_key"]),
        (&clear, &["tls_ca", "etcds://"]),
    ] {
        let ended = ended(&["status", "jobs", "--fail-fast", "--store", store]);
        assert!(matches!(ended.code, Some(2 | 6)), "{store}: {ended:?}");
        for part in parts {
            assert!(ended.stderr.contains(part), "no {part:?} in {ended:?}");
        }
    }
}

#[test]
fn a_user_with_a_password_is_authenticated_over_tls_and_the_password_is_not_shown() {
    let secured = Secured::start(false);
    prepare(&secured.trusting);
    for arguments in [
        &["user", "add", "root:root"][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", "candidate"],
        &["role", "grant-permission", "candidate", "readwrite", "app/", "--prefix"],
        &["user", "add", "worker:s3cr3t"],
        &["user", "grant-role", "worker", "candidate"],
        &["auth", "enable"],
    ] {
        secured.ctl(arguments);
    }
    let of = |user: &str| secured.trusting.replace("etcds://", &format!("etcds://{user}@"));
    let mut ada = leading(&of("worker:s3cr3t"), "ada");
    assert_eq!(status(&of("worker:s3cr3t"))["leader"]["name"], "ada");

    let wrong = refused(
        &["status", "jobs", "--fail-fast", "--store", &of("worker:gu3ss3d")],
        6,
        &["does not accept the user and the password"],
    );
    assert!(!wrong.stderr.contains("gu3ss3d"), "{wrong:?}");
    refused(&["status", "jobs", "--fail-fast", "--store", &secured.trusting], 6, &["requires a user"]);
    ada.signal(Signal::TERM);
    let ended = ada.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("s3cr3t"), "{ended:?}");
}

#[test]
fn a_server_without_tls_and_one_with_it_name_the_scheme_to_write() {
    let (with, without) = (Secured::start(false), EtcdServer::start(Options::new()));
    let clear = format!("etcd://{}/app", with.server.address());
    refused(&["status", "jobs", "--fail-fast", "--store", &clear], 6, &["requires TLS", "etcds://"]);
    let secure = with.trusting.replace(&with.server.address(), &without.address());
    refused(&["status", "jobs", "--fail-fast", "--store", &secure], 6, &["has no TLS", "etcd://"]);
}

#[test]
fn the_options_of_elector_for_certificates_reach_a_server_with_tls() {
    let secured = Secured::start(true);
    let prepared = secured.certified().replace("/app?", "/elector?");
    prepare(&prepared);
    let shown = |file| secured.certificates.shown(file);
    let members = format!("https://{}", secured.server.address());
    let mut run = Running::start(incumbent(&[
        "run",
        "--splay",
        "0s",
        "--backend",
        "etcd-lock",
        "--etcd-members",
        &members,
        "--etcd-keyspace",
        "/elector/jobs",
        "--instance-id",
        "ada",
        "--ca-file",
        &shown("ca.pem"),
        "--cert-file",
        &shown("client.pem"),
        "--key-file",
        &shown("client.key"),
        "--leader-start-command",
        "echo begins $INCUMBENT_KEY",
    ]));
    run.until_reported("the beginning", |line| line == "on-won: begins jobs");
    assert_eq!(status(&prepared)["leader"]["name"], "ada");
    run.signal(Signal::TERM);
    assert_eq!(run.wait().code, Some(0));
}

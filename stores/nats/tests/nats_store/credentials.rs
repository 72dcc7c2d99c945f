//! Every way to authenticate, and the error of each if it fails.

use std::fs;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use incumbent::ErrorKind;
use incumbent::incumbent_core::store::Expect;
use incumbent::store::Settings as _;
use incumbent::store::nats::{InitOptions, NatsSettings, init};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::wait;
use nkeys::KeyPair;
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

use crate::support::*;

async fn works(settings: &NatsSettings) {
    init(settings, &InitOptions::new().lease(LEASE)).await.unwrap();
    let (store, _) = open(settings).await;
    applied(&store, KEY, &acquire(Expect::Absent)).await;
}

async fn is_denied(settings: &NatsSettings) {
    // A retry would not help, so the error does not depend on `fail_fast`.
    let error = refusal(&settings.clone().fail_fast(false)).await;
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.message().contains("refuses our credentials at nats://127.0.0.1"), "{error}");
    for secret in ["pa55", "wr0ng", "t0ken"] {
        assert!(!format!("{error} {error:?} {settings:?}").contains(secret));
    }
}

fn file(text: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

#[tokio::test]
async fn a_user_and_a_password() {
    let server =
        NatsServer::start(Options::new().config("authorization { user: \"a:da\", password: \"pa55@\" }"));
    works(&settings(&server.url()).user_and_password("a:da", "pa55@")).await;
    open(&settings(&format!("nats://a%3Ada:pa55%40@{}", server.address()))).await;
    is_denied(&settings(&server.url()).user_and_password("a:da", "wr0ng")).await;
    is_denied(&settings(&server.url())).await;
}

#[tokio::test]
async fn a_token() {
    let server = NatsServer::start(Options::new().config("authorization { token: \"t0ken\" }"));
    works(&settings(&server.url()).token("t0ken")).await;
    is_denied(&settings(&server.url()).token("wr0ng")).await;
    let url = format!("nats://t0ken@{}/{BUCKET}", server.address());
    open(&NatsSettings::from_url(&url).unwrap().fail_fast(true)).await;
}

#[tokio::test]
async fn an_nkey() {
    let user = KeyPair::new_user();
    let config = format!("authorization {{ users: [ {{ nkey: {} }} ] }}", user.public_key());
    let server = NatsServer::start(Options::new().config(config));
    let seed = file(&user.seed().unwrap());
    works(&settings(&server.url()).nkey_file(seed.path())).await;
    let other = file(&KeyPair::new_user().seed().unwrap());
    is_denied(&settings(&server.url()).nkey_file(other.path())).await;
}

#[tokio::test]
async fn a_credentials_file_that_is_renewed_on_disk_while_connected() {
    let operator = Operator::new();
    let server = NatsServer::start(Options::new().config(operator.config()));
    let (first, second) = (KeyPair::new_user(), KeyPair::new_user());
    let creds = file(&operator.creds(&first));
    let settings = settings(&server.url()).credentials_file(creds.path());
    works(&settings).await;
    let (store, events) = open(&settings).await;

    fs::write(creds.path(), operator.creds(&second)).unwrap();
    incumbent::store::Adapter::reconnect(&store).await;
    assert_eq!(events.connected().len(), 2);
    let connections =
        wait::until_some("the connections", wait::GENEROUS, || server.monitoring("/connz?auth=true"));
    let users = connections["connections"].as_array().unwrap().iter();
    let users: Vec<_> = users.map(|connection| connection["authorized_user"].as_str().unwrap()).collect();
    assert_eq!(users, [second.public_key()]);
}

#[tokio::test]
async fn a_credentials_file_of_another_operator_is_denied() {
    let server = NatsServer::start(Options::new().config(Operator::new().config()));
    let stranger = file(&Operator::new().creds(&KeyPair::new_user()));
    is_denied(&settings(&server.url()).credentials_file(stranger.path())).await;
}

#[tokio::test]
async fn a_credentials_file_that_cannot_be_read_is_named_before_anything_is_tried() {
    let error = refusal(&settings("nats://127.0.0.1:1").credentials_file("/nowhere/a.creds")).await;
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(error.message().contains("/nowhere/a.creds"), "{error}");
}

/// An operator with one account for incumbent, as `nsc` creates them.
struct Operator {
    key: KeyPair,
    account: KeyPair,
    system: KeyPair,
}

impl Operator {
    fn new() -> Self {
        Self { key: KeyPair::new_operator(), account: KeyPair::new_account(), system: KeyPair::new_account() }
    }

    fn config(&self) -> String {
        let jwt = jwt(&self.key, &self.key, "operator", json!({}));
        let limits = json!({
            "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
            "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
        });
        let account = jwt_of(&self.account, &self.key, json!({"limits": limits}));
        let system = jwt_of(&self.system, &self.key, json!({}));
        format!(
            "operator: \"{jwt}\"\nsystem_account: {}\nresolver: MEMORY\n\
             resolver_preload: {{ {}: \"{account}\", {}: \"{system}\" }}",
            self.system.public_key(),
            self.account.public_key(),
            self.system.public_key(),
        )
    }

    fn creds(&self, user: &KeyPair) -> String {
        let jwt = jwt(user, &self.account, "user", json!({"subs": -1, "data": -1, "payload": -1}));
        let seed = user.seed().unwrap();
        format!(
            "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        )
    }
}

fn jwt_of(account: &KeyPair, operator: &KeyPair, claims: Value) -> String {
    jwt(account, operator, "account", claims)
}

/// A NATS token: its subject, signed by its issuer.
fn jwt(subject: &KeyPair, issuer: &KeyPair, kind: &str, mut claims: Value) -> String {
    claims["type"] = kind.into();
    claims["version"] = 2.into();
    let header = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let body = json!({
        "jti": "TEST", "iat": 1_700_000_000, "iss": issuer.public_key(), "name": kind,
        "sub": subject.public_key(), "nats": claims,
    });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&header), encode(&body));
    let signature = URL_SAFE_NO_PAD.encode(issuer.sign(signed.as_bytes()).unwrap());
    format!("{signed}.{signature}")
}

/// The variable that is set in a process that this test starts with another environment.
const IN_CHILD: &str = "INCUMBENT_TEST_IN_CHILD";

#[tokio::test]
async fn a_context_of_the_nats_tool_named_or_selected_by_the_environment() {
    if std::env::var_os(IN_CHILD).is_some() {
        let named = format!("nats:///{BUCKET}?context=prod&fail_fast=true");
        works(&NatsSettings::from_url(&named).unwrap()).await;
        open(&NatsSettings::from_url(&format!("nats:///{BUCKET}")).unwrap().fail_fast(true)).await;
        open(&NatsSettings::from_context(None, BUCKET).unwrap().fail_fast(true)).await;
        return;
    }
    let server = NatsServer::start(Options::new().config("authorization { user: ada, password: pa55 }"));
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("nats/context")).unwrap();
    let context = json!({"url": server.url(), "user": "ada", "password": "pa55"}).to_string();
    fs::write(folder.path().join("nats/context/prod.json"), context).unwrap();
    let this_test = "credentials::a_context_of_the_nats_tool_named_or_selected_by_the_environment";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", this_test])
        .env(IN_CHILD, "1")
        .env("XDG_CONFIG_HOME", folder.path())
        .env("NATS_CONTEXT", "prod")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
}

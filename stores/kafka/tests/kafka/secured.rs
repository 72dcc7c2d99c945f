//! TLS, SASL and permissions.

use incumbent::{Error, ErrorKind, Store};
use incumbent_testkit::certificates::Certificates;
use incumbent_testkit::kafka::security::{Entrance, USERS};
use incumbent_testkit::kafka::{Kafka, Options};
use tokio::task::block_in_place;
use tokio::time::timeout;

use crate::support::{LIMIT, brief, election, next_term, warned};

/// A broker with users and permissions.
fn guarded() -> Kafka {
    let broker = Kafka::start_with(Options::new().secured());
    for (name, password) in USERS {
        broker.admin().password(name, password);
    }
    broker
}

/// Gives a user the permissions that a candidate of an election needs.
fn allow(broker: &Kafka, user: &str, election: &str) {
    let admin = broker.admin();
    admin.allow(user, "topic", &format!("{election}.neli"), &["Read", "Write", "Describe", "Create"]);
    admin.allow(user, "group", election, &["Read", "Describe"]);
}

async fn leads(url: &str, election: &str) {
    let store = timeout(LIMIT, Store::open(url)).await.unwrap();
    let store = store.unwrap_or_else(|error| panic!("{url}: {error}"));
    let ada = store.campaign(election, brief("ada")).await.unwrap();
    drop(next_term(&ada).await);
    timeout(LIMIT, store.close()).await.unwrap().unwrap();
}

async fn refused(url: &str) -> Error {
    let opened = timeout(LIMIT, Store::open(url))
        .await
        .unwrap_or_else(|_| panic!("opening {url} waited for the store"));
    opened.err().unwrap_or_else(|| panic!("{url} is opened"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_encrypt_and_to_authenticate_leads() {
    let broker = block_in_place(guarded);
    let files = broker.certificates();
    let ca = format!("ssl.ca.location={}", files.shown("ca.pem"));
    let own = format!(
        "ssl.certificate.location={}&ssl.key.location={}",
        files.shown("client.pem"),
        files.shown("client.key")
    );
    let token = "enable.sasl.oauthbearer.unsecure.jwt=true&sasl.oauthbearer.config=principal=ada";
    let at = |entrance| broker.entrance(entrance);
    let ways = [
        ("ANONYMOUS", format!("kafkas://{}/?{ca}", at(Entrance::Tls))),
        ("CN=worker-1", format!("kafkas://{}/?{ca}&{own}", at(Entrance::Mutual))),
        ("ada", format!("kafkas://ada:s3cr3t@{}/?{ca}", at(Entrance::Sasl))),
        ("ada", format!("kafkas://ada:s3cr3t@{}/?{ca}&sasl=SCRAM-SHA-256", at(Entrance::Sasl))),
        ("ada", format!("kafka://ada:s3cr3t@{}/?sasl=SCRAM-SHA-512", at(Entrance::SaslInTheClear))),
        ("ada", format!("kafka://{}/?sasl=OAUTHBEARER&{token}", at(Entrance::SaslInTheClear))),
    ];
    let leading = ways.iter().map(async |(user, url)| {
        let election = election("secured");
        block_in_place(|| allow(&broker, user, &election));
        leads(url, &election).await;
    });
    futures_util::future::join_all(leading).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_broker_refuses_is_an_error_with_the_setting_and_no_password() {
    let broker = block_in_place(guarded);
    let files = broker.certificates();
    let (sasl, tls) = (broker.entrance(Entrance::Sasl), broker.entrance(Entrance::Tls));
    let clear = broker.entrance(Entrance::SaslInTheClear);
    let ca = format!("ssl.ca.location={}", files.shown("ca.pem"));
    let foreign = Certificates::new();
    let foreign = format!("ssl.ca.location={}", foreign.shown("ca.pem"));
    for (url, parts) in [
        (format!("kafkas://ada:gu3ss3d@{sasl}/?{ca}"), &["user", "password"][..]),
        (format!("kafka://ada:gu3ss3d@{clear}/?sasl=SCRAM-SHA-256"), &["user", "password"]),
        (format!("kafkas://{tls}/?{foreign}"), &["certificate", "ssl.ca.location"]),
        (format!("kafkas://{tls}"), &["certificate", "ssl.ca.location"]),
    ] {
        let error = refused(&url).await;
        assert_eq!(error.kind(), ErrorKind::Authentication, "{error} for {url}");
        for part in parts {
            assert!(error.message().contains(part), "no {part:?} in {error} for {url}");
        }
        assert!(!format!("{error:?}").contains("gu3ss3d"), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_named_and_once_it_is_given_the_candidate_leads() {
    let broker = block_in_place(guarded);
    let admin = broker.admin();
    let url = format!("kafka://eve:g4rden@{}", broker.entrance(Entrance::SaslInTheClear));
    let store = timeout(LIMIT, Store::open(&url)).await.unwrap().unwrap();
    let (without_topic, without_group) = (election("topic"), election("group"));
    let give_topic = |election: &str| {
        admin.allow("eve", "topic", &format!("{election}.neli"), &["Read", "Write", "Describe", "Create"]);
    };
    let give_group = |election: &str| admin.allow("eve", "group", election, &["Read", "Describe"]);
    block_in_place(|| {
        give_group(&without_topic);
        give_topic(&without_group);
    });
    let of_topic = store.campaign(&without_topic, brief("eve")).await.unwrap();
    let of_group = store.campaign(&without_group, brief("eve")).await.unwrap();
    let said = format!("allow Read, Write and Describe on the topic \"{without_topic}.neli\"");
    warned(&mut of_topic.events(), &said).await;
    warned(&mut of_group.events(), "a candidate needs Read and Describe on its group").await;
    assert!(!of_topic.is_leader() && !of_group.is_leader());
    block_in_place(|| {
        give_topic(&without_topic);
        give_group(&without_group);
    });
    drop(next_term(&of_topic).await);
    drop(next_term(&of_group).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_write_nowhere_is_warned_and_once_it_may_the_candidate_leads() {
    let broker = block_in_place(guarded);
    let (admin, jobs) = (broker.admin(), election("read-only"));
    let allow_topic = |operations: &[&str]| admin.allow("pat", "topic", &format!("{jobs}.neli"), operations);
    block_in_place(|| {
        allow_topic(&["Read", "Describe", "Create"]);
        admin.allow("pat", "group", &jobs, &["Read", "Describe"]);
    });
    let url = format!("kafka://pat:p4per@{}", broker.entrance(Entrance::SaslInTheClear));
    let store = timeout(LIMIT, Store::open(&url)).await.unwrap().unwrap();
    let pat = store.campaign(&jobs, brief("pat")).await.unwrap();
    warned(&mut pat.events(), "a candidate needs Write on its topic").await;
    assert!(!pat.is_leader());
    block_in_place(|| allow_topic(&["Write"]));
    drop(next_term(&pat).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_wants_a_certificate_of_the_client_lets_none_in_without() {
    let broker = block_in_place(guarded);
    let (address, files) = (broker.entrance(Entrance::Mutual), broker.certificates());
    let error =
        refused(&format!("kafkas://{address}/?fail_fast=true&ssl.ca.location={}", files.shown("ca.pem")))
            .await;
    // The broker closes the connection with a TLS alert, which may be lost.
    let kinds = [ErrorKind::Authentication, ErrorKind::StoreUnavailable];
    assert!(kinds.contains(&error.kind()), "{error}");
}

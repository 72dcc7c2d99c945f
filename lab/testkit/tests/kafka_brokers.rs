//! The test kit's own Kafka brokers.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use incumbent_testkit::kafka::{Kafka, KafkaCluster, Options};
use incumbent_testkit::tools::KafkaVersion;
use incumbent_testkit::wait;

#[test]
fn a_broker_of_every_version_keeps_its_log_over_a_kill_and_a_stop() {
    for version in KafkaVersion::ALL {
        // A killed broker may join again only when its former session is over, so the session is short.
        let options = Options::new().version(version).setting("broker.session.timeout.ms", "9000");
        let mut broker = Kafka::start_with(options);
        let admin = broker.admin();
        let id = admin.create_topic("log", "1", &[("retention.ms", "3600000")]);
        assert_eq!(admin.append("log", "1%a", &[("Kind", "claim")]), 0);
        let before = admin.records("log");
        assert_eq!(before.len(), 1);
        assert_eq!((before[0].value.as_str(), before[0].key.as_deref()), ("1%a", None));
        assert_eq!(before[0].headers, [("Kind".to_owned(), "claim".to_owned())]);

        let address = broker.address();
        broker.kill();
        broker.restart();
        assert_eq!(admin.append("log", "2%a", &[]), 1);
        broker.stop();
        broker.restart();
        assert_eq!(broker.address(), address);
        assert_eq!(admin.records("log").len(), 2);
        let topic = admin.topic("log").unwrap();
        assert_eq!(
            (topic["id"].as_str(), topic["settings"]["retention.ms"].as_str()),
            (Some(&*id), Some("3600000"))
        );

        admin.delete_topic("log");
        assert_ne!(admin.create_topic("log", "1", &[]), id);
        assert_eq!(admin.records("log"), []);
    }
}

#[test]
fn a_paused_broker_answers_once_it_is_resumed() {
    let broker = Kafka::start(KafkaVersion::Newest);
    let admin = broker.admin();
    admin.create_topic("log", "1", &[]);
    broker.pause();
    let append = std::thread::spawn(move || admin.append("log", "1%a", &[]));
    assert!(!append.is_finished());
    broker.resume();
    assert_eq!(append.join().unwrap(), 0);
}

#[test]
fn an_empty_group_accepts_the_commit_of_a_client_that_is_no_member() {
    let broker = Kafka::start(KafkaVersion::Newest);
    let admin = broker.admin();
    admin.create_topic("log", "1", &[]);
    assert_eq!(admin.coordinator("group"), 1);
    assert_eq!(admin.commit("group", "log", 0), Ok(()));
    let group = admin.group("group").unwrap();
    assert_eq!((group.state.as_str(), group.members.len()), ("Empty", 0));
}

#[test]
fn a_cluster_without_its_coordinator_finds_another_and_the_log_continues() {
    let mut cluster = KafkaCluster::start_with(3, Options::new().routes(2));
    let admin = cluster.admin();
    let coordinator = admin.coordinator("group");
    let other = coordinator % 3 + 1;
    admin.create_topic("log", &format!("{other},{coordinator},{}", 6 - other - coordinator), &[]);
    assert_eq!(admin.leader_of_log("log"), other);
    assert_eq!(admin.append("log", "1%a", &[]), 0);
    assert_eq!(cluster.route(1).split(',').count(), 3);

    cluster[coordinator - 1].kill();
    let successor = || Some(admin.coordinator("group")).filter(|found| *found != coordinator);
    wait::until_some("another coordinator", wait::GENEROUS, successor);
    assert_eq!(admin.append("log", "2%a", &[]), 1);
    cluster[coordinator - 1].restart();
    let whole = || admin.topic("log").unwrap()["partitions"][0]["in_sync"].as_array().unwrap().len() == 3;
    wait::until("the killed broker to be in sync", wait::GENEROUS, whole);
}

#[test]
fn a_client_on_a_route_stays_on_it_and_a_cut_of_one_broker_leaves_the_other_two() {
    let cluster = KafkaCluster::start_with(3, Options::new().routes(1));
    let on_route = incumbent_testkit::kafka::admin::Admin::new(cluster.route(0));
    on_route.create_topic("log", "2,3,1", &[]);
    cluster[0].proxy(0).cut();
    cluster[2].proxy(0).cut();
    let on_two = incumbent_testkit::kafka::admin::Admin::new(cluster[1].proxy(0).address());
    assert_eq!(on_two.append("log", "1%a", &[]), 0);
    cluster[1].proxy(0).cut();
    let append = std::thread::spawn(move || on_two.append("log", "2%a", &[]));
    assert_eq!(cluster.admin().append("log", "3%a", &[]), 1);
    assert!(!append.is_finished());
    cluster[1].proxy(0).heal();
    assert_eq!(append.join().unwrap(), 2);
}

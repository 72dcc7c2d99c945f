//! Candidates that follow goNELI's rules, without incumbent. As in goNELI's own integration tests: one node, and four
//! nodes that are started one after another and stopped in the same order. Further tests kill, stop and block them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use incumbent_testkit::kafka::neli::GoNeli;
use incumbent_testkit::kafka::{Kafka, admin::Admin};
use incumbent_testkit::tools::KafkaVersion;
use incumbent_testkit::wait;

/// goNELI's default.
const TIMEOUT: Duration = Duration::from_secs(5);

struct Group {
    version: KafkaVersion,
    broker: Kafka,
    admin: Admin,
}

impl Group {
    fn start(version: KafkaVersion) -> Self {
        let broker = Kafka::start(version);
        let admin = broker.admin();
        admin.create_topic("jobs.neli", "1", &[]);
        Self { version, broker, admin }
    }

    fn candidate(&self, name: &str, timeout: Duration, settings: &[&str]) -> GoNeli {
        GoNeli::start(self.version, &self.broker.address(), "jobs", name, timeout, settings)
    }
}

#[test]
fn one_node_leads_by_heartbeats_without_key_and_headers() {
    for version in KafkaVersion::ALL {
        let group = Group::start(version);
        let mut alone = group.candidate("go-1", TIMEOUT, &[]);
        alone.received();
        alone.close();
        assert!(!alone.leads());
        let records = group.admin.records("jobs.neli");
        assert!(!records.is_empty());
        for record in &records {
            let (time, name) = record.value.split_once('%').unwrap();
            assert!(time.parse::<u64>().is_ok(), "{record:?}");
            assert_eq!((name, &record.key, record.headers.as_slice()), ("go-1", &None, [].as_slice()));
        }
    }
}

#[test]
fn four_nodes_that_are_stopped_in_order_hand_over_and_never_lead_together() {
    for version in KafkaVersion::ALL {
        let group = Group::start(version);
        let mut nodes = Vec::new();
        for number in 1..=4 {
            nodes.push(group.candidate(&format!("go-{number}"), TIMEOUT, &[]));
            group.admin.owner("jobs", number);
            wait::until("one leader", wait::GENEROUS, || {
                nodes.iter().filter(|node| node.leads()).count() == 1
            });
        }
        for left in (0..4).rev() {
            nodes[3 - left].close();
            if left > 0 {
                group.admin.owner("jobs", left);
                wait::until("one leader", wait::GENEROUS, || {
                    nodes.iter().filter(|node| node.leads()).count() == 1
                });
            }
        }
        let mut terms: Vec<_> = nodes
            .iter()
            .flat_map(|node| node.terms(u64::MAX).into_iter().map(|term| (term, node.name())))
            .collect();
        terms.sort();
        for pair in terms.windows(2) {
            assert!(pair[0].0.1 <= pair[1].0.0, "two lead at once: {pair:?}");
        }
    }
}

#[test]
fn a_killed_leader_is_followed_by_another_once_its_session_is_over() {
    let group = Group::start(KafkaVersion::Newest);
    let short = Duration::from_secs(2);
    let mut nodes = vec![group.candidate("go-1", short, &[]), group.candidate("go-2", short, &[])];
    group.admin.owner("jobs", 2);
    let mut leader = wait::until_some("a leader", wait::GENEROUS, || {
        nodes.iter().position(GoNeli::leads).map(|at| nodes.remove(at))
    });
    leader.child().kill();
    nodes[0].received();
    assert_eq!(group.admin.group("jobs").unwrap().members.len(), 1);
}

#[test]
fn a_leader_whose_broker_is_stopped_is_fenced_and_leads_again_by_a_heartbeat() {
    let group = Group::start(KafkaVersion::Newest);
    let alone = group.candidate("go-1", Duration::from_secs(2), &[]);
    alone.received();
    group.broker.pause();
    alone.nth("fenced", 1);
    group.broker.resume();
    alone.received();
}

#[test]
fn a_task_that_holds_up_its_polls_makes_two_leaders_by_goneli_s_rules() {
    let group = Group::start(KafkaVersion::Newest);
    let short = Duration::from_secs(2);
    let mut first = group.candidate("go-1", short, &["max.poll.interval.ms=6000"]);
    first.received();
    first.block();
    let second = group.candidate("go-2", short, &[]);
    second.received();
    assert!(first.leads(), "its flag falls only at its next poll");
    first.unblock();
    first.nth("revoked", 1);
}

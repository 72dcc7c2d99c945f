//! The commands on real Kafka brokers.

use std::sync::Arc;

use incumbent_testkit::certificates::Certificates;
use incumbent_testkit::kafka::security::{Entrance, USERS};
use incumbent_testkit::kafka::shared::Shared;
use incumbent_testkit::kafka::{Kafka, Options};
use incumbent_testkit::port::Port;
use incumbent_testkit::process::is_running;
use incumbent_testkit::wait::{until, until_some};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::init::one_of_eight_makes_it;
use crate::support::{Ended, LIMIT, Running, children, ended, incumbent, json, sequence, takes_part};

/// The broker, and a store on it with a prefix that no other test uses.
fn store(test: &str) -> (Arc<Shared>, String) {
    let broker = Shared::broker();
    let url = format!("kafka://{}/cli-{test}-{}", broker.address(), std::process::id());
    (broker, url)
}

/// A candidate with a lease that outlasts a stall of the machine.
fn campaigning(store: &str, name: &str) -> Running {
    let words = ["run", "--store", store, "--key", "jobs", "--name", name, "--splay", "0s", "-v"];
    let script = "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000";
    Running::start(incumbent(&[&words[..], &["--lease", "12s", "--", "sh", "-c", script]].concat()))
}

fn leading(store: &str, name: &str) -> Running {
    let mut run = campaigning(store, name);
    sequence(&mut run);
    run
}

fn status(store: &str) -> Value {
    let status = ended(&["status", "jobs", "--json", "--store", store]);
    assert_eq!(status.code, Some(0), "{status:?}");
    json(&status.stdout)
}

fn found(report: &Value, severity: &str) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let of = findings.filter(|finding| finding["severity"] == severity);
    of.map(|finding| finding["what"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn refused(arguments: &[&str], code: i32, message: &[&str]) -> Ended {
    let ended = ended(arguments);
    assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:#?}");
    for part in message {
        assert!(ended.stderr.contains(part), "{part:?} in {ended:#?}");
    }
    ended
}

#[test]
fn where_no_group_can_have_a_coordinator_the_doctor_and_each_candidate_name_the_reason() {
    let broker = Kafka::start_with(Options::new().setting("offsets.topic.replication.factor", "3"));
    let store = format!("kafka://{}/app", broker.address());
    let doctor = ended(&["doctor", "--json", "--store", &store]);
    assert_eq!(doctor.code, Some(4), "{doctor:#?}");
    let what = found(&json(&doctor.stdout), "refused");
    assert!(what.iter().any(|what| what.starts_with("no group can have a coordinator")), "{what:#?}");
    let mut ada = campaigning(&store, "ada");
    let named = ada.until_reported("the reason", |line| line.contains("COORDINATOR_NOT_AVAILABLE"));
    assert!(named.contains("offsets.topic.replication.factor"), "{named}");
}

#[test]
fn of_eight_at_the_same_time_one_creates_the_topic() {
    let (_broker, store) = store("eight");
    one_of_eight_makes_it(&["jobs", "--store", &store], "created the topic ", " exists; ");
}

#[test]
fn a_leader_topic_is_created_once_and_only_for_an_election() {
    let (broker, store) = store("init");
    let topic = format!("{}.jobs.neli", store.rsplit_once('/').unwrap().1);
    let made = ended(&["init", "jobs", "--store", &store]);
    assert_eq!(
        (made.code, made.stdout),
        (Some(0), format!("created the topic {topic}\n")),
        "{}",
        made.stderr
    );
    let again = ended(&["init", "jobs", "--store", &store, "--json"]);
    assert_eq!(json(&again.stdout), json!({ "store": store, "topic": topic, "created": false }));
    let described = broker.admin().topic(&topic).unwrap();
    assert_eq!(described["partitions"].as_array().map(Vec::len), Some(1));
    for (name, value) in [
        ("cleanup.policy", "delete"),
        ("retention.ms", "3600000"),
        ("segment.ms", "600000"),
        ("unclean.leader.election.enable", "false"),
    ] {
        assert_eq!(described["settings"][name], value, "{name}");
    }
    refused(&["init", "--store", &store], 2, &["give the election's key"]);
    refused(&["init", "jobs", "--store", &store, "--new"], 2, &["--new", "leave it out"]);
    refused(&["init", "a/b", "--store", &store], 2, &["a/b", "change the key"]);
}

#[test]
fn a_command_runs_while_it_leads_and_another_takes_over_when_it_is_killed() {
    let (_broker, store) = store("run");
    // The session is two leases, the shortest allowed, because the test waits for its end.
    let store = format!("{store}?session=24s");
    let mut ada = campaigning(&store, "ada");
    let first = sequence(&mut ada);
    let mut observe = Running::start(incumbent(&["observe", "jobs", "--store", &store]));
    let leads = |name: &'static str| {
        move |line: &str| line.contains(&format!(" jobs: {name} leads since revision ")).then_some(())
    };
    observe.until("the leader", leads("ada"));
    let mut ben = campaigning(&store, "ben");
    takes_part(&mut ben, "ada");
    let seen = until_some("both members", LIMIT, || {
        Some(status(&store)).filter(|seen| seen["candidates"].as_array().is_some_and(|all| all.len() == 2))
    });
    assert_eq!((&seen["state"], &seen["leader"]["name"]), (&json!("held"), &json!("ada")));
    assert_eq!((&seen["sequence"], &seen["lease_ms"]), (&json!(first), &json!(12000.0)));
    let holds = |seen: &Value| {
        let all = seen["candidates"].as_array().unwrap().iter();
        let mut holds: Vec<_> = all.map(|one| (one["name"].clone(), one["holds"].clone())).collect();
        holds.sort_by_key(|(name, _)| name.to_string());
        holds
    };
    assert_eq!(holds(&seen), [(json!("ada"), json!(true)), (json!("ben"), json!(false))]);
    let all = ended(&["status", "--all", "--store", &store]).stdout;
    assert!(all.lines().nth(1).is_some_and(|line| line.starts_with("jobs") && line.contains("ada")), "{all}");
    let work = children(ada.pid());
    ada.kill();
    let second = sequence(&mut ben);
    assert!(second > first, "{second} after {first}");
    until("the end of the killed candidate's work", LIMIT, || !work.iter().any(|pid| is_running(*pid)));
    observe.until("the next leader", leads("ben"));
    ben.signal(Signal::TERM);
    assert_eq!(ben.wait().code, Some(0));
    observe.until("the vacancy", |line| (line.ends_with(" jobs: vacant")).then_some(()));
    let gone = until_some("an empty group", LIMIT, || {
        Some(status(&store)).filter(|seen| seen["candidates"].as_array().is_some_and(Vec::is_empty))
    });
    assert_eq!((&gone["state"], &gone["leader"]), (&json!("vacant"), &Value::Null));
}

#[test]
fn an_operator_can_neither_hand_over_nor_evict_and_is_told_why() {
    let (_broker, store) = store("orders");
    let mut ada = leading(&store, "ada");
    let before = status(&store)["token"].clone();
    for order in [&["hand-over", "jobs", "--to", "ben", "--yes"][..], &["evict", "jobs", "--yes"]] {
        let said = ["the group chooses", "kafka-consumer-groups.sh"];
        refused(&[order, &["--store", &store]].concat(), 4, &said);
    }
    assert_eq!(status(&store)["token"], before);
    ada.signal(Signal::TERM);
    assert_eq!(ada.wait().code, Some(0));
}

#[test]
fn a_cluster_is_examined_for_brokers_sessions_topics_and_protocols() {
    let (broker, store) = store("doctor");
    let examined = |store: &str, code: i32| {
        let doctor = ended(&["doctor", "--json", "--store", store]);
        assert_eq!(doctor.code, Some(code), "{doctor:?}");
        json(&doctor.stdout)
    };
    let mut ada = leading(&store, "ada");
    let report = examined(&store, 0);
    let settings = &report["settings"];
    assert_eq!(settings["brokers"], 1, "{report:#}");
    assert_eq!(settings["group_protocol"]["used"], "classic");
    assert_eq!(settings["session_limits"]["least"]["ms"], 1000.0);
    assert_eq!(report["elections"]["led"], 1);
    let weak = found(&report, "weak");
    assert!(
        weak.iter().any(|what| what.starts_with("__consumer_offsets has 1 of three replicas")),
        "{weak:?}"
    );
    assert!(weak.iter().any(|what| what.contains(".jobs.neli has 1 of three replicas")), "{weak:?}");
    let text = ended(&["doctor", "--store", &store]).stdout;
    assert!(text.contains("jobs.neli: 1 partitions, 1 replicas"), "{text}");

    let consumer = examined(&format!("{store}?protocol=consumer"), 0);
    assert_eq!(consumer["settings"]["group_protocol"]["used"], "consumer");
    let notes = found(&consumer, "note");
    assert!(notes.iter().any(|note| note.contains("the brokers set the session")), "{notes:?}");
    // The brokers admit no member with a session this short.
    let short = examined(&format!("{store}?session=500ms"), 4);
    assert!(found(&short, "refused")[0].contains("outside the brokers' limits"), "{short:#}");
    ada.signal(Signal::TERM);
    assert_eq!(ada.wait().code, Some(0));

    let compacted = format!("{}.compacted.neli", store.rsplit_once('/').unwrap().1);
    let compact = [
        ("cleanup.policy", "compact"),
        ("unclean.leader.election.enable", "true"),
        ("retention.ms", "3600000"),
    ];
    broker.admin().create_topic(&compacted, "1", &compact);
    let report = examined(&store, 4);
    let (broken, notes) = (found(&report, "broken"), found(&report, "note"));
    // A segment is closed after a week by default.
    let kept = format!("{compacted} keeps its records for ");
    assert!(notes.iter().any(|what| what.starts_with(&kept)), "{notes:?}");
    let refused = found(&report, "refused");
    assert!(refused.iter().any(|what| what.contains("compacted.neli is compacted")), "{refused:?}");
    assert!(broken.iter().any(|what| what.contains("unclean leader elections are enabled")), "{broken:?}");
}

#[test]
fn processes_in_a_group_have_one_leader_at_a_time() {
    let (_broker, store) = store("demo");
    let demo = [
        "demo",
        "--store",
        &store,
        "--workers",
        "3",
        "--faults",
        "kill,stop,restart",
        "--json",
        "--for",
        "10m",
    ];
    let mut demo = Running::start(incumbent(&demo));
    let mut awaited = vec!["kill", "stop", "restart"];
    demo.until_within(LIMIT * 2, "a leader after every fault", |line| {
        let reported = json(line);
        if reported["event"] == "fault" {
            awaited.retain(|fault| reported["fault"] != **fault);
        }
        (reported["event"] == "won" && awaited.is_empty()).then_some(())
    });
    demo.signal(Signal::INT);
    let demo = demo.wait();
    assert_eq!(demo.code, Some(0), "{demo:#?}");
    let summary = json(demo.stdout.lines().last().unwrap());
    assert_eq!((&summary["overlaps"], &summary["tokens_increase"]), (&json!(0), &json!(true)), "{demo:#?}");
}

#[test]
fn brokers_that_do_not_answer_are_an_error_or_are_waited_for() {
    let port = Port::free();
    let store = format!("kafka://127.0.0.1:{}", port.number());
    for command in [
        &["status", "jobs", "--fail-fast"][..],
        &["observe", "jobs", "--fail-fast"],
        &["doctor"],
        &["init", "jobs"],
        &["run", "--key", "jobs", "--fail-fast", "--on-won", "true"],
    ] {
        refused(&[command, &["--store", &store]].concat(), 3, &[]);
    }
    let mut status = Running::start(incumbent(&["status", "jobs", "--store", &store]));
    status.until_reported("that it waits", |line| line.contains("waiting for the store"));
    status.kill();
}

#[test]
fn a_property_on_which_elections_depend_is_refused_by_name() {
    for (property, why) in [
        ("group.id=other", "the election's key"),
        ("enable.auto.commit=true", "commits prove a lease"),
        ("session.timeout.ms=1000", "`session` sets it"),
        ("acks=1", "every in-sync replica"),
        ("group.instance.id=a", "`instance_id` sets it"),
    ] {
        let (name, _) = property.split_once('=').unwrap();
        // A parameter without a dot in its name is not a librdkafka property.
        let store = format!("kafka://127.0.0.1:1/?{property}");
        let code = if name.contains('.') { 4 } else { 2 };
        let said =
            if name.contains('.') { &["cannot override the property", name, why][..] } else { &[name] };
        refused(&["status", "jobs", "--fail-fast", "--store", &store], code, said);
    }
}

/// A broker with users and permissions.
fn guarded() -> Kafka {
    let broker = Kafka::start_with(Options::new().secured());
    for (name, password) in USERS {
        broker.admin().password(name, password);
    }
    broker
}

#[test]
fn credentials_and_certificates_that_are_refused_end_every_command_and_are_not_shown() {
    let broker = guarded();
    let (files, foreign) = (broker.certificates(), Certificates::new());
    let ca = |of: &Certificates| format!("ssl.ca.location={}", of.shown("ca.pem"));
    let at = |entrance| broker.entrance(entrance);
    let wrong = format!("kafkas://ada:gu3ss3d@{}/?{}", at(Entrance::Sasl), ca(files));
    let scram = format!("kafka://ada:gu3ss3d@{}/?sasl=SCRAM-SHA-512", at(Entrance::SaslInTheClear));
    let mistrusting = format!("kafkas://{}/?{}", at(Entrance::Tls), ca(&foreign));
    for (store, parts) in [
        (&wrong, &["user", "password"][..]),
        (&scram, &["user", "password"]),
        (&mistrusting, &["certificate", "ssl.ca.location"]),
    ] {
        for command in [&["status", "jobs"][..], &["doctor"], &["run", "--key", "jobs", "--on-won", "true"]] {
            let said = refused(&[command, &["--store", store]].concat(), 6, parts);
            assert!(!said.stderr.contains("gu3ss3d"), "{said:?}");
        }
    }
    refused(&["observe", "jobs", "--store", &wrong], 6, &["user", "password"]);
    refused(&["init", "jobs", "--store", &wrong], 6, &["user", "password"]);
}

#[test]
fn with_the_printed_permissions_a_candidate_can_do_what_it_must_and_nothing_elsewhere() {
    let broker = guarded();
    let store = |user: &str| format!("kafka://{user}@{}/app", broker.entrance(Entrance::SaslInTheClear));
    let (candidate, observer) = (store("ada:s3cr3t"), store("eve:g4rden"));
    for (user, role, url) in [("ada", "candidate", &candidate), ("eve", "observer", &observer)] {
        let printed = ended(&["permissions", "jobs", "--role", role, "--json", "--store", url]);
        for one in json(&printed.stdout)["permissions"].as_array().unwrap() {
            let operations: Vec<_> =
                one["operations"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
            let (resource, name) = (one["resource"].as_str().unwrap(), one["name"].as_str().unwrap());
            broker.admin().allow(user, resource, name, &operations);
        }
    }
    let mut ada = leading(&candidate, "ada");
    assert_eq!(status(&observer)["leader"]["name"], "ada");
    assert_eq!(status(&observer)["candidates"][0]["name"], "ada");
    let observed = ended(&["observe", "jobs", "--count", "1", "--store", &observer]);
    assert!(observed.stdout.contains(" jobs: ada leads"), "{observed:?}");
    // Neither user has permissions in another election.
    let init = ["init", "other", "--store", &observer];
    refused(&init, 6, &["app.other.neli", "allow"]);
    let mut other = Running::start(incumbent(&[
        "run", "--store", &candidate, "--key", "other", "--name", "ada", "--on-won", "true", "-v",
    ]));
    other.until_reported("the topic", |line| line.contains("app.other.neli") && line.contains("allow"));
    other.kill();
    ada.signal(Signal::TERM);
    assert_eq!(ada.wait().code, Some(0));
}

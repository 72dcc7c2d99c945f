//! The commands on real etcd servers.

mod tls;

use std::process::{Command, Stdio};

use incumbent_testkit::etcd::{EtcdCluster, EtcdServer, Options};
use incumbent_testkit::port::Port;
use incumbent_testkit::process::{self, ChildGuard};
use incumbent_testkit::tools::{self, EtcdVersion};
use incumbent_testkit::wait::{self, until_some};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::init::one_of_eight_makes_it;
use crate::snapshot;
use crate::support::{Ended, LIMIT, Running, ended, incumbent, json, sequence, takes_part};

/// A server, and the store under its prefix `app/`, in which the first leader need not wait.
fn server() -> (EtcdServer, String) {
    prepared(EtcdServer::start(Options::new()))
}

fn prepared(server: EtcdServer) -> (EtcdServer, String) {
    let store = format!("etcd://{}/app", server.address());
    let made = ended(&["init", "--store", &store, "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    (server, store)
}

/// A candidate with the shortest lease on servers with the usual election timeout.
fn campaigning(store: &str, name: &str) -> Running {
    let words =
        ["run", "--store", store, "--key", "jobs", "--name", name, "--lease", "6s", "--splay", "0s", "-v"];
    let script = "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000";
    Running::start(incumbent(&[&words[..], &["--", "sh", "-c", script]].concat()))
}

fn leading(store: &str, name: &str) -> Running {
    let mut run = campaigning(store, name);
    sequence(&mut run);
    run
}

/// A leading candidate of other software.
fn elected(server: &EtcdServer, name: &str) -> ChildGuard {
    let mut command = Command::new(tools::etcdctl().unwrap());
    command.env("ETCDCTL_API", "3").args(["--endpoints", &server.address(), "elect", "app/jobs", name]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = ChildGuard::spawn(command).unwrap();
    let values = || server.ctl(&["get", "app/jobs/", "--prefix", "--print-value-only"]);
    wait::until("the place of etcdctl", LIMIT, || values().lines().any(|line| line == name));
    child
}

fn status(store: &str) -> Value {
    let status = ended(&["status", "jobs", "--json", "--store", store]);
    assert_eq!(status.code, Some(0), "{status:?}");
    json(&status.stdout)
}

fn keys(server: &EtcdServer) -> Vec<String> {
    let keys = server.ctl(&["get", "", "--prefix", "--keys-only"]);
    keys.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn found(report: &Value, severity: &str) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let of = findings.filter(|finding| finding["severity"] == severity);
    of.map(|finding| finding["what"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn examined(store: &str, code: i32) -> Value {
    let doctor = ended(&["doctor", "--json", "--lease", "15s", "--store", store]);
    assert_eq!(doctor.code, Some(code), "{doctor:?}");
    json(&doctor.stdout)
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
fn a_prefix_is_prepared_once() {
    let server = EtcdServer::start(Options::new());
    let store = format!("etcd://{}/app", server.address());
    let made = ended(&["init", "--store", &store]);
    let said =
        format!("wrote the birth record of {store}\nno candidate can lead before one lease has passed\n");
    assert_eq!((made.code, made.stdout.as_str()), (Some(0), said.as_str()), "{made:?}");
    let again = ended(&["init", "--store", &store, "--json"]);
    let again = json(&again.stdout);
    assert_eq!((&again["created"], &again["never_used"]), (&json!(false), &json!(false)));
    assert_eq!(keys(&server), ["app/.incumbent"]);
    refused(&["init", "--store", &store, "--new"], 4, &["not new", "leave `--new` out"]);
    refused(
        &["init", "--store", &store, "--markers"],
        2,
        &["`--markers` is only for NATS buckets, and this is etcd"],
    );
}

#[test]
fn of_eight_at_the_same_time_one_prepares_the_prefix() {
    let server = EtcdServer::start(Options::new());
    for (prefix, new) in [("app", &[][..]), ("new", &["--new"])] {
        let store = format!("etcd://{}/{prefix}", server.address());
        let words = [&["--store", &*store], new].concat();
        one_of_eight_makes_it(&words, "wrote the birth record of ", " is ready for elections");
    }
}

#[test]
fn a_command_runs_while_it_leads_and_leaves_nothing_behind() {
    let (server, store) = server();
    let mut observe = Running::start(incumbent(&["observe", "jobs", "--store", &store]));
    observe.until("the vacancy", |line| (line.ends_with(" jobs: vacant")).then_some(()));
    let mut ada = campaigning(&store, "ada");
    let first = sequence(&mut ada);
    observe.until("the leader", |line| line.contains(" jobs: ada leads since revision ").then_some(()));
    let mut ben = campaigning(&store, "ben");
    takes_part(&mut ben, "ada");
    let seen = until_some("both candidates", LIMIT, || {
        Some(status(&store)).filter(|seen| seen["candidates"].as_array().is_some_and(|all| all.len() == 2))
    });
    assert_eq!((&seen["state"], &seen["leader"]["name"]), (&json!("held"), &json!("ada")));
    assert_eq!(
        (&seen["sequence"], &seen["lease_ms"], &seen["margin_ms"]),
        (&json!(first), &json!(6000.0), &json!(310.0))
    );
    assert_eq!(
        (&seen["candidates"][1]["name"], &seen["candidates"][1]["holds"]),
        (&json!("ben"), &json!(false))
    );
    let text = ended(&["status", "jobs", "--store", &store]).stdout;
    snapshot::assert("etcd-status", &snapshot::steady(&text));
    ada.signal(Signal::TERM);
    assert_eq!(ada.wait().code, Some(0));
    assert!(sequence(&mut ben) > first);
    ben.signal(Signal::TERM);
    assert_eq!(ben.wait().code, Some(0));
    observe.until("the vacancy", |line| (line.ends_with(" jobs: vacant")).then_some(()));
    assert_eq!(keys(&server), ["app/.incumbent"]);
    let all = ended(&["status", "--all", "--store", &store]);
    assert_eq!(all.stdout, "no candidate is in any election here\n");
}

#[test]
fn a_leader_hands_over_to_whom_the_operator_names() {
    let (_server, store) = server();
    let mut ada = leading(&store, "ada");
    let mut ben = campaigning(&store, "ben");
    takes_part(&mut ben, "ada");
    let mut cleo = campaigning(&store, "cleo");
    takes_part(&mut cleo, "ada");
    let hand_over = ["hand-over", "jobs", "--to", "cleo", "--yes", "--timeout", "60s", "--store", &store];
    let handed = ended(&hand_over);
    assert_eq!(handed.code, Some(0), "{handed:?}");
    assert!(handed.stdout.starts_with("jobs: ada handed over to cleo, in "), "{handed:?}");
    sequence(&mut cleo);
    ada.kill();
    let again = ended(&hand_over);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "jobs: cleo leads already\n"));
}

#[test]
fn a_hand_over_by_a_leader_that_is_stopped_says_that_its_lease_ran_out() {
    let (_server, store) = server();
    let ada = leading(&store, "ada");
    let mut ben = campaigning(&store, "ben");
    takes_part(&mut ben, "ada");
    process::pause(ada.pid());
    let hand_over = ["hand-over", "jobs", "--to", "ben", "--yes", "--timeout", "60s", "--store", &store];
    let handed = ended(&hand_over);
    assert_eq!(handed.code, Some(0), "{handed:?}");
    assert!(
        handed.stdout.starts_with("jobs: the lease of ada ran out, and ben leads now, after "),
        "{handed:?}"
    );
    sequence(&mut ben);
}

#[test]
fn a_leader_is_evicted_and_the_next_one_waits_until_it_has_reported_its_loss() {
    let (_server, store) = server();
    let mut ada = leading(&store, "ada");
    let mut ben = campaigning(&store, "ben");
    takes_part(&mut ben, "ada");
    refused(
        &["evict", "jobs", "--store", &store],
        2,
        &["until ada has stopped, for 6.00 s at most", "--yes"],
    );
    let evicted = ended(&["evict", "jobs", "--yes", "--store", &store]);
    let said =
        "jobs: ada is evicted\nthe next leader waits until ada has reported its loss, for 6.00 s at most\n";
    assert_eq!((evicted.code, evicted.stdout.as_str()), (Some(0), said), "{evicted:?}");
    ada.until_reported("the loss", |line| line.contains("Deleted") || line.contains("deleted"));
    sequence(&mut ben);
}

#[test]
fn a_leader_that_enters_the_queue_again_is_evicted_until_the_operator_stops() {
    let (_server, store) = server();
    let mut ada = leading(&store, "ada");
    let words = ["evict", "jobs", "--for", "1h", "--yes", "--json", "--store", &store];
    let mut evict = Running::start(incumbent(&words));
    for _ in 0..3 {
        let line = evict.until("an eviction", |line| Some(json(line)));
        assert_eq!(line, json!({ "election": "jobs", "evicted": "ada", "wait_ms": 6_000.0 }));
    }
    evict.signal(Signal::INT);
    assert_eq!(evict.wait().code, Some(0));
    ada.until_reported("the loss", |line| line.contains("deleted"));
}

#[test]
fn a_leader_of_other_software_is_shown_and_evicted_and_hands_over_to_no_candidate() {
    let (server, store) = server();
    let _go = elected(&server, "go-1");
    let mut ben = campaigning(&store, "ben");
    takes_part(&mut ben, "go-1");
    let seen = status(&store);
    assert_eq!((&seen["leader"]["name"], &seen["leader"]["nonce"]), (&json!("go-1"), &Value::Null));
    assert_eq!((&seen["token"], &seen["candidates"][0]["standing_ms"]), (&Value::Null, &Value::Null));
    let text = ended(&["status", "jobs", "--store", &store]).stdout;
    assert!(text.contains("go-1  holds the lease, runs other software"), "{text}");
    let observed = ended(&["observe", "jobs", "--count", "1", "--store", &store]);
    assert!(observed.stdout.contains(" jobs: go-1 leads since revision "), "{observed:?}");
    let hand_over = ["hand-over", "jobs", "--to", "ben", "--yes", "--store", &store];
    refused(&hand_over, 1, &["go-1 runs other software", "incumbent evict jobs"]);
    let report = examined(&store, 0);
    assert_eq!(report["elections"], json!({ "total": 1, "led": 1, "led_by_other_software": 1 }));
    let evicted = ended(&["evict", "jobs", "--yes", "--json", "--store", &store]);
    let expected = json!({ "election": "jobs", "evicted": "go-1", "wait_ms": 0.0 });
    assert_eq!((evicted.code, json(&evicted.stdout)), (Some(0), expected), "{evicted:?}");
    sequence(&mut ben);
}

#[test]
fn a_candidate_of_other_software_that_stands_before_the_successor_leaves_the_leader_in_place() {
    let (server, store) = server();
    let mut ada = leading(&store, "ada");
    let _go = elected(&server, "go-1");
    let mut ben = campaigning(&store, "ben");
    takes_part(&mut ben, "ada");
    let hand_over = ["hand-over", "jobs", "--to", "ben", "--yes", "--timeout", "4s", "--store", &store];
    refused(&hand_over, 1, &["go-1 is ahead of ben", "other software"]);
    assert_eq!(status(&store)["leader"]["name"], "ada");
    ada.signal(Signal::TERM);
    assert_eq!(ada.wait().code, Some(0));
}

#[test]
fn tokens_that_grow_need_no_acceptance() {
    let (_server, store) = server();
    let zero = "0000000000000000-0000000000000001";
    let accepted = ended(&["accept-reset", "jobs", "--seen", zero, "--yes", "--json", "--store", &store]);
    assert_eq!(
        (accepted.code, &json(&accepted.stdout)["accepted"]),
        (Some(0), &json!(false)),
        "{accepted:?}"
    );
}

#[test]
fn handlers_run_in_the_election_that_the_variables_of_elector_name() {
    let server = EtcdServer::start(Options::new());
    let prepared = format!("etcd://{}/elector", server.address());
    assert_eq!(ended(&["init", "--new", "--store", &prepared]).code, Some(0));
    let mut command = incumbent(&["run", "--splay", "0s"]);
    command.envs([
        ("ELECTOR_BACKEND", "etcd-lock"),
        ("ELECTOR_ETCD_MEMBERS", &format!("http://{}", server.address())),
        ("ELECTOR_KEY", "/elector/jobs"),
        ("ELECTOR_INSTANCE_ID", "ada"),
        ("ELECTOR_TTL", "30s"),
        ("ELECTOR_REFRESH_INTERVAL", "15s"),
        ("ELECTOR_START_COMMAND", "echo begins $INCUMBENT_KEY"),
        ("ELECTOR_STOP_COMMAND", "echo ends"),
    ]);
    let mut run = Running::start(command);
    let reported = run.reported_until("the beginning", |line| line == "on-won: begins jobs");
    assert!(reported.contains("the refresh interval of 15.00 s is ignored"), "{reported}");
    assert!(keys(&server).iter().any(|key| key.starts_with("elector/jobs/")));
    run.signal(Signal::TERM);
    let ended = run.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("on-lost: ends"), "{ended:?}");
}

#[test]
fn a_cluster_is_examined_for_people() {
    let (server, store) = server();
    let _ada = leading(&store, "ada");
    let doctor = ended(&["doctor", "--lease", "15s", "--store", &store]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    let text = doctor.stdout.replace(&server.address(), "HOST");
    snapshot::assert("doctor-etcd", &snapshot::steady(&text));
}

#[test]
fn a_cluster_is_examined_for_programs() {
    let (_server, store) = server();
    let report = examined(&store, 0);
    let settings = &report["settings"];
    assert_eq!(
        (&settings["members"][0]["version"], &settings["shortest_lease"]["ms"]),
        (&json!("3.7.3"), &json!(2000.0))
    );
    assert_eq!(
        (&settings["permitted"], &settings["alarms"]),
        (&json!({ "read": true, "write": true }), &json!([]))
    );
    assert_eq!(settings["birth_record"]["never_used"], true);
    assert_eq!(
        (&report["forecast"]["margin_ms"], &report["forecast"]["writes_a_day"]),
        (&json!(400.0), &json!(0))
    );
    assert_eq!((found(&report, "broken").len(), found(&report, "weak").len()), (0, 0), "{report}");
}

#[test]
fn a_member_that_is_away_is_weak_and_a_proxy_is_broken() {
    let mut cluster = EtcdCluster::start(3);
    let store = format!("etcd://{}/app", cluster.addresses());
    assert_eq!(ended(&["init", "--store", &store, "--new"]).code, Some(0));
    let report = examined(&store, 0);
    assert_eq!(report["settings"]["members"].as_array().unwrap().len(), 3);
    assert_eq!(found(&report, "weak").len(), 0, "{report}");
    let one = format!("etcd://{}/app", cluster[0].address());
    let notes = found(&examined(&one, 0), "note");
    assert!(notes.iter().any(|note| note == "the URL does not name every member: e2, e3"), "{notes:?}");

    let away = (0..3).find(|number| *number != cluster.leader()).unwrap();
    cluster[away].kill();
    let weak = found(&examined(&store, 0), "weak");
    assert!(
        weak[0].starts_with(&format!("the member at {} does not answer", cluster[away].address())),
        "{weak:?}"
    );
    assert_eq!(weak.len(), 1, "{weak:?}");

    let port = Port::free();
    let listen = format!("127.0.0.1:{}", port.number());
    let mut proxy = Command::new(tools::etcd(EtcdVersion::Newest).unwrap());
    let members = format!("--endpoints={}", cluster.addresses());
    proxy.args(["grpc-proxy", "start", &members, &format!("--listen-addr={listen}")]);
    proxy.stdout(Stdio::null()).stderr(Stdio::null());
    let _proxy = ChildGuard::spawn(proxy).unwrap();
    let store = format!("etcd://{listen}/app");
    until_some("the proxy", LIMIT, || {
        let doctor = ended(&["doctor", "--json", "--lease", "15s", "--store", &store]);
        (doctor.code == Some(4))
            .then(|| found(&json(&doctor.stdout), "broken"))
            .filter(|broken| broken[0].starts_with("the URL leads to an `etcd grpc-proxy`"))
    });
}

#[test]
fn a_learner_is_weak_wherever_it_is_in_the_url_and_is_not_enough() {
    let (server, learner) = EtcdServer::start(Options::new()).with_learner();
    let at = |addresses: &[&str]| format!("etcd://{}/app", addresses.join(","));
    let (voting, learner) = (server.address(), learner.address());
    assert_eq!(ended(&["init", "--new", "--store", &at(&[&voting])]).code, Some(0));
    for addresses in [[&*voting, &*learner], [&*learner, &*voting]] {
        let report = examined(&at(&addresses), 0);
        let expected = format!("the member at {learner} is a learner, and cannot serve candidates");
        assert_eq!(found(&report, "weak"), [expected], "{report:#}");
    }
    let alone =
        format!("{learner} is a learner, which cannot serve elections: give the addresses of voting members");
    refused(&["doctor", "--store", &at(&[&learner])], 3, &[&alone]);
}

#[test]
fn a_full_cluster_is_refused_and_its_remedy_is_named() {
    let (server, store) =
        prepared(EtcdServer::start(Options::new().arguments(["--quota-backend-bytes=300000"])));
    let script =
        "while \"$0\" --endpoints \"$1\" put filler \"$(head -c 50000 /dev/zero | tr '\\0' x)\"; do :; done";
    let mut fill = Command::new("sh");
    fill.args(["-c", script]).arg(tools::etcdctl().unwrap()).arg(server.address());
    fill.env("ETCDCTL_API", "3").stdout(Stdio::null()).stderr(Stdio::null());
    assert!(ChildGuard::spawn(fill).unwrap().wait(LIMIT).success());
    let report = examined(&store, 4);
    assert_eq!(report["settings"]["alarms"], json!(["NOSPACE"]));
    assert!(found(&report, "refused")[0].starts_with("the cluster is full (alarm NOSPACE)"), "{report}");
}

/// A server that requires users: `root`, and one for each role that the program prints.
fn guarded() -> EtcdServer {
    let (server, store) = server();
    server.ctl(&["user", "add", "root:p"]);
    server.ctl(&["user", "grant-role", "root", "root"]);
    for role in ["candidate", "observer"] {
        let named = store.replace("etcd://", &format!("etcd://{role}:p@"));
        let permitted = ended(&["permissions", "--role", role, "--store", &named]);
        assert_eq!(permitted.code, Some(0), "{permitted:?}");
        server.ctl(&["user", "add", &format!("{role}:p")]);
        for line in permitted.stdout.lines() {
            let words: Vec<_> = line.split(' ').collect();
            assert_eq!(words[0], "etcdctl");
            server.ctl(&words[1..]);
        }
    }
    server.ctl(&["auth", "enable"]);
    server
}

#[test]
fn with_the_printed_role_a_candidate_can_do_what_it_must_and_nothing_elsewhere() {
    let server = guarded();
    let of = |user: &str, prefix: &str| format!("etcd://{user}@{}/{prefix}", server.address());
    let (candidate, observer) = (of("candidate:p", "app"), of("observer:p", "app"));
    let mut ada = leading(&candidate, "ada");
    assert_eq!(status(&observer)["leader"]["name"], "ada");
    let observed = ended(&["observe", "jobs", "--count", "1", "--store", &observer]);
    assert!(observed.stdout.contains(" jobs: ada leads"), "{observed:?}");
    assert_eq!(examined(&candidate, 0)["settings"]["permitted"], json!({ "read": true, "write": true }));
    let looked = examined(&observer, 0);
    assert_eq!(looked["settings"]["permitted"], json!({ "read": true, "write": false }));
    let notes = found(&looked, "note");
    assert!(notes.iter().any(|note| note.starts_with("the user \"observer\" may read")), "{looked}");
    let open =
        |notes: &[String]| notes.iter().any(|note| note.starts_with("the cluster has authentication off"));
    assert!(!open(&notes), "{looked}");
    let evict = ["evict", "jobs", "--yes", "--store", &observer];
    refused(&evict, 6, &["permission denied", "`incumbent permissions`"]);
    assert_eq!(ended(&["evict", "jobs", "--yes", "--store", &candidate]).code, Some(0));
    sequence(&mut ada);

    let elsewhere = of("candidate:p", "other");
    refused(&["status", "jobs", "--fail-fast", "--store", &elsewhere], 6, &["permission"]);
    refused(&["init", "--store", &elsewhere], 6, &["permission"]);
    let away = examined(&elsewhere, 4);
    assert!(found(&away, "refused")[0].starts_with("the user \"candidate\" may not read"), "{away}");
}

#[test]
fn credentials_that_are_refused_end_every_command_and_are_not_shown() {
    let server = guarded();
    let wrong = format!("etcd://candidate:s3cr3t@{}/app", server.address());
    let none = format!("etcd://{}/app", server.address());
    for command in
        [&["status", "jobs", "--fail-fast"][..], &["observe", "jobs", "--fail-fast"], &["doctor"], &["init"]]
    {
        let said = refused(
            &[command, &["--store", &wrong]].concat(),
            6,
            &["does not accept the user and the password"],
        );
        assert!(!said.stderr.contains("s3cr3t"), "{said:?}");
        refused(&[command, &["--store", &none]].concat(), 6, &["requires a user", "user:password@"]);
    }
    let run = ["run", "--key", "jobs", "--fail-fast", "--store", &wrong, "--", "true"];
    refused(&run, 6, &["does not accept the user and the password"]);
}

#[test]
fn a_server_that_does_not_answer_is_an_error_or_is_waited_for() {
    let port = Port::free();
    let store = format!("etcd://127.0.0.1:{}/app", port.number());
    for command in [
        &["status", "jobs", "--fail-fast"][..],
        &["observe", "jobs", "--fail-fast"],
        &["evict", "jobs", "--yes", "--fail-fast"],
        &["hand-over", "jobs", "--to", "ben", "--yes", "--fail-fast"],
        &["run", "--key", "jobs", "--fail-fast", "--on-won", "true"],
        &["doctor"],
        &["init"],
    ] {
        refused(&[command, &["--store", &store]].concat(), 3, &[&port.number().to_string()]);
    }
    let mut waits = Running::start(incumbent(&["observe", "jobs", "--store", &store]));
    waits.until_reported("what is waited for", |line| {
        line.starts_with("incumbent: waiting for the store: no member of etcd can be used: ")
            && line.contains(&format!("127.0.0.1:{}: ", port.number()))
    });
}

#[test]
fn permissions_are_printed_as_commands_and_as_json() {
    let of = |url: &str, more: &[&str]| {
        ended(&[&["permissions", "--role", "candidate", "--store", url], more].concat()).stdout
    };
    assert_eq!(
        of("etcd://worker:p@h/my app", &[]),
        "etcdctl role add incumbent-candidate\n\
         etcdctl role grant-permission incumbent-candidate readwrite 'my app/' --prefix\n\
         etcdctl user grant-role worker incumbent-candidate\n"
    );
    assert_eq!(
        json(&of("etcd://h", &["jobs", "--json"])),
        json!({
            "role": "incumbent-candidate",
            "permissions": [
                { "access": "readwrite", "prefix": "jobs/", "range_end": "jobs0" },
                { "access": "readwrite", "prefix": ".incumbent", "range_end": ".incumbenu" },
            ],
        })
    );
    refused(
        &["permissions", "--role", "candidate", "--store", "etcd://h"],
        4,
        &["every key of the cluster", "PREFIX"],
    );
}

//! `incumbent status` and `incumbent observe`.

use incumbent_testkit::nats::{NatsServer, Options};
use serde_json::json;

use crate::support::{Running, Scratch, ended, incumbent, json, leading, sequence};

#[test]
fn status_tells_the_holder_of_a_seat() {
    let scratch = Scratch::made();
    let _ada = leading(&scratch.url, "jobs", "ada");
    let status = ended(&["status", "jobs", "--store", &scratch.url]);
    assert_eq!(status.code, Some(0), "{status:?}");
    let lines: Vec<&str> = status.stdout.lines().collect();
    assert_eq!(lines[..2], ["election  jobs", "leader    ada"]);
    assert!(lines[2].starts_with("lease     2.00 s, ") && lines[2].ends_with(" left"), "{lines:?}");
    assert!(lines[3].starts_with("renewed   ") && lines[3].ends_with(" ago"), "{lines:?}");
    assert!(lines[4].starts_with("revision  "), "{lines:?}");
    let status = json(&ended(&["status", "jobs", "--store", &scratch.url, "--json"]).stdout);
    assert_eq!((&status["seat"], &status["leader"]["name"]), (&json!("held"), &json!("ada")));
    let (ago, left) = (status["renewed_ms_ago"].as_f64().unwrap(), status["left_ms"].as_f64().unwrap());
    assert!((ago + left - 2000.0).abs() < 0.01, "{status}");
}

#[test]
fn status_tells_what_is_left_of_a_lease_by_the_servers_clock() {
    let mut server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &url, "--new", "--lease", "30s"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let words = ["run", "--store", &url, "--key", "jobs", "--", "sh", "-c"];
    let script = "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000";
    let mut run = Running::start(incumbent(&[&words[..], &[script]].concat()));
    sequence(&mut run);
    let status = json(&ended(&["status", "jobs", "--store", &url, "--json"]).stdout);
    let (ago, left) = (status["renewed_ms_ago"].as_f64().unwrap(), status["left_ms"].as_f64().unwrap());
    assert!(ago > 0.0 && (ago + left - 30_000.0).abs() < 0.01, "{status}");
    run.signal(rustix::process::Signal::TERM);
    assert_eq!(run.wait().code, Some(0));
    let status = json(&ended(&["status", "jobs", "--store", &url, "--json"]).stdout);
    assert_eq!((&status["seat"], &status["left_ms"]), (&json!("released"), &json!(null)));
    server.stop();
}

#[test]
fn status_of_a_seat_nobody_ever_held_is_vacant_and_no_failure() {
    let scratch = Scratch::made();
    let status = ended(&["status", "jobs", "--store", &scratch.url]);
    assert_eq!(status.code, Some(0), "{status:?}");
    assert!(status.stdout.contains("(vacant: nobody has held it"), "{status:?}");
}

#[test]
fn status_lists_every_election_of_a_store() {
    let scratch = Scratch::made();
    let nothing = ended(&["status", "--all", "--store", &scratch.url]);
    assert_eq!(nothing.stdout, "no election was ever held here\n");
    let _ada = leading(&scratch.url, "reports", "ada");
    let mut ben = leading(&scratch.url, "jobs", "ben");
    ben.signal(rustix::process::Signal::TERM);
    assert_eq!(ben.wait().code, Some(0));
    let all = ended(&["status", "--all", "--store", &scratch.url]);
    let rows: Vec<Vec<&str>> = all.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["election", "seat", "leader", "lease", "revision"], "{all:?}");
    assert_eq!(rows[1][..4], ["jobs", "released", "-", "-"], "{all:?}");
    assert_eq!(rows[2][..5], ["reports", "held", "ada", "2.00", "s"], "{all:?}");
    let all = ended(&["status", "--all", "--store", &scratch.url, "--json"]);
    let lines: Vec<_> = all.stdout.lines().map(json).collect();
    assert_eq!((&lines[0]["election"], &lines[0]["seat"]), (&json!("jobs"), &json!("released")));
    assert_eq!(lines[0]["leader"], json!(null));
    assert_eq!((&lines[1]["election"], &lines[1]["leader"]["name"]), (&json!("reports"), &json!("ada")));
}

#[test]
fn the_store_may_be_named_by_the_environment() {
    let scratch = Scratch::made();
    let mut status = incumbent(&["status", "--all"]);
    status.env("INCUMBENT_STORE", &scratch.url);
    assert_eq!(Running::start(status).wait().stdout, "no election was ever held here\n");
}

#[test]
fn observe_tells_every_change_of_a_seat() {
    let scratch = Scratch::made();
    let mut observe =
        Running::start(incumbent(&["observe", "jobs", "--store", &scratch.url, "--count", "3"]));
    observe.until("the vacancy", |line| (line == "jobs: vacant").then_some(()));
    let ada = leading(&scratch.url, "jobs", "ada");
    observe.until("the leader", |line| line.starts_with("jobs: ada leads since revision ").then_some(()));
    ada.signal(rustix::process::Signal::TERM);
    observe.until("the vacancy", |line| (line == "jobs: vacant").then_some(()));
    assert_eq!(observe.wait().code, Some(0));
}

#[test]
fn observe_tells_as_json_and_ends_after_its_time() {
    let scratch = Scratch::made();
    let observe = ended(&["observe", "jobs", "--store", &scratch.url, "--json", "--for", "1s"]);
    assert_eq!(observe.code, Some(0), "{observe:?}");
    let told = json(observe.stdout.trim());
    assert_eq!((&told["election"], &told["leader"]), (&json!("jobs"), &json!(null)));
}

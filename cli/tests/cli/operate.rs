//! `incumbent hand-over`, `incumbent evict` and `incumbent accept-reset`.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use incumbent::Clock;
use incumbent::store::{Sqlite, SqliteSettings, StoreAdmin as _};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process;
use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    Running, Scratch, campaigning, campaigning_for_long, ended, hand_over, incumbent, json, leading,
    sequence, settled, takes_part,
};
use crate::terminal::terminal;

/// A server with a bucket for leases of that length.
pub(crate) fn server(lease: &str) -> (NatsServer, String) {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &store, "--lease", lease, "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    (server, store)
}

#[track_caller]
fn hands_over_in(store: &str) {
    let candidate = |name| {
        let words = ["run", "--store", store, "--key", "jobs", "--name", name, "--lease", "30s"];
        let words = [&words[..], &["--splay", "0s", "-v"]].concat();
        let script = "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000";
        Running::start(incumbent(&[&words[..], &["--", "sh", "-c", script]].concat()))
    };
    let mut ada = candidate("ada");
    sequence(&mut ada);
    let mut ben = candidate("ben");
    takes_part(&mut ben, "ada");
    let handed = hand_over(store, "ben");
    assert!(handed.stdout.starts_with("jobs: ada handed over to ben, in "), "{handed:?}");
    sequence(&mut ben);
    let again = ended(&["hand-over", "jobs", "--to", "ben", "--yes", "--store", store]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "jobs: ben leads already\n"));
    let all = ended(&["status", "--all", "--json", "--store", store]);
    assert_eq!(all.stdout.lines().count(), 1, "the request is listed as an election: {all:?}");
}

#[track_caller]
fn evicts_in(store: &str) {
    let mut ada = leading(store, "jobs", "ada");
    let evicted = ended(&["evict", "jobs", "--yes", "--store", store]);
    assert_eq!(evicted.code, Some(0), "{evicted:?}");
    let reported = "jobs: ada is evicted\n\
                the next leader waits 10.00 s, until the lease of ada is certainly over\n";
    assert_eq!(evicted.stdout, reported);
    sequence(&mut ada);
}

#[test]
fn a_leader_in_a_file_hands_over_to_whom_the_operator_names() {
    hands_over_in(&Scratch::made().url);
}

#[test]
fn a_leader_on_a_server_hands_over_to_whom_the_operator_names() {
    let (_server, store) = server("30s");
    hands_over_in(&store);
}

#[test]
fn a_leader_in_a_file_is_evicted_and_the_wait_of_the_next_one_is_printed() {
    evicts_in(&Scratch::made().url);
}

#[test]
fn a_leader_on_a_server_is_evicted_and_the_wait_of_the_next_one_is_printed() {
    let (_server, store) = server("10s");
    evicts_in(&store);
}

/// The server loses more acknowledged writes than candidates make up for on their own. The candidate that remembers
/// those writes reports the token for which it stays out, and leads once the operator accepts.
#[test]
fn a_candidate_that_stays_out_after_a_reset_leads_once_the_operator_accepts() {
    let (mut server, store) = server("10s");
    let (stored, kept) = (server.folder().join("store"), server.folder().join("kept"));
    let copy = |from: &Path, to: &Path| {
        let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
        assert!(copied.success());
    };
    server.stop();
    copy(&stored, &kept);
    server.restart();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let bucket = async_nats::jetstream::new(client).get_key_value("ELECTIONS").await.unwrap();
        for _ in 0..1000 {
            bucket.put("filler", "x".into()).await.unwrap();
        }
    });
    let mut ada = leading(&store, "jobs", "ada");
    server.kill();
    std::fs::remove_dir_all(&stored).unwrap();
    copy(&kept, &stored);
    server.restart();
    let reset = ada.until_reported("the reset", |line| line.contains("this candidate stays out"));
    let seen = reset.split("the largest token seen was ").nth(1).unwrap()[..33].to_owned();

    let asked = |seen: &str, timeout: &str| {
        let words =
            ["accept-reset", "jobs", "--seen", seen, "--yes", "--store", &store, "--timeout", timeout];
        ended(&[&words[..], &["--json"]].concat())
    };
    let zero = "0000000000000000-0000000000000001";
    let nothing = asked(zero, "60s");
    assert_eq!((nothing.code, &json(&nothing.stdout)["accepted"]), (Some(0), &json!(false)), "{nothing:?}");
    let smaller = format!("{}{:016x}", &seen[..17], u64::from_str_radix(&seen[17..], 16).unwrap() - 1);
    let refused = asked(&smaller, "4s");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("jobs is still vacant after 4.00 s"), "{refused:?}");
    let accepted = asked(&seen, "60s");
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    let reported = json(&accepted.stdout);
    assert_eq!(
        (&reported["accepted"], &reported["leader"], &reported["seen"]),
        (&json!(true), &json!("ada"), &json!(seen))
    );
    sequence(&mut ada);
}

#[track_caller]
fn says_that_a_lease_ran_out_in(store: &str) {
    let ada = leading(store, "jobs", "ada");
    let mut ben = campaigning(store, "jobs", "ben");
    takes_part(&mut ben, "ada");
    process::pause(ada.pid());
    let words = ["hand-over", "jobs", "--to", "ben", "--yes", "--timeout", "60s", "--store", store];
    let ran_out = ended(&words);
    assert_eq!(ran_out.code, Some(0), "{ran_out:?}");
    let said = "jobs: the lease of ada ran out, and ben leads now, after ";
    assert!(ran_out.stdout.starts_with(said), "{ran_out:?}");
    sequence(&mut ben);
    // Without another candidate, too.
    process::pause(ben.pid());
    let alone =
        ["hand-over", "jobs", "--to", "cleo", "--force", "--yes", "--timeout", "20s", "--store", store];
    let vacant = ended(&alone);
    assert_eq!(vacant.code, Some(1), "{vacant:?}");
    let said = "incumbent: the lease of ben in jobs ran out, and no candidate has taken it since: is cleo a candidate?\n";
    assert_eq!(vacant.stderr, said);
}

#[test]
fn a_hand_over_in_a_file_by_a_leader_that_is_stopped_says_that_its_lease_ran_out() {
    says_that_a_lease_ran_out_in(&Scratch::made().url);
}

#[test]
fn a_hand_over_on_a_server_by_a_leader_that_is_stopped_says_that_its_lease_ran_out() {
    let (_server, store) = server("10s");
    says_that_a_lease_ran_out_in(&store);
}

#[test]
fn a_successor_that_is_no_candidate_is_a_failure_that_says_so() {
    let scratch = Scratch::made();
    let _ada = settled(&scratch.url, "jobs", "ada");
    let arguments = ["hand-over", "jobs", "--to", "zoe", "--yes", "--timeout", "60s"];
    let refused = ended(&[&arguments[..], &["--store", &scratch.url]].concat());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let reported = "incumbent: zoe does not answer as a candidate of jobs, so ada was not asked; no other candidate \
                    does. To ask anyway, use --force\n";
    assert_eq!(refused.stderr, reported);
    let failed = ended(&[&arguments[..], &["--store", &scratch.url, "--force"]].concat());
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let reported = "incumbent: ada gave jobs up, and ada leads again because no other candidate took over: is zoe a candidate?\n";
    assert_eq!(failed.stderr, reported);
}

#[track_caller]
fn hands_over_to_any_in(store: &str) {
    let asked = || ended(&["hand-over", "jobs", "--yes", "--timeout", "60s", "--store", store]);
    let mut ada = settled(store, "jobs", "ada");
    let alone = asked();
    assert_eq!(alone.code, Some(1), "{alone:?}");
    let reported =
        "incumbent: no other candidate of jobs answers, so ada was not asked: it would have no successor\n";
    assert_eq!(alone.stderr, reported);
    let waits = |name| {
        let mut run = campaigning_for_long(store, "jobs", name);
        run.until_reported("that it waits", |line| line == "incumbent: waiting for jobs: ada leads");
        run
    };
    let mut ben = waits("ben");
    let _cleo = waits("cleo");
    let unknown = ended(&["hand-over", "jobs", "--to", "dan", "--yes", "--store", store]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.stderr.contains("so ada was not asked; "), "{unknown:?}");
    assert!(unknown.stderr.contains("ben") && unknown.stderr.contains("cleo would"), "{unknown:?}");
    let handed = asked();
    assert_eq!(handed.code, Some(0), "{handed:?}");
    assert!(handed.stdout.starts_with("jobs: ada handed over to ben, in "), "{handed:?}");
    sequence(&mut ben);
    let lost = ada.until_reported("the end", |line| line.contains("no longer leads"));
    assert_eq!(lost, "incumbent: ada no longer leads jobs: handed over");
}

#[test]
fn a_leader_in_a_file_hands_over_to_the_candidate_that_has_waited_longest() {
    hands_over_to_any_in(&Scratch::made().url);
}

#[test]
fn a_leader_on_a_server_hands_over_to_the_candidate_that_has_waited_longest() {
    let (_server, store) = server("30s");
    hands_over_to_any_in(&store);
}

#[test]
fn an_evicted_leader_is_kept_out_until_the_operator_stops() {
    let scratch = Scratch::made();
    let mut ada = settled(&scratch.url, "jobs", "ada");
    let words = ["evict", "jobs", "--for", "1h", "--yes", "--json", "--store", &scratch.url];
    let mut evict = Running::start(incumbent(&words));
    // ada is the only candidate, so it takes the lease again each time, and must wait for the previous lease before it
    // leads.
    for _ in 0..3 {
        let line = evict.until("an eviction", |line| Some(json(line)));
        assert_eq!(line, json!({ "election": "jobs", "evicted": "ada", "wait_ms": 30_000.0 }));
    }
    evict.signal(Signal::INT);
    assert_eq!(evict.wait().code, Some(0));
    let between = sequence(&mut ada);
    assert!(between > 1, "it led with {between} before the operator stopped");
}

#[test]
fn a_vacant_election_has_no_leader_to_ask_or_evict() {
    let scratch = Scratch::made();
    let asked = ended(&["hand-over", "jobs", "--to", "ben", "--yes", "--store", &scratch.url]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stderr.contains("jobs is vacant"), "{asked:?}");
    let evicted = ended(&["evict", "jobs", "--yes", "--store", &scratch.url, "--json"]);
    assert_eq!(evicted.code, Some(0), "{evicted:?}");
    let nothing = json!({ "election": "jobs", "evicted": null, "wait_ms": null });
    assert_eq!(json(&evicted.stdout), nothing);
}

#[test]
fn a_leader_of_other_software_cannot_be_asked_and_that_is_said() {
    let scratch = Scratch::made();
    let path = scratch.folder.path().join("elections.db");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let store = Sqlite::open(&SqliteSettings::new(path), &Clock::system()).await.unwrap();
        store.put("jobs", b"go-1").await.unwrap();
    });
    let asked = ended(&["hand-over", "jobs", "--to", "ben", "--yes", "--store", &scratch.url]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stderr.contains("go-1 runs other software"), "{asked:?}");
    assert!(asked.stderr.contains("incumbent evict jobs"), "{asked:?}");
    let evicted = ended(&["evict", "jobs", "--yes", "--store", &scratch.url, "--json"]);
    assert_eq!(json(&evicted.stdout)["evicted"], "go-1", "{evicted:?}");
}

#[test]
fn without_a_terminal_nothing_is_done_that_was_not_confirmed() {
    let scratch = Scratch::made();
    let _ada = settled(&scratch.url, "jobs", "ada");
    for arguments in [&["evict", "jobs"][..], &["hand-over", "jobs", "--to", "ben", "--force"]] {
        let asked = ended(&[arguments, &["--store", &scratch.url]].concat());
        assert_eq!(asked.code, Some(2), "{asked:?}");
        assert!(asked.stderr.contains("confirm with --yes"), "{asked:?}");
    }
    let status = ended(&["status", "jobs", "--store", &scratch.url, "--json"]);
    assert_eq!(json(&status.stdout)["leader"]["name"], "ada");
}

#[test]
fn at_a_terminal_it_asks_and_takes_no_for_an_answer() {
    let scratch = Scratch::made();
    let mut ada = leading(&scratch.url, "jobs", "ada");
    for (answer, code) in [("n\n", 1), ("yes\n", 0)] {
        let (ours, theirs) = terminal();
        let mut command = incumbent(&["evict", "jobs", "--store", &scratch.url]);
        command.stdin(theirs);
        let mut evict = Running::start(command);
        std::fs::File::from(ours.try_clone().unwrap()).write_all(answer.as_bytes()).unwrap();
        let ended = evict.wait();
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(
            ended.stderr.contains("Evict ada from jobs? The next leader waits 10.00 s. [y/N]"),
            "{ended:?}"
        );
    }
    sequence(&mut ada);
}

#[test]
fn what_an_operator_asks_of_a_store_in_memory_cannot_be() {
    let refused = ended(&["evict", "jobs", "--yes", "--store", "memory:"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("no other process"), "{refused:?}");
}

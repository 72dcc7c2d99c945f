//! Commands that read or act once, on a store that does not answer.

use std::io::Write as _;
use std::net::TcpListener;

use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::port::Port;
use incumbent_testkit::wait;
use serde_json::json;

use crate::operate::server;
use crate::support::{Ended, Running, campaigning, ended, incumbent, json, leading, sequence, settled};
use crate::terminal::terminal;

/// The commands that read or act once.
const ONCE: &[&[&str]] = &[
    &["status", "jobs"],
    &["status", "--all"],
    &["evict", "jobs", "--yes"],
    &["hand-over", "jobs", "--yes"],
    &["accept-reset", "jobs", "--yes", "--seen", "0000000000000000-0000000000000001"],
];

/// Starts all commands at once, and waits for their ends.
#[track_caller]
fn all_ended(commands: impl IntoIterator<Item = Vec<String>>) -> Vec<(Vec<String>, Ended)> {
    let start = |words: Vec<String>| {
        let started = Running::start(incumbent(&words.iter().map(String::as_str).collect::<Vec<_>>()));
        (words, started)
    };
    let running: Vec<_> = commands.into_iter().map(start).collect();
    running.into_iter().map(|(words, mut running)| (words, running.wait())).collect()
}

fn words(command: &[&str], more: &[&str]) -> Vec<String> {
    command.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_command_that_asks_or_acts_once_ends_where_the_store_does_not_answer() {
    let refused = Port::free();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap();
    let refused = format!("127.0.0.1:{}", refused.number());
    let stores = [
        format!("nats://{refused}/ELECTIONS"),
        format!("nats://{silent}/ELECTIONS"),
        format!("etcd://{refused}/app"),
        format!("etcd://{silent}/app"),
    ];
    let of =
        |store: &String| ONCE.iter().map(|command| words(command, &["--store", store])).collect::<Vec<_>>();
    for (words, ended) in all_ended(stores.iter().flat_map(of)) {
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""), "{words:?}: {ended:#?}");
        let said = ended.stderr.lines().find(|line| line.contains("did not answer within 10.00 s: "));
        let address = if words.join(" ").contains(&refused) { refused.clone() } else { silent.to_string() };
        assert!(said.is_some_and(|line| line.contains(&address)), "{words:?}: {ended:#?}");
    }
}

#[test]
fn the_time_limit_of_a_command_counts_the_wait_for_the_store() {
    let port = Port::free();
    let store = format!("nats://127.0.0.1:{}/ELECTIONS", port.number());
    let limited =
        |command: &[&str]| words(command, &["--timeout", "1s", "--wait-for-store", "--store", &store]);
    let observed = words(&["observe", "jobs", "--for", "1s"], &["--store", &store]);
    for (words, ended) in all_ended(ONCE[3..].iter().map(|command| limited(command)).chain([observed])) {
        assert_eq!(ended.code, Some(3), "{words:?}: {ended:#?}");
        assert!(ended.stderr.contains("did not answer within 1.00 s: "), "{words:?}: {ended:#?}");
    }
}

#[test]
fn a_candidate_that_does_not_wait_ends_where_the_store_does_not_answer() {
    let refused = Port::free();
    let refused = format!("127.0.0.1:{}", refused.number());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    let schemes = if cfg!(feature = "kafka") { &["nats", "etcd", "kafka"][..] } else { &["nats", "etcd"] };
    let of = |scheme: &&str| {
        [&refused, &silent].map(|address| {
            let store = format!("{scheme}://{address}/app");
            words(&["run", "--key", "jobs", "--no-wait", "--store"], &[&store, "--", "true"])
        })
    };
    for (words, ended) in all_ended(schemes.iter().flat_map(of)) {
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""), "{words:?}: {ended:#?}");
        let said = ended.stderr.lines().find(|line| line.contains("did not answer within 10.00 s: "));
        let address = if words.join(" ").contains(&refused) { &refused } else { &silent };
        assert!(said.is_some_and(|line| line.contains(address)), "{words:?}: {ended:#?}");
    }
}

/// Starts a candidate that waits for no leader and no store. Its store is new, so that it may not lead at first.
#[track_caller]
fn waits_in_a_new_store(store: &str) -> Running {
    let words = ["run", "--key", "jobs", "--name", "ada", "--no-wait", "--store", store, "--", "true"];
    let mut ada = Running::start(incumbent(&words));
    ada.until_reported("that the store is new", |line| line.contains("store is new"));
    ada
}

/// A new store, whose first leader waits 20 s.
fn new_store() -> (NatsServer, String) {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    assert_eq!(ended(&["init", "--store", &store, "--lease", "20s"]).code, Some(0));
    (server, store)
}

#[test]
fn a_candidate_that_does_not_wait_ends_where_the_store_stops_answering_before_it_leads() {
    let (server, store) = new_store();
    let mut ada = waits_in_a_new_store(&store);
    server.pause();
    let ada = ada.wait();
    assert_eq!(ada.code, Some(3), "{ada:#?}");
    assert!(ada.stderr.contains("the store did not answer within 10.00 s: "), "{ada:#?}");
}

#[test]
fn a_candidate_that_does_not_wait_leads_where_the_store_was_away_for_less_than_it_waits() {
    let (server, store) = new_store();
    let mut ada = waits_in_a_new_store(&store);
    server.pause();
    ada.until_reported("the outage", |line| {
        line.contains("does not answer") || line.contains("waiting for the store")
    });
    server.resume();
    let ada = ada.wait();
    assert_eq!(ada.code, Some(0), "{ada:#?}");
    assert!(ada.stderr.contains("ada leads jobs"), "{ada:#?}");
}

/// Starts a command while the server does not answer, and lets the server answer once the command has reported the
/// silence.
#[track_caller]
fn asked_too_early(server: &NatsServer, mut asked: Running) -> Running {
    asked.until_reported("that it waits", |line| line.starts_with("incumbent: waiting for the store: "));
    server.resume();
    asked.until_reported("the answer", |line| line == "incumbent: the store answers");
    asked
}

#[test]
fn what_was_confirmed_while_the_store_was_away_is_not_done_when_it_is_back() {
    let (server, store) = server("30s");
    let mut ada = settled(&store, "jobs", "ada");
    for more in [&[][..], &["--wait-for-store"]] {
        for command in [&["evict", "jobs"][..], &["hand-over", "jobs", "--to", "ben", "--force"]] {
            server.pause();
            let words = [command, &["--yes", "--store", &store], more].concat();
            let ended = asked_too_early(&server, Running::start(incumbent(&words))).wait();
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""), "{words:?}: {ended:#?}");
            let said = "The store did not answer when this was confirmed with --yes, so nothing was done: run the \
                command again";
            assert!(ended.stderr.contains(said) && ended.stderr.contains("ada"), "{words:?}: {ended:#?}");
        }
    }
    let status = ended(&["status", "jobs", "--json", "--store", &store]);
    assert_eq!(json(&status.stdout)["leader"]["name"], json!("ada"), "{status:?}");
    ada.signal(rustix::process::Signal::TERM);
    let ada = ada.wait();
    assert!(ada.stderr.contains("no longer leads jobs: closed"), "{ada:#?}");
}

#[test]
fn at_a_terminal_the_question_comes_when_the_store_is_back_and_names_who_leads_then() {
    let (server, store) = server("10s");
    let _ada = leading(&store, "jobs", "ada");
    server.pause();
    let (ours, theirs) = terminal();
    let mut command = incumbent(&["evict", "jobs", "--wait-for-store", "--store", &store]);
    command.stdin(theirs);
    let mut evict = asked_too_early(&server, Running::start(command));
    std::fs::File::from(ours.try_clone().unwrap()).write_all(b"no\n").unwrap();
    let ended = evict.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("Evict ada from jobs?"), "{ended:?}");
}

#[test]
fn a_store_is_waited_for_on_the_command_line_alone() {
    let (mut server, store) = server("10s");
    server.stop();
    let mut status =
        Running::start(incumbent(&["status", "jobs", "--fail-fast", "--wait-for-store", "--store", &store]));
    status.until_reported("the warning", |line| line.starts_with("incumbent: waiting for the store: "));
    let mut command = incumbent(&["status", "jobs", "--fail-fast", "--store", &store]);
    command.env("INCUMBENT_WAIT_FOR_STORE", "true");
    assert_eq!(Running::start(command).wait().code, Some(3));
    server.restart();
    status.until_reported("its end", |line| line == "incumbent: the store answers");
    let status = status.wait();
    assert_eq!(status.code, Some(0), "{status:#?}");
    assert!(status.stdout.contains("vacant"), "{status:#?}");
}

#[test]
fn a_candidate_waits_for_the_link_to_the_domain_of_its_store_and_leads_when_it_is_up() {
    let leafs = Port::free();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let domain = |name: &str, folder: &tempfile::TempDir| {
        format!("jetstream {{ domain: {name}, store_dir: \"{}\" }}", folder.path().display())
    };
    let listen = format!("leafnodes {{ listen: \"127.0.0.1:{}\" }}", leafs.number());
    let listen = format!("{listen}\n{}", domain("hub", &folders[0]));
    let mut hub = NatsServer::start(Options::new().config(listen));
    let remote = format!(
        "leafnodes {{ reconnect: 1, remotes: [ {{ url: \"nats://127.0.0.1:{}\" }} ] }}",
        leafs.number()
    );
    let edge = NatsServer::start(Options::new().config(format!("{remote}\n{}", domain("edge", &folders[1]))));
    let store = format!("{}/ELECTIONS?domain=hub", edge.url());
    let made = || ended(&["init", "--store", &store, "--lease", "10s", "--new"]).code == Some(0);
    wait::until("the bucket in the hub", wait::GENEROUS, made);
    hub.stop();
    let mut ada = campaigning(&store, "jobs", "ada");
    let waits = ada.until_reported("that it waits", |line| line.contains("waiting for the store: "));
    assert!(waits.contains("JetStream is not enabled") && waits.contains("domain"), "{waits}");
    hub.restart();
    ada.until_reported("the answer", |line| line == "incumbent: the store answers");
    assert!(sequence(&mut ada) > 0);
}

#[test]
fn a_key_or_a_name_that_cannot_be_is_refused_before_the_store_is_waited_for() {
    let port = Port::free();
    let at = |scheme: &str| format!("{scheme}://127.0.0.1:{}/app", port.number());
    let once = ONCE.iter().filter(|command| command[1] == "jobs");
    let commands = once.copied().chain([&["observe", "jobs"][..], &["run", "--key=jobs", "--wait=60s"]]);
    for command in commands {
        for (scheme, key) in [("nats", "two words"), ("etcd", "a/b")] {
            let store = at(scheme);
            let key = |word: &&str| word.replace("jobs", key);
            let words: Vec<String> = command.iter().map(key).chain(["--store".to_owned(), store]).collect();
            let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
            if command[0] == "run" {
                words.extend(["--", "true"]);
            }
            let refused = ended(&words);
            assert_eq!(refused.code, Some(2), "{words:?}: {refused:#?}");
            assert!(!refused.stderr.contains("waiting for the store"), "{words:?}: {refused:#?}");
        }
    }
    let named = ["hand-over", "jobs", "--yes", "--to", "ben ", "--store", &at("nats")];
    let refused = ended(&named);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    let named =
        ["run", "--key", "jobs", "--name", " x", "--wait", "60s", "--store", &at("nats"), "--", "true"];
    assert_eq!(ended(&named).code, Some(2));
}

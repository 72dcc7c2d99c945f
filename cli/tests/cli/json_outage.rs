//! With `--json` every line of the standard error is JSON, even if the store is unreachable, silent, slow, full or
//! forbidden.

use std::net::TcpListener;
use std::time::Duration;

use async_nats::jetstream;
use incumbent_testkit::etcd::{EtcdServer, Options as EtcdOptions};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::port::Port;
use incumbent_testkit::proxy::Proxy;
use rustix::process::Signal;

use crate::json::definition;
use crate::operate::server;
use crate::run::pid;
use crate::support::{Running, Scratch, ended, incumbent, json as parsed};

/// A token below that of every election, for a command that needs one.
const ZERO: &str = "0000000000000000-0000000000000001";

/// Every command that opens a store, with options that make it end.
const COMMANDS: &[&[&str]] = &[
    &["status", "jobs", "-vv"],
    &["status", "--all"],
    &["observe", "jobs", "--for", "1s", "-v"],
    &["evict", "jobs", "--yes"],
    &["hand-over", "jobs", "--yes", "--timeout", "2s"],
    &["accept-reset", "jobs", "--yes", "--timeout", "2s", "--seen", ZERO],
    &["doctor"],
    &["init"],
    &["run", "--key", "jobs", "--wait", "4s", "--", "no-such-command"],
    &["run", "--key", "jobs", "--wait", "4s", "--once", "--on-won", "exit 1", "--on-lost", "true", "-v"],
    &["run", "--key", "jobs", "--wait", "4s", "--health", "echo ill >&2; false", "--listen", "127.0.0.1:0"],
];

/// Checks each line, and returns how many there are.
#[track_caller]
fn all_lines_fit(what: &str, stderr: &str) -> usize {
    let schemas = [definition("event"), definition("error")];
    for line in stderr.lines() {
        let object = parsed(line);
        assert!(schemas.iter().any(|schema| schema.is_valid(&object)), "{what}: {line}");
    }
    stderr.lines().count()
}

/// Runs every command, with JSON requested by the environment.
#[track_caller]
fn every_line_fits(what: &str, store: &str) {
    let start = |words: &&[&str]| {
        let mut command = incumbent(words);
        command.env("INCUMBENT_JSON", "true").env("INCUMBENT_STORE", store);
        (words.join(" "), Running::start(command))
    };
    let running: Vec<_> = COMMANDS.iter().map(start).collect();
    let lines = running.into_iter().map(|(words, mut running)| {
        let ended = running.wait();
        all_lines_fit(&format!("{what}: {words}"), &ended.stderr)
    });
    assert!(lines.sum::<usize>() > COMMANDS.len() / 2, "{what}: hardly anything was written");
}

#[test]
fn every_line_is_json_where_no_store_answers() {
    let port = Port::free();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for address in [format!("127.0.0.1:{}", port.number()), silent.local_addr().unwrap().to_string()] {
        every_line_fits("no NATS", &format!("nats://{address}/ELECTIONS"));
        every_line_fits("no etcd", &format!("etcd://{address}/app"));
    }
    every_line_fits("no file", "sqlite:/no/such/folder/e.db");
}

#[test]
fn every_line_is_json_where_a_store_is_slow() {
    let (server, _) = server("10s");
    let proxy = Proxy::to(&server.address());
    proxy.delay_to_client(Duration::from_millis(1500));
    every_line_fits("slow", &format!("nats://{}/ELECTIONS", proxy.address()));
}

#[test]
fn every_line_is_json_where_a_store_is_full() {
    let server = NatsServer::start(Options::new());
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        let max_age = Duration::from_secs(10);
        let config =
            jetstream::kv::Config { bucket: "FULL".into(), max_age, max_bytes: 2000, ..Default::default() };
        let bucket = jetstream::new(client).create_key_value(config).await.unwrap();
        let filler = vec![b'x'; 1800];
        bucket.put("filler", filler.into()).await.unwrap();
    });
    every_line_fits("full", &format!("{}/FULL", server.url()));
    let server = EtcdServer::start(EtcdOptions::new().arguments(["--quota-backend-bytes=300000"]));
    let store = format!("etcd://{}/app", server.address());
    assert_eq!(ended(&["init", "--store", &store]).code, Some(0));
    let text = "x".repeat(100_000);
    while server.try_ctl(&["put", "filler", &text]).is_ok() {}
    every_line_fits("full", &store);
}

#[test]
fn every_line_is_json_where_a_store_is_forbidden() {
    let config = "authorization { users: [ { user: admin, password: pw }, \
                  { user: guest, password: pw, permissions: { publish: \"nothing\", subscribe: \"_INBOX.>\" } } ] }";
    let server = NatsServer::start(Options::new().config(config));
    let at = |user: &str| format!("nats://{user}:pw@{}/ELECTIONS", server.address());
    let made = ended(&["init", "--store", &at("admin"), "--lease", "10s"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    every_line_fits("forbidden", &at("guest"));
    every_line_fits("unknown", &at("stranger"));
}

#[test]
fn every_line_of_a_candidate_is_json_where_its_store_goes_away() {
    let (server, store) = server("5s");
    let words = ["run", "--json", "--store", &store, "--key", "jobs", "--splay", "0s", "--drain", "1s", "--"];
    let mut run =
        Running::start(incumbent(&[&words[..], &["sh", "-c", "echo $$; exec sleep 1000"]].concat()));
    pid(&mut run);
    server.pause();
    let is_lost = |line: &str| line.contains(r#""event":"lost""#) && line.contains("EXPIRED");
    let away = run.reported_until("the loss", is_lost);
    server.resume();
    pid(&mut run);
    run.signal(Signal::TERM);
    let whole = away + &run.wait().stderr;
    all_lines_fit("away", &whole);
    assert!(whole.contains("waiting for the store"), "{whole}");
}

#[test]
fn what_helpers_of_a_candidate_write_is_json() {
    let scratch = Scratch::made();
    let words = ["run", "--json", "--store", &scratch.url, "--key", "jobs", "--", "no-such-command"];
    let ended_run = ended(&words);
    assert_eq!(ended_run.code, Some(127), "{ended_run:?}");
    all_lines_fit("no such command", &ended_run.stderr);
    assert!(ended_run.stderr.contains("no-such-command cannot be run"), "{ended_run:?}");
}

#[test]
fn json_may_be_asked_for_by_the_environment_and_by_a_file() {
    let scratch = Scratch::new();
    let file = scratch.folder.path().join("with.toml");
    std::fs::write(&file, "json = true\n").unwrap();
    let with = |variable: &str, value: &str| {
        let mut command = incumbent(&["status", "--bogus"]);
        Running::start({
            command.env(variable, value);
            command
        })
        .wait()
    };
    for ended in [with("INCUMBENT_JSON", "true"), with("INCUMBENT_CONFIG", file.to_str().unwrap())] {
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(parsed(&ended.stderr)["error"]["code"], "USAGE", "{ended:?}");
    }
    let plain = with("INCUMBENT_JSON", "false");
    assert!(plain.stderr.starts_with("error: unexpected argument"), "{plain:?}");
}

#[test]
fn no_question_is_asked_with_json() {
    let scratch = Scratch::made();
    let _ada = crate::support::settled(&scratch.url, "jobs", "ada");
    let (_ours, theirs) = crate::terminal::terminal();
    let mut command = incumbent(&["evict", "jobs", "--json", "--store", &scratch.url]);
    command.stdin(theirs);
    let ended = Running::start(command).wait();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let said = parsed(&ended.stderr)["error"]["message"].as_str().unwrap().to_owned();
    assert!(said.ends_with("--json does not ask: confirm with --yes"), "{said}");
}

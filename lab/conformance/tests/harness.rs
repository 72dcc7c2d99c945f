//! The program `incumbent-harness`, driven as a runner in any language would drive it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers fail their test")]

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

struct Harness {
    child: Child,
    requests: ChildStdin,
    replies: Lines<BufReader<ChildStdout>>,
}

impl Harness {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_incumbent-harness"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let requests = child.stdin.take().unwrap();
        let replies = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut harness = Self { child, requests, replies };
        let hello = harness.hear();
        assert_eq!(
            hello,
            json!({"harness": "incumbent", "protocol": 1, "stores": ["memory", "sqlite", "nats", "etcd", "kafka"]})
        );
        harness
    }

    fn hear(&mut self) -> Value {
        serde_json::from_str(&self.replies.next().unwrap().unwrap()).unwrap()
    }

    fn say(&mut self, line: &str) -> Value {
        writeln!(self.requests, "{line}").unwrap();
        self.hear()
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.say(&request.to_string())
    }

    #[track_caller]
    fn refuses(&mut self, request: &Value, why: &str) {
        let reply = self.ask(request);
        assert_eq!(reply["ok"], false);
        assert!(reply["error"].as_str().unwrap().contains(why), "{reply}");
    }

    /// Closes the program's standard input, which ends the program.
    fn end(mut self) {
        drop(self.requests);
        assert!(self.child.wait().unwrap().success());
    }
}

fn prepare(store: &str) -> Value {
    json!({"do": "prepare", "store": store, "lease_ms": 2000, "connections": ["a", "b"]})
}

#[test]
fn a_store_in_memory_is_the_runners_own() {
    let mut harness = Harness::start();
    let reply = harness.ask(&prepare("memory"));
    let url = reply["url"].as_str().unwrap().to_string();
    assert!(url.starts_with("memory:"), "{url}");
    let expected = json!({"ok": true, "offers": [], "url": url.clone(), "connections": {"a": url.clone(), "b": url.clone()}});
    assert_eq!(reply, expected);
    harness.refuses(&json!({"do": "delete_key", "key": "jobs"}), "lacks a way into the runner's memory");
    harness.refuses(&json!({"do": "cut", "connection": "a"}), "lacks a network");
    harness.refuses(&json!({"do": "stop_server"}), "lacks a server");
    assert_eq!(harness.ask(&json!({"do": "clean_up"})), json!({"ok": true}));
    assert_ne!(harness.ask(&prepare("memory"))["url"], url);
    harness.end();
}

#[test]
fn a_file_takes_an_operator_and_goes_with_its_scenario() {
    let mut harness = Harness::start();
    let reply = harness.ask(&prepare("sqlite"));
    assert_eq!(reply["offers"], json!(["operator"]));
    let url = reply["url"].as_str().unwrap().to_string();
    let file = std::path::Path::new(url.strip_prefix("sqlite:").unwrap());
    assert!(file.exists());
    assert_eq!(harness.ask(&json!({"do": "put_key", "key": "jobs", "value": "x"})), json!({"ok": true}));
    assert_eq!(harness.ask(&json!({"do": "delete_key", "key": "jobs"})), json!({"ok": true}));
    harness.refuses(&json!({"do": "reset_store"}), "lacks a store that can be deleted and made again");
    assert_eq!(harness.ask(&json!({"do": "clean_up"})), json!({"ok": true}));
    assert!(!file.exists());
    harness.end();
}

#[test]
fn an_impossible_request_is_refused_and_the_harness_continues() {
    let mut harness = Harness::start();
    harness.refuses(&json!({"do": "clean_up"}), "no store is prepared");
    harness.refuses(&json!({"do": "dance"}), "unknown variant `dance`");
    harness.refuses(
        &json!({"do": "prepare", "store": "paper", "lease_ms": 1, "connections": []}),
        "unknown variant",
    );
    assert_eq!(harness.say("not JSON")["ok"], false);
    assert_eq!(harness.ask(&prepare("memory"))["ok"], true);
    harness.end();
}

#[test]
fn the_harness_takes_no_arguments() {
    let output = Command::new(env!("CARGO_BIN_EXE_incumbent-harness")).arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("takes no arguments"));
}

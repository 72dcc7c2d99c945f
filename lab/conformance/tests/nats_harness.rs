//! The program `incumbent-harness` on a real server: its faults reach that server.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

#[test]
fn a_server_lives_as_long_as_its_harness_and_each_connection_has_a_port_of_its_own() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_incumbent-harness"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut requests = child.stdin.take().unwrap();
    let mut replies = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut receive = || -> Value { serde_json::from_str(&replies.next().unwrap().unwrap()).unwrap() };
    assert_eq!(receive()["protocol"], 1);
    let mut ask = |request: Value| -> Value {
        writeln!(requests, "{request}").unwrap();
        receive()
    };
    let prepare = json!({"do": "prepare", "store": "nats", "lease_ms": 2000, "connections": ["a", "b"]});
    let done = json!({"ok": true});

    let prepared = ask(prepare.clone());
    assert_eq!(prepared["offers"], json!(["operator", "reset", "network", "kill", "server"]));
    let urls = [&prepared["url"], &prepared["connections"]["a"], &prepared["connections"]["b"]];
    let address = |url: &Value| {
        let url = url.as_str().unwrap().strip_prefix("nats://").unwrap().to_string();
        url.strip_suffix("/scenario-1").unwrap().to_string()
    };
    let [main, a, b] = urls.map(address);
    assert!(main != a && a != b && main != b);
    for request in [
        json!({"do": "put_key", "key": "jobs", "value": "x"}),
        json!({"do": "delete_key", "key": "jobs"}),
        json!({"do": "reset_store"}),
        json!({"do": "cut", "connection": "a"}),
        json!({"do": "heal", "connection": "a"}),
        json!({"do": "kill", "connection": "a"}),
    ] {
        assert_eq!(ask(request.clone()), done, "{request}");
    }
    let refused = ask(json!({"do": "heal", "connection": "a"}));
    assert!(refused["error"].as_str().unwrap().contains("was killed"), "{refused}");
    assert_eq!(ask(json!({"do": "stop_server"})), done);
    assert!(std::net::TcpStream::connect(&main).is_err());

    // A scenario that left its server stopped does not spoil the next one.
    let next = ask(prepare);
    assert_eq!(next["url"].as_str(), Some(&*format!("nats://{main}/scenario-2")));
    assert!(std::net::TcpStream::connect(&main).is_ok());
    drop(requests);
    assert!(child.wait().unwrap().success());
    assert!(std::net::TcpStream::connect(&main).is_err());
}

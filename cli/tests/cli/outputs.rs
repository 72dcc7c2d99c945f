//! What the commands say, kept as it is: the same session in a file and on a server.

use std::fmt::Write as _;

use incumbent::Token;
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process;

use crate::snapshot;
use crate::support::{Running, Scratch, ended, incumbent, sequence};

/// A session with a store, as somebody would see it who typed these commands.
struct Session<'a> {
    store: &'a str,
    /// What a message names that does not name the URL.
    place: &'a str,
    text: String,
}

impl Session<'_> {
    fn say(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let ended = ended(&[&words[..], &["--store", self.store]].concat());
        writeln!(self.text, "$ incumbent {line}").unwrap();
        self.text += &steady(
            &(ended.stdout + &ended.stderr).replace(self.store, "STORE").replace(self.place, "STORE"),
        );
        writeln!(self.text, "[{}]\n", ended.code.unwrap()).unwrap();
    }
}

/// The text without what is different each time: numbers, and the time they take.
fn steady(text: &str) -> String {
    let mut steady = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, found) = rest.split_at(at);
        steady += before;
        let is_inside = before.ends_with(|c: char| c.is_alphanumeric());
        let hex = found.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(found.len());
        let number = found.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(found.len());
        let is_token = hex == 16 && found.get(..33).is_some_and(|token| token.parse::<Token>().is_ok());
        if is_token {
            steady += "TOKEN";
            rest = &found[33..];
        } else if hex == 32 {
            steady += "NONCE";
            rest = &found[hex..];
        } else if number > 0 && !is_inside {
            steady += "N";
            rest = &found[number..];
        } else {
            steady += &found[..hex];
            rest = &found[hex..];
        }
    }
    steady += rest;
    // How long something took decides the unit.
    for span in ["N min N s", "N ms", "N s"] {
        steady = steady.replace(span, "TIME");
    }
    // Columns are as wide as what is in them.
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
    steady.lines().map(words).collect()
}

#[track_caller]
fn session(store: &str, lease: &str) -> String {
    let place = store.strip_prefix("sqlite:").unwrap_or(store);
    let mut session = Session { store, place, text: String::new() };
    session.say(&format!("init --new{lease}"));
    session.say(&format!("init{lease}"));
    session.say("status jobs");
    session.say("status --all");
    let words =
        ["run", "--store", store, "--key", "jobs", "--name", "ada", "--lease", "5m", "--", "sh", "-c"];
    let script = "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000";
    let mut ada = Running::start(incumbent(&[&words[..], &[script]].concat()));
    sequence(&mut ada);
    for line in ["status jobs", "status --all", "observe jobs --count 1", "hand-over jobs --to ada"] {
        session.say(line);
        session.say(&format!("{line} --json"));
    }
    // It does not hear of its eviction, and so does not take the seat again.
    process::pause(ada.pid());
    session.say("evict jobs --yes");
    for line in ["evict jobs --yes", "hand-over jobs --to ben", "observe jobs --count 1", "status jobs"] {
        session.say(line);
        session.say(&format!("{line} --json"));
    }
    session.text
}

#[test]
fn in_a_file() {
    snapshot::assert("session-file", &session(&Scratch::new().url, ""));
}

#[test]
fn on_a_server() {
    let mut server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    snapshot::assert("session-server", &session(&url, " --lease 5m"));
    server.stop();
}

#[test]
fn what_is_different_each_time_is_left_out() {
    let text = "lease     2 min 5 s, 1.73 s left\nrenewed  41 ms ago\n{\"revision\":12,\"name\":\"ada2\"}";
    assert_eq!(steady(text), "lease TIME, TIME left\nrenewed TIME ago\n{\"revision\":N,\"name\":\"ada2\"}\n");
    assert_eq!(steady("00112233445566778899aabbccddeeff"), "NONCE\n");
    assert_eq!(steady("token  18a3c5d0f1b2e000-00000000000004d2"), "token TOKEN\n");
}

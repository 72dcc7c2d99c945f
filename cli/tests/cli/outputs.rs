//! The commands' output, compared with snapshots: the same session in a file and on a server.

use std::fmt::Write as _;

use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::process;

use crate::snapshot::{self, steady};
use crate::support::{Running, Scratch, ended, incumbent, sequence};

/// A session with a store, as a user sees it at a terminal.
struct Session<'a> {
    store: &'a str,
    /// The store's name in messages that do not contain the URL.
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

#[track_caller]
fn session(store: &str, lease: &str) -> String {
    let place = store.strip_prefix("sqlite:").unwrap_or(store);
    let mut session = Session { store, place, text: String::new() };
    session.say(&format!("init --new{lease}"));
    session.say(&format!("init{lease}"));
    session.say("status jobs");
    session.say("status --all");
    // The lease is not renewed during the session, because a renewal would change the output.
    let words =
        ["run", "--store", store, "--key", "jobs", "--name", "ada", "--lease", "5m", "--", "sh", "-c"];
    let script = "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000";
    let mut ada = Running::start(incumbent(&[&words[..], &[script]].concat()));
    sequence(&mut ada);
    for line in ["status jobs", "status --all", "observe jobs --count 1", "hand-over jobs --to ada"] {
        session.say(line);
        session.say(&format!("{line} --json"));
    }
    // The leader is stopped, so it does not learn of its eviction and does not campaign again.
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

//! The output of commands about several elections, and of long-running commands, compared with snapshots.

use std::process::Stdio;

use incumbent_testkit::nats::{NatsServer, Options};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::snapshot::{self, steady};
use crate::support::{Ended, Running, Scratch, ended, incumbent, json, sequence, takes_part};

/// A server with a bucket for leases of 30 s, and its URL.
fn bucket() -> (NatsServer, String) {
    let server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &url, "--lease", "30s", "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    (server, url)
}

/// A program's output and exit code, after the command line.
fn transcript(line: &str, ended: &Ended) -> String {
    cleaned(line, ended, str::to_owned)
}

fn cleaned(line: &str, ended: &Ended, clean: impl Fn(&str) -> String) -> String {
    let said = clean(&format!("{}{}", ended.stdout, ended.stderr));
    format!("$ incumbent {line}\n{said}[{}]\n\n", ended.code.unwrap())
}

/// Runs each of these lines with the store.
fn session(store: &str, lines: &[&str]) -> String {
    session_of(store, lines, str::to_owned)
}

fn session_of(store: &str, lines: &[&str], clean: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let (command, rest) = words.split_first().unwrap();
        text += &cleaned(line, &ended(&[&[*command, "--store", store], rest].concat()), &clean);
    }
    text
}

#[test]
fn doctor_examines_a_bucket_for_people() {
    let (server, url) = bucket();
    let mut text = session(&url, &["doctor"]);
    let (clock, made) = ("clock difference", "made ");
    let lines = text.lines().map(|line| match line {
        line if line.starts_with(clock) => {
            let (way, by) = line.split_once(" ms, give or take ").map_or(("", ""), |two| two);
            assert!(line.contains("the server's clock is ") || !by.ends_with(" ms"), "{way:?}: {line}");
            format!("{clock}: SOME")
        }
        line if line.starts_with(made) => {
            assert!(line.ends_with(" ago"), "{line}");
            "made: SOME TIME AGO".into()
        }
        line if line.starts_with("servers ") => "servers: ONE (the first leads)".into(),
        line => line.replace("2.15.1", "VERSION").replace(&url, "STORE"),
    });
    text = lines.map(|line| line + "\n").collect();
    snapshot::assert("doctor-nats", &text);
    drop(server);
}

#[test]
fn doctor_examines_a_bucket_for_programs() {
    let (_server, url) = bucket();
    let mut report = json(&ended(&["doctor", "--store", &url, "--json"]).stdout);
    let varies = [
        ("/store", Value::is_string as fn(&Value) -> bool),
        ("/settings/server", Value::is_string),
        ("/settings/servers/0", Value::is_string),
        ("/settings/made/ms_ago", Value::is_f64),
        ("/settings/clock_difference/server_ahead_ms", Value::is_f64),
        ("/settings/clock_difference/uncertain_by_ms", Value::is_f64),
    ];
    for (path, is_right) in varies {
        let value = report.pointer_mut(path).unwrap();
        assert!(is_right(value), "{path}: {value}");
        *value = json!("VARIES");
    }
    let text = serde_json::to_string_pretty(&report).unwrap() + "\n";
    snapshot::assert("doctor-nats-json", &text);
}

#[test]
fn doctor_prints_what_is_broken_and_what_to_change() {
    let server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    assert_eq!(ended(&["init", "--store", &url, "--lease", "2s", "--new"]).code, Some(0));
    let text = session(&url, &["doctor", "doctor --preset fast"]);
    // The examined settings are left out, because other snapshots contain them.
    let said = text.lines().filter(|line| {
        ["$", "[", "broken", "refused", "weak", "note", " ", "the promise", "nothing here"]
            .iter()
            .any(|begin| line.starts_with(begin))
    });
    snapshot::assert("doctor-broken", &said.map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn every_role_is_granted_what_it_needs_and_no_more() {
    let store = "nats://10.0.0.1/ELECTIONS?inbox_prefix=_INBOX_me";
    let lines = [
        "permissions jobs mailer --role candidate",
        "permissions --role observer",
        "permissions --role operator",
        "permissions jobs --role operator",
        "permissions jobs --role candidate --json",
        "permissions --role observer --json",
        "permissions --role operator --json",
        "permissions --role candidate",
    ];
    snapshot::assert("permissions", &session(store, &lines));
}

#[test]
fn init_makes_a_bucket_prints_a_difference_and_changes_it_when_asked() {
    let server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    let lines = [
        "init --lease 15s --new",
        "init --lease 15s",
        "init --lease 20s",
        "init --lease 20s --json",
        "init --lease 20s --markers",
        "init --lease 20s --markers --update",
        "init --lease 20s --update",
        "init --lease 20s --json",
    ];
    snapshot::assert("init", &session(&url, &lines).replace(&url, "STORE"));
    drop(server);
}

/// Removes names from the output, because the first leader is random.
fn nameless(text: &str) -> String {
    let names = [" ada ", " ben ", " cleo ", "\"ada\"", "\"ben\"", "\"cleo\""];
    names.iter().fold(text.to_owned(), |text, name| {
        text.replace(name, if name.starts_with(' ') { " NAME " } else { "\"NAME\"" })
    })
}

#[test]
fn the_demo_says_what_it_came_to() {
    let mut text = String::new();
    for options in [&[][..], &["--json"]] {
        let words =
            ["demo", "--faults", "none", "--workers", "3", "--no-splay", "--lease", "30s", "--seed", "7"];
        let words = [&words[..], &["--in-process", "--for", "80s"], options].concat();
        let mut demo = Running::start(incumbent(&words));
        demo.until("a leader", |line| {
            (line.contains(" is the first leader") || line.contains("\"won\"")).then_some(())
        });
        demo.signal(Signal::INT);
        // The leader's end and the summary may come in either order.
        let kept = |said: &str| {
            said.lines()
                .filter(|line| !line.contains("\"lost\""))
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        };
        text += &cleaned(&words.join(" "), &demo.wait(), |said| steady(&nameless(&kept(said))));
    }
    snapshot::assert("demo", &text);
}

/// The output of a command's term, from its beginning to SIGTERM.
fn a_term(store: &str, option: &str) -> String {
    let words = ["run", "--store", store, "--key", "jobs", "--name", "ada", "--lease", "30s", option];
    let script = "echo begins; exec sleep 1000";
    let mut run = Running::start(incumbent(&[&words[..], &["--", "sh", "-c", script]].concat()));
    run.until("the command", |line| (line == "begins").then_some(()));
    run.signal(Signal::TERM);
    cleaned(&words.join(" ").replace(store, "STORE"), &run.wait(), logged)
}

/// A log without timestamps, and without the library's messages about the same term.
fn logged(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.contains(" incumbent::driver") && !line.contains("the leader changed"));
    let plain = lines.map(|line| match line.find("  INFO ").or_else(|| line.find("  WARN ")) {
        Some(at) if line.starts_with("20") => line[at + 2..].to_owned(),
        _ => line.to_owned(),
    });
    steady(&plain.map(|line| line + "\n").collect::<String>())
}

#[test]
fn a_term_of_a_command_is_logged() {
    let scratch = Scratch::made();
    let (_server, url) = bucket();
    let [file, server] =
        [&scratch.url, &url].map(|store| ["-v", "--json"].map(|option| a_term(store, option)).concat());
    snapshot::assert("run", &file);
    snapshot::assert("run", &server);
}

/// The output of a term with handlers. The first handler fails once, and then succeeds.
fn a_term_of_handlers(store: &str, option: &str) -> String {
    let first = tempfile::tempdir().unwrap();
    let begin = "echo begins; test -e $FIRST || { touch $FIRST; echo fails; exit 3; }";
    let handlers =
        ["--on-won", begin, "--on-lost", "echo ends: $INCUMBENT_REASON", "--on-error", "echo minds"];
    let words = ["run", "--store", store, "--key", "jobs", "--name", "ada", "--lease", "30s"];
    let words = [&words[..], &["--error-timeout", "1s", option], &handlers].concat();
    let mut run = incumbent(&words);
    run.env("FIRST", first.path().join("first"));
    let mut run = Running::start(run);
    let said =
        run.reported_until("the second term", |line| line.contains("LEADER") && !line.contains("NOTLEADER"));
    run.signal(Signal::TERM);
    let mut ended = run.wait();
    ended.stderr = said + &ended.stderr;
    // The leader may resign either before or after the error handler writes.
    let (lost, others): (Vec<&str>, Vec<&str>) =
        ended.stderr.lines().partition(|line| line.contains("\"event\":\"lost\""));
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(
        lost[0].contains("\"reason\":\"HANDLER_FAILED\"") && lost[1].contains("\"reason\":\"CLOSED\""),
        "{lost:?}"
    );
    let (no_longer, others): (Vec<&str>, Vec<&str>) =
        others.into_iter().partition(|line| line.contains("no longer leads jobs: "));
    let reasons = no_longer.iter().map(|line| line.rsplit(": ").next().unwrap()).collect::<Vec<_>>();
    assert_eq!(reasons, if option == "-v" { &["the handler failed", "closed"][..] } else { &[] });
    ended.stderr = others.join("\n") + "\n";
    cleaned(&words.join(" ").replace(store, "STORE"), &ended, logged)
}

#[test]
fn a_term_with_handlers_is_logged() {
    let scratch = Scratch::made();
    let (_server, url) = bucket();
    let [file, server] = [&scratch.url, &url]
        .map(|store| ["-v", "--json"].map(|option| a_term_of_handlers(store, option)).concat());
    snapshot::assert("run-handlers", &file);
    snapshot::assert("run-handlers", &server);
}

#[test]
fn handlers_are_tried_out_by_hand() {
    let mut text = String::new();
    for option in ["-v", "--json"] {
        let words =
            ["run", "--store", "console:", "--on-won", "echo begins", "--on-lost", "echo ends", option];
        let mut run = incumbent(&words);
        run.stdin(Stdio::piped());
        let mut run = Running::start(run);
        run.type_all("LEADER\nLEDAER\nNOTLEADER\nleader\n");
        text += &cleaned(&words.join(" "), &run.wait(), logged);
    }
    snapshot::assert("console", &text);
}

#[test]
fn a_hand_over_is_printed() {
    let scratch = Scratch::made();
    let (_server, url) = bucket();
    let candidate = |store: &str, name: &str| {
        let words = ["run", "--store", store, "--key", "jobs", "--name", name, "--lease", "30s"];
        let options = ["--splay", "0s", "-v", "--"];
        let script = ["sh", "-c", "echo leads with $INCUMBENT_SEQUENCE; exec sleep 1000"];
        Running::start(incumbent(&[&words[..], &options, &script].concat()))
    };
    // Does the same as `support::hand_over`, and returns the printed output.
    let handed = |store: &str, before: &mut Running, after: &mut Running, line: &str| loop {
        let said = session_of(store, &[line], steady);
        if said.ends_with("[0]\n\n") {
            sequence(after);
            return said;
        }
        assert!(said.contains("leads again because no other candidate took over"), "{said}");
        sequence(before);
    };
    for store in [&scratch.url, &url] {
        let mut ada = candidate(store, "ada");
        sequence(&mut ada);
        let mut ben = candidate(store, "ben");
        takes_part(&mut ben, "ada");
        let first = handed(store, &mut ada, &mut ben, "hand-over jobs --to ben --yes --timeout 1min");
        takes_part(&mut ada, "ben");
        let second = handed(store, &mut ben, &mut ada, "hand-over jobs --to ada --yes --timeout 1min --json");
        snapshot::assert("hand-over", &(first + &second));
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let scratch = Scratch::made();
    let mut text = String::new();
    let no_store = ["status jobs", "run --key jobs -- true", "observe jobs", "doctor", "init", "top"];
    for line in no_store {
        text += &transcript(line, &ended(&line.split(' ').collect::<Vec<_>>()));
    }
    let lines = [
        "run --key jobs",
        "run -- true",
        "run --key jobs --on-won true -- true",
        "run --key jobs --lease 2s -- true",
        "run --key jobs --lease soon -- true",
        "run --key jobs --lease 5 -- true",
        "run --key jobs --wait forever -- true",
        "run --key jobs --on-won [1]",
        "run --key jobs --on-exit never -- true",
        "run --key jobs --listen nowhere -- true",
        "run --key jobs --name x\u{7} -- true",
        "run --key jobs --on-exit restart --on-won true",
        "run --key jobs --health-interval 0s --health true -- true",
        "hand-over jobs --to ben",
        "hand-over jobs",
        "observe jobs --count many",
        "top",
        "permissions jobs --role candidate",
        "nonsense",
    ];
    let refusals = session(&scratch.url, &lines);
    text += &refusals.replace(scratch.url.strip_prefix("sqlite:").unwrap(), "FILE");
    snapshot::assert("refusals", &text);
}

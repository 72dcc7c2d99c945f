//! `incumbent status` and `incumbent observe`.

use std::process::Stdio;

use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::wait::until_some;
use serde_json::json;

use crate::support::{
    LIMIT, Running, Scratch, campaigning_for_long, ended, incumbent, json, sequence, settled,
};

#[test]
fn status_shows_the_holder_of_an_election() {
    let scratch = Scratch::made();
    let _ada = settled(&scratch.url, "jobs", "ada");
    let status = ended(&["status", "jobs", "--store", &scratch.url]);
    assert_eq!(status.code, Some(0), "{status:?}");
    let lines: Vec<&str> = status.stdout.lines().collect();
    assert_eq!(lines[..2], ["election    jobs", "leader      ada"]);
    let words = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let reported = ["since", "token", "lease", "margin", "renewed", "revision", "candidates"];
    assert_eq!(lines[2..].iter().map(|line| words(line)).collect::<Vec<_>>(), reported);
    assert!(lines[4].starts_with("lease       30.00 s, ") && lines[4].ends_with(" left"), "{lines:?}");
    assert_eq!(lines[5], "margin      the leader stops by itself 1.55 s before the lease ends");
    assert!(lines[6].starts_with("renewed     ") && lines[6].ends_with(" ago"), "{lines:?}");
    assert!(lines[8].starts_with("candidates  ada  holds the lease, here for "), "{lines:?}");
    let status = json(&ended(&["status", "jobs", "--store", &scratch.url, "--json"]).stdout);
    assert_eq!((&status["state"], &status["leader"]["name"]), (&json!("held"), &json!("ada")));
    let (ago, left) = (status["renewed_ms_ago"].as_f64().unwrap(), status["left_ms"].as_f64().unwrap());
    assert!((ago + left - 30_000.0).abs() < 0.01, "{status}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_can_only_be_read_is_shown_and_examined() {
    use std::os::unix::fs::PermissionsExt as _;

    let scratch = Scratch::made();
    let program = scratch.folder.path().join("incumbent");
    std::fs::copy(env!("CARGO_BIN_EXE_incumbent"), &program).unwrap();
    for path in [scratch.folder.path(), &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let file = scratch.url.strip_prefix("sqlite:").unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let _ada = settled(&scratch.url, "jobs", "ada");
    let folder = scratch.folder.path().to_str().unwrap();
    let mounted = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
    let mut looked = 0;
    for only_reading in [
        &["setpriv", "--reuid", "47323", "--regid", "47323", "--clear-groups"][..],
        &["unshare", "--mount", "sh", "-c", mounted, folder],
    ] {
        let as_reader = |words: &[&str]| {
            let mut command = std::process::Command::new(only_reading[0]);
            command.args(&only_reading[1..]).args(words).env_remove("TMPDIR");
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        if !as_reader(&["true"]).status().is_ok_and(|status| status.success()) {
            eprintln!("nothing can be read-only this way here: {only_reading:?}");
            continue;
        }
        looked += 1;
        let program = program.to_str().unwrap();
        let ended = |words: &[&str]| {
            Running::start(as_reader(&[&[program, words[0], "--store", &scratch.url], &words[1..]].concat()))
                .wait()
        };
        let status = ended(&["status", "jobs", "--json"]);
        assert_eq!(status.code, Some(0), "{status:?}");
        assert_eq!(json(&status.stdout)["leader"]["name"], json!("ada"));
        let doctor = ended(&["doctor"]);
        assert_eq!(doctor.code, Some(0), "{doctor:?}");
        assert!(doctor.stdout.contains("this user can only read the file: "), "{doctor:?}");
        let evicted = ended(&["evict", "jobs", "--yes"]);
        assert_ne!(evicted.code, Some(0), "{evicted:?}");
        assert!(
            evicted.stderr.contains("check the permissions of the file and of its folder"),
            "{evicted:?}"
        );
        let refused = ended(&["run", "--key", "jobs", "--", "true"]);
        assert_eq!(refused.code, Some(6), "{refused:?}");
        assert!(refused.stderr.contains("the file can only be read; check its permissions"), "{refused:?}");
    }
    if looked > 0 {
        assert_eq!(
            json(&ended(&["status", "jobs", "--json", "--store", &scratch.url]).stdout)["leader"]["name"],
            "ada"
        );
    }
}

#[test]
fn status_shows_the_token_of_the_leader_and_how_long_it_has_led() {
    let scratch = Scratch::made();
    let words = ["run", "--store", &scratch.url, "--key", "jobs", "--name", "ada", "--lease", "10s"];
    let script = "echo leads with $INCUMBENT_TOKEN; exec sleep 1000";
    let mut ada = Running::start(incumbent(&[&words[..], &["--", "sh", "-c", script]].concat()));
    let token = ada.until("the token", |line| line.strip_prefix("leads with ").map(str::to_owned));
    let look = || json(&ended(&["status", "jobs", "--store", &scratch.url, "--json"]).stdout);
    assert_eq!(look()["token"], json!(token));
    let led = |status: &serde_json::Value| status["led_ms"].as_f64();
    let renewed = until_some("a renewal", LIMIT, || Some(look()).filter(|status| led(status).is_some()));
    assert_eq!(renewed["token"], json!(token));
    let later =
        until_some("more of the term", LIMIT, || Some(look()).filter(|status| led(status) > led(&renewed)));
    assert_eq!(later["token"], json!(token));
}

#[test]
fn status_names_the_holder_and_the_waiting_candidates() {
    let mut server = NatsServer::start(Options::new());
    let bucket = format!("{}/ELECTIONS", server.url());
    assert_eq!(ended(&["init", "--store", &bucket, "--new", "--lease", "30s"]).code, Some(0));
    let scratch = Scratch::made();
    for store in [&scratch.url, &bucket] {
        let _ada = campaigning_for_long(store, "jobs", "ada");
        let listed = |names: &[&str]| {
            let wanted: Vec<_> = names.iter().map(|name| (json!(name), json!(*name == "ada"))).collect();
            until_some("the candidates", LIMIT, || {
                let status = json(&ended(&["status", "jobs", "--store", store, "--json"]).stdout);
                let all = status["candidates"].as_array()?;
                let found: Vec<_> =
                    all.iter().map(|one| (one["name"].clone(), one["holds"].clone())).collect();
                (found == wanted).then_some(())
            });
        };
        listed(&["ada"]);
        let ben = campaigning_for_long(store, "jobs", "ben");
        listed(&["ada", "ben"]);
        let _cleo = campaigning_for_long(store, "mailer", "cleo");
        drop(ben);
        listed(&["ada"]);
    }
    server.stop();
}

#[test]
fn status_shows_what_is_left_of_a_lease_by_the_servers_clock() {
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
    assert_eq!((&status["state"], &status["left_ms"]), (&json!("released"), &json!(null)));
    server.stop();
}

#[test]
fn status_of_an_election_that_was_never_held_is_vacant_and_no_failure() {
    let scratch = Scratch::made();
    let status = ended(&["status", "jobs", "--store", &scratch.url]);
    assert_eq!(status.code, Some(0), "{status:?}");
    assert!(status.stdout.contains("(vacant: it was never held"), "{status:?}");
}

#[test]
fn status_lists_every_election_of_a_store() {
    let scratch = Scratch::made();
    let nothing = ended(&["status", "--all", "--store", &scratch.url]);
    assert_eq!(
        nothing.stdout,
        "no election has a record here: none was ever held, or all records have expired\n"
    );
    let _ada = settled(&scratch.url, "reports", "ada");
    let mut ben = settled(&scratch.url, "jobs", "ben");
    ben.signal(rustix::process::Signal::TERM);
    assert_eq!(ben.wait().code, Some(0));
    let all = ended(&["status", "--all", "--store", &scratch.url]);
    let rows: Vec<Vec<&str>> = all.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows[0],
        ["election", "state", "leader", "since", "lease", "left", "candidates", "token"],
        "{all:?}"
    );
    assert_eq!(rows[1], ["jobs", "released", "-", "-", "-", "-", "0", "-"], "{all:?}");
    assert_eq!(rows[2][..3], ["reports", "held", "ada"], "{all:?}");
    let all = ended(&["status", "--all", "--store", &scratch.url, "--json"]);
    let lines: Vec<_> = all.stdout.lines().map(json).collect();
    assert_eq!((&lines[0]["election"], &lines[0]["state"]), (&json!("jobs"), &json!("released")));
    assert_eq!(lines[0]["leader"], json!(null));
    assert_eq!((&lines[1]["election"], &lines[1]["leader"]["name"]), (&json!("reports"), &json!("ada")));
}

#[test]
fn the_store_may_be_named_by_the_environment() {
    let scratch = Scratch::made();
    let mut status = incumbent(&["status", "--all"]);
    status.env("INCUMBENT_STORE", &scratch.url);
    assert_eq!(
        Running::start(status).wait().stdout,
        "no election has a record here: none was ever held, or all records have expired\n"
    );
}

#[test]
fn observe_prints_every_change_of_leader() {
    let scratch = Scratch::made();
    let mut observe =
        Running::start(incumbent(&["observe", "jobs", "--store", &scratch.url, "--count", "3"]));
    observe.until("the vacancy", |line| (line.ends_with(" jobs: vacant")).then_some(()));
    let ada = settled(&scratch.url, "jobs", "ada");
    observe.until("the leader", |line| line.contains(" jobs: ada leads since revision ").then_some(()));
    ada.signal(rustix::process::Signal::TERM);
    observe.until("the vacancy", |line| (line.ends_with(" jobs: vacant")).then_some(()));
    assert_eq!(observe.wait().code, Some(0));
}

#[test]
fn observe_prints_json_and_ends_after_its_time() {
    let scratch = Scratch::made();
    let observe = ended(&["observe", "jobs", "--store", &scratch.url, "--json", "--for", "1s"]);
    assert_eq!(observe.code, Some(0), "{observe:?}");
    let reported = json(observe.stdout.trim());
    assert_eq!((&reported["election"], &reported["leader"]), (&json!("jobs"), &json!(null)));
}

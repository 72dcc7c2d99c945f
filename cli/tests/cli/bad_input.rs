//! Invalid input leads to one clear message with the remedy, and an exit code.

use async_nats::jetstream;
use async_nats::jetstream::kv;
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::port::Port;
use std::time::Duration;

use crate::support::{Ended, Running, Scratch, ended, incumbent, json};

#[track_caller]
fn refused(arguments: &[&str], code: i32, message: &[&str]) -> Ended {
    let ended = ended(arguments);
    assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:#?}");
    for part in message {
        assert!(ended.stderr.contains(part), "{part:?} in {ended:#?}");
    }
    assert!(ended.stdout.is_empty(), "{ended:#?}");
    ended
}

/// A bucket that was not created for elections.
fn make_bucket(server: &NatsServer, config: kv::Config) {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = async_nats::connect(server.url()).await.unwrap();
        jetstream::new(client).create_key_value(config).await.unwrap();
    });
}

fn bucket(name: &str) -> kv::Config {
    let max_age = Duration::from_secs(15);
    kv::Config { bucket: name.into(), max_age, history: 1, ..Default::default() }
}

#[test]
fn an_address_to_listen_at_is_refused_with_one_that_can_be() {
    let run = ["run", "--store", "memory:", "--key", "jobs", "--listen"];
    for (address, port) in [(":8080", "8080"), ("localhost:8080", "8080"), ("127.0.0.1", "9090")] {
        let remedy = format!("write an IP address and a port: 127.0.0.1:{port}, or [::]:{port}");
        refused(&[&run[..], &[address, "--", "true"]].concat(), 2, &[address, &remedy]);
    }
}

#[test]
fn a_command_line_that_cannot_be_is_refused() {
    refused(&["status", "jobs"], 2, &["no store given", "--store", "INCUMBENT_STORE"]);
    refused(&["status", "--store", "memory:"], 2, &["<KEY|--all>"]);
    refused(&["demo", "--workers", "1"], 2, &["--workers", "2..=50"]);
    refused(&["demo", "--faults", "rain"], 2, &["rain", "hand-over"]);
    refused(&["demo", "--lease", "soon"], 2, &["--lease"]);
    refused(
        &["demo", "--in-process", "--faults", "kill"],
        2,
        &["--faults kill needs candidates in separate processes"],
    );
    refused(
        &["demo", "--store", "memory:x"],
        2,
        &["processes cannot share a store in memory", "--in-process"],
    );
    refused(&["run", "--store", "memory:", "--key", "jobs"], 2, &["CMD"]);
}

#[test]
fn a_malformed_url_is_refused_with_the_forms_there_are() {
    for url in ["elections.db", "redis://127.0.0.1"] {
        refused(&["status", "jobs", "--store", url], 2, &["sqlite:PATH", "nats://HOST:4222/BUCKET"]);
    }
    refused(&["status", "jobs", "--store", "nats://127.0.0.1:4222"], 2, &["names no bucket"]);
    refused(&["status", "jobs", "--store", "sqlite:"], 2, &["names no file"]);
}

#[test]
fn a_store_or_a_key_with_what_no_one_sees_is_refused_wherever_it_comes_from() {
    let scratch = Scratch::made();
    let with = |variable: &str, text: &str| {
        let mut command = incumbent(&["run", "--name", "ada", "--wait", "10s", "--", "true"]);
        command.env("INCUMBENT_STORE", &scratch.url).env("INCUMBENT_KEY", "jobs").env(variable, text);
        Running::start(command).wait()
    };
    for unseen in ["\n", "\r", " ", "\t"] {
        let padded = with("INCUMBENT_STORE", &format!("{}{unseen}", scratch.url));
        let part = format!("the store's URL ends in the character {:?}", unseen.chars().next().unwrap());
        assert!(padded.code == Some(2) && padded.stderr.contains(&part), "{padded:#?}");
        let padded = with("INCUMBENT_KEY", &format!("jobs{unseen}"));
        let part = format!("key is {:?}, and must be free of control characters", format!("jobs{unseen}"));
        assert!(padded.code == Some(2) && padded.stderr.contains(&part), "{padded:#?}");
    }
    let file = scratch.folder.path().join("padded.toml");
    std::fs::write(&file, format!("store = \"{}\\n\"", scratch.url)).unwrap();
    refused(
        &["status", "jobs", "--config", file.to_str().unwrap()],
        2,
        &["the store's URL ends in the character '\\n'", "`printf %s`"],
    );
}

#[test]
fn a_key_in_quotes_is_warned_about_with_the_remedy() {
    let scratch = Scratch::made();
    let mut command = incumbent(&["run", "--name", "ada", "--preset", "fast", "--", "true"]);
    command.env("INCUMBENT_STORE", &scratch.url).env("INCUMBENT_KEY", "\"jobs\"");
    let ended = Running::start(command).wait();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let warning = "key is \"jobs\", quotes included: without them it selects another election";
    assert!(ended.stderr.contains(warning) && ended.stderr.contains("`docker --env-file`"), "{ended:#?}");
}

#[test]
fn an_unknown_parameter_is_refused_by_name() {
    refused(&["status", "jobs", "--store", "sqlite:e.db?pol=5ms"], 2, &["\"pol\"", "poll"]);
    refused(&["status", "jobs", "--store", "nats://127.0.0.1:4222/B?cred=x"], 2, &["\"cred\"", "creds"]);
}

#[test]
fn a_password_in_a_url_is_never_shown() {
    let port = Port::free();
    let url = format!("nats://me:s3cr3t@127.0.0.1:{}/ELECTIONS", port.number());
    let ended = refused(&["status", "jobs", "--fail-fast", "--store", &url, "-vvv"], 3, &[]);
    assert!(!ended.stderr.contains("s3cr3t"), "{ended:#?}");
    let malformed = "nats://me:s3cr3t@[::1/ELECTIONS";
    let ended = refused(&["status", "jobs", "--store", malformed], 2, &[]);
    assert!(!ended.stderr.contains("s3cr3t"), "{ended:#?}");
}

#[test]
fn a_server_that_does_not_answer_is_an_error_where_that_is_asked_for() {
    let port = Port::free();
    let url = format!("nats://127.0.0.1:{}/ELECTIONS", port.number());
    let address = format!("127.0.0.1:{}", port.number());
    refused(&["status", "jobs", "--fail-fast", "--store", &url], 3, &[&address]);
    refused(&["demo", "--fail-fast", "--store", &url], 3, &[&address]);
    refused(&["run", "--fail-fast", "--store", &url, "--key", "jobs", "--", "true"], 3, &[&address]);
}

#[test]
fn a_missing_bucket_is_refused_and_the_command_that_makes_it_named() {
    let server = NatsServer::start(Options::new());
    let url = format!("{}/NOWHERE", server.url());
    refused(&["status", "jobs", "--store", &url], 5, &["NOWHERE", "incumbent init"]);
    refused(&["run", "--store", &url, "--key", "jobs", "--", "true"], 5, &["NOWHERE", "incumbent init"]);
}

#[test]
fn a_bucket_on_which_an_election_would_be_unsafe_is_refused_with_the_remedy() {
    let server = NatsServer::start(Options::new());
    make_bucket(&server, kv::Config { max_age: Duration::ZERO, ..bucket("NO-TTL") });
    make_bucket(&server, kv::Config { history: 5, ..bucket("HISTORY") });
    make_bucket(&server, kv::Config { storage: jetstream::stream::StorageType::Memory, ..bucket("MEMORY") });
    let mirror = Some(jetstream::stream::Source { name: "HISTORY".into(), ..Default::default() });
    make_bucket(&server, kv::Config { mirror, ..bucket("MIRROR") });
    for (bucket, message) in [
        ("MIRROR", ["mirrors another", "use the bucket it mirrors"]),
        ("NO-TTL", ["no TTL", "`incumbent init --update`"]),
        ("HISTORY", ["history is 5", "`incumbent init --update`"]),
        ("MEMORY", ["kept in memory", "`incumbent init`"]),
    ] {
        let url = format!("{}/{bucket}", server.url());
        refused(&["run", "--store", &url, "--key", "jobs", "--", "true"], 4, &message);
        refused(&["demo", "--store", &url], 4, &message);
    }
}

#[test]
fn credentials_that_are_no_good_are_refused() {
    let config = "authorization { user: me, password: right }";
    let server = NatsServer::start(Options::new().config(config));
    let wrong = format!("nats://me:wrong@{}/ELECTIONS", server.address());
    let ended = refused(&["status", "jobs", "--fail-fast", "--store", &wrong], 6, &[]);
    assert!(!ended.stderr.contains("wrong@"), "{ended:#?}");
    let unreadable = format!("{}/ELECTIONS?creds=/no/such/file.creds", server.url());
    refused(&["status", "jobs", "--store", &unreadable], 6, &["/no/such/file.creds"]);
}

#[test]
fn a_lease_out_of_bounds_is_refused_with_the_bounds() {
    let scratch = Scratch::made();
    let run = |options: &[&str], message: &[&str]| {
        let mut arguments = vec!["run", "--store", &scratch.url, "--key", "jobs"];
        arguments.extend(options);
        arguments.extend(["--", "true"]);
        refused(&arguments, 4, message);
    };
    run(&["--lease", "2s"], &["lease is 2s", "at least 5s", "`fast`"]);
    run(&["--lease", "500ms", "--preset", "fast"], &["lease is 500ms", "at least 1s"]);
    run(&["--lease", "5s", "--preset", "go-compatible"], &["lease is 5s", "at least 30s"]);
    refused(&["demo", "--lease", "500ms", "--for", "60s"], 4, &["lease is 500ms", "at least 1s"]);
}

#[test]
fn a_lease_other_than_the_buckets_is_refused_where_it_has_no_leases_of_its_own() {
    let server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    assert_eq!(ended(&["init", "--store", &url, "--lease", "15s"]).code, Some(0));
    let run = ["run", "--store", &url, "--key", "jobs", "--lease", "10s", "--", "true"];
    refused(&run, 4, &["lease is 10s", "15s"]);
}

#[test]
fn a_key_or_a_name_that_the_store_cannot_hold_is_refused() {
    let server = NatsServer::start(Options::new());
    let url = format!("{}/ELECTIONS", server.url());
    assert_eq!(ended(&["init", "--store", &url]).code, Some(0));
    refused(&["status", "two words", "--store", &url], 2, &["two words"]);
    refused(&["run", "--store", &url, "--key", "a..b", "--", "true"], 2, &["a..b"]);
    refused(&["run", "--store", &url, "--key", "jobs", "--name", " x", "--", "true"], 2, &["name"]);
}

#[test]
fn a_file_that_is_not_there_is_not_made_by_looking() {
    let scratch = Scratch::new();
    for command in ["status", "observe"] {
        refused(&[command, "jobs", "--store", &scratch.url], 5, &["does not exist", "incumbent init"]);
    }
    assert_eq!(std::fs::read_dir(scratch.folder.path()).unwrap().count(), 0);
    let nowhere = format!("sqlite:{}", scratch.folder.path().join("no/e.db").display());
    refused(&["run", "--store", &nowhere, "--key", "jobs", "--", "true"], 5, &["cannot be opened"]);
}

#[test]
fn a_file_of_another_program_is_refused() {
    let scratch = Scratch::new();
    std::fs::write(scratch.folder.path().join("elections.db"), "Dear diary, today I led.").unwrap();
    let ended = ended(&["status", "jobs", "--store", &scratch.url]);
    assert!(matches!(ended.code, Some(4 | 7)), "{ended:#?}");
}

#[test]
fn errors_are_printed_as_json_where_that_is_asked_for() {
    let scratch = Scratch::new();
    let ended = refused(&["status", "jobs", "--store", &scratch.url, "--json"], 5, &[]);
    let error = &json(&ended.stderr)["error"];
    assert_eq!((&error["code"], &error["exit"]), (&"NOT_FOUND".into(), &5.into()));
    assert!(error["message"].as_str().unwrap().contains("incumbent init"), "{error}");
}

#[test]
fn help_says_what_the_exit_codes_mean_and_every_command_has_examples() {
    let help = ended(&["--help"]);
    assert_eq!(help.code, Some(0));
    for part in ["Exit codes:", "demo", "run", "status", "observe", "hand-over", "evict", "init"] {
        assert!(help.stdout.contains(part), "{part:?} in {}", help.stdout);
    }
    assert!(!help.stdout.contains("run-guard"), "{}", help.stdout);
    for command in ["demo", "run", "status", "observe", "hand-over", "evict", "init"] {
        let help = ended(&[command, "--help"]);
        assert!(help.stdout.contains("\nExamples:\n  "), "{}", help.stdout);
    }
}

#[test]
fn an_error_of_the_command_line_is_json_where_that_is_asked_for() {
    for (words, part) in [
        (&["run", "--json", "--bogus"][..], "'--bogus'"),
        (&["--json", "status"], "required arguments"),
        (&["nothing", "--json"], "'nothing'"),
        (&["run", "--json", "--lease", "soon"], "a time is a number with a unit"),
    ] {
        let refused = ended(words);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
        let error = &json(&refused.stderr)["error"];
        assert_eq!((&error["code"], &error["exit"]), (&"USAGE".into(), &2.into()), "{refused:?}");
        assert!(error["message"].as_str().unwrap().contains(part), "{refused:?}");
    }
    // After `--`, an option belongs to the user's command.
    let plain = ended(&["run", "--bogus", "--", "x", "--json"]);
    assert!(plain.stderr.starts_with("error: unexpected argument"), "{plain:?}");
    let help = ended(&["status", "--json", "--help"]);
    assert_eq!(help.code, Some(0), "{help:?}");
}

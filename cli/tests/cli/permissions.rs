//! `incumbent permissions`, and a server that grants those permissions.

use std::time::Duration;

use async_nats::jetstream;
use futures_util::TryStreamExt as _;
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::tools::NatsVersion;
use incumbent_testkit::wait;
use serde_json::json;

use crate::support::{
    Running, campaigning, ended, hand_over, incumbent, json, leading, sequence, takes_part,
};

/// A time limit far longer than any step here takes, however busy the machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A user `name` with its own inbox and the permissions that the program prints for it.
fn user(name: &str, role: &str, keys: &[&str]) -> String {
    let store = format!("nats:///ELECTIONS?inbox_prefix=_INBOX_{name}");
    // A URL without a host needs a context, but only the bucket and the prefix matter here.
    let store = store.replace("nats:///", "nats://anywhere/");
    let mut arguments = vec!["permissions", "--role", role, "--store", &store];
    arguments.extend(keys);
    let permitted = ended(&arguments);
    assert_eq!(permitted.code, Some(0), "{permitted:?}");
    format!("{{ user: {name}, password: p, {} }}", permitted.stdout)
}

/// A server with a bucket, an operator, an observer, and two candidates: one of `jobs` and one of `reports`.
fn server(version: NatsVersion, lease: &str) -> NatsServer {
    let users = [
        user("operator", "operator", &[]),
        user("observer", "observer", &[]),
        user("jobber", "candidate", &["jobs"]),
        user("reporter", "candidate", &["reports"]),
        "{ user: root, password: p }".into(),
    ];
    let config = format!("accounts {{ A: {{ jetstream: enabled, users: [ {} ] }} }}", users.join("\n"));
    let server = NatsServer::start(Options::new().version(version).config(config));
    let made = ended(&["init", "--store", &store(&server, "operator"), "--lease", lease, "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    server
}

fn store(server: &NatsServer, user: &str) -> String {
    format!("nats://{user}:p@{}/ELECTIONS?inbox_prefix=_INBOX_{user}", server.address())
}

#[track_caller]
fn every_role_can_do_what_it_must(version: NatsVersion) {
    let server = server(version, "10s");
    let [operator, observer, jobber] = ["operator", "observer", "jobber"].map(|user| store(&server, user));
    let mut observe = Running::start(incumbent(&["observe", "jobs", "--store", &observer]));
    observe.until("the vacancy", |line| (line.ends_with(" jobs: vacant")).then_some(()));
    let mut ada = leading(&jobber, "jobs", "ada");
    observe.until("the leader", |line| line.contains(" jobs: ada leads").then_some(()));
    let status = ended(&["status", "--all", "--json", "--store", &observer]);
    assert_eq!(json(&status.stdout)["leader"]["name"], "ada", "{status:?}");
    let doctor = ended(&["doctor", "--preset", "fast", "--json", "--store", &observer]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    let mut ben = campaigning(&jobber, "jobs", "ben");
    takes_part(&mut ben, "ada");
    hand_over(&operator, "ben");
    let first = sequence(&mut ben);
    assert_eq!(ended(&["evict", "jobs", "--yes", "--store", &operator]).code, Some(0));
    // After the eviction the next leader waits for the length of the lease. A release is permitted after that too.
    observe.until("the vacancy", |line| (line.ends_with(" jobs: vacant")).then_some(()));
    ada.signal(rustix::process::Signal::TERM);
    assert_eq!(ada.wait().code, Some(0));
    assert!(sequence(&mut ben) > first);
}

#[test]
fn every_role_can_do_what_it_must_on_the_newest_server() {
    every_role_can_do_what_it_must(NatsVersion::default());
}

#[test]
fn every_role_can_do_what_it_must_on_an_old_server() {
    every_role_can_do_what_it_must(NatsVersion::V2_10);
}

#[test]
fn a_candidate_of_one_election_cannot_touch_another() {
    let server = server(NatsVersion::default(), "30s");
    let _rita = leading(&store(&server, "reporter"), "reports", "rita");
    let seen =
        || json(&ended(&["status", "reports", "--json", "--store", &store(&server, "observer")]).stdout);
    let nonce = seen()["leader"]["nonce"].clone();
    tokio::runtime::Runtime::new().unwrap().block_on(hostile(&server, "jobber"));
    tokio::runtime::Runtime::new().unwrap().block_on(hostile(&server, "observer"));
    let after = seen();
    assert_eq!(after["leader"]["nonce"], nonce, "{after}");
    assert_eq!(tokio::runtime::Runtime::new().unwrap().block_on(streams(&server)), ["KV_ELECTIONS 30s"]);
    // Neither would the program itself.
    let mut eve = campaigning(&store(&server, "jobber"), "notes", "eve");
    eve.until_reported("the denial", |line| line.contains("$KV.ELECTIONS.notes"));
    eve.kill();
    let evicted = ended(&["evict", "reports", "--yes", "--fail-fast", "--store", &store(&server, "jobber")]);
    assert_eq!(evicted.code, Some(6), "{evicted:?}");
}

#[test]
fn a_missing_permission_is_said_once_and_ends_a_candidate_that_shall_not_wait() {
    let server = server(NatsVersion::default(), "30s");
    let store = store(&server, "jobber");
    let words = ["run", "--store", &store, "--key", "notes", "--name", "eve"];
    let waited = ended(&[&words[..], &["--wait", "8s", "--", "true"]].concat());
    assert_eq!(waited.code, Some(8), "{waited:?}");
    let missing =
        |line: &&str| line.contains("a permission is missing") && line.contains("$KV.ELECTIONS.notes");
    assert_eq!(waited.stderr.lines().filter(missing).count(), 1, "{waited:?}");
    // Both the connection and the candidate report the missing permission.
    assert!(
        waited.stderr.lines().filter(|line| line.contains("$KV.ELECTIONS.notes")).count() <= 2,
        "{waited:?}"
    );
    let refused = ended(&[&words[..], &["--fail-fast", "--", "true"]].concat());
    assert_eq!(refused.code, Some(6), "{refused:?}");
}

/// Tries, as that user with a plain client, every write that would end another candidate's term.
async fn hostile(server: &NatsServer, user: &str) {
    let options = async_nats::ConnectOptions::with_user_and_password(user.into(), "p".into())
        .custom_inbox_prefix(format!("_INBOX_{user}"))
        .request_timeout(Some(Duration::from_millis(300)));
    let client = options.connect(server.address()).await.unwrap();
    let tombstone =
        async_nats::HeaderMap::from_iter([("KV-Operation".parse().unwrap(), "PURGE".parse().unwrap())]);
    let key = "$KV.ELECTIONS.reports";
    let refused = client.request_with_headers(key, tombstone, "".into()).await;
    assert!(refused.is_err(), "{refused:?}");
    let requests = [
        ("STREAM.PURGE.KV_ELECTIONS", json!({ "filter": key })),
        ("STREAM.MSG.DELETE.KV_ELECTIONS", json!({ "seq": 1 })),
        ("STREAM.UPDATE.KV_ELECTIONS", json!({ "name": "KV_ELECTIONS", "max_age": 100_000_000 })),
        ("STREAM.DELETE.KV_ELECTIONS", json!({})),
        ("STREAM.CREATE.THIEF", json!({ "name": "THIEF", "subjects": ["thief"] })),
        ("STREAM.LEADER.STEPDOWN.KV_ELECTIONS", json!({})),
    ];
    for (request, payload) in requests {
        let refused = client.request(format!("$JS.API.{request}"), payload.to_string().into()).await;
        assert!(refused.is_err(), "{request}: {refused:?}");
    }
    // Candidates do not write to the key either if a caller gives it as its reply subject.
    client.publish_with_reply("_incumbent.roll.ELECTIONS", key, "".into()).await.unwrap();
    // The user may create a consumer, but not one that delivers to the key.
    let payload = json!({
        "stream_name": "KV_ELECTIONS",
        "config": { "deliver_subject": key, "deliver_policy": "all", "ack_policy": "none" },
    });
    let request = "$JS.API.CONSUMER.CREATE.KV_ELECTIONS";
    let answer = client.request(request, payload.to_string().into()).await.unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
    assert!(answer["error"]["description"].as_str().is_some_and(|text| text.contains("cycle")), "{answer}");
}

/// The candidates that are listed for this user.
fn listed(server: &NatsServer, user: &str) -> Option<Vec<String>> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let present = runtime.block_on(async {
        let store = incumbent::Store::open(&store(server, user)).await.unwrap();
        let present = store.all_candidates().await.unwrap();
        store.close().await.unwrap();
        present
    });
    let mut names: Option<Vec<_>> = present.map(|all| all.into_iter().map(|one| one.name).collect());
    names.iter_mut().for_each(|names| names.sort());
    names
}

#[track_caller]
fn candidates_are_listed_for_users_that_may_ask(version: NatsVersion) {
    let server = server(version, "30s");
    let _jobs = leading(&store(&server, "jobber"), "jobs", "ada");
    let _reports = leading(&store(&server, "reporter"), "reports", "rita");
    let both = Some(vec!["ada".to_owned(), "rita".to_owned()]);
    for user in ["observer", "operator", "root"] {
        wait::until("both to be permitted", LIMIT, || listed(&server, user) == both);
    }
    wait::until("the denial to be reported in time", LIMIT, || listed(&server, "jobber").is_none());
}

#[test]
fn candidates_are_listed_for_users_that_may_ask_on_the_newest_server() {
    candidates_are_listed_for_users_that_may_ask(NatsVersion::default());
}

#[test]
fn candidates_are_listed_for_users_that_may_ask_on_an_old_server() {
    candidates_are_listed_for_users_that_may_ask(NatsVersion::V2_10);
}

/// The existing streams, and the maximum age of each stream's messages.
async fn streams(server: &NatsServer) -> Vec<String> {
    let options = async_nats::ConnectOptions::with_user_and_password("root".into(), "p".into());
    let client = options.connect(server.address()).await.unwrap();
    let streams = jetstream::new(client).streams().try_collect::<Vec<_>>().await.unwrap();
    streams.iter().map(|stream| format!("{} {:?}", stream.config.name, stream.config.max_age)).collect()
}

#[test]
fn the_permissions_are_printed_as_a_server_reads_them() {
    let reported = ended(&["permissions", "jobs", "--role", "candidate", "--store", "nats://h/ELECTIONS"]);
    assert_eq!(
        reported.stdout,
        "permissions: {\n  publish: { allow: [\n    \"$KV.ELECTIONS.jobs\"\n    \"$JS.API.INFO\"\n    \
         \"$JS.API.STREAM.INFO.KV_ELECTIONS\"\n    \"$JS.API.STREAM.MSG.GET.KV_ELECTIONS\"\n    \
         \"$JS.API.CONSUMER.CREATE.KV_ELECTIONS\"\n    \"$JS.FC.KV_ELECTIONS.>\"\n    \
         \"_incumbent.roll.ELECTIONS.*\"\n  ] }\n  subscribe: { allow: [\n    \"_INBOX.>\"\n    \
         \"_incumbent.roll.ELECTIONS\"\n  ] }\n}\n"
    );
}

#[test]
fn a_candidate_is_permitted_elections_by_name() {
    for (keys, message) in [(&[][..], "give their keys"), (&["*"], "contains '*'")] {
        let arguments = ["permissions", "--role", "candidate", "--store", "nats://h/ELECTIONS"];
        let refused = ended(&[&arguments[..], keys].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(message), "{refused:?}");
    }
    let refused = ended(&["permissions", "jobs", "--role", "candidate", "--store", "sqlite:e.db"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

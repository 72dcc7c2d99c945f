//! `incumbent init`.

use incumbent_testkit::nats::{NatsServer, Options};
use serde_json::json;

use crate::support::{Running, Scratch, ended, incumbent, json};

/// Runs eight calls at the same time: one must print that it created the store, and seven that they found it.
#[track_caller]
pub(crate) fn one_of_eight_makes_it(words: &[&str], made: &str, found: &str) {
    let all: Vec<_> = (0..8).map(|_| Running::start(incumbent(&[&["init"], words].concat()))).collect();
    let all: Vec<_> = all.into_iter().map(|mut one| one.wait()).collect();
    assert!(all.iter().all(|one| one.code == Some(0)), "{all:#?}");
    let say = |text: &str| all.iter().filter(|one| one.stdout.contains(text)).count();
    assert_eq!((say(made), say(found)), (1, 7), "{all:#?}");
}

#[test]
fn of_eight_at_the_same_time_one_makes_the_file() {
    for new in [&[][..], &["--new"]] {
        let scratch = Scratch::new();
        one_of_eight_makes_it(
            &[&["--store", &scratch.url], new].concat(),
            "made ",
            " is ready for elections",
        );
    }
}

#[test]
fn of_eight_at_the_same_time_one_makes_the_bucket() {
    let server = NatsServer::start(Options::new());
    for (bucket, new) in [("PLAIN", &[][..]), ("NEW", &["--new"])] {
        let store = format!("{}/{bucket}", server.url());
        let words = [&["--store", &*store, "--lease", "5s"], new].concat();
        one_of_eight_makes_it(&words, "made the bucket ", " is ready for elections");
    }
}

#[test]
fn a_bucket_is_made_and_then_found_ready() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    let init = ["init", "--store", &store, "--lease", "5s", "--markers", "--new"];
    let made = ended(&init);
    assert_eq!((made.code, made.stdout.as_str()), (Some(0), "made the bucket ELECTIONS\n"), "{made:?}");
    let again = ended(&init);
    let ready = "the bucket ELECTIONS is ready for elections\n";
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ready), "{again:?}");
}

#[test]
fn a_bucket_that_differs_is_reported_and_changed_only_when_asked_to() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    assert_eq!(ended(&["init", "--store", &store, "--lease", "5s"]).code, Some(0));
    let differs = ended(&["init", "--store", &store, "--lease", "10s"]);
    assert_eq!(differs.code, Some(4), "{differs:?}");
    assert_eq!(differs.stdout, "max_age (--lease) is 5s, and should be 10s\n");
    assert!(differs.stderr.contains("`incumbent init --update` with the same options"), "{differs:?}");
    let updated = ended(&["init", "--store", &store, "--lease", "10s", "--update"]);
    assert_eq!(updated.code, Some(0), "{updated:?}");
    assert_eq!(updated.stdout, "max_age (--lease) was 5s, and is now 10s\n");
}

#[test]
fn what_is_not_asked_for_stays_as_it_is_in_a_bucket_that_exists() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    assert_eq!(ended(&["init", "--store", &store, "--lease", "15s"]).code, Some(0));
    for update in [&[][..], &["--update"]] {
        let again = ended(&[&["init", "--store", &store], update].concat());
        let ready = "the bucket ELECTIONS is ready for elections\n";
        assert_eq!((again.code, again.stdout.as_str()), (Some(0), ready), "{again:?}");
    }
    let doctor = ended(&["doctor", "--store", &store, "--json"]);
    assert_eq!(json(&doctor.stdout)["settings"]["ttl"]["ms"], 15000.0, "{doctor:?}");
}

#[test]
fn where_the_account_requires_a_limit_it_is_asked_for_and_kept() {
    let accounts = "accounts { A { jetstream { max_file: 100MB, max_mem: 0, max_bytes_required: true }, \
                    users: [{user: ada, password: ada}] } }";
    let server = NatsServer::start(Options::new().config(accounts));
    let store = format!("nats://ada:ada@{}/ELECTIONS", server.address());
    let refused = ended(&["init", "--store", &store]);
    let says = "incumbent: this NATS account requires a size limit for every bucket: give --max-bytes, such as \
                10000000\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(2), says), "{refused:?}");
    let few = ended(&["init", "--store", &store, "--max-bytes", "10KB"]);
    assert_eq!(few.code, Some(2), "{few:?}");
    assert!(few.stderr.contains("--max-bytes is 10000, and must be at least 65536"), "{few:?}");
    let made = ended(&["init", "--store", &store, "--max-bytes", "10MB", "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let kept = ended(&["init", "--store", &store]);
    assert_eq!(kept.stdout, "the bucket ELECTIONS is ready for elections\n", "{kept:?}");
    let changed = ended(&["init", "--store", &store, "--max-bytes", "1MiB", "--update"]);
    assert_eq!(changed.stdout, "max_bytes (--max-bytes) was 10000000, and is now 1048576\n", "{changed:?}");
}

#[test]
fn differences_are_printed_as_json() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &store, "--lease", "5s", "--json"]);
    let expected = json!({ "store": store, "created": true, "updated": false, "differences": [] });
    assert_eq!(json(&made.stdout), expected, "{made:?}");
    let differs = ended(&["init", "--store", &store, "--lease", "10s", "--json"]);
    let difference = json!({ "setting": "max_age", "is": "5s", "should": "10s", "changeable": true });
    assert_eq!(json(&differs.stdout)["differences"], json!([difference]), "{differs:?}");
    assert_eq!(json(&differs.stderr)["error"]["exit"], 4);
}

#[test]
fn an_sqlite_file_is_made() {
    let scratch = Scratch::new();
    let made = ended(&["init", "--store", &scratch.url]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.stdout.starts_with("made /"), "{made:?}");
    let again = ended(&["init", "--store", &scratch.url]);
    assert!(again.stdout.ends_with("elections.db is ready for elections\n"), "{again:?}");
}

#[test]
fn a_store_that_needs_no_preparation_says_so() {
    let refused = ended(&["init", "--store", "memory:"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("needs no preparation"), "{refused:?}");
}

#[test]
fn what_only_a_bucket_can_have_is_refused_for_a_file() {
    let scratch = Scratch::new();
    for (option, words) in [
        ("--markers", &["--markers"][..]),
        ("--own-leases", &["--own-leases"]),
        ("--replicas", &["--replicas", "3"]),
        ("--max-bytes", &["--max-bytes", "10MB"]),
    ] {
        let refused = ended(&[&["init", "--store", &scratch.url], words].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let reported =
            format!("incumbent: `{option}` is only for NATS buckets, and this is a file: leave it out\n");
        assert_eq!(refused.stderr, reported);
    }
    assert_eq!(std::fs::read_dir(scratch.folder.path()).unwrap().count(), 0);
}

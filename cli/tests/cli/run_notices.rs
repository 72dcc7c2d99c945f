//! The default output of `incumbent run`.

use incumbent_testkit::nats::{NatsServer, Options};
use rustix::process::Signal;

use crate::run::{command, pid, started};
use crate::support::{Running, Scratch, ended, incumbent, json, leading};

const WORK: &str = "echo $$; exec sleep 1000";

#[test]
fn a_candidate_says_whom_it_waits_for_that_it_leads_and_why_it_no_longer_does() {
    let scratch = Scratch::made();
    let mut ada = started(&scratch, "ada", &[], WORK);
    pid(&mut ada);
    let mut ben = started(&scratch, "ben", &[], WORK);
    ben.until_reported("the wait", |line| line == "incumbent: waiting for jobs: ada leads");
    ada.signal(Signal::TERM);
    let ada = ada.wait();
    assert_eq!(ada.stderr, "incumbent: ada leads jobs\nincumbent: ada no longer leads jobs: closed\n");
    ben.until_reported("the lead", |line| line == "incumbent: ben leads jobs");
    let evicted = ended(&["evict", "jobs", "--yes", "--store", &scratch.url]);
    assert_eq!(evicted.code, Some(0), "{evicted:?}");
    let lost = "incumbent: ben no longer leads jobs: deleted: the key was removed";
    ben.until_reported("the loss", |line| line == lost);
}

#[test]
fn a_quiet_candidate_says_nothing_of_it_and_one_that_writes_json_nothing_but_json() {
    let scratch = Scratch::made();
    let quiet = ended(&command(&scratch, "ada", &["--quiet"], "true"));
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""), "{quiet:?}");
    let as_json = ended(&command(&scratch, "ada", &["--json"], "true"));
    let events: Vec<String> =
        as_json.stderr.lines().map(|line| json(line)["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(events, ["won", "exited", "lost"]);
}

#[test]
fn a_candidate_in_a_new_store_says_how_long_it_waits_and_what_would_shorten_that() {
    let scratch = Scratch::new();
    let mut ada = started(&scratch, "ada", &[], WORK);
    let said = ada.until_reported("the wait", |line| line.contains("the store is new"));
    assert!(said.contains("the store is new: waiting "), "{said}");
    assert!(said.contains("`incumbent init --new` skips the wait"), "{said}");
    let fresh = Scratch::new();
    let mut ben = Running::start(incumbent(&command(&fresh, "ben", &["--json"], WORK)));
    let warning = json(&ben.until_reported("the wait", |_| true));
    assert_eq!(warning["event"], "warning", "{warning}");
    assert!(warning["message"].as_str().unwrap().starts_with("the store is new"), "{warning}");
}

#[test]
fn a_candidate_that_has_the_lease_and_does_not_lead_yet_says_why() {
    let scratch = Scratch::made();
    let mut ada = started(&scratch, "ada", &[], WORK);
    pid(&mut ada);
    let mut ben = started(&scratch, "ben", &[], WORK);
    ben.until_reported("the wait", |line| line == "incumbent: waiting for jobs: ada leads");
    // The stopped candidate does not take its key again.
    ada.signal(Signal::STOP);
    assert_eq!(ended(&["evict", "jobs", "--yes", "--store", &scratch.url]).code, Some(0));
    let said = "incumbent: waiting for jobs: ben has the lease, and will lead once the previous lease is certainly \
        over";
    ben.until_reported("the reason", |line| line == said);
    ben.until_reported("the lead", |line| line == "incumbent: ben leads jobs");
}

#[test]
fn a_candidate_that_cannot_watch_its_bucket_says_why_what_to_do_and_leads() {
    let config = "accounts { A: { jetstream: { max_consumers: 1 }, users: [ { user: u, password: p } ] } }
no_auth_user: u";
    let server = NatsServer::start(Options::new().config(config));
    let store = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &store, "--lease", "10s", "--new"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let mut ada = leading(&store, "jobs", "ada");
    let mut ben = Running::start(incumbent(&[
        "run", "--key", "reports", "--store", &store, "--name", "ben", "--", "sleep", "1000",
    ]));
    let said = ben.until_reported("the warning", |line| line.contains("the store cannot be watched"));
    assert!(said.contains("raise `max_consumers` of its stream KV_ELECTIONS or of the account"), "{said}");
    ben.until_reported("the lead", |line| line == "incumbent: ben leads reports");
    ada.signal(Signal::TERM);
    let ada = ada.wait();
    assert!(!ada.stderr.contains("cannot be watched"), "{ada:?}");
}

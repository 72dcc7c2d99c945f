//! The output of `--json`, checked against docs/reference/output.schema.json.

use incumbent_testkit::nats::{NatsServer, Options};
use jsonschema::Validator;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::listen::got;
use crate::run::{command, pid, started};
use crate::support::{Running, Scratch, ended, incumbent, json as parsed};

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/output.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The schema of one definition.
pub(crate) fn definition(name: &str) -> Validator {
    let mut schema = schema();
    let root = schema.as_object_mut().unwrap();
    assert!(root["$defs"].get(name).is_some(), "{name}");
    root.remove("anyOf");
    root.insert("$ref".into(), format!("#/$defs/{name}").into());
    jsonschema::validator_for(&schema).unwrap()
}

/// Checks each line.
#[track_caller]
fn fits(name: &str, lines: &str) {
    let schema = definition(name);
    assert!(!lines.trim().is_empty(), "{name}: nothing was written");
    for line in lines.lines() {
        let errors: Vec<String> = schema.iter_errors(&parsed(line)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?} in {line}");
    }
}

#[test]
fn the_schema_is_one_and_refuses_what_is_not_in_it() {
    assert!(jsonschema::meta::is_valid(&schema()));
    let error = definition("error");
    let fits = json!({ "error": { "code": "USAGE", "exit": 2, "message": "x", "causes": [] } });
    assert!(error.is_valid(&fits));
    let mut other = fits.clone();
    other["error"]["more"] = 1.into();
    assert!(!error.is_valid(&other));
    assert!(!error.is_valid(&json!({ "error": { "code": "USAGE", "exit": 2, "message": "x" } })));
    assert!(!definition("event").is_valid(&json!({ "event": "unknown" })));
}

#[track_caller]
fn all_fit(store: &str) {
    let asked = |words: &[&str]| ended(&[words, &["--json", "--store", store]].concat());
    fits("initialized", &asked(&["init"]).stdout);
    fits("status", &asked(&["status", "jobs"]).stdout);
    fits("observation", &asked(&["observe", "jobs", "--count", "1"]).stdout);
    fits("evicted", &asked(&["evict", "jobs", "--yes"]).stdout);
    fits("error", &asked(&["hand-over", "jobs", "--yes"]).stderr);
    let run = ["run", "--store", store, "--key", "jobs", "--lease", "30s", "--metadata", "a=b", "--json"];
    let words = [&run[..], &["--name", "ada", "--", "sh", "-c", "echo $$; exec sleep 1000"]].concat();
    let mut ada = Running::start(incumbent(&words));
    pid(&mut ada);
    fits("status", &asked(&["status", "--all"]).stdout);
    fits("observation", &asked(&["observe", "jobs", "--count", "1"]).stdout);
    fits("examined", &asked(&["doctor"]).stdout);
    fits("handed_over", &asked(&["hand-over", "jobs", "--to", "ada", "--yes"]).stdout);
    let zero = "0000000000000000-0000000000000001";
    fits("accepted", &asked(&["accept-reset", "jobs", "--yes", "--seen", zero]).stdout);
    ada.signal(Signal::TERM);
    fits("event", &ada.wait().stderr);
    fits("status", &asked(&["status", "jobs"]).stdout);
    let handlers = ["--on-won", "echo begins", "--on-lost", "echo ends >&2", "--listen", "127.0.0.1:0"];
    let mut ben = Running::start(incumbent(&[&run[..], &handlers].concat()));
    let events = ben.reported_until("the beginning", |line| line.contains("begins"));
    fits("event", &events);
    let address = parsed(events.lines().next().unwrap())["address"].as_str().unwrap().to_owned();
    fits("leader_page", &got(&address, "/leader").1);
    ben.signal(Signal::TERM);
    fits("event", &ben.wait().stderr);
    fits("error", &asked(&["status", "--bogus"]).stderr);
}

#[test]
fn what_is_written_about_a_file_fits() {
    let scratch = Scratch::made();
    all_fit(&scratch.url);
}

#[test]
fn what_is_written_about_a_bucket_fits() {
    let server = NatsServer::start(Options::new());
    let store = format!("{}/ELECTIONS", server.url());
    let made = ended(&["init", "--store", &store, "--lease", "30s", "--new", "--json"]);
    fits("initialized", &made.stdout);
    let differs = ended(&["init", "--store", &store, "--lease", "20s", "--json"]);
    fits("initialized", &differs.stdout);
    fits("error", &differs.stderr);
    all_fit(&store);
}

#[test]
fn a_candidate_that_does_not_lead_answers_with_what_fits() {
    let scratch = Scratch::made();
    let mut ada = started(&scratch, "ada", &[], "echo $$; exec sleep 1000");
    pid(&mut ada);
    let mut ben = Running::start(incumbent(&command(&scratch, "ben", &["--listen", "127.0.0.1:0"], "true")));
    let reported = ben.until_reported("the address", |line| line.starts_with("incumbent: listening on "));
    fits("leader_page", &got(reported.rsplit(' ').next().unwrap(), "/leader").1);
}

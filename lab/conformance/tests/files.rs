//! The files of the scenarios match the schema, and together cover every rule and every store.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers fail their test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use incumbent_conformance::harness::StoreKind;
use incumbent_conformance::runner::offers;
use incumbent_conformance::scenario::{Scenario, files};
use serde_json::{Value, json as value};

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn schema() -> Value {
    json(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.schema.json"))
}

fn all() -> Vec<Scenario> {
    files().unwrap().iter().map(|file| Scenario::read(file).unwrap()).collect()
}

#[test]
fn every_scenario_keeps_to_the_schema() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    for file in files().unwrap() {
        let scenario = json(&file);
        let faults: Vec<_> = schema.iter_errors(&scenario).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{}: {faults:#?}", file.display());
    }
}

#[test]
fn the_schema_is_one() {
    assert!(jsonschema::meta::is_valid(&schema()));
}

#[test]
fn the_schema_refuses_what_a_runner_would_not_understand() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let with = |steps: Value| {
        value!({
            "$schema": "../scenario.schema.json", "name": "n", "purpose": "It works.", "shows": ["one_leader"],
            "lease_ms": 2000, "candidates": {"a": {}}, "steps": steps,
        })
    };
    assert!(schema.is_valid(&with(value!([{"do": "campaign", "candidate": "a"}]))));
    for step in [
        value!({"do": "dance"}),
        value!({"do": "campaign"}),
        value!({"do": "campaign", "candidate": "a", "candidates": ["a"]}),
        value!({"do": "campaign", "candidate": "a", "error": "OUT_OF_ORDER"}),
        value!({"do": "expect_lost", "candidate": "a", "reason": "BORED"}),
        value!({"do": "expect_draining", "candidate": "a", "reason": "EXPIRED"}),
        value!({"do": "expect_won", "candidate": "a", "before": {"mark": "m"}}),
        value!({"do": "expect_still_leads", "candidate": "a", "leases": "2"}),
        value!({"do": "expect_leader"}),
    ] {
        assert!(!schema.is_valid(&with(value!([step]))), "{step}");
    }
    let mut without = with(value!([{"do": "campaign", "candidate": "a"}]));
    without.as_object_mut().unwrap().remove("lease_ms");
    assert!(!schema.is_valid(&without));
}

/// The schema and the runner know the same verbs, and some scenario plays each of them.
#[test]
fn every_verb_of_the_schema_is_used() {
    let schema = schema();
    let known: BTreeSet<_> = schema["$defs"]["steps"].as_object().unwrap().keys().cloned().collect();
    let used: BTreeSet<String> = files()
        .unwrap()
        .iter()
        .flat_map(|file| json(file)["steps"].as_array().unwrap().clone())
        .map(|step| step["do"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(known, used);
}

#[test]
fn every_rule_of_the_schema_is_shown() {
    let schema = schema();
    let rules = schema["properties"]["shows"]["items"]["enum"].as_array().unwrap();
    let known: BTreeSet<_> = rules.iter().map(|rule| rule.as_str().unwrap().to_string()).collect();
    let shown: BTreeSet<_> = all().into_iter().flat_map(|scenario| scenario.shows).collect();
    assert_eq!(known, shown);
}

#[test]
fn the_readme_explains_every_verb_rule_and_need() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let schema = schema();
    let verbs = schema["$defs"]["steps"].as_object().unwrap().keys().cloned();
    let listed = |place: &Value| {
        place["items"]["enum"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    let others =
        [&schema["properties"]["shows"], &schema["properties"]["needs"]].into_iter().flat_map(listed);
    for name in verbs.chain(others) {
        let row = format!("\n| `{name}`");
        assert!(readme.contains(&row), "README.md has no row for {name}");
    }
}

#[test]
fn every_scenario_is_played_on_a_server_and_most_everywhere() {
    let mut played: BTreeMap<StoreKind, usize> = BTreeMap::new();
    for scenario in all() {
        assert_eq!(scenario.lacks(&offers(StoreKind::Nats)), None, "{}", scenario.name);
        for kind in StoreKind::ALL {
            *played.entry(kind).or_default() += usize::from(scenario.lacks(&offers(kind)).is_none());
        }
    }
    let all = files().unwrap().len();
    assert!(all >= 40, "{all}");
    // Fewer scenarios can be played on Kafka: no harness writes for a group as another process, or stops the broker.
    // The tests in stores/kafka/tests/kafka have such faults.
    let least = |kind| if kind == StoreKind::Kafka { all * 8 } else { all * 9 };
    assert!(played.iter().all(|(kind, count)| count * 10 >= least(*kind)), "of {all}: {played:?}");
}

//! The components that `cargo xtask package component` has built.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic; it says why")]

use std::fs;
use std::path::Path;

use incumbent_componentise::{Names, is_of_world};
use incumbent_testkit::tools::component;

fn built(name: &str) -> Vec<u8> {
    fs::read(component(name).unwrap()).unwrap()
}

fn ours(interfaces: &[&str]) -> Vec<String> {
    interfaces.iter().map(|name| format!("incumbent:election/{name}@{}", env!("CARGO_PKG_VERSION"))).collect()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn the_engine_imports_nothing_at_all() {
    let names = Names::of(&built("incumbent-engine")).unwrap();
    assert_eq!(names.imports, Vec::<String>::new());
    let exports = ["candidates", "events", "records", "settings", "stores", "types"];
    assert_eq!(sorted(names.exports), ours(&exports));
}

#[test]
fn the_campaigner_imports_only_what_its_world_says() {
    let names = Names::of(&built("incumbent-campaigner")).unwrap();
    // Interfaces besides the clock, the store and the random numbers only declare types.
    let imports = ["clock", "events", "kv", "random", "records", "settings", "stores", "types"];
    assert_eq!(sorted(names.imports), ours(&imports));
    assert_eq!(names.exports, ours(&["elections"]));
}

#[test]
fn each_component_is_of_its_world_in_the_wit_as_it_is_now() {
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    for (name, world) in [("incumbent-engine", "engine"), ("incumbent-campaigner", "campaigner")] {
        is_of_world(&built(name), &wit, world).unwrap();
    }
}

#[test]
fn a_component_of_another_world_is_recognised() {
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    for (name, world) in [("incumbent-engine", "campaigner"), ("incumbent-campaigner", "engine")] {
        assert!(is_of_world(&built(name), &wit, world).is_err(), "{name} is not of world {world}");
    }
}

#[test]
fn the_composed_example_wants_what_a_campaigner_wants_and_its_own_ledger() {
    let bare = Names::of(&built("example-worker-bare")).unwrap();
    assert!(bare.imports.contains(&ours(&["elections"])[0]));
    let names = Names::of(&built("example-worker")).unwrap();
    assert!(!names.imports.contains(&ours(&["elections"])[0]), "{:?}", names.imports);
    assert!(names.imports.contains(&"example:worker/ledger@0.1.0".to_owned()));
    assert_eq!(names.exports, ["run"]);
}

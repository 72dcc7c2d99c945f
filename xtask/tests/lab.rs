//! No part of the product depends on the lab, and there is an order in which its packages can be published.

#![allow(clippy::expect_used, reason = "a test may panic; it says why")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").expect("cargo runs the tests");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(cargo);
    command.current_dir(root).args([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
        "--locked",
    ]);
    let output = command.output().expect("cargo metadata");
    serde_json::from_slice(&output.stdout).expect("its JSON")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn folder(package: &Value) -> &str {
    let manifest = package["manifest_path"].as_str().expect("a path");
    manifest.strip_suffix("/Cargo.toml").expect("the path of a manifest")
}

#[test]
fn no_package_of_the_product_needs_one_of_the_lab_but_for_its_tests() {
    let metadata = metadata();
    let lab = format!("{}/lab/", metadata["workspace_root"].as_str().expect("a path"));
    let product: BTreeSet<&str> =
        list(&metadata["workspace_default_members"]).map(|id| id.as_str().expect("an id")).collect();
    let mut seen = 0;
    for package in list(&metadata["packages"]) {
        let (id, name) = (package["id"].as_str().expect("an id"), &package["name"]);
        if !product.contains(id) {
            continue;
        }
        seen += 1;
        assert!(!folder(package).starts_with(&lab), "{name} is built by default");
        for dependency in list(&package["dependencies"]) {
            let path = dependency["path"].as_str().unwrap_or_default();
            let is_for_tests = dependency["kind"] == "dev";
            assert!(is_for_tests || !path.starts_with(&lab), "{name} needs {path}");
        }
    }
    assert_eq!(seen, 18, "the product's packages");
}

/// When cargo publishes a package, it drops development dependencies without a version. A dependency with a version
/// must be published first, which is impossible for two packages that test with each other.
#[test]
fn what_a_published_package_needs_of_this_workspace_for_its_tests_alone_has_no_version() {
    for package in list(&metadata()["packages"]) {
        if package["publish"] == serde_json::json!([]) {
            continue;
        }
        let ours =
            list(&package["dependencies"]).filter(|one| one["kind"] == "dev" && one["path"].is_string());
        for dependency in ours {
            let (name, needed) = (&package["name"], &dependency["name"]);
            assert_eq!(dependency["req"], "*", "{name} tests with a version of {needed}");
        }
    }
}

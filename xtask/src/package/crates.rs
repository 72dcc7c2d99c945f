//! The crates' archives.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell;

/// Makes the archive of each crate that is published, and builds it from that archive alone. Returns their folder.
pub(crate) fn package() -> Result<PathBuf> {
    let names = published()?;
    shell::progress(format!("the archives of {}", names.join(", ")));
    let mut package = shell::cargo();
    package.args(["package", "--quiet", "--allow-dirty"]);
    for name in &names {
        package.args(["--package", name]);
    }
    shell::run(&mut package)?;
    Ok(shell::target().join("package"))
}

/// The names of the crates that are published.
fn published() -> Result<Vec<String>> {
    let name = |package: Value| Some(package["name"].as_str()?.to_owned());
    Ok(packages()?.into_iter().filter_map(name).collect())
}

/// Cargo's metadata of the crates that are published.
fn packages() -> Result<Vec<Value>> {
    let json = shell::output(shell::cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&json).context("cannot read cargo's metadata")?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has no packages")?;
    // `publish = false` is an empty list of registries.
    let published: Vec<_> = packages.iter().filter(|package| package["publish"].is_null()).cloned().collect();
    ensure!(!published.is_empty(), "no crate is published");
    Ok(published)
}

/// The names and descriptions of the published crates that are libraries, the one that most programs need first.
pub(crate) fn described() -> Result<Vec<(String, String)>> {
    let mut described = Vec::new();
    for package in packages()? {
        let kinds = package["targets"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|target| target["kind"].as_array());
        if kinds.flatten().any(|kind| kind == "lib") {
            let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
            described.push((text("name"), text("description")));
        }
    }
    described.sort_by_key(|(name, _)| (name.contains('-'), name.clone()));
    Ok(described)
}

//! The crates' archives.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{self, say};

/// Makes the archive of each published crate, and builds the crate from that archive alone. Returns their folder.
pub(crate) fn package() -> Result<PathBuf> {
    let packages = packages()?;
    let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    packages.iter().try_for_each(described_for_strangers)?;
    shell::progress(format!("the archives of {}", names.join(", ")));
    let mut package = shell::cargo();
    package.args(["package", "--quiet", "--allow-dirty", "--locked"]);
    for name in &names {
        package.args(["--package", name]);
    }
    shell::run(&mut package)?;
    let folder = shell::target().join("package");
    for name in names {
        let name = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        let archive = folder.join(format!("{name}.crate"));
        let listed = shell::output(shell::command("tar").arg("-tzf").arg(&archive))?;
        for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "Cargo.lock"] {
            let has = listed.lines().any(|line| line == format!("{name}/{file}"));
            ensure!(has, "{} has no {file}", archive.display());
        }
        let size = fs::metadata(&archive).map(|file| file.len())?;
        say!("{name}.crate: {} files, {} kB", listed.lines().count(), size / 1000);
    }
    Ok(folder)
}

/// Fails if a crate lacks anything that its page in the registry, or the page of its documentation, needs.
fn described_for_strangers(package: &Value) -> Result<()> {
    let name = package["name"].as_str().unwrap_or_default();
    for key in ["description", "license", "readme", "repository"] {
        ensure!(package[key].is_string(), "{name} has no {key}");
    }
    for key in ["keywords", "categories"] {
        ensure!(package[key].as_array().is_some_and(|list| !list.is_empty()), "{name} has no {key}");
    }
    ensure!(
        !is_library(package) || package["metadata"]["docs"]["rs"].is_object(),
        "{name} has no settings for docs.rs"
    );
    Ok(())
}

/// Returns true if other crates can depend on the package.
fn is_library(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets.filter_map(|target| target["kind"].as_array()).flatten().any(|kind| kind == "lib")
}

/// Cargo's metadata of the crates that are published.
fn packages() -> Result<Vec<Value>> {
    let json = shell::output(shell::cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&json).context("cannot read cargo's metadata")?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has no packages")?;
    // For `publish = false`, the metadata has an empty list of registries.
    let published: Vec<_> = packages.iter().filter(|package| package["publish"].is_null()).cloned().collect();
    ensure!(!published.is_empty(), "no crate is published");
    Ok(published)
}

/// The names and descriptions of the published crates that are libraries, with the crate that most programs need first.
pub(crate) fn described() -> Result<Vec<(String, String)>> {
    let mut described = Vec::new();
    for package in packages()? {
        if is_library(&package) {
            let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
            described.push((text("name"), text("description")));
        }
    }
    described.sort_by_key(|(name, _)| (name.contains('-'), name.clone()));
    Ok(described)
}

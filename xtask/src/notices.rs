//! The licences in a package that contains compiled Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::shell;

/// The beginnings of the names of files that contain a licence, or a notice that a licence requires to be passed on.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// A third-party package.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: String,
    address: String,
}

/// Writes the project's licences into a folder, and `THIRD-PARTY-NOTICES`: the third-party packages that a crate
/// compiles in, each with its licence and the address of its source, and the text of every licence as those packages
/// have it.
///
/// `features` are cargo's options for the features of that crate.
pub(crate) fn write(of: &str, features: &[&str], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(shell::root().join(licence), folder.join(licence))
            .with_context(|| format!("cannot copy {licence}"))?;
    }
    let packages = packages(of, features)?;
    let sources = sources()?;
    let mut texts = BTreeMap::<String, Vec<String>>::new();
    for package in &packages {
        let key = (package.name.clone(), package.version.clone());
        let source =
            sources.get(&key).with_context(|| format!("cargo knows no source of {}", package.name))?;
        for text in licences(source)? {
            texts.entry(text).or_default().push(format!("{} {}", package.name, package.version));
        }
    }
    let mut notices = String::from(
        "The compiled part of this package contains these packages, each under its own licence. The source of each is at\n\
         its address, and at https://crates.io.\n\n",
    );
    for Package { name, version, licence, address } in &packages {
        notices.push_str(format!("{name} {version}: {licence} {address}").trim_end());
        notices.push('\n');
    }
    for (text, owners) in texts {
        notices.push_str(&format!("\n{}\n{}\n\n{}\n", "-".repeat(80), owners.join(", "), text.trim_end()));
    }
    fs::write(folder.join("THIRD-PARTY-NOTICES"), notices).context("cannot write the notices")
}

/// Writes `SBOM.cdx.json` into a folder: the third-party packages that a crate compiles in, in the format CycloneDX
/// 1.5, which vulnerability scanners read.
pub(crate) fn bill(of: &str, features: &[&str], folder: &Path) -> Result<()> {
    let component = |Package { name, version, licence, .. }: Package| {
        json!({
            "type": "library",
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
            // Some packages still write a slash for "or".
            "licenses": [{ "expression": licence.replace('/', " OR ") }],
        })
    };
    let components: Vec<Value> = packages(of, features)?.into_iter().map(component).collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": of, "version": env!("CARGO_PKG_VERSION") } },
        "components": components,
    });
    let text = serde_json::to_string_pretty(&bill).context("cannot write JSON")?;
    fs::write(folder.join("SBOM.cdx.json"), text + "\n").context("cannot write the list of parts")
}

/// The third-party packages that a crate compiles in.
fn packages(of: &str, features: &[&str]) -> Result<BTreeSet<Package>> {
    let mut tree = shell::cargo();
    tree.args(["tree", "--package", of, "--edges", "normal", "--prefix", "none", "--no-dedupe"]);
    tree.args(["--format", "{p}\t{l}\t{r}"]).args(features);
    Ok(shell::output(&mut tree)?.lines().filter_map(package).collect())
}

/// The third-party package in a line of cargo's tree.
fn package(line: &str) -> Option<Package> {
    let mut columns = line.split('\t');
    let shown = columns.next()?.trim_end_matches(" (proc-macro)");
    // For a package of this workspace, cargo shows the path, so such a line is skipped.
    let (name, version) = shown.split_once(" v").filter(|(_, version)| !version.contains('('))?;
    let (licence, address) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default());
    Some(Package {
        name: name.to_owned(),
        version: version.to_owned(),
        licence: licence.to_owned(),
        address: address.trim_end_matches("(*)").trim_end().to_owned(),
    })
}

/// The folder of each package's source, by name and version.
fn sources() -> Result<BTreeMap<(String, String), PathBuf>> {
    let json = shell::output(shell::cargo().args(["metadata", "--format-version", "1", "--all-features"]))?;
    let metadata: Value = serde_json::from_str(&json).context("cannot read cargo's metadata")?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has no packages")?;
    let source = |package: &Value| {
        let text = |name: &str| package[name].as_str().map(str::to_owned);
        let manifest = PathBuf::from(text("manifest_path")?);
        Some(((text("name")?, text("version")?), manifest.parent()?.to_owned()))
    };
    Ok(packages.iter().filter_map(source).collect())
}

/// The texts of the licences in the folder of a package.
fn licences(source: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for file in fs::read_dir(source).with_context(|| format!("cannot read {}", source.display()))? {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|begin| name.starts_with(begin)) && path.is_file() {
            let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            texts.push(String::from_utf8_lossy(&text).replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_of_others_is_noticed_with_its_licence_and_one_of_this_project_is_not() {
        let noticed = |line| package(line).map(|one| [one.name, one.version, one.licence, one.address]);
        assert_eq!(
            noticed("bytes v1.10.1\tMIT\thttps://github.com/tokio-rs/bytes"),
            Some(["bytes", "1.10.1", "MIT", "https://github.com/tokio-rs/bytes"].map(str::to_owned))
        );
        assert_eq!(
            noticed("serde_derive v1.0.0 (proc-macro)\tMIT OR Apache-2.0\t (*)"),
            Some(["serde_derive", "1.0.0", "MIT OR Apache-2.0", ""].map(str::to_owned))
        );
        assert_eq!(noticed("incumbent v0.1.0 (/src/runtime)\tApache-2.0 OR MIT\thttps://example.com"), None);
    }
}

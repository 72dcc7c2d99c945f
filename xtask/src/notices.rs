//! The licences in a package that contains compiled Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::shell;

/// The beginnings of the names of files that contain a licence, or a notice that a licence requires to be passed on.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Code in C that packages carry with them, each with the file of its licence in the package.
const IN_C: [(&str, &str); 4] = [
    ("libz-sys", "src/zlib/LICENSE"),
    ("openssl-src", "openssl/LICENSE.txt"),
    ("rdkafka-sys", "librdkafka/LICENSES.txt"),
    ("zstd-sys", "zstd/LICENSE"),
];

/// The libraries in C whose version is that of the package after the plus sign.
const VERSIONS_IN_C: [(&str, &str); 3] =
    [("openssl-src", "openssl"), ("rdkafka-sys", "librdkafka"), ("zstd-sys", "zstd")];

/// A crate as it is compiled for a package.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// The crate's name.
    pub(crate) of: &'static str,
    /// Cargo's options for its features and its target.
    pub(crate) options: Vec<String>,
    /// Rustc's options for all crates; empty for none.
    pub(crate) flags: String,
}

impl Compiled {
    /// A crate with cargo's options for its features and its target.
    pub(crate) fn new(of: &'static str, options: &[&str]) -> Self {
        Self { of, options: options.iter().map(|&option| option.into()).collect(), flags: String::new() }
    }
}

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
pub(crate) fn write(compiled: &Compiled, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(shell::root().join(licence), folder.join(licence))
            .with_context(|| format!("cannot copy {licence}"))?;
    }
    let packages = packages(compiled)?;
    let sources = sources()?;
    let mut texts = BTreeMap::<String, Vec<String>>::new();
    for package in &packages {
        let key = (package.name.clone(), package.version.clone());
        let source =
            sources.get(&key).with_context(|| format!("cargo knows no source of {}", package.name))?;
        for text in licences(&package.name, source)? {
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
pub(crate) fn bill(compiled: &Compiled, folder: &Path) -> Result<()> {
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
    let packages = packages(compiled)?;
    let in_c: Vec<Value> = packages.iter().filter_map(in_c).collect();
    let components: Vec<Value> = packages.into_iter().map(component).chain(in_c).collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": compiled.of, "version": env!("CARGO_PKG_VERSION") } },
        "components": components,
    });
    let text = serde_json::to_string_pretty(&bill).context("cannot write JSON")?;
    fs::write(folder.join("SBOM.cdx.json"), text + "\n").context("cannot write the list of parts")
}

/// The library in C that a package compiles, under the name by which scanners know it.
fn in_c(package: &Package) -> Option<Value> {
    let (_, name) = VERSIONS_IN_C.into_iter().find(|(of, _)| *of == package.name)?;
    let (_, version) = package.version.split_once('+')?;
    let version = version.trim_start_matches("zstd.");
    Some(json!({
        "type": "library",
        "name": name,
        "version": version,
        "purl": format!("pkg:generic/{name}@{version}"),
    }))
}

/// The third-party packages that a crate compiles in.
fn packages(compiled: &Compiled) -> Result<BTreeSet<Package>> {
    let listed = |edges: &str| {
        let mut tree = shell::cargo();
        tree.args(["tree", "--package", compiled.of, "--edges", edges, "--prefix", "none", "--no-dedupe"]);
        if !compiled.flags.is_empty() {
            tree.env("RUSTFLAGS", &compiled.flags);
        }
        shell::output(tree.args(["--format", "{p}\t{l}\t{r}"]).args(&compiled.options))
    };
    let mut packages: BTreeSet<Package> = listed("normal")?.lines().filter_map(package).collect();
    // OpenSSL's sources come as a dependency of a build script.
    let with_builds = listed("normal,build")?;
    packages.extend(with_builds.lines().filter_map(package).filter(|one| one.name == "openssl-src"));
    Ok(packages)
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

/// The texts of the licences in the folder of a package, and of the code in C in it.
fn licences(name: &str, source: &Path) -> Result<Vec<String>> {
    let mut files: Vec<PathBuf> =
        IN_C.into_iter().filter(|(of, _)| *of == name).map(|(_, file)| source.join(file)).collect();
    for file in fs::read_dir(source).with_context(|| format!("cannot read {}", source.display()))? {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|begin| name.starts_with(begin)) && path.is_file() {
            files.push(path);
        }
    }
    let read = |path: PathBuf| {
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&text).replace("\r\n", "\n"))
    };
    files.into_iter().map(read).collect()
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

    #[test]
    fn a_package_for_linux_has_the_notices_and_the_versions_of_what_kafka_needs_in_c() {
        let folder = tempfile::tempdir().unwrap();
        let compiled = crate::package::linux::Linux::X64Gnu.compiled("incumbent-cli");
        write(&compiled, folder.path()).unwrap();
        bill(&compiled, folder.path()).unwrap();
        let notices = fs::read_to_string(folder.path().join("THIRD-PARTY-NOTICES")).unwrap();
        for text in
            ["Magnus Edenhill", "Jean-loup Gailly", "\nopenssl-src 300.", "Redistribution and use in source"]
        {
            assert!(notices.contains(text), "no {text:?}");
        }
        let bill: Value =
            serde_json::from_slice(&fs::read(folder.path().join("SBOM.cdx.json")).unwrap()).unwrap();
        let components = bill["components"].as_array().unwrap();
        let in_c = components.iter().filter_map(|one| one["purl"].as_str()?.strip_prefix("pkg:generic/"));
        let names: Vec<&str> = in_c.filter_map(|purl| Some(purl.split_once('@')?.0)).collect();
        assert_eq!(names, ["openssl", "librdkafka", "zstd"]);
    }
}

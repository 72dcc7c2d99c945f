//! `cargo xtask release TAG`: checks that all parts have the version of a tag, and writes its notes.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::shell::{self, say};

/// `cargo xtask release`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tag, such as v0.1.0
    tag: String,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let version = env!("CARGO_PKG_VERSION");
    ensure!(
        args.tag == format!("v{version}"),
        "the tag is {}, and the workspace has the version {version}: tag v{version}, or change Cargo.toml",
        args.tag
    );
    for (part, found) in versions()? {
        ensure!(found == version, "{part} has the version {found}, and the workspace {version}");
    }
    let stale = before_the_first_release()?;
    ensure!(
        stale.is_empty(),
        "remove the passages about the time before the first release from {}",
        stale.join(", ")
    );
    let changes =
        fs::read_to_string(shell::root().join("CHANGELOG.md")).context("cannot read the changes")?;
    let notes = notes(&changes, version)?;
    let file = crate::package::folder("")?.join("NOTES.md");
    fs::write(&file, notes).with_context(|| format!("cannot write {}", file.display()))?;
    say!("{}", file.display());
    Ok(true)
}

/// Returns the pages that still ask readers to build what a release publishes.
fn before_the_first_release() -> Result<Vec<String>> {
    let listed = shell::output(shell::command("git").current_dir(shell::root()).args(["ls-files", "*.md"]))?;
    let mut stale = Vec::new();
    for page in listed.lines().filter(|page| !matches!(*page, "CHANGELOG.md" | "CONTRIBUTING.md")) {
        let text =
            fs::read_to_string(shell::root().join(page)).with_context(|| format!("cannot read {page}"))?;
        if text.contains("ntil the first release") || text.contains("not yet released") {
            stale.push(page.to_owned());
        }
    }
    Ok(stale)
}

/// The versions that are written in files of their own, by file and name. A test in `kotlin.rs` compares the version of
/// the Maven project.
fn versions() -> Result<Vec<(String, String)>> {
    let read = |file: &str| {
        fs::read_to_string(shell::root().join(file)).with_context(|| format!("cannot read {file}"))
    };
    let mut found = Vec::new();
    for file in ["node/package.json", "node/package-lock.json"] {
        let json: Value =
            serde_json::from_str(&read(file)?).with_context(|| format!("cannot read {file}"))?;
        let version = json["version"].as_str().with_context(|| format!("{file} has no version"))?;
        found.push((file.to_owned(), version.to_owned()));
    }
    let metadata = shell::output(shell::cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cannot read cargo's metadata")?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has no packages")?;
    for package in packages {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        found.push((text(&package["name"]), text(&package["version"])));
        // A published crate states the oldest version of each of our crates that it accepts.
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let wanted = text(&dependency["req"]);
            if dependency["path"].is_string() && wanted != "*" {
                let place = format!("{}, in {},", text(&dependency["name"]), text(&package["name"]));
                found.push((place, wanted.trim_start_matches('^').to_owned()));
            }
        }
    }
    Ok(found)
}

/// The changes of a version: the text below its heading, `## 0.1.0 (2026-12-01)`.
fn notes(changes: &str, version: &str) -> Result<String> {
    let is_heading = |line: &&str| line.starts_with("## ");
    let mut lines = changes.lines().skip_while(|line| {
        let title = line.strip_prefix("## ").unwrap_or_default();
        title.split_whitespace().next() != Some(version)
    });
    if lines.next().is_none() {
        bail!("CHANGELOG.md has no section \"## {version}\": rename \"Unreleased\", and add the date");
    }
    let section: Vec<&str> = lines.take_while(|line| !is_heading(line)).collect();
    let text = section.join("\n").trim().to_owned();
    ensure!(!text.is_empty(), "the section \"## {version}\" of CHANGELOG.md is empty");
    // Links are relative to the repository's root; a release's page is elsewhere.
    let tree = format!("]({}/blob/v{version}/", env!("CARGO_PKG_REPOSITORY"));
    let absolute = text.split("](").enumerate().map(|(index, piece)| match index {
        0 => piece.to_owned(),
        _ if piece.starts_with("http") => format!("]({piece}"),
        _ => format!("{tree}{piece}"),
    });
    Ok(absolute.collect::<String>() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: &str = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 (2026-12-01)\n\n- [a](docs/a.md), \
        [b](https://example.com)\n\n## 0.1.0\n\n";

    #[test]
    fn the_notes_of_a_release_are_its_section_with_links_that_work_elsewhere() {
        let expected = format!(
            "- [a]({}/blob/v0.2.0/docs/a.md), [b](https://example.com)\n",
            env!("CARGO_PKG_REPOSITORY")
        );
        assert_eq!(notes(CHANGES, "0.2.0").unwrap(), expected);
    }

    #[test]
    fn a_version_without_changes_is_refused() {
        let refused = |version| notes(CHANGES, version).unwrap_err().to_string();
        assert!(refused("0.3.0").contains("has no section \"## 0.3.0\""));
        assert!(refused("0.1.0").contains("is empty"));
    }

    #[test]
    fn all_parts_have_the_version_of_the_workspace() {
        let all = versions().unwrap();
        assert!(all.len() > 20, "{all:?}");
        for (part, version) in all {
            assert_eq!(version, env!("CARGO_PKG_VERSION"), "{part}");
        }
    }

    #[test]
    fn a_tag_of_another_version_is_refused_with_the_remedy() {
        let error = run(&Args { tag: "v9.9.9".into() }).unwrap_err().to_string();
        assert!(error.starts_with("the tag is v9.9.9, and the workspace has the version"), "{error}");
    }
}

//! A workspace whose core can be broken: copies of the core, the simulator, the model and this hunt, in the target
//! folder, with a switch at each edit of the table. It is compiled once; the environment selects the active mutant.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use crate::switches::{Choice, install};
use crate::table::{ALL, SWITCH};

/// The environment variable that marks the build of such a workspace.
pub(crate) const BREAKABLE: &str = "INCUMBENT_BREAKABLE";

/// The profile of the built program: optimised, with the machines' own assertions.
const PROFILE: &str = "hunt";
/// The copied packages: the manifest and `src` of each.
const PACKAGES: [&str; 4] = ["core", "lab/sim", "lab/model", "lab/mutants"];

/// Builds a workspace that can be broken, and runs its hunt with this process's arguments.
pub(crate) fn run() -> Result<ExitStatus> {
    let target = target();
    let folder = target.join("mutants");
    let workspace = folder.join("workspace");
    write(&workspace)?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(&workspace)
        .args(["build", "--quiet", "--profile", PROFILE, "--package", "incumbent-mutants", "--target-dir"])
        .arg(&folder)
        .env(BREAKABLE, "1")
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "a core that can be broken does not build; its sources are in {}",
        workspace.display()
    );
    let program = folder.join(PROFILE).join(format!("incumbent-mutants{}", env::consts::EXE_SUFFIX));
    let arguments = env::args_os().skip(1);
    Command::new(&program)
        .args(arguments)
        .status()
        .with_context(|| format!("cannot run {}", program.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Cargo's target folder.
fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Writes the workspace. An unchanged file is left alone, so that cargo compiles only what changed.
fn write(folder: &Path) -> Result<()> {
    let files = files()?;
    for (path, text) in &files {
        let place = folder.join(path);
        if fs::read_to_string(&place).is_ok_and(|there| there == *text) {
            continue;
        }
        let parent = place.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        fs::write(&place, text).with_context(|| format!("cannot write {}", place.display()))?;
    }
    // Removes copies of sources that were deleted in the repository: they would do no harm, but confuse readers.
    for package in PACKAGES {
        for path in sources(folder, package)? {
            if !files.contains_key(&path) {
                fs::remove_file(folder.join(&path)).with_context(|| format!("cannot remove {path}"))?;
            }
        }
    }
    Ok(())
}

/// The files of the workspace, by their paths in it.
fn files() -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for name in ["Cargo.lock", "lab/mutants/mutants.toml", "docs/internals/mutants.md"] {
        files.insert(name.into(), read(name)?);
    }
    files.insert("Cargo.toml".into(), root_manifest()?);
    for package in PACKAGES {
        let manifest = format!("{package}/Cargo.toml");
        let mut table = parse(&manifest)?;
        // Tests and benchmarks are not copied, and neither are the dependencies that only they need.
        for only_theirs in ["dev-dependencies", "bench", "test"] {
            table.remove(only_theirs);
        }
        files.insert(manifest, toml::to_string(&table)?);
        for path in sources(&root(), package)? {
            let text = read(&path)?;
            files.insert(path, text);
        }
    }
    break_rules(&mut files)?;
    Ok(files)
}

/// The root's manifest, with only the copied packages as members.
fn root_manifest() -> Result<String> {
    let mut manifest = parse("Cargo.toml")?;
    let workspace =
        manifest.get_mut("workspace").and_then(Value::as_table_mut).context("Cargo.toml has no workspace")?;
    for of_all in ["default-members", "exclude"] {
        workspace.remove(of_all);
    }
    workspace.insert("members".into(), PACKAGES.iter().copied().map(Value::from).collect::<Vec<_>>().into());
    Ok(toml::to_string(&manifest)?)
}

/// Inserts every mutant of the table, and the module of the switch.
fn break_rules(files: &mut BTreeMap<String, String>) -> Result<()> {
    let mut choices: BTreeMap<&str, Vec<Choice<'_>>> = BTreeMap::new();
    for (number, mutant) in ALL.iter().enumerate() {
        for edit in &mutant.edits {
            choices.entry(&edit.file).or_default().push(Choice {
                number,
                mutant: &mutant.name,
                text: &edit.text,
                replacement: &edit.replacement,
            });
        }
    }
    for (file, choices) in choices {
        let is = if file.starts_with("core/") { "crate::mutant::is" } else { "incumbent_core::mutant::is" };
        let Some(source) = files.get_mut(file) else {
            bail!(
                "mutant {:?}: there is no file {file} to break",
                choices.first().map_or("", |choice| choice.mutant)
            );
        };
        *source = install(source, file, &choices, is)?;
    }
    // Switches leave code unused, and warnings about that code are not wanted.
    for package in PACKAGES {
        if let Some(source) = files.get_mut(&format!("{package}/src/lib.rs")) {
            source.insert_str(0, "#![allow(warnings, clippy::all)]\n");
        }
    }
    let library = files.get_mut("core/src/lib.rs").context("the core has no lib.rs")?;
    library.push_str("\npub mod mutant;\n");
    files.insert("core/src/mutant.rs".into(), switch());
    Ok(())
}

/// The module of the core that returns which mutant is on.
fn switch() -> String {
    let names: Vec<&str> = ALL.iter().map(|mutant| mutant.name.as_str()).collect();
    format!(
        "//! The mutant that is on in this process.

extern crate std;

const NAMES: &[&str] = &{names:?};

/// Returns true if the mutant with this number is on.
#[inline]
pub fn is(number: usize) -> bool {{
    static ON: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *ON.get_or_init(|| {{
        let name = std::env::var({SWITCH:?}).unwrap_or_default();
        NAMES.iter().position(|known| *known == name).unwrap_or(usize::MAX)
    }}) == number
}}
"
    )
}

/// The Rust sources of a package under `root`, by their paths from there.
fn sources(root: &Path, package: &str) -> Result<Vec<String>> {
    let (mut sources, mut folders) = (Vec::new(), vec![format!("{package}/src")]);
    while let Some(folder) = folders.pop() {
        let place = root.join(&folder);
        for entry in fs::read_dir(&place).with_context(|| format!("cannot list {}", place.display()))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.ends_with(".rs") {
                sources.push(path);
            }
        }
    }
    Ok(sources)
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))
}

fn parse(path: &str) -> Result<Table> {
    toml::from_str(&read(path)?).with_context(|| format!("cannot read {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_the_table_occurs_exactly_once_in_its_file() {
        let files = files().unwrap();
        assert!(files["core/src/lib.rs"].ends_with("pub mod mutant;\n"));
        assert!(files["core/src/campaign/mod.rs"].contains("crate::mutant::is("));
    }

    #[test]
    fn the_workspace_is_the_packages_copied_and_no_more() {
        let manifest: Table = toml::from_str(&root_manifest().unwrap()).unwrap();
        assert_eq!(manifest["workspace"]["members"].as_array().map(Vec::len), Some(PACKAGES.len()));
        let files = files().unwrap();
        for package in ["core", "lab/sim"] {
            let manifest: Table = toml::from_str(&files[&format!("{package}/Cargo.toml")]).unwrap();
            assert!(!manifest.contains_key("dev-dependencies") && !manifest.contains_key("bench"));
        }
    }
}

//! The sizes of the files that users install, and the times of their release builds for this machine. The sizes have
//! [`budgets`]; the times depend on the machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use incumbent_testkit::figure::Figure;

use super::available;
use crate::budgets::{self, Artefact, Made};
use crate::kotlin;
use crate::package;
use crate::python::{self, Profile};
use crate::shell;
use crate::swift;
use crate::test::node;
use crate::tools::{Tool, WASM};

/// A build of one crate, and of the files that are released from it.
struct Build {
    /// The crate.
    of: &'static str,
    /// Cargo's options for its features, as they are released.
    features: &'static [&'static str],
    profile: &'static str,
    /// The target folder in which the crate is built twice: first to compile third-party crates, then to measure the
    /// time. `None` for the bindings' libraries, which take as long as the command line.
    timed_in: Option<fn() -> PathBuf>,
    target: fn() -> Result<Option<String>>,
    /// Builds the crate and returns the files. The first file represents the build.
    make: fn() -> Result<Vec<(Artefact, PathBuf)>>,
}

const BUILDS: [Build; 6] = [
    Build {
        of: "incumbent-python",
        features: &[],
        profile: "release",
        timed_in: None,
        target: || Ok(None),
        make: || {
            let interpreters = python::interpreters()?;
            let interpreter = interpreters.first().context("no interpreter")?;
            Ok(vec![(Artefact::Wheel, python::wheel(interpreter, Profile::Release)?)])
        },
    },
    Build {
        of: "incumbent-node",
        features: &[],
        profile: "release",
        timed_in: None,
        // The addon is always built for a named target, even for this machine's own.
        target: || python::host().map(Some),
        make: || {
            node::there_is_node()?;
            node::build(&["build"])?;
            let [main, addon] = package::node::pack_for_this_machine()?;
            Ok(vec![(Artefact::Addon, addon), (Artefact::NodePackage, main)])
        },
    },
    Build {
        of: kotlin::CRATE,
        features: &[],
        profile: "release",
        timed_in: None,
        target: || Ok(None),
        make: || {
            let profile = kotlin::Profile::Release { kafka: false };
            kotlin::build(profile)?;
            Ok(vec![
                (Artefact::KotlinLibrary, kotlin::library(profile)),
                (Artefact::SwiftLibrary, swift::released()),
            ])
        },
    },
    component(&["--no-default-features", "--features", "engine"], || world(Artefact::Engine)),
    component(&["--no-default-features", "--features", "campaigner"], || world(Artefact::Campaigner)),
    Build {
        of: "incumbent-cli",
        features: &[],
        profile: "release",
        timed_in: Some(apart),
        target: || Ok(None),
        make: || {
            let mut build = shell::cargo();
            build.args(["build", "--quiet", "--release", "--package", "incumbent-cli", "--bin", "incumbent"]);
            shell::run(build.arg("--target-dir").arg(apart()))?;
            let program = format!("incumbent{}", std::env::consts::EXE_SUFFIX);
            Ok(vec![(Artefact::CommandLine, apart().join("release").join(program))])
        },
    },
];

/// The target folder in which only timed builds run. Before such a build its compiled crates are removed, and other
/// benchmarks need not compile them again.
fn apart() -> PathBuf {
    shell::target().join("timed")
}

/// The build of a component.
const fn component(
    features: &'static [&'static str],
    make: fn() -> Result<Vec<(Artefact, PathBuf)>>,
) -> Build {
    let target = || Ok(Some(WASM.into()));
    let timed_in: Option<fn() -> PathBuf> = Some(shell::target);
    Build { of: "incumbent-component", features, profile: "component", timed_in, target, make }
}

fn world(component: Artefact) -> Result<Vec<(Artefact, PathBuf)>> {
    available(Tool::Wasm)?;
    Ok(vec![(component, package::released_component(component)?)])
}

/// Measures each build, or those of the named crates. If a build lacks a tool, all other builds are still measured.
pub(super) fn measure(named: &[String]) -> Result<Vec<Figure>> {
    if let Some(unknown) = named.iter().find(|name| BUILDS.iter().all(|build| build.of != name.as_str())) {
        bail!("nothing is released from {unknown:?}");
    }
    let mut figures = Vec::new();
    for build in BUILDS {
        if !named.is_empty() && !named.iter().any(|name| name == build.of) {
            continue;
        }
        shell::progress(build.of);
        match build.figures() {
            Ok(more) => figures.extend(more),
            Err(error) => eprintln!("not measured: {}: {error:#}", build.of),
        }
    }
    ensure!(!figures.is_empty(), "nothing can be built here");
    Ok(figures)
}

impl Build {
    fn figures(&self) -> Result<Vec<Figure>> {
        let parts = self.parts()?;
        let mut files = (self.make)()?;
        let mut took = None;
        if let Some(folder) = self.timed_in {
            self.forget(&parts.ours, &folder())?;
            let (began, before) = (Instant::now(), shell::cpu_time());
            files = (self.make)()?;
            took = Some((began.elapsed(), shell::cpu_time().saturating_sub(before)));
        }
        let mut figures = Vec::new();
        for (place, (artefact, file)) in files.into_iter().enumerate() {
            let plain = |what: &str, value, unit| {
                Figure::plain(format!("{}: {what}", artefact.name()), value, unit, 1)
            };
            let (download, disk) = sizes(artefact, &file)?;
            figures.extend([download, disk]);
            // The time is shown a single time, for all files of the build.
            if place > 0 {
                continue;
            }
            if let Some((elapsed, processor)) = took {
                figures.push(plain("build", elapsed.as_secs_f64(), "s"));
                figures.push(plain("processor time of the build", processor.as_secs_f64(), "s"));
            }
            figures.push(plain("our crates", parts.ours.len() as f64, ""));
            figures.push(plain("crates of others", parts.others.len() as f64, ""));
        }
        Ok(figures)
    }

    /// Removes what cargo has compiled for these crates in a target folder.
    fn forget(&self, crates: &BTreeSet<String>, folder: &Path) -> Result<()> {
        let mut clean = shell::cargo();
        clean.args(["clean", "--quiet", "--profile", self.profile]).arg("--target-dir").arg(folder);
        clean.args((self.target)()?.iter().flat_map(|target| ["--target", target]));
        shell::run(clean.args(crates.iter().flat_map(|name| ["--package", name])))
    }

    fn parts(&self) -> Result<Parts> {
        let mut tree = shell::cargo();
        tree.args(["tree", "--quiet", "--package", self.of, "--edges", "normal,build", "--prefix", "none"]);
        tree.args((self.target)()?.iter().flat_map(|target| ["--target", target]));
        let listed = shell::output(tree.args(self.features))?;
        let parts = Parts::of(&listed);
        if !parts.ours.contains(self.of) {
            bail!("cargo tree does not list {}", self.of);
        }
        Ok(parts)
    }
}

/// The crates of a build, including those that only run during it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    /// The names of our own.
    ours: BTreeSet<String>,
    /// The names and versions of third-party crates.
    others: BTreeSet<String>,
}

impl Parts {
    /// Reads lines such as `serde v1.0.229 (*)` and `incumbent-core v0.1.0 (/home/worker/incumbent/core)`.
    fn of(listed: &str) -> Self {
        let mut parts = Self::default();
        for line in listed.lines() {
            let mut words = line.split_whitespace();
            let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
            if words.any(|word| word.starts_with("(/")) {
                parts.ours.insert(name.to_owned());
            } else {
                parts.others.insert(format!("{name} {version}"));
            }
        }
        parts
    }
}

/// Returns the bytes that a user downloads for a file, and the bytes of the installed file. The file itself has a
/// budget.
fn sizes(artefact: Artefact, file: &Path) -> Result<(Figure, Figure)> {
    let own = budgets::bytes(file)? as f64;
    let plain =
        |what: &str, bytes| Figure::plain(format!("{}: {what}", artefact.name()), bytes / 1e3, "kB", 1);
    let own = |what: &str| {
        // The budgets apply only to this platform.
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return plain(what, own);
        }
        let budget = artefact.budget(Made::Released) as f64;
        Figure::bounded(format!("{}: {what}", artefact.name()), own / 1e3, "kB", budget / 1e3, 1)
    };
    const DOWNLOAD: &str = "download";
    const INSTALLED: &str = "installed";
    Ok(match artefact {
        Artefact::Wheel => (own(DOWNLOAD), plain(INSTALLED, unzipped(file)?)),
        Artefact::Addon | Artefact::NodePackage => {
            let contents = length(shell::command("tar").arg("-xOzf").arg(file))?;
            (own(DOWNLOAD), plain(INSTALLED, contents))
        }
        _ => (plain(DOWNLOAD, length(shell::command("gzip").arg("-c").arg(file))?), own(INSTALLED)),
    })
}

/// The bytes of a command's output.
fn length(command: &mut std::process::Command) -> Result<f64> {
    let output = command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    ensure!(output.status.success(), "{:?} ended with {}", command.get_program(), output.status);
    Ok(output.stdout.len() as f64)
}

/// The bytes of a wheel's files.
fn unzipped(wheel: &Path) -> Result<f64> {
    const SUM: &str =
        "import sys, zipfile; print(sum(i.file_size for i in zipfile.ZipFile(sys.argv[1]).infolist()))";
    let interpreters = python::interpreters()?;
    let interpreter = interpreters.first().context("no interpreter")?;
    let sum = shell::output(shell::command(&interpreter.program).args(["-c", SUM]).arg(wheel))?;
    sum.trim().parse().with_context(|| format!("{sum:?} is not a sum"))
}

#[cfg(test)]
mod tests {
    use incumbent_testkit::figure::Verdict;

    use super::*;

    #[test]
    fn crates_of_the_workspace_and_of_others_are_counted_once_each() {
        let parts = Parts::of(
            "incumbent-core v0.1.0 (/home/worker/incumbent/core)\nserde v1.0.229\nserde v1.0.229 (*)\n\
             serde_derive v1.0.229 (proc-macro)\nincumbent-core v0.1.0 (/home/worker/incumbent/core) (*)\n\
             syn v2.0.1\nsyn v3.0.9\n",
        );
        assert_eq!(parts.ours.into_iter().collect::<Vec<_>>(), ["incumbent-core"]);
        let others = ["serde v1.0.229", "serde_derive v1.0.229", "syn v2.0.1", "syn v3.0.9"];
        assert_eq!(parts.others.into_iter().collect::<Vec<_>>(), others);
    }

    #[test]
    fn the_file_that_has_the_budget_has_the_goal() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("incumbent-engine.wasm");
        std::fs::write(&file, vec![0; 70_000]).unwrap();
        let (download, installed) = sizes(Artefact::Engine, &file).unwrap();
        assert_eq!(download.figure, "engine component: download");
        assert_eq!((download.goal, installed.value), (None, Some(70.0)));
        assert!(download.value < Some(1.0), "zeros are compressed well");
        let has_goal = cfg!(all(target_os = "linux", target_arch = "x86_64"));
        assert_eq!(installed.verdict(), has_goal.then_some(Verdict::Met));
    }
}

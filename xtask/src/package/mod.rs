//! `cargo xtask package NAME…`: builds the released packages, and tries them.

pub(crate) mod artefacts;
mod bundlers;
mod cli;
mod crates;
pub(crate) mod linux;
mod load;
mod native;
pub(crate) mod node;
mod python;
mod readme;
pub(crate) mod site;
mod unwinder;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use crate::budgets::{self, Artefact, Made};
use crate::kotlin;
use crate::playground;
use crate::shell::{self, say};
use crate::swift;
use crate::tools::systems::System;
use crate::tools::{self, Tool, WASM};
use linux::Linux;

/// `cargo xtask package`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The packages to build
    #[arg(value_enum, required = true)]
    names: Vec<Package>,
    /// Build Kafka into the Kotlin or Swift library, for machines with this one's OpenSSL
    #[arg(long)]
    kafka: bool,
    /// Build in a third of the time, with less optimisation: for trials, not for publishing
    #[arg(long)]
    trial: bool,
    /// On Linux: the kinds of Linux that wheels, addons, libraries and the command line are built for; all if none is
    /// named
    #[arg(long, value_enum, value_name = "KIND")]
    only: Vec<Linux>,
}

/// The way in which packages are built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Build {
    /// With Kafka and this machine's OpenSSL in the Kotlin and the Swift library.
    pub(crate) kafka: bool,
    /// With less optimisation.
    pub(crate) trial: bool,
    /// The kinds of Linux to build for; all if the list is empty.
    pub(crate) only: Vec<Linux>,
}

impl Build {
    /// The name of cargo's profile.
    pub(crate) fn profile(&self) -> &'static str {
        if self.trial { "trial" } else { "release" }
    }

    /// The budgets that apply.
    fn made(&self) -> Made {
        if self.trial { Made::Trial } else { Made::Released }
    }

    /// The kinds of Linux for which packages are built.
    pub(crate) fn linux(&self) -> impl Iterator<Item = Linux> {
        Linux::ALL.into_iter().filter(|linux| self.only.is_empty() || self.only.contains(linux))
    }
}

/// A released package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Package {
    /// The command line with its manual and completions, for every processor of Linux without libraries, into
    /// target/packages/cli
    Cli,
    /// The WebAssembly components, into target/components
    Component,
    /// The crates' archives, each built alone, into target/package
    Crates,
    /// The Kotlin library for this platform, its sources, its documentation and its POM, into target/kotlin/release
    Kotlin,
    /// The npm packages: the main one, and one for every kind of Linux or for this platform, into target/packages/node
    Node,
    /// The election playground, a page of static files, into target/playground
    Playground,
    /// The wheels, for every kind of Linux or for this platform, and the source distribution, into
    /// target/packages/python
    Python,
    /// The site: documentation, with the playground on its front page, into target/packages/site
    Site,
    /// The Swift package with its compiled part for this platform, into target/swift/release/Incumbent
    Swift,
}

/// The tools that build packages for every kind of Linux, and the systems in which the packages are tried. Systems
/// other than Linux need none.
const LINUX: &[Tool] = match cfg!(target_os = "linux") {
    true => &[Tool::Packaging, Tool::System(System::Bullseye), Tool::System(System::Arm)],
    false => &[],
};
const NODE: &[Tool] = match cfg!(target_os = "linux") {
    true => &[Tool::Packaging, Tool::NpmCheckers, Tool::System(System::Bullseye), Tool::System(System::Arm)],
    false => &[Tool::NpmCheckers],
};
const KOTLIN: &[Tool] = match cfg!(target_os = "linux") {
    true => &[Tool::Packaging, Tool::Kotlin, Tool::System(System::Bullseye), Tool::System(System::Arm)],
    false => &[Tool::Kotlin],
};

impl Package {
    /// The tools that build it.
    pub(crate) fn tools(self) -> &'static [Tool] {
        match self {
            Self::Cli => LINUX,
            Self::Component | Self::Playground => &[Tool::Wasm],
            Self::Crates => &[],
            Self::Node => NODE,
            Self::Python => LINUX,
            Self::Kotlin => KOTLIN,
            Self::Swift => &[Tool::Swift],
            Self::Site => &[Tool::Wasm, Tool::Mdbook],
        }
    }

    /// Builds the package, and tries it. Returns its path.
    pub(crate) fn build(self, build: &Build) -> Result<PathBuf> {
        match self {
            Self::Cli => cli::package(build),
            Self::Component => {
                components(None)?;
                for (component, file) in released_components()? {
                    budgets::check(component, Made::Released, &file)?;
                }
                components_folder()
            }
            Self::Crates => crates::package(),
            Self::Kotlin => native::kotlin(build).and_then(|()| kotlin::package(build.kafka)),
            Self::Node => node::package(build),
            Self::Playground => playground(),
            Self::Python => python::package(build),
            Self::Site => site::build(),
            Self::Swift => swift::package(build.kafka),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let needed = |tool: &Tool| args.names.iter().any(|name| name.tools().contains(tool));
    let needed: Vec<Tool> = Tool::ALL.into_iter().filter(needed).collect();
    tools::all(&needed, &[])?;
    let build = Build { kafka: args.kafka, trial: args.trial, only: args.only.clone() };
    for name in &args.names {
        say!("{}", name.build(&build)?.display());
    }
    Ok(true)
}

/// A folder of `target/packages`.
pub(crate) fn folder(name: &str) -> Result<PathBuf> {
    let folder = shell::target().join("packages").join(name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Returns an empty folder of that name in `target/packages`, without the files of an earlier build.
fn fresh(name: &str) -> Result<PathBuf> {
    shell::fresh(&shell::target().join("packages").join(name))
}

/// Writes `SHA256SUMS` of the files in a folder, as `sha256sum --check` reads it.
fn sums(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    let mut lines = String::new();
    for file in files.iter().filter(|file| !file.ends_with("SHA256SUMS")) {
        let contents = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        // Writing to a string cannot fail.
        let _ = Sha256::digest(&contents).iter().try_for_each(|byte| write!(lines, "{byte:02x}"));
        let _ = writeln!(lines, "  {name}");
    }
    fs::write(folder.join("SHA256SUMS"), lines).context("cannot write the sums")
}

/// Builds the playground with its component. Returns the playground's folder.
fn playground() -> Result<PathBuf> {
    component("engine", None)?;
    playground::build()?;
    Ok(playground::site())
}

/// The worlds, each with the component that is released with it.
const WORLDS: [(&str, Artefact); 2] = [("engine", Artefact::Engine), ("campaigner", Artefact::Campaigner)];

/// The crate of the example application, which is composed with the campaigner.
const EXAMPLE: &str = "incumbent-example-worker";

/// Builds the components, and the example's, into `target/components`. `componentise` is the program that makes
/// components from modules, if it is already built.
pub(crate) fn components(componentise: Option<&Path>) -> Result<()> {
    for (world, _) in WORLDS {
        component(world, componentise)?;
    }
    let folder = components_folder()?;
    shell::progress("example of an application, composed with the campaigner");
    let bare = folder.join("example-worker-bare.wasm");
    make(&module(EXAMPLE, &[])?, &bare, componentise)?;
    let (plug, composed) = (folder.join("incumbent-campaigner.wasm"), folder.join("example-worker.wasm"));
    shell::run(componentiser(componentise).arg("plug").args([&bare, &plug, &composed]))
}

/// The components that are released, each with its file.
pub(crate) fn released_components() -> Result<Vec<(Artefact, PathBuf)>> {
    let folder = components_folder()?;
    Ok(WORLDS.map(|(world, component)| (component, folder.join(file(world)))).into())
}

/// Builds one of the components that are released. Returns its file.
pub(crate) fn released_component(wanted: Artefact) -> Result<PathBuf> {
    let found = WORLDS.into_iter().find(|(_, artefact)| *artefact == wanted);
    let (world, _) = found.with_context(|| format!("the {} is not a component", wanted.name()))?;
    component(world, None)?;
    Ok(components_folder()?.join(file(world)))
}

/// The file name of a world's component.
fn file(world: &str) -> String {
    format!("incumbent-{world}.wasm")
}

/// Builds the component of a world.
fn component(world: &str, componentise: Option<&Path>) -> Result<()> {
    shell::progress(format!("component of world {world}"));
    let module = module("incumbent-component", &["--no-default-features", "--features", world])?;
    make(&module, &components_folder()?.join(file(world)), componentise)
}

/// The folder of components.
fn components_folder() -> Result<PathBuf> {
    let folder = shell::target().join("components");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Builds a core module.
fn module(package: &str, features: &[&str]) -> Result<PathBuf> {
    // Builds the crate as a dynamic library only for this target, because other linkers do not accept the names of its
    // exports.
    let mut build = shell::cargo();
    build.args(["rustc", "--quiet", "--lib", "--crate-type", "cdylib", "--package", package]);
    build.args(["--profile", "component", "--target", WASM]);
    shell::run(build.args(features))?;
    let file = format!("{}.wasm", package.replace('-', "_"));
    Ok(shell::target().join(WASM).join("component").join(file))
}

fn make(module: &Path, component: &Path, componentise: Option<&Path>) -> Result<()> {
    shell::run(componentiser(componentise).arg("make").args([module, component]))
}

fn componentiser(built: Option<&Path>) -> std::process::Command {
    if let Some(program) = built {
        return shell::command(program);
    }
    let mut command = shell::cargo();
    command.args(["run", "--quiet", "--package", "incumbent-componentise", "--"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_what_sha256sum_checks() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "abc").unwrap();
        fs::write(folder.path().join("a"), "").unwrap();
        sums(folder.path()).unwrap();
        let expected = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n\
            ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n";
        assert_eq!(fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap(), expected);
        sums(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap(), expected, "not its own");
    }
}

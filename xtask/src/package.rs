//! `cargo xtask package NAME`: builds the released artefacts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::kotlin;
use crate::playground;
use crate::shell::{self, say};
use crate::swift;
use crate::tools::{self, Tool, WASM};

/// `cargo xtask package`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The package to build
    #[arg(value_enum)]
    name: Package,
    /// Build Kafka into the Kotlin or Swift library, for machines with this one's OpenSSL
    #[arg(long)]
    kafka: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Package {
    /// The WebAssembly components, into target/components
    Component,
    /// The Kotlin library for this platform, its sources, its documentation and its POM, into target/kotlin/release
    Kotlin,
    /// The Swift package with its compiled part for this platform, into target/swift/release/Incumbent
    Swift,
    /// The election playground, a page of static files, into target/playground
    Playground,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    match args.name {
        Package::Component => {
            tools::all(&[Tool::Wasm], &[])?;
            components(None)?;
        }
        Package::Kotlin => {
            tools::all(&[Tool::Kotlin], &[])?;
            let release = kotlin::package(args.kafka)?;
            say!("{}", release.display());
        }
        Package::Swift => {
            tools::all(&[Tool::Swift], &[])?;
            let package = swift::package(args.kafka)?;
            say!("{}", package.display());
        }
        Package::Playground => {
            tools::all(&[Tool::Wasm], &[])?;
            component("engine", None)?;
            playground::build()?;
        }
    }
    Ok(true)
}

/// The worlds, and the components that are released with them.
const WORLDS: [&str; 2] = ["engine", "campaigner"];

/// The example of an application, and its name when composed with a campaigner.
const EXAMPLE: &str = "incumbent-example-worker";

/// Builds the components, and the example's, into `target/components`; with the given program that makes components of
/// modules, where it has been built already.
pub(crate) fn components(componentise: Option<&Path>) -> Result<()> {
    for world in WORLDS {
        component(world, componentise)?;
    }
    let folder = folder()?;
    shell::progress("example of an application, composed with the campaigner");
    let bare = folder.join("example-worker-bare.wasm");
    make(&module(EXAMPLE, &[])?, &bare, componentise)?;
    let (plug, composed) = (folder.join("incumbent-campaigner.wasm"), folder.join("example-worker.wasm"));
    shell::run(componentiser(componentise).arg("plug").args([&bare, &plug, &composed]))
}

/// Builds the component of a world.
fn component(world: &str, componentise: Option<&Path>) -> Result<()> {
    shell::progress(format!("component of world {world}"));
    let module = module("incumbent-component", &["--no-default-features", "--features", world])?;
    make(&module, &folder()?.join(format!("incumbent-{world}.wasm")), componentise)
}

/// The folder of components.
fn folder() -> Result<PathBuf> {
    let folder = shell::target().join("components");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Builds a core module.
fn module(package: &str, features: &[&str]) -> Result<PathBuf> {
    // A library only here: elsewhere a linker does not accept the names of its exports.
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

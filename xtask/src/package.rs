//! `cargo xtask package NAME`: builds what is released.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::playground;
use crate::shell;
use crate::tools::{self, Tool, WASM};

/// `cargo xtask package`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to build
    #[arg(value_enum)]
    name: Package,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Package {
    /// The WebAssembly components, into target/components
    Component,
    /// The election playground, a page of static files, into target/playground
    Playground,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    match args.name {
        Package::Component => {
            tools::all(&[Tool::Wasm], &[])?;
            components()?;
        }
        Package::Playground => {
            tools::all(&[Tool::Wasm], &[])?;
            component("engine")?;
            playground::build()?;
        }
    }
    Ok(true)
}

/// The worlds, and the components that are released with them.
const WORLDS: [&str; 2] = ["engine", "campaigner"];

/// The example of an application, and what it is called when it is composed with a campaigner.
const EXAMPLE: &str = "incumbent-example-worker";

/// Builds the components, and the example's, into `target/components`.
pub(crate) fn components() -> Result<()> {
    for world in WORLDS {
        component(world)?;
    }
    let folder = folder()?;
    shell::progress("example of an application, composed with the campaigner");
    let bare = folder.join("example-worker-bare.wasm");
    make(&module(EXAMPLE, &[])?, &bare)?;
    let (plug, composed) = (folder.join("incumbent-campaigner.wasm"), folder.join("example-worker.wasm"));
    shell::run(componentise().arg("plug").args([&bare, &plug, &composed]))
}

/// Builds the component of a world.
fn component(world: &str) -> Result<()> {
    shell::progress(format!("component of world {world}"));
    let module = module("incumbent-component", &["--no-default-features", "--features", world])?;
    make(&module, &folder()?.join(format!("incumbent-{world}.wasm")))
}

/// Where components go.
fn folder() -> Result<PathBuf> {
    let folder = shell::target().join("components");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Builds a core module.
fn module(package: &str, features: &[&str]) -> Result<PathBuf> {
    // Only here a library of its own: elsewhere the names of its exports are none that a linker takes.
    let mut build = shell::cargo();
    build.args(["rustc", "--quiet", "--lib", "--crate-type", "cdylib", "--package", package]);
    build.args(["--profile", "component", "--target", WASM]);
    shell::run(build.args(features))?;
    let file = format!("{}.wasm", package.replace('-', "_"));
    Ok(shell::target().join(WASM).join("component").join(file))
}

fn make(module: &Path, component: &Path) -> Result<()> {
    shell::run(componentise().arg("make").args([module, component]))
}

fn componentise() -> std::process::Command {
    let mut command = shell::cargo();
    command.args(["run", "--quiet", "--package", "incumbent-componentise", "--"]);
    command
}

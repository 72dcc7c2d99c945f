//! The election playground: a page of static files, with the engine component as JavaScript.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::shell;

/// Builds the page from the engine component in `target/components`.
pub(crate) fn build() -> Result<()> {
    install()?;
    shell::progress("the election playground");
    let engine = shell::target().join("components/incumbent-engine.wasm");
    shell::run(command("node").arg("build.mjs").arg(engine).arg(site()))
}

/// The folder of the built page, ready to be served.
pub(crate) fn site() -> PathBuf {
    shell::target().join("playground")
}

/// Returns a command that runs a program in the folder of the page's source.
pub(crate) fn command(program: &str) -> Command {
    let mut command = shell::command(program);
    command.current_dir(folder());
    command
}

pub(crate) fn folder() -> PathBuf {
    shell::root().join("playground")
}

/// Installs the packages that build and test the page.
fn install() -> Result<()> {
    if shell::on_path("node").is_none() || shell::on_path("npm").is_none() {
        bail!("there is no Node with npm; install Node 20 or newer (https://nodejs.org)");
    }
    let modified = |name: &str| fs::metadata(folder().join(name)).and_then(|file| file.modified()).ok();
    if modified("node_modules/.package-lock.json") < modified("package-lock.json") {
        shell::progress("npm install, for the playground");
        shell::run(command("npm").args(["install", "--no-save", "--no-audit", "--no-fund", "--silent"]))?;
    }
    Ok(())
}

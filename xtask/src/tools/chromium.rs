//! Chromium, for the tests of the playground: an installed one, or Debian's.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::shell;

/// Its names in distributions.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Returns its path, after installing it where it is missing.
pub(crate) fn provide() -> Result<PathBuf> {
    if let Some(found) = installed() {
        return Ok(found);
    }
    if shell::on_path("apt-get").is_none() {
        bail!("there is no chromium; install it (https://www.chromium.org)");
    }
    shell::progress("apt-get install chromium");
    let apt = |words: &[&str]| {
        let mut command = shell::command("apt-get");
        shell::output(command.env("DEBIAN_FRONTEND", "noninteractive").args(words))
    };
    let install = || apt(&["install", "--yes", "--no-install-recommends", "chromium"]);
    // Package lists of today need not be fetched again.
    if install().is_err() {
        apt(&["update"]).and_then(|_| install()).context(
            "there is no chromium, and it cannot be installed; install it by other means (https://www.chromium.org)",
        )?;
    }
    installed().context("apt-get has installed chromium, but it is not on the path")
}

fn installed() -> Option<PathBuf> {
    NAMES.into_iter().find_map(shell::on_path)
}

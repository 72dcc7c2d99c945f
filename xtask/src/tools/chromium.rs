//! Chromium, for the tests of the playground: an installed one, or Debian's.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::debian;
use crate::shell;

/// Its names in distributions.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Returns Chromium's path, after installing Chromium if it is missing.
pub(crate) fn provide() -> Result<PathBuf> {
    if let Some(found) = installed() {
        return Ok(found);
    }
    debian::install("chromium").context("there is no chromium; install it (https://www.chromium.org)")?;
    installed().context("apt-get has installed chromium, but it is not on the path")
}

fn installed() -> Option<PathBuf> {
    NAMES.into_iter().find_map(shell::on_path)
}

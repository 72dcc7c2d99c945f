//! What links the command line statically on Linux: Rust's standard library for musl, and musl's compiler for C.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::cargo_tools::provide_target;
use super::debian;
use crate::shell;

/// The target of static programs on this machine.
pub(crate) fn musl() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// Finds or installs both; elsewhere than on Linux nothing is linked so.
pub(super) fn provide() -> Result<(PathBuf, String)> {
    if !cfg!(target_os = "linux") {
        return Ok((PathBuf::new(), "no musl outside Linux".into()));
    }
    // Debian's package, and musl's own build.
    if shell::on_path("musl-gcc").is_none() {
        debian::install("musl-tools")
            .context("there is no musl-gcc; install musl's tools (https://musl.libc.org)")?;
    }
    provide_target(&musl())
}

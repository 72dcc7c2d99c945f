//! Valgrind, which counts instructions: an installed one, or Debian's.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::debian;
use crate::shell;

/// True if Valgrind runs on this machine and the budgets apply to it: on another processor the same program has other
/// instructions.
pub(crate) const COUNTS_HERE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

pub(crate) fn provide() -> Result<(PathBuf, String)> {
    let installed = || shell::on_path("valgrind");
    let program = match installed() {
        Some(program) => program,
        None => {
            debian::install("valgrind").context("there is no valgrind; install it (https://valgrind.org)")?;
            installed().context("apt-get has installed valgrind, but it is not on the path")?
        }
    };
    // "valgrind-3.19.0"
    let version = shell::output(shell::command(&program).arg("--version"))?;
    Ok((program, version.trim().replace('-', " ")))
}

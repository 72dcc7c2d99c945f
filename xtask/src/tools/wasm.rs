//! Rust's standard library for `wasm32-unknown-unknown`, on which the core must build.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::shell;

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

pub(super) fn provide() -> Result<(PathBuf, String)> {
    if let Some(found) = installed()? {
        return Ok((found, TARGET.into()));
    }
    shell::progress(format!("rustup target add {TARGET}"));
    shell::output(shell::command("rustup").args(["target", "add", TARGET])).with_context(|| {
        format!("{TARGET}: install rustup (https://rustup.rs), or the target by other means")
    })?;
    match installed()? {
        Some(found) => Ok((found, TARGET.into())),
        None => bail!("{TARGET}: rustup has added it, but not to the toolchain in use; see `rustup show`"),
    }
}

fn installed() -> Result<Option<PathBuf>> {
    let folder =
        shell::output(shell::command("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    let folder = PathBuf::from(folder.trim());
    let has_core = |files: std::fs::ReadDir| {
        files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libcore-"))
    };
    Ok(folder.read_dir().is_ok_and(has_core).then_some(folder))
}

//! The programs of `tests/interop/go`, which the Rust side's interop tests run.

use std::path::PathBuf;

use anyhow::{Context, Result};
use incumbent_testkit::tools;

use crate::shell;

/// Builds them each time: Go knows what has changed, and is quick where nothing has.
pub(super) fn provide() -> Result<(PathBuf, String)> {
    let go = shell::on_path("go").context(
        "the programs of tests/interop/go: install Go 1.26 or newer (https://go.dev/dl), or say `--without go`",
    )?;
    let folder = tools::go_programs();
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    shell::run(
        shell::command(&go)
            .arg("build")
            .arg("-o")
            .arg(&folder)
            .arg("./cmd/...")
            .current_dir(shell::root().join("tests/interop/go")),
    )?;
    let version = shell::output(shell::command(go).args(["env", "GOVERSION"]))?;
    Ok((folder, version.trim().replacen("go", "go ", 1)))
}

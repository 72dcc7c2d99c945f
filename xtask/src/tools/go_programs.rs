//! The programs of `tests/interop/go` and `tests/interop/etcd`, which the Rust side's tests run.

use std::path::PathBuf;

use anyhow::{Context, Result};
use incumbent_testkit::tools;

use crate::shell;

/// The programs on the client of NATS.
pub(super) fn nats() -> Result<(PathBuf, String)> {
    provide("tests/interop/go", &["./cmd/..."], tools::go_programs())
}

/// The programs on the client of etcd. The server in the same module is a [tool](super::etcd) of its own.
pub(super) fn etcd() -> Result<(PathBuf, String)> {
    provide("tests/interop/etcd", &["./cmd/candidate", "./cmd/handover"], tools::go_etcd_programs())
}

/// Builds them each time: Go knows what has changed, and is quick where nothing has.
fn provide(source: &str, packages: &[&str], folder: PathBuf) -> Result<(PathBuf, String)> {
    let go = shell::on_path("go").with_context(|| {
        format!(
            "the programs of {source}: install Go 1.26 or newer (https://go.dev/dl), or say `--without go`"
        )
    })?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    shell::run(
        shell::command(&go)
            .arg("build")
            .arg("-o")
            .arg(&folder)
            .args(packages)
            .current_dir(shell::root().join(source)),
    )?;
    let version = shell::output(shell::command(go).args(["env", "GOVERSION"]))?;
    Ok((folder, version.trim().replacen("go", "go ", 1)))
}

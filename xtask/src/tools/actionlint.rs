//! actionlint, which checks the workflows in `.github/workflows`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use incumbent_testkit::tools::folder;

use crate::shell;

const MODULE: &str = "github.com/rhysd/actionlint/cmd/actionlint";
const VERSION: &str = "1.7.12";

/// Finds or installs exactly this version, because another version may have other rules.
pub(super) fn provide() -> Result<(PathBuf, String)> {
    let program = program();
    if reported(&program).is_err() {
        let go = shell::on_path("go").with_context(|| {
            format!(
                "actionlint {VERSION}: install Go 1.26 or newer (https://go.dev/dl), or pass `--without go`"
            )
        })?;
        let folder = program.parent().context("a program is in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        shell::progress(format!("go install {MODULE}@v{VERSION}"));
        let mut install = shell::command(go);
        install.arg("install").arg(format!("{MODULE}@v{VERSION}"));
        // Runs outside of the workspace's folders, so that no go.mod interferes.
        shell::run(install.env("GOBIN", folder).env_remove("GOFLAGS").current_dir("/"))?;
        reported(&program)?;
    }
    Ok((program, format!("actionlint {VERSION}")))
}

/// The path at which actionlint is installed.
pub(crate) fn program() -> PathBuf {
    folder().join("actionlint").join("actionlint")
}

/// Fails unless the program has the required version.
fn reported(program: &std::path::Path) -> Result<()> {
    let text = shell::output(shell::command(program).arg("-version"))?;
    let version = text.lines().next().unwrap_or_default().trim_start_matches('v');
    ensure!(version == VERSION, "{} is actionlint {version}, not {VERSION}", program.display());
    Ok(())
}

//! Debian's packages, for tools that the tests need and the machine lacks.

use anyhow::{Context, Result, bail};

use crate::shell;

/// Installs a package if the system has apt; fails elsewhere.
pub(super) fn install(package: &str) -> Result<()> {
    if shell::on_path("apt-get").is_none() {
        bail!("this system is not Debian");
    }
    shell::progress(format!("apt-get install {package}"));
    let apt = |words: &[&str]| {
        let mut command = shell::command("apt-get");
        // Waits, because another installation may be in progress.
        command.args(["-o", "DPkg::Lock::Timeout=300"]);
        shell::output(command.env("DEBIAN_FRONTEND", "noninteractive").args(words))
    };
    let install = || apt(&["install", "--yes", "--no-install-recommends", package]);
    // Fetches the lists of packages only if the installation fails, because they may be recent enough.
    if install().is_err() {
        apt(&["update"])
            .and_then(|_| install())
            .with_context(|| format!("apt-get cannot install {package}"))?;
    }
    Ok(())
}

//! etcd, in the versions that the tests use.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use incumbent_testkit::tools::{self, EtcdVersion};

use crate::shell;

/// Finds or installs a version of etcd.
pub(super) fn provide(version: EtcdVersion) -> Result<(PathBuf, String)> {
    if tools::etcd(version).is_err() {
        let folder = tools::folder().join("etcd").join(version.number());
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        match version {
            EtcdVersion::Newest => built_by_go(&folder),
            EtcdVersion::V3_4 => debian_packages(&folder),
        }
        .with_context(|| format!("etcd {version}; or put an etcd into {}", folder.display()))?;
    }
    let program = tools::etcd(version).map_err(anyhow::Error::msg)?;
    let reported = shell::output(shell::command(&program).arg("--version"))?;
    let number = reported.lines().next().and_then(|line| line.strip_prefix("etcd Version: "));
    ensure!(number == Some(version.number()), "{} is not etcd {version}", program.display());
    Ok((program, format!("etcd {version}")))
}

/// Builds the server from the `main` in `lab/interop/etcd`, because the replacements in the server's Go module rule out
/// `go install`.
fn built_by_go(folder: &Path) -> Result<()> {
    let go = shell::on_path("go").context("install Go 1.26 or newer (https://go.dev/dl)")?;
    shell::progress("go build etcd");
    let program = folder.join("etcd");
    shell::run(
        shell::command(go)
            .arg("build")
            .arg("-o")
            .arg(program)
            .arg("./cmd/etcd")
            .current_dir(shell::root().join("lab/interop/etcd")),
    )
}

/// Unpacks Debian's packages instead of installing them. So no service is started, and root is not needed if the lists
/// of packages exist.
fn debian_packages(folder: &Path) -> Result<()> {
    if shell::on_path("apt-get").is_none() || shell::on_path("dpkg-deb").is_none() {
        bail!("this system is not Debian");
    }
    shell::progress("Debian's packages of etcd");
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let apt = |words: &[&str]| {
        let mut command = shell::command("apt-get");
        shell::output(command.env("DEBIAN_FRONTEND", "noninteractive").args(words).current_dir(&scratch))
    };
    let download = || apt(&["download", "etcd-server", "etcd-client"]);
    // A new machine has no lists of packages yet, and the lists of an old one may name packages that no longer exist.
    if download().is_err() {
        apt(&["update"])
            .and_then(|_| download())
            .context("apt-get cannot download etcd-server and etcd-client")?;
    }
    for file in fs::read_dir(&scratch)? {
        let path = file?.path();
        if path.extension().is_some_and(|end| end == "deb") {
            shell::output(shell::command("dpkg-deb").arg("-x").arg(path).arg(scratch.path()))?;
        }
    }
    for program in ["etcd", "etcdctl"] {
        fs::copy(scratch.path().join("usr/bin").join(program), folder.join(program))
            .with_context(|| format!("Debian's packages have no {program}"))?;
    }
    Ok(())
}

//! The Swift toolchain, in a folder with its own Debian, because the oldest Debian with Swift is newer than that of
//! most machines.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::debian;
use crate::{shell, swift};

/// The release of Debian whose Swift is installed.
const RELEASE: &str = "trixie";

/// The toolchain, and what it needs to compile and link.
const PACKAGES: [&str; 6] =
    ["swiftlang", "libc6-dev", "libstdc++-14-dev", "binutils", "ca-certificates", "git"];

/// Finds or installs Swift in `target/tools/swift`.
pub(super) fn provide() -> Result<(PathBuf, String)> {
    if cfg!(target_os = "macos") {
        let swift = shell::on_path("swift").context("Swift is missing: install Xcode")?;
        let reported = shell::output(shell::command(&swift).arg("--version"))?;
        return Ok((swift, version(&reported)?));
    }
    let folder = swift::system();
    let marker = folder.join("installed");
    if !marker.is_file() {
        install().context("Swift is missing; install it as root on a Debian, or pass `--without swift`")?;
    }
    let version = fs::read_to_string(&marker).with_context(|| format!("cannot read {}", marker.display()))?;
    Ok((folder, format!("Swift {}", version.trim())))
}

fn install() -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "only root can change into another system's folder");
    if shell::on_path("debootstrap").is_none() {
        debian::install("debootstrap")?;
    }
    let folder = swift::system();
    // Removes what an earlier attempt left. No mounts are left in it, because every mount is in a namespace that ends
    // with its command.
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    shell::progress("debootstrap, for Swift");
    // The program mounts the system's folders itself.
    let mut debootstrap = shell::command("unshare");
    debootstrap.args(["--mount", "debootstrap", "--variant=minbase", RELEASE]).arg(&folder);
    shell::output(&mut debootstrap)?;
    shell::progress("apt-get install swiftlang");
    fs::copy("/etc/resolv.conf", folder.join("etc/resolv.conf")).context("cannot copy /etc/resolv.conf")?;
    let mut apt = swift::inside(&PathBuf::from("/"), "apt-get")?;
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt.args(["install", "--yes", "--no-install-recommends"]).args(PACKAGES);
    shell::output(&mut apt)?;
    shell::output(swift::inside(&PathBuf::from("/"), "apt-get")?.arg("clean"))?;
    let reported = shell::output(swift::inside(&PathBuf::from("/"), "swift")?.arg("--version"))?;
    fs::write(folder.join("installed"), version(&reported)?).context("cannot write what was installed")
}

/// Finds the version in a line such as `Swift version 6.0.3 (swift-6.0.3-RELEASE)`.
fn version(reported: &str) -> Result<String> {
    let version = reported.lines().find_map(|line| line.split_once("Swift version "));
    let version = version.and_then(|(_, rest)| rest.split(' ').next());
    version.map(str::to_owned).context("Swift reports no version")
}

//! Small systems in folders of their own, in which packages are tried: one with an older C library, and one with
//! another processor.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use incumbent_testkit::tools::folder;

use super::debian;
use crate::shell;

/// A system in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// Debian 11: glibc 2.31, and also musl; its CPython is older than the oldest supported one.
    Bullseye,
    /// Debian 12 for 64-bit ARM, which QEMU runs, with CPython 3.11, and musl.
    Arm,
}

/// Creates what a system's folder lacks, and runs a command there, in a namespace that ends with the command.
const ENTER: &str = r#"
system=$1; shift
mount --rbind /dev "$system/dev"
mount -t proc proc "$system/proc"
exec chroot "$system" "$@"
"#;

/// The path of the emulator in a system's folder.
const EMULATOR: &str = "/qemu-aarch64-static";

impl System {
    /// The name of the system and of its folder.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bullseye => "bullseye",
            Self::Arm => "bookworm-arm64",
        }
    }

    /// The folder that is the system's root.
    pub(crate) fn root(self) -> PathBuf {
        folder().join("systems").join(self.name())
    }

    /// Finds or installs it.
    pub(super) fn provide(self) -> Result<(PathBuf, String)> {
        let root = self.root();
        if !root.join("installed").is_file() {
            self.install().with_context(|| {
                format!("the system {} is missing; install it as root on a Debian", self.name())
            })?;
        }
        Ok((root, self.name().into()))
    }

    fn install(self) -> Result<()> {
        ensure!(rustix::process::geteuid().is_root(), "only root can change into another system's folder");
        for (program, package) in [("debootstrap", "debootstrap"), (&EMULATOR[1..], "qemu-user-static")] {
            if shell::on_path(program).is_none() {
                debian::install(package)?;
            }
        }
        let root = self.root();
        // Removes what an earlier attempt left. No mounts are left in it, because every mount is in a namespace that
        // ends with its command.
        shell::fresh(&root)?;
        shell::progress(format!("debootstrap, for {}", self.name()));
        let mut debootstrap = shell::command("unshare");
        debootstrap.args(["--mount", "debootstrap", "--variant=minbase"]);
        match self {
            Self::Bullseye => {
                shell::output(debootstrap.args(["--include=musl", "bullseye"]).arg(&root))?;
            }
            Self::Arm => {
                debootstrap.args(["--foreign", "--arch=arm64", "--include=python3,musl", "bookworm"]);
                shell::output(debootstrap.arg(&root))?;
                unpack(&root)?;
                let emulator = shell::on_path(&EMULATOR[1..]).context("there is no qemu-aarch64-static")?;
                fs::copy(&emulator, root.join(&EMULATOR[1..])).context("cannot copy the emulator")?;
            }
        }
        fs::write(root.join("installed"), self.name()).context("cannot write what was installed")
    }

    /// A command in it.
    pub(crate) fn command(self, program: &str) -> Command {
        let mut command = shell::command("unshare");
        command.args(["--mount", "sh", "-ec", ENTER, "sh"]).arg(self.root());
        if self == Self::Arm {
            command.arg(EMULATOR);
        }
        command.arg(program).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
        command.env_remove("TMPDIR");
        command
    }

    /// Makes an empty folder in the system, and returns its path outside.
    pub(crate) fn fresh(self, name: &str) -> Result<PathBuf> {
        shell::fresh(&self.root().join(name))
    }
}

/// Unpacks one of Debian's archives into a system whose `/lib` is a link.
const UNPACK: &str = r#"dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2""#;

/// Unpacks the downloaded packages instead of installing them: their install scripts would run programs for another
/// processor.
fn unpack(root: &Path) -> Result<()> {
    let archives = root.join("var/cache/apt/archives");
    for archive in fs::read_dir(&archives).with_context(|| format!("cannot read {}", archives.display()))? {
        let archive = archive?.path();
        if archive.extension().is_some_and(|end| end == "deb") {
            shell::output(shell::command("sh").args(["-ec", UNPACK, "sh"]).arg(&archive).arg(root))?;
        }
    }
    Ok(())
}

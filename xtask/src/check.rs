//! `cargo xtask check [PLATFORM…]`: shows that the code compiles for macOS and Windows, without a warning. Nothing is
//! linked, and nothing runs.

use anyhow::Result;

use crate::shell;
use crate::tools::{self, Tool, packaging};

/// `cargo xtask check`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The platforms to check for; all if none is named
    #[arg(value_enum, value_name = "PLATFORM")]
    platforms: Vec<Platform>,
}

/// A platform on which packages or crates are used, but on which the tests do not usually run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Platform {
    /// macOS on ARM
    #[value(name = "aarch64-apple-darwin")]
    MacArm,
    /// macOS on x86-64
    #[value(name = "x86_64-apple-darwin")]
    MacX64,
    /// Windows on x86-64
    #[value(name = "x86_64-pc-windows-gnu")]
    Windows,
}

/// The crates that other programs use, checked for every platform.
const LIBRARIES: [&str; 5] =
    ["incumbent-core", "incumbent", "incumbent-uniffi", "incumbent-python", "incumbent-wasmtime"];

/// The crates that are checked only for Unix. The command line and these tasks run only there. The addon's build for
/// Windows would need a library of Node.
const UNIX: [&str; 4] = ["incumbent-cli", "incumbent-rig", "incumbent-node", "xtask"];

impl Platform {
    pub(crate) const ALL: [Self; 3] = [Self::MacArm, Self::MacX64, Self::Windows];

    /// The target as rustc names it.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::MacArm => "aarch64-apple-darwin",
            Self::MacX64 => "x86_64-apple-darwin",
            Self::Windows => "x86_64-pc-windows-gnu",
        }
    }

    /// The target as zig names it.
    pub(crate) fn zig(self) -> &'static str {
        match self {
            Self::MacArm => "aarch64-macos",
            Self::MacX64 => "x86_64-macos",
            Self::Windows => "x86_64-windows-gnu",
        }
    }

    /// Checks the crates with their default features, because Kafka's client can be built only for the machine's own
    /// system. Returns true if they compile without a warning.
    pub(crate) fn check(self) -> Result<bool> {
        shell::progress(format!("clippy for {}", self.triple()));
        let mut cargo = shell::cargo();
        cargo.args(["clippy", "--quiet", "--locked", "--target", self.triple()]);
        let unix: &[&str] = if self == Self::Windows { &[] } else { &UNIX };
        for package in LIBRARIES.iter().chain(unix) {
            cargo.args(["--package", package]);
        }
        packaging::c_toolchain(&mut cargo, self.triple());
        shell::succeeds(cargo.args(["--", "-Dwarnings"]))
    }
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    tools::all(&[Tool::Platforms], &[])?;
    let platforms = if args.platforms.is_empty() { &Platform::ALL[..] } else { &args.platforms };
    let mut is_clean = true;
    for platform in platforms {
        is_clean &= platform.check()?;
    }
    Ok(is_clean)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use clap::ValueEnum as _;

    use super::*;
    use crate::package::linux::Linux;

    #[test]
    fn a_platform_is_named_as_rustc_names_its_target() {
        for platform in Platform::ALL {
            assert_eq!(platform.to_possible_value().unwrap().get_name(), platform.triple());
        }
    }

    #[test]
    fn every_target_of_the_npm_package_is_built_for_linux_or_checked() {
        let manifest = fs::read_to_string(shell::root().join("node/package.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        let targets = manifest["napi"]["targets"].as_array().unwrap();
        let targets: BTreeSet<&str> = targets.iter().map(|target| target.as_str().unwrap()).collect();
        let macs = [Platform::MacArm, Platform::MacX64].map(Platform::triple);
        assert_eq!(targets, Linux::ALL.map(Linux::triple).into_iter().chain(macs).collect());
    }
}

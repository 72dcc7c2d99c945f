//! `cargo xtask hunt`: builds the simulator's hunt, optimised and with every assertion, and becomes that program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::shell;

/// The program. Below are its package, and the profile and the feature with which it is built.
const PROGRAM: &str = "incumbent-hunt";
const PACKAGE: &str = "incumbent-sim";
const PROFILE: &str = "hunt";
const FEATURE: &str = "hunt";

/// The arguments of `cargo xtask hunt`, which the program itself parses, including `--help`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    words: Vec<OsString>,
}

/// The path of the program.
pub(crate) fn program() -> PathBuf {
    shell::target().join(PROFILE).join(PROGRAM)
}

/// Builds the program. Returns its path.
pub(crate) fn build() -> Result<PathBuf> {
    let mut command = shell::cargo();
    command.args(["build", "--package", PACKAGE, "--bin", PROGRAM, "--features", FEATURE]);
    shell::run(command.args(["--profile", PROFILE]))?;
    Ok(program())
}

/// The exit code of a hunt that cannot start. A hunt that found something ends with 1.
const NOT_MADE: u8 = 2;

/// Replaces this process by the hunt. Returns only if the hunt cannot start.
pub(crate) fn exit_code(args: &Args) -> ExitCode {
    let error = match build() {
        // The program replaces this process, so signals and its exit code need no forwarding.
        Ok(program) => anyhow::Error::from(Command::new(program).args(&args.words).exec()),
        Err(error) => error,
    };
    eprintln!("error: {error:#}");
    ExitCode::from(NOT_MADE)
}

//! The project's tasks: `cargo xtask tools | test | words | package | bench`.
//!
//! Each does its own set-up, so a machine with Rust, and Go for the interop tests, is enough.

mod bench;
mod kotlin;
mod notices;
mod package;
mod playground;
mod python;
mod shell;
mod swift;
mod test;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Find or install what the tests need, and print the versions
    Tools(tools::Args),
    /// Run the tests; the last line is `N passed, N failed`
    Test(test::Args),
    /// Build what is released, into `target`
    Package(package::Args),
    /// Count the words that this project does without, and lower their limits
    Words(test::words::Args),
    /// Measure, and compare with the goals
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().chore {
        Chore::Tools(args) => tools::run(&args),
        Chore::Test(args) => test::run(&args),
        Chore::Words(args) => test::words::chore(&args),
        Chore::Package(args) => package::run(&args),
        Chore::Bench(args) => bench::run(&args),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

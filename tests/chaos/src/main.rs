//! `incumbent-chaos`: elections of real processes on real servers of NATS and etcd, under faults drawn from a seed.
//!
//! ```text
//!   script ── the order of the faults, from a seed
//!   controller ── runs it
//!     └── environment ── servers, proxies, candidates, an operator; injects and repairs
//!           candidate ── its own process, which campaigns and logs its events and answers
//!   history ── all logs, in order
//!     └── check ── finds what must not be in them
//!   report ── the figures
//! ```
//!
//! It uses nothing but the public API of the crate `incumbent`. The checks read the files that its
//! processes wrote, one each, on the clock that all processes of a machine share.
#![cfg(unix)]

mod candidate;
mod check;
mod controller;
mod environment;
mod history;
mod kind;
mod log;
mod report;
mod run;
mod scenario;
mod script;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Elections of real processes on real servers, one nats-server, a cluster of three, and three members of etcd, under
/// faults drawn from a seed; fails if two ever led at once, if a token did not grow, or if a vacancy has no
/// explanation.
#[derive(Debug, Parser)]
#[command(name = "incumbent-chaos", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::Args,
}

const EXAMPLES: &str = "Examples:
  incumbent-chaos                          every run, about five minutes in each store
  incumbent-chaos --minutes 60 --seed 7    an hour, with another script
  incumbent-chaos --only cluster           three nats-servers only
  incumbent-chaos --store etcd             etcd only
  incumbent-chaos --list                   the faults, and what each is
  incumbent-chaos check FOLDER             judge the files of an earlier run again";

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge the files of an earlier run again
    Check {
        /// The folder that a failed run left
        folder: PathBuf,
    },
    /// One candidate
    #[command(hide = true)]
    Candidate {
        /// The process of the controller; the candidate ends with it
        parent: u32,
    },
}

fn main() -> ExitCode {
    let Cli { command, run } = Cli::parse();
    let outcome: Result<bool> = match command {
        Some(Command::Candidate { parent }) => candidate::run(parent).map(|()| true),
        Some(Command::Check { folder }) => run::check_again(&folder),
        None => run::run(&run),
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}

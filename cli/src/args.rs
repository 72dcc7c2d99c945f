//! The command line as a whole.

use clap::{ArgAction, Parser, Subcommand};

use crate::{demo, exit, init, observe, run, sim, status};

/// Leader election on the infrastructure you already run
///
/// Of the candidates of an election at most one leads at any time.
/// Where they meet is a store, named by a URL:
///
///   sqlite:elections.db        the processes of this machine
///   nats://HOST:4222/BUCKET    a NATS JetStream key-value bucket
///   memory:                    one process, for trying things out
///
/// `incumbent demo` shows an election at work, and needs nothing set up.
#[derive(Debug, Parser)]
#[command(name = "incumbent", version, verbatim_doc_comment, after_help = exit::HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Write JSON, a line for each thing told; errors too
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Log to the standard error; -vv and -vvv for more. The variable INCUMBENT_LOG takes a filter, such as
    /// incumbent=debug
    #[arg(short, long, global = true, help_heading = "Output", action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Box<demo::Args>),
    Run(Box<run::Args>),
    Status(status::Args),
    Observe(observe::Args),
    Init(init::Args),
    Sim(sim::Args),
    #[command(name = "demo-candidate", hide = true)]
    Candidate(demo::CandidateArgs),
    #[command(name = "run-guard", hide = true)]
    Guard(run::GuardArgs),
    #[command(name = "run-exec", hide = true)]
    Exec(run::ExecArgs),
}

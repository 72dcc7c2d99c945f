//! The command line as a whole.

use std::path::PathBuf;

use clap::{ArgAction, CommandFactory as _, Parser, Subcommand};

#[cfg(feature = "demo")]
use crate::demo;
use crate::{doctor, exit, init, observe, operate, pages, permissions, run, status, top};

/// Leader election on the infrastructure you already run
///
/// At most one candidate of an election leads at any time. When it resigns,
/// crashes, hangs or is cut off, another leads as soon as that is safe.
/// Candidates meet in a store, named by a URL:
///
///   sqlite:elections.db        the processes of this machine
///   nats://HOST:4222/BUCKET    a NATS JetStream key-value bucket
///   etcd://HOST:2379/PREFIX    keys of an etcd cluster
///   kafka://HOST:9092/PREFIX   consumer groups of Kafka, if it is built in
///   memory:                    one process, for trying things out
///
/// To see it at work, with nothing set up:
///
///   incumbent demo
///
/// To have a job done by one machine of many at a time:
///
///   export INCUMBENT_STORE=nats://127.0.0.1:4222/ELECTIONS
///   incumbent init --lease 15s                       once
///   incumbent run --key nightly-report -- ./report   on each machine
///   incumbent status --all                           who leads
///   incumbent doctor                                 whether the store is up to it
#[derive(Debug, Parser)]
#[command(name = "incumbent", version, long_version = long_version(), verbatim_doc_comment, after_help = exit::HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Write JSON, one line for each event, answer or error
    #[arg(long, global = true, help_heading = OF_ALL)]
    pub(crate) json: bool,
    /// Read settings from this file instead of incumbent.toml in the working directory
    #[arg(long, global = true, help_heading = OF_ALL, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Log to the standard error; -vv and -vvv for more. The variable INCUMBENT_LOG takes a filter, such as
    /// incumbent=debug
    #[arg(short, long, global = true, help_heading = OF_ALL, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The help heading of the options that every command takes.
const OF_ALL: &str = "Of every command";

/// The version, and the stores that this build has.
fn long_version() -> String {
    format!("{}\nstores: {}", env!("CARGO_PKG_VERSION"), incumbent::store::BUILT_IN.join(", "))
}

impl Cli {
    /// The whole command line: every page of help ends with the exit codes of its command.
    pub(crate) fn whole() -> clap::Command {
        Self::command().mut_subcommands(|command| {
            if command.is_hide_set() {
                return command;
            }
            let said = command.get_after_long_help().or(command.get_after_help());
            let said = said.map(|said| format!("{said}\n\n")).unwrap_or_default();
            let codes = exit::page(command.get_name());
            command.after_long_help(said + &codes)
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[cfg(feature = "demo")]
    Demo(Box<demo::Args>),
    Run(Box<run::Args>),
    Status(status::Args),
    Observe(observe::Args),
    Top(top::Args),
    #[command(name = "hand-over")]
    HandOver(operate::hand_over::Args),
    Evict(operate::evict::Args),
    #[command(name = "accept-reset")]
    AcceptReset(operate::accept_reset::Args),
    Init(init::Args),
    Doctor(doctor::Args),
    Permissions(permissions::Args),
    Completions(pages::CompletionsArgs),
    Man(pages::ManArgs),
    #[cfg(feature = "demo")]
    #[command(name = "demo-candidate", hide = true)]
    Candidate(demo::CandidateArgs),
    #[command(name = "run-guard", hide = true)]
    Guard(run::GuardArgs),
    #[command(name = "run-cleanup", hide = true)]
    Cleanup(run::CleanupArgs),
    #[command(name = "run-exec", hide = true)]
    Exec(run::ExecArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: &str = include_str!("../../bindings/schema/settings.toml");
    const OF_STORES: [&str; 4] = [
        include_str!("../../stores/sqlite/schema.toml"),
        include_str!("../../stores/nats/schema.toml"),
        include_str!("../../stores/etcd/schema.toml"),
        include_str!("../../stores/kafka/schema.toml"),
    ];

    /// The name and meaning of every setting in this part of a schema that is an option.
    fn rows(schema: &str, part: &str) -> Vec<(String, String)> {
        let schema: toml::Table = schema.parse().unwrap();
        let rows = schema.get(part).and_then(toml::Value::as_array).into_iter().flatten();
        let text =
            |row: &toml::Value, key: &str| row.get(key).and_then(toml::Value::as_str).unwrap().to_owned();
        let is_option = |row: &&toml::Value| row.get("is_no_option").is_none();
        rows.filter(is_option).map(|row| (text(row, "name"), text(row, "meaning"))).collect()
    }

    #[test]
    fn every_setting_of_a_candidate_and_of_a_preparation_is_an_option_with_the_schemas_words() {
        let whole = Cli::whole();
        let init = OF_STORES.map(|schema| rows(schema, "init")).concat();
        let mut seen = 0;
        for (command, settings) in [
            ("run", rows(SHARED, "candidate")),
            ("run", rows(SHARED, "store")),
            ("init", rows(SHARED, "init")),
            ("init", init),
        ] {
            let command = whole.find_subcommand(command).unwrap();
            for (name, meaning) in settings {
                let long = name.replace('_', "-");
                let option = command.get_arguments().find(|option| option.get_long() == Some(&long));
                let help = option.and_then(|option| option.get_help()).map(ToString::to_string);
                // The meaning begins in lower case after the name of a store.
                assert!(
                    help.is_some_and(|help| help.contains(&meaning[1..])),
                    "{} --{long}",
                    command.get_name()
                );
                seen += 1;
            }
        }
        assert!(seen >= 20, "{seen} options");
    }
}

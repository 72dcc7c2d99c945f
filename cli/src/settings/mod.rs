//! Settings: from the command line, else the environment, else a file.
//!
//! Every option of every command is a setting, by its long name: `--fail-fast` is `INCUMBENT_FAIL_FAST` and
//! `fail-fast = true`. The environment and the file are handed to clap as what an option is without a flag, so
//! that whatever the source the same checks apply; who is to blame for a value that fails one is said here.

mod file;
mod source;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches as _};

use crate::args::Cli;
use crate::failure::Failure;
use file::Config;
pub(crate) use source::Sources;
use source::variable;

/// Options that ask for something to be done, once. They are said where it is to be done, or not at all.
const ACTS: [&str; 8] = ["all", "config", "help", "new", "update", "verbose", "version", "yes"];

/// Reads the command line, with what the environment and a file say where it says nothing.
///
/// # Errors
/// A file that cannot be read, or a value in the file or the environment that cannot be: with the place. What is
/// wrong with the command line itself ends the process here, as clap does it.
pub(crate) fn parse(arguments: &[OsString]) -> Result<(Cli, Sources), Failure> {
    let config = Config::find(arguments)?;
    let plain = Cli::whole();
    if let Some(config) = &config {
        config.check(&plain, is_setting)?;
    }
    let command = with_settings(plain, config.as_ref());
    let matches = command.clone().try_get_matches_from(arguments).map_err(|error| {
        let culprit = source::of_error(&error, arguments, config.as_ref());
        match (error.kind(), culprit) {
            (
                ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::ArgumentConflict,
                Some(place),
            ) => {
                let said = error.to_string();
                let said = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
                Failure::usage(format!("{place}: {said}"))
            }
            _ => error.exit(),
        }
    })?;
    let sources = Sources::of(&matches, config.as_ref());
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    Ok((cli, sources))
}

/// Whether an option can be said by the environment and a file.
fn is_setting(arg: &Arg) -> bool {
    let Some(long) = arg.get_long() else { return false };
    !ACTS.contains(&long) && !arg.is_positional() && !arg.is_hide_set()
}

fn with_settings(command: Command, config: Option<&Config>) -> Command {
    let global = command.mut_args(|arg| settled(arg, None, config));
    global.mut_subcommands(|command| {
        if command.is_hide_set() {
            return command;
        }
        let name = command.get_name().to_owned();
        command.mut_args(|arg| settled(arg, Some(&name), config))
    })
}

/// An option as it is without a flag.
fn settled(arg: Arg, command: Option<&str>, config: Option<&Config>) -> Arg {
    let Some(long) = arg.get_long().map(str::to_owned).filter(|_| is_setting(&arg)) else { return arg };
    let arg = arg.env(variable(&long)).hide_env(true);
    match config.and_then(|config| config.value(command, &long)) {
        None => arg,
        // A flag that is not set is what it is without the file.
        Some(said) if matches!(arg.get_action(), ArgAction::SetTrue) && said.values == ["false"] => arg,
        Some(said) => {
            let takes_value = arg.get_action().takes_values();
            let arg = arg.required(false).default_values(said.values.clone());
            // A value of the file may be a secret.
            if takes_value { arg.hide_default_value(true) } else { arg }
        }
    }
}

/// The matches of the command that was given.
fn of_command(matches: &ArgMatches) -> (Option<&str>, &ArgMatches) {
    matches.subcommand().map_or((None, matches), |(name, matches)| (Some(name), matches))
}

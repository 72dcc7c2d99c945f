//! Settings from the command line, else the environment, else a file.
//!
//! Every option of every command is a setting, by its long name: `--fail-fast` is `INCUMBENT_FAIL_FAST` and `fail-fast
//! = true`. A value from the environment or the file is passed to clap as an option's default, so that the same checks
//! apply to every source. This module names the source of a refused value.

mod file;
mod source;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, FromArgMatches as _};

use crate::args::Cli;
use crate::failure::Failure;
use crate::stderr::{is_json, write_json};
use file::Config;
pub(crate) use source::Sources;
use source::variable;

/// Options that ask for a single action. They can only be set on the command line.
const ACTS: [&str; 9] =
    ["all", "config", "help", "new", "update", "verbose", "version", "wait-for-store", "yes"];

/// The names of the keys that a command takes by position.
const KEYS: [&str; 3] = ["key", "keys", "election"];

/// Parses the command line. Options that it lacks come from the environment and a file.
///
/// # Errors
/// A file that cannot be read, or an invalid value in the file or the environment, with its place. An error on the
/// command line itself ends the process here, as clap does.
pub(crate) fn parse(arguments: &[OsString]) -> Result<(Cli, Sources), Failure> {
    let plain = Cli::whole();
    let arguments = &with_positional_key(arguments, &plain)[..];
    write_json(wants_json(arguments, None));
    let config = Config::find(arguments)?;
    write_json(wants_json(arguments, config.as_ref()));
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
                Failure::usage(format!("{place}: {said}{}", possible(&error)))
            }
            (ErrorKind::InvalidUtf8, _) => Failure::usage(not_utf8(arguments)),
            _ => of_command_line(&error),
        }
    })?;
    let sources = Sources::of(&matches, config.as_ref());
    let cli = Cli::from_arg_matches(&matches).map_err(|error| of_command_line(&error))?;
    Ok((cli, sources))
}

/// The values that clap would accept instead of the refused one, if it lists them.
fn possible(error: &clap::Error) -> String {
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() => {
            format!("; write {}", values.join(" or "))
        }
        _ => String::new(),
    }
}

/// The first variable or argument that is not UTF-8.
fn not_utf8(arguments: &[OsString]) -> String {
    let named = arguments.iter().find(|argument| argument.to_str().is_none());
    let variable = std::env::vars_os().find_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with(variable("").as_str()))?;
        value.to_str().is_none().then_some(name)
    });
    let what = match named {
        Some(argument) => format!("the argument {:?}", argument.to_string_lossy()),
        None => variable.unwrap_or_else(|| "an argument".into()),
    };
    format!("{what} is not UTF-8")
}

/// Returns an error on the command line, if JSON is requested. Otherwise prints it and ends the process, as clap does.
/// Help and the version, which are not errors, always end the process.
fn of_command_line(error: &clap::Error) -> Failure {
    if error.use_stderr() && is_json() { Failure::usage(one_line(error)) } else { error.exit() }
}

/// Returns true if the command line, the environment or the file asks for JSON, as far as that can be known before they
/// have been validated.
fn wants_json(arguments: &[OsString], config: Option<&Config>) -> bool {
    let mut words = arguments.iter().take_while(|argument| *argument != "--");
    let is_true = |value: &str| value == "true";
    words.any(|argument| argument == "--json")
        || match std::env::var(variable("json")) {
            Ok(value) => is_true(&value),
            Err(_) => {
                let said = config.and_then(|config| config.value(None, "json"));
                said.is_some_and(|said| said.values.iter().any(|value| is_true(value)))
            }
        }
}

/// An error on the command line as one line, without the usage.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let what = text.split("\n\nUsage:").next().unwrap_or_default().trim_start_matches("error: ");
    what.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The arguments with `--key KEY` replaced by `KEY`, for a command that takes its key by position. `run` takes its key
/// as an option, because its positional arguments are the command to run, and users of `run` write the option here as
/// well.
fn with_positional_key(arguments: &[OsString], whole: &Command) -> Vec<OsString> {
    let command = |argument: &OsString| whole.get_subcommands().find(|one| argument == one.get_name());
    let found = arguments.iter().enumerate().skip(1).find_map(|(at, one)| Some((at, command(one)?)));
    let takes_key =
        |command: &Command| command.get_positionals().any(|one| KEYS.contains(&one.get_id().as_str()));
    let Some((at, _)) = found.filter(|(_, command)| takes_key(command)) else { return arguments.to_vec() };
    let key = |argument: &OsString| match argument.to_str()?.strip_prefix("--key")? {
        "" => Some(None),
        value => value.strip_prefix('=').map(|value| Some(value.into())),
    };
    let (before, after) = arguments.split_at(at);
    let after = after.iter().filter_map(|argument| key(argument).unwrap_or_else(|| Some(argument.clone())));
    before.iter().cloned().chain(after).collect()
}

/// Returns true if the environment and a file may set an option.
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

/// An option whose default comes from the environment or the file.
fn settled(arg: Arg, command: Option<&str>, config: Option<&Config>) -> Arg {
    let Some(long) = arg.get_long().map(str::to_owned).filter(|_| is_setting(&arg)) else { return arg };
    let arg = arg.env(variable(&long)).hide_env(true);
    match config.and_then(|config| config.value(command, &long)) {
        None => arg,
        // A flag set to false is the same as a flag that is not set.
        Some(said) if matches!(arg.get_action(), ArgAction::SetTrue) && said.values == ["false"] => arg,
        Some(said) => {
            let takes_value = arg.get_action().takes_values();
            let arg = arg.required(false).default_values(said.values.clone());
            // A value in the file may be a secret.
            if takes_value { arg.hide_default_value(true) } else { arg }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_key(arguments: &str) -> String {
        let arguments: Vec<OsString> = arguments.split(' ').map(Into::into).collect();
        let given = with_positional_key(&arguments, &Cli::whole());
        given.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn a_positional_key_may_be_given_as_an_option() {
        for command in ["status", "observe", "hand-over", "evict", "accept-reset", "init", "permissions"] {
            let expected = format!("incumbent {command} nightly --store memory:");
            assert_eq!(with_key(&format!("incumbent {command} --key nightly --store memory:")), expected);
            assert_eq!(with_key(&format!("incumbent {command} --key=nightly --store memory:")), expected);
            assert_eq!(with_key(&expected), expected);
        }
    }

    #[test]
    fn a_key_that_is_an_option_stays_one() {
        let run = "incumbent run --key nightly -- status --key daily";
        assert_eq!(with_key(run), run);
    }
}

//! The settings file: TOML, with one option in each line. Options in a table with the name of a command apply only to
//! that command.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;

/// The file that is read if none is named and this one exists.
const USUAL: &str = "incumbent.toml";
const VARIABLE: &str = "INCUMBENT_CONFIG";

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// The settings by command and long name. A setting without a command is for every command that has the option.
    settings: BTreeMap<(Option<String>, String), Said>,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) values: Vec<String>,
    /// `incumbent.toml line 3`
    pub(super) place: String,
}

impl Config {
    /// Finds the file that the command line or the environment names, or `incumbent.toml` in the working directory.
    pub(super) fn find(arguments: &[OsString]) -> Result<Option<Self>, Failure> {
        let (path, named) = match named(arguments).or_else(|| env::var_os(VARIABLE).map(PathBuf::from)) {
            Some(path) => (path, true),
            None => (USUAL.into(), false),
        };
        match fs::read_to_string(&path) {
            Ok(text) => Self::read(&path, &text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !named => Ok(None),
            Err(error) => {
                let path = path.display();
                Err(Failure::usage(format!("the settings in {path} cannot be read: {error}")))
            }
        }
    }

    fn read(path: &Path, text: &str) -> Result<Self, Failure> {
        let at = |span: Range<usize>| {
            let line = text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1;
            format!("{} line {line}", path.display())
        };
        let table = DeTable::parse(text).map_err(|error| {
            Failure::usage(format!("{}: {}", at(error.span().unwrap_or_default()), error.message()))
        })?;
        let mut config = Self::default();
        for (name, value) in table.get_ref() {
            match value.get_ref() {
                DeValue::Table(options) => {
                    for (long, value) in options {
                        config.take(Some(name.get_ref()), long, value, &at)?;
                    }
                }
                _ => config.take(None, name, value, &at)?,
            }
        }
        Ok(config)
    }

    fn take(
        &mut self,
        command: Option<&str>,
        name: &Spanned<toml::de::DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
        at: &impl Fn(Range<usize>) -> String,
    ) -> Result<(), Failure> {
        let place = at(name.span());
        let values = match value.get_ref() {
            DeValue::Array(items) => {
                items.iter().map(|item| text(item.get_ref())).collect::<Option<Vec<_>>>()
            }
            value => text(value).map(|text| vec![text]),
        };
        let Some(values) = values else {
            let name = name.get_ref();
            return Err(Failure::usage(format!(
                "{place}: {name} must be a string, a number, true, false, or a list of these"
            )));
        };
        let long = name.get_ref().replace('_', "-");
        self.settings.insert((command.map(str::to_owned), long), Said { values, place });
        Ok(())
    }

    /// Refuses an option that no command has, and lists the valid ones.
    pub(super) fn check(&self, cli: &Command, is_setting: impl Fn(&Arg) -> bool) -> Result<(), Failure> {
        let longs = |command: &Command| -> Vec<String> {
            let settings = command.get_arguments().filter(|arg| is_setting(arg));
            settings.filter_map(Arg::get_long).map(str::to_owned).collect()
        };
        let visible = || cli.get_subcommands().filter(|command| !command.is_hide_set());
        for ((command, long), said) in &self.settings {
            let takes_one = |command: &Command| {
                let arg = command.get_arguments().find(|arg| arg.get_long() == Some(long));
                arg.is_some_and(|arg| !matches!(arg.get_action(), ArgAction::Append))
            };
            let of_it = |one: &&Command| command.as_deref().is_none_or(|name| one.get_name() == name);
            if said.values.len() != 1 && visible().filter(of_it).any(takes_one) {
                let place = &said.place;
                return Err(Failure::usage(format!("{place}: {long} takes one value, not a list")));
            }
            let mut known = match command {
                None => visible().flat_map(longs).chain(longs(cli)).collect::<Vec<_>>(),
                Some(name) => match visible().find(|command| command.get_name() == name) {
                    Some(command) => longs(command),
                    None => {
                        let known = visible().map(Command::get_name).collect::<Vec<_>>().join(", ");
                        let place = &said.place;
                        return Err(Failure::usage(format!(
                            "{place}: there is no command {name:?}; the commands are {known}"
                        )));
                    }
                },
            };
            if !known.contains(long) {
                known.sort();
                known.dedup();
                let whose = command
                    .as_ref()
                    .map_or("no command has".into(), |name| format!("`{name}` does not have"));
                let (place, known) = (&said.place, known.join(", "));
                return Err(Failure::usage(format!(
                    "{place}: {whose} a setting {long:?}; the settings are {known}"
                )));
            }
        }
        Ok(())
    }

    /// The value of an option for that command, or for all commands.
    pub(super) fn value(&self, command: Option<&str>, long: &str) -> Option<&Said> {
        let of_command = command.and_then(|command| self.value_of_command(command, long));
        of_command.or_else(|| self.settings.get(&(None, long.to_owned())))
    }

    pub(super) fn value_of_command(&self, command: &str, long: &str) -> Option<&Said> {
        self.settings.get(&(Some(command.to_owned()), long.to_owned()))
    }
}

/// The file that `--config` names.
fn named(arguments: &[OsString]) -> Option<PathBuf> {
    let mut before = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = before.next() {
        if argument == "--config" {
            return before.next().map(PathBuf::from);
        }
        if let Some(path) = argument.to_str().and_then(|argument| argument.strip_prefix("--config=")) {
            return Some(path.into());
        }
    }
    None
}

/// A value in the form of the command line.
fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Integer(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, Failure> {
        Config::read(Path::new("incumbent.toml"), text)
    }

    fn arguments(arguments: &[&str]) -> Vec<OsString> {
        arguments.iter().map(Into::into).collect()
    }

    #[test]
    fn options_are_for_all_commands_or_for_one() {
        let config = read("store = \"memory:\"\n\n[run]\nlease = \"5s\"\ngrace = \"1s\"\n").unwrap();
        let said = |command, long: &str| config.value(command, long).map(|said| said.values.join(" "));
        assert_eq!(said(Some("run"), "store").as_deref(), Some("memory:"));
        assert_eq!(said(Some("run"), "lease").as_deref(), Some("5s"));
        assert_eq!(said(Some("init"), "lease"), None);
        assert_eq!(config.value(Some("run"), "grace").unwrap().place, "incumbent.toml line 5");
    }

    #[test]
    fn values_are_what_the_command_line_would_say() {
        let config = read("a = 3\nb = true\nc = [\"x\", \"y\"]\nd_e = 1.5").unwrap();
        let said = |long: &str| config.value(None, long).unwrap().values.clone();
        assert_eq!(said("a"), ["3"]);
        assert_eq!(said("b"), ["true"]);
        assert_eq!(said("c"), ["x", "y"]);
        assert_eq!(said("d-e"), ["1.5"]);
    }

    #[test]
    fn what_is_no_toml_or_no_value_is_refused_with_its_line() {
        let refused = |text: &str| read(text).unwrap_err().to_string();
        assert!(
            refused("a = 1\nb = = 2").starts_with("incumbent.toml line 2: "),
            "{}",
            refused("a = 1\nb = = 2")
        );
        assert!(refused("a = 1\n\nb = 2026-11-21").starts_with("incumbent.toml line 3: b must be"));
    }

    #[test]
    fn the_file_is_named_before_the_command_of_the_user() {
        assert_eq!(named(&arguments(&["incumbent", "--config", "a"])), Some("a".into()));
        assert_eq!(named(&arguments(&["incumbent", "run", "--config=a", "--", "x"])), Some("a".into()));
        assert_eq!(named(&arguments(&["incumbent", "run", "--", "x", "--config", "a"])), None);
    }
}

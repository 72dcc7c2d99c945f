//! The source of a setting.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;

use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;

use super::file::Config;
use crate::failure::Failure;

/// The variable of an option: `INCUMBENT_FAIL_FAST` for `--fail-fast`.
pub(super) fn variable(long: &str) -> String {
    format!("INCUMBENT_{}", long.to_uppercase().replace('-', "_"))
}

/// The settings that do not come from the command line, and the place of each.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    places: BTreeMap<String, String>,
}

impl Sources {
    pub(super) fn of(matches: &ArgMatches, config: Option<&Config>) -> Self {
        let (command, matches) =
            matches.subcommand().map_or((None, matches), |(name, matches)| (Some(name), matches));
        let mut places = BTreeMap::new();
        for id in matches.ids() {
            let long = id.as_str().replace('_', "-");
            let place = match matches.value_source(id.as_str()) {
                Some(ValueSource::EnvVariable) => Some(variable(&long)),
                Some(ValueSource::DefaultValue) => {
                    config.and_then(|config| config.value(command, &long)).map(|said| said.place.clone())
                }
                _ => None,
            };
            places.extend(place.map(|place| (long, place)));
        }
        Self { places }
    }

    /// Adds the source of the setting at fault to a failure.
    pub(crate) fn blame(&self, failure: Failure) -> Failure {
        match failure.setting().and_then(|setting| self.places.get(setting)) {
            Some(place) => failure.at(place),
            None => failure,
        }
    }
}

/// The source of the value that clap refuses; `None` for the command line.
pub(super) fn of_error(
    error: &clap::Error,
    arguments: &[OsString],
    config: Option<&Config>,
) -> Option<String> {
    let about =
        [ContextKind::InvalidArg, ContextKind::PriorArg].into_iter().filter_map(|kind| error.get(kind));
    let shown = about.flat_map(|about| match about {
        ContextValue::String(shown) => std::slice::from_ref(shown),
        ContextValue::Strings(shown) => shown,
        _ => &[],
    });
    shown.filter_map(|shown| place_of(shown, arguments, config)).next()
}

/// The source of an option's value, with the option named as clap names it; `None` for the command line.
fn place_of(shown: &str, arguments: &[OsString], config: Option<&Config>) -> Option<String> {
    let long = shown.strip_prefix("--")?.split([' ', '=']).next()?;
    let flag = format!("--{long}");
    let given = |argument: &OsString| {
        let argument = argument.to_string_lossy();
        argument == flag || argument.strip_prefix(&*flag).is_some_and(|rest| rest.starts_with('='))
    };
    if arguments.iter().take_while(|argument| *argument != "--").any(given) {
        return None;
    }
    let variable = variable(long);
    if env::var_os(&variable).is_some() {
        return Some(variable);
    }
    let command = arguments.iter().skip(1).map(|argument| argument.to_string_lossy());
    let commands: Vec<_> = command.collect();
    let config = config?;
    let said = commands.iter().find_map(|command| config.value_of_command(command, long));
    said.or_else(|| config.value(None, long)).map(|said| said.place.clone())
}

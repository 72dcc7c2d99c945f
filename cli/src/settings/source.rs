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

/// The source of each setting.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The places of settings that do not come from the command line.
    places: BTreeMap<String, String>,
    /// The durations and the preset in the form in which they were given, from whatever source.
    given: BTreeMap<String, String>,
}

impl Sources {
    pub(super) fn of(matches: &ArgMatches, config: Option<&Config>) -> Self {
        let (command, matches) =
            matches.subcommand().map_or((None, matches), |(name, matches)| (Some(name), matches));
        let (mut places, mut given) = (BTreeMap::new(), BTreeMap::new());
        for id in matches.ids() {
            let long = id.as_str().replace('_', "-");
            let values: Vec<_> =
                matches.try_get_raw(id.as_str()).ok().flatten().into_iter().flatten().collect();
            if let [value] = values[..] {
                let value = value.to_string_lossy().into_owned();
                // Any other value may be a secret.
                if long == "preset" || crate::lease::time(&value).is_ok() {
                    given.insert(long.clone(), value);
                }
            }
            let place = match matches.value_source(id.as_str()) {
                Some(ValueSource::EnvVariable) => Some(variable(&long)),
                Some(ValueSource::DefaultValue) => {
                    config.and_then(|config| config.value(command, &long)).map(|said| said.place.clone())
                }
                _ => None,
            };
            places.extend(place.map(|place| (long, place)));
        }
        Self { places, given }
    }

    /// Adds the source of the refused setting to a failure, and shows its value as it was given.
    pub(crate) fn blame(&self, failure: Failure) -> Failure {
        let Some(long) = failure.setting().map(|setting| setting.replace('_', "-")) else { return failure };
        let failure = match self.given.get(&long) {
            Some(given) => failure.showing(given),
            None => failure,
        };
        match self.places.get(&long) {
            Some(place) => failure.at(place),
            None => failure,
        }
    }
}

/// The source of the value that clap refuses; `None` if it is the command line.
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

/// The source of an option's value, by the option's name in clap; `None` if it is the command line.
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

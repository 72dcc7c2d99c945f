//! Defaults from the environment variables of the tool elector, where nothing else sets an option.

use std::time::Duration;

use crate::failure::Failure;
use crate::run::args::Args;
use crate::run::source::CONSOLE;

/// Fills in the options that the command line and our own settings leave open.
pub(crate) fn take_defaults(
    args: &mut Args,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), Failure> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    let handlers = &mut args.handlers;
    handlers.on_won = handlers.on_won.take().or_else(|| variable("ELECTOR_START_COMMAND"));
    handlers.on_lost = handlers.on_lost.take().or_else(|| variable("ELECTOR_STOP_COMMAND"));
    if handlers.on_won.is_none() && handlers.on_lost.is_none() {
        return Err(Failure::usage(
            "nothing to run: give a command as `-- CMD ARGS`, or handlers with --on-won CMD and --on-lost CMD",
        ));
    }
    if handlers.error_timeout.is_none()
        && let Some(text) = variable("ELECTOR_ERROR_TIMEOUT")
    {
        handlers.error_timeout = Some(span(&text)?);
    }
    args.key = args.key.take().or_else(|| variable("ELECTOR_KEY"));
    args.name = args.name.take().or_else(|| variable("ELECTOR_INSTANCE_ID"));
    if args.store.url().is_none() {
        args.store.store = match variable("ELECTOR_BACKEND").as_deref() {
            None => None,
            Some("console") => Some(CONSOLE.into()),
            Some("etcd-lock") => Some(etcd(variable("ELECTOR_ETCD_MEMBERS").as_deref())?),
            Some(other) => {
                return Err(Failure::usage(format!(
                    "ELECTOR_BACKEND is {other:?}, and can be console or etcd-lock: give --store URL instead"
                )));
            }
        };
    }
    Ok(())
}

/// Parses a time; zero means the default, as in elector.
fn span(text: &str) -> Result<Duration, Failure> {
    const DEFAULT: Duration = Duration::from_secs(30);
    if text == "0" {
        return Ok(DEFAULT);
    }
    let span = humantime::parse_duration(text).map_err(|error| {
        Failure::usage(format!("ELECTOR_ERROR_TIMEOUT is {text:?}, and must be a time such as 30s: {error}"))
    })?;
    Ok(if span.is_zero() { DEFAULT } else { span })
}

/// The members as a URL.
fn etcd(members: Option<&str>) -> Result<String, Failure> {
    let members = members.ok_or_else(|| {
        Failure::usage(
            "ELECTOR_BACKEND is etcd-lock, and ELECTOR_ETCD_MEMBERS names no server: give --store URL",
        )
    })?;
    let bare = |member: &str| {
        let member = member.trim();
        let bare = member.strip_prefix("http://").or_else(|| member.strip_prefix("https://"));
        bare.unwrap_or(member).trim_end_matches('/').to_owned()
    };
    let hosts: Vec<String> = members.split(',').map(bare).filter(|host| !host.is_empty()).collect();
    let url = format!("etcd://{}", hosts.join(","));
    if let Err(error) = url.parse::<incumbent::store::StoreSettings>() {
        return Err(Failure::usage(format!(
            "ELECTOR_BACKEND is etcd-lock, which would be --store {url}, and that cannot be opened: {error}"
        )));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(words: &[&str]) -> Args {
        let cli = Cli::try_parse_from(["incumbent", "run"].iter().chain(words)).unwrap();
        let Command::Run(args) = cli.command else { panic!("not run") };
        *args
    }

    fn filled(words: &[&str], variables: &[(&str, &str)]) -> Result<Args, String> {
        let mut args = args(words);
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        take_defaults(&mut args, variable).map_err(|failure| failure.to_string())?;
        Ok(args)
    }

    const HANDLERS: [(&str, &str); 2] = [("ELECTOR_START_COMMAND", "up"), ("ELECTOR_STOP_COMMAND", "down")];

    #[test]
    fn the_old_variables_say_what_nothing_else_does() {
        let variables = [
            ("ELECTOR_START_COMMAND", "up"),
            ("ELECTOR_STOP_COMMAND", "down"),
            ("ELECTOR_KEY", "jobs"),
            ("ELECTOR_INSTANCE_ID", "ada"),
            ("ELECTOR_BACKEND", "console"),
            ("ELECTOR_ERROR_TIMEOUT", "1m30s"),
        ];
        let args = filled(&[], &variables).unwrap();
        assert_eq!(args.handlers.on_won.as_deref(), Some("up"));
        assert_eq!(args.handlers.on_lost.as_deref(), Some("down"));
        assert_eq!(args.key.as_deref(), Some("jobs"));
        assert_eq!(args.name.as_deref(), Some("ada"));
        assert_eq!(args.store.store.as_deref(), Some("console:"));
        assert_eq!(args.handlers.error_timeout, Some(Duration::from_secs(90)));
    }

    #[test]
    fn the_command_line_has_the_last_word() {
        let words = ["--on-won", "begin", "--key", "other", "--store", "memory:", "--error-timeout", "1s"];
        let variables =
            [("ELECTOR_KEY", "jobs"), ("ELECTOR_BACKEND", "console"), ("ELECTOR_ERROR_TIMEOUT", "9s")];
        let args = filled(&words, &[&HANDLERS[..], &variables].concat()).unwrap();
        assert_eq!(args.handlers.on_won.as_deref(), Some("begin"));
        assert_eq!(args.key.as_deref(), Some("other"));
        assert_eq!(args.store.store.as_deref(), Some("memory:"));
        assert_eq!(args.handlers.error_timeout, Some(Duration::from_secs(1)));
    }

    #[test]
    fn no_error_timeout_is_the_default_as_it_was() {
        for zero in ["0", "0s"] {
            let args = filled(&[], &[&HANDLERS[..], &[("ELECTOR_ERROR_TIMEOUT", zero)]].concat()).unwrap();
            assert_eq!(args.handlers.error_timeout, Some(Duration::from_secs(30)));
        }
    }

    #[test]
    fn what_a_variable_cannot_say_is_refused_by_its_name() {
        let refused =
            |variable, value| filled(&[], &[&HANDLERS[..], &[(variable, value)]].concat()).unwrap_err();
        assert!(refused("ELECTOR_ERROR_TIMEOUT", "soon").contains("ELECTOR_ERROR_TIMEOUT is \"soon\""));
        assert!(refused("ELECTOR_BACKEND", "zookeeper").contains("ELECTOR_BACKEND is \"zookeeper\""));
        assert!(refused("ELECTOR_BACKEND", "etcd-lock").contains("ELECTOR_ETCD_MEMBERS"));
    }

    #[test]
    fn the_members_of_etcd_become_a_url() {
        let url = etcd(Some("http://10.0.0.1:2379/, https://10.0.0.2:2379"));
        let said = url.unwrap_or_else(|failure| failure.to_string());
        assert!(said.contains("etcd://10.0.0.1:2379,10.0.0.2:2379"), "{said}");
    }

    #[test]
    fn without_anything_to_run_it_says_what_there_could_be() {
        let refused = filled(&["--key", "jobs"], &[("ELECTOR_START_COMMAND", "")]).unwrap_err();
        assert!(refused.contains("-- CMD") && refused.contains("--on-won"), "{refused}");
    }
}

//! The settings of the tool elector, from its options and environment variables. They apply to options that nothing
//! else sets.

use std::time::Duration;

use incumbent::store::StoreSettings;

use crate::failure::Failure;
use crate::output::span;
use crate::run::args::Args;
use crate::run::source::CONSOLE;
use crate::store::{encoded, shown};

/// Fills in the options that the command line and our own settings leave open. Returns notes for the user.
pub(crate) fn take_defaults(
    args: &mut Args,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, Failure> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let elector = std::mem::take(&mut args.elector);
    let or = |option: Option<String>, name| option.or_else(|| variable(name));
    let handlers = &mut args.handlers;
    let start = or(elector.leader_start_command, "ELECTOR_START_COMMAND");
    let end = or(elector.leader_end_command, "ELECTOR_STOP_COMMAND");
    handlers.on_won = handlers.on_won.take().or(start);
    handlers.on_lost = handlers.on_lost.take().or(end);
    let has_handlers = handlers.on_won.is_some() || handlers.on_lost.is_some();
    if !has_handlers && args.listen.is_none() && args.file.is_none() {
        return Err(Failure::usage(
            "nothing to run: give a command as `-- CMD ARGS`, or handlers with --on-won CMD and --on-lost CMD, or \
             --listen ADDRESS or --file PATH without a command",
        ));
    }
    if has_handlers && args.file.is_some() {
        return Err(Failure::usage(
            "--file is for a candidate without handlers, but ELECTOR_START_COMMAND or ELECTOR_STOP_COMMAND sets one",
        ));
    }
    if handlers.error_timeout.is_none()
        && let Some(text) = variable("ELECTOR_ERROR_TIMEOUT")
    {
        const DEFAULT: Duration = Duration::from_secs(30);
        handlers.error_timeout =
            Some(span_of("ELECTOR_ERROR_TIMEOUT", &text)?.filter(|span| !span.is_zero()).unwrap_or(DEFAULT));
    }
    args.name = args.name.take().or(or(elector.instance_id, "ELECTOR_INSTANCE_ID"));
    if args.lease.lease.is_none()
        && let Some(text) = variable("ELECTOR_TTL")
    {
        args.lease.lease = span_of("ELECTOR_TTL", &text)?;
    }
    let mut keyspace = or(elector.etcd_keyspace, "ELECTOR_KEY");
    if args.store.url().is_none() {
        args.store.store = match or(elector.backend, "ELECTOR_BACKEND").as_deref() {
            None if elector.etcd_members.is_none() => None,
            None | Some("etcd-lock") => {
                let lock = EtcdLock {
                    members: or(elector.etcd_members, "ELECTOR_ETCD_MEMBERS"),
                    ca: or(elector.ca_file, "ELECTOR_CA_FILE"),
                    certificate: or(elector.cert_file, "ELECTOR_CERT_FILE"),
                    key: or(elector.key_file, "ELECTOR_KEY_FILE"),
                };
                let (prefix, key) = split(keyspace.as_deref().unwrap_or_default());
                let url = lock.url(prefix)?;
                keyspace = Some(key.to_owned()).filter(|key| !key.is_empty());
                Some(url)
            }
            Some("console") => Some(CONSOLE.into()),
            Some(other) => {
                return Err(Failure::usage(format!(
                    "ELECTOR_BACKEND or --backend is {other:?}, but must be console or etcd-lock: give --store URL \
                     instead"
                )));
            }
        };
    }
    args.key = args.key.take().or(keyspace);
    let mut notes = Vec::new();
    if let Some(text) = or(elector.refresh_interval, "ELECTOR_REFRESH_INTERVAL")
        && let Some(interval) = span_of("ELECTOR_REFRESH_INTERVAL or --refresh-interval", &text)?
    {
        let wanted = interval.saturating_mul(3);
        notes.push(format!(
            "the refresh interval of {} is ignored: a lease is renewed every third of its duration; for that \
             interval, set --lease {}",
            span(interval),
            humantime::format_duration(wanted)
        ));
    }
    Ok(notes)
}

/// Parses a time. Returns `None` for zero, which meant a default in elector.
fn span_of(setting: &str, text: &str) -> Result<Option<Duration>, Failure> {
    if text == "0" {
        return Ok(None);
    }
    let span = humantime::parse_duration(text).map_err(|error| {
        Failure::usage(format!("{setting} is {text:?}, but must be a time such as 30s: {error}"))
    })?;
    Ok(Some(span).filter(|span| !span.is_zero()))
}

/// The prefix and the election of a keyspace, which in elector was the path of one key.
fn split(keyspace: &str) -> (&str, &str) {
    let path = keyspace.trim_matches('/');
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The settings of elector's lock on etcd.
struct EtcdLock {
    members: Option<String>,
    ca: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl EtcdLock {
    fn url(&self, prefix: &str) -> Result<String, Failure> {
        const MEMBERS: &str = "ELECTOR_ETCD_MEMBERS or --etcd-members";
        let members = self.members.as_deref().unwrap_or_default().split(',').map(str::trim);
        let mut plain = 0;
        let mut encrypted = 0;
        let mut hosts = Vec::new();
        for member in members.filter(|member| !member.is_empty()) {
            let host = match (member.strip_prefix("http://"), member.strip_prefix("https://")) {
                (Some(host), _) => {
                    plain += 1;
                    host
                }
                (_, Some(host)) => {
                    encrypted += 1;
                    host
                }
                _ => member,
            };
            hosts.push(host.trim_end_matches('/'));
        }
        if hosts.is_empty() {
            return Err(Failure::usage(format!(
                "the backend is etcd-lock, but {MEMBERS} names no server: give --store URL"
            )));
        }
        let files = [("tls_ca", &self.ca), ("tls_cert", &self.certificate), ("tls_key", &self.key)];
        let files: Vec<_> = files.iter().filter_map(|(name, file)| Some((name, file.as_deref()?))).collect();
        let has_tls = encrypted > 0 || !files.is_empty();
        if has_tls && plain > 0 {
            return Err(Failure::usage(format!(
                "{MEMBERS} mixes members with http:// and members with https:// or files for TLS: a client uses TLS \
                 for all members or for none"
            )));
        }
        let scheme = if has_tls { "etcds" } else { "etcd" };
        let mut url = format!("{scheme}://{}/{}", hosts.join(","), encoded(prefix).replace("%2F", "/"));
        for (index, (name, file)) in files.iter().enumerate() {
            url += if index == 0 { "?" } else { "&" };
            url += &format!("{name}={}", encoded(file));
        }
        if let Err(error) = url.parse::<StoreSettings>() {
            return Err(Failure::usage(format!(
                "the backend etcd-lock is --store {} here, which cannot be opened: {error}",
                shown(&url)
            )));
        }
        Ok(url)
    }
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
        noted(words, variables).map(|(args, _)| args)
    }

    fn noted(words: &[&str], variables: &[(&str, &str)]) -> Result<(Args, Vec<String>), String> {
        let mut args = args(words);
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let notes = take_defaults(&mut args, variable).map_err(|failure| failure.to_string())?;
        Ok((args, notes))
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
        assert!(refused("ELECTOR_TTL", "soon").contains("ELECTOR_TTL is \"soon\""));
        assert!(refused("ELECTOR_BACKEND", "zookeeper").contains("is \"zookeeper\", but must be console"));
        assert!(refused("ELECTOR_BACKEND", "etcd-lock").contains("ELECTOR_ETCD_MEMBERS"));
    }

    #[test]
    fn the_variables_of_the_lock_become_a_url_a_key_and_a_lease() {
        let variables = [
            ("ELECTOR_BACKEND", "etcd-lock"),
            ("ELECTOR_ETCD_MEMBERS", "https://10.0.0.1:2379/, https://10.0.0.2:2379"),
            ("ELECTOR_KEY", "/elector/web 1/jobs"),
            ("ELECTOR_TTL", "1m0s"),
            ("ELECTOR_CA_FILE", "/etc/ca.pem"),
            ("ELECTOR_CERT_FILE", "me&co.pem"),
            ("ELECTOR_KEY_FILE", "me.key"),
        ];
        let args = filled(&[], &[&HANDLERS[..], &variables].concat()).unwrap();
        let url = "etcds://10.0.0.1:2379,10.0.0.2:2379/elector/web%201?tls_ca=%2Fetc%2Fca.pem&tls_cert=me%26co.pem&\
                   tls_key=me.key";
        assert_eq!(args.store.store.as_deref(), Some(url));
        assert_eq!(args.key.as_deref(), Some("jobs"));
        assert_eq!(args.lease.lease, Some(Duration::from_secs(60)));
    }

    #[test]
    fn the_options_of_elector_count_before_its_variables_and_ours_before_both() {
        let words = ["--backend", "etcd-lock", "--etcd-members", "http://a:2379", "--etcd-keyspace", "jobs"];
        let words = [&words[..], &["--instance-id", "ada", "--ttl", "20s"]].concat();
        let words =
            [&words[..], &["--leader-start-command", "begin", "--leader-end-command", "end"]].concat();
        let variables = [("ELECTOR_KEY", "other"), ("ELECTOR_INSTANCE_ID", "ben"), ("ELECTOR_TTL", "9s")];
        let args = filled(&words, &[&HANDLERS[..], &variables].concat()).unwrap();
        assert_eq!(args.store.store.as_deref(), Some("etcd://a:2379/"));
        assert_eq!((args.key.as_deref(), args.name.as_deref()), (Some("jobs"), Some("ada")));
        assert_eq!(args.lease.lease, Some(Duration::from_secs(20)));
        assert_eq!(args.handlers.on_won.as_deref(), Some("begin"));
        let args = filled(&[&words[..], &["--key", "mine", "--name", "me"]].concat(), &[]).unwrap();
        assert_eq!((args.key.as_deref(), args.name.as_deref()), (Some("mine"), Some("me")));
    }

    #[test]
    fn a_refresh_interval_is_answered_with_the_lease_that_gives_it() {
        let (_, notes) = noted(&["--refresh-interval", "10s"], &HANDLERS).unwrap();
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("is ignored") && notes[0].ends_with("--lease 30s"), "{notes:?}");
        let variables = [&HANDLERS[..], &[("ELECTOR_REFRESH_INTERVAL", "0")]].concat();
        assert_eq!(noted(&[], &variables).unwrap().1, [""; 0]);
    }

    #[test]
    fn members_with_and_without_tls_are_refused() {
        for (members, file) in [("http://a:2379,https://b:2379", None), ("http://a:2379", Some("ca.pem"))] {
            let mut words = vec!["--backend", "etcd-lock", "--etcd-members", members];
            words.extend(file.iter().flat_map(|file| ["--ca-file", file]));
            let refused = filled(&words, &HANDLERS).unwrap_err();
            assert!(refused.contains("TLS for all members or for none"), "{refused}");
        }
        let half = ["--backend", "etcd-lock", "--etcd-members", "u:secret@a", "--cert-file", "c"];
        let refused = filled(&half, &HANDLERS).unwrap_err();
        assert!(refused.contains("tls_key") && !refused.contains("secret"), "{refused}");
    }

    #[test]
    fn without_anything_to_run_it_says_what_there_could_be() {
        let refused = filled(&["--key", "jobs"], &[("ELECTOR_START_COMMAND", "")]).unwrap_err();
        assert!(refused.contains("-- CMD") && refused.contains("--on-won"), "{refused}");
    }
}

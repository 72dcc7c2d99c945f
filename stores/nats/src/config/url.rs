//! Parses a `nats://` URL.
//!
//! No message quotes a part that may hold a password.

use super::authority::{Authority, check_scheme, invalid};
use super::context::Environment;
use super::credentials::Credentials;
use super::settings::NatsSettings;
use crate::refusals;
use incumbent_store::credentials::Secret;
use incumbent_store::query::{Query, unfit};
use incumbent_store::selectors;
use incumbent_store::{ErrorKind, Result, Settings as _};

pub(crate) fn read(text: &str, environment: &Environment) -> Result<NatsSettings> {
    selectors::check_url(text)?;
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(invalid("a NATS store's URL has the form nats://HOST:4222/BUCKET; \"://\" is missing"));
    };
    check_scheme(scheme)?;
    if rest.contains('#') {
        return Err(invalid("a NATS store's URL has no part after #; write # as %23 in a password"));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, bucket) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.contains('@') {
        return Err(invalid("the URL's password contains /; write it as %2F"));
    }
    if bucket.is_empty() {
        return Err(invalid("the URL names no bucket; write nats://HOST:4222/BUCKET"));
    }
    let mut query = Query::read("nats", query)?;

    let context = query.text("context")?;
    let (mut settings, from_authority) = if authority.is_empty() {
        (NatsSettings::in_context(environment, context.as_deref(), bucket)?, None)
    } else {
        let Authority { servers, credentials } = Authority::parse(Some(scheme), authority)?;
        let mut settings = match context {
            Some(name) => NatsSettings::in_context(environment, Some(&name), bucket)?,
            None => NatsSettings::bare(Vec::new(), bucket)?,
        };
        settings.servers = servers;
        (settings, credentials)
    };
    if let Some(credentials) = credentials(&mut query, from_authority)? {
        settings.credentials = credentials;
    }
    settings.files.take(&mut query)?;
    if let Some(first) = query.flag("tls_first")? {
        settings = settings.tls_first(first);
    }
    if let Some(prefix) = subject(&mut query, "inbox_prefix")? {
        settings = settings.inbox_prefix(prefix);
    }
    settings = match (subject(&mut query, "domain")?, subject(&mut query, "api_prefix")?) {
        (Some(_), Some(_)) => return Err(unfit(refusals::two_prefixes())),
        (Some(domain), None) => settings.domain(&domain),
        (None, Some(prefix)) => settings.api_prefix(prefix),
        (None, None) => settings,
    };
    if let Some(timeout) = query.duration("connect_timeout")? {
        settings = settings.connect_timeout(timeout);
    }
    if let Some(discover) = query.flag("discover")? {
        settings = settings.discover(discover);
    }
    if let Some(interval) = query.duration("ping_interval")? {
        settings = settings.ping_interval(interval);
    }
    if let Some(fail_fast) = query.flag("fail_fast")? {
        settings = settings.fail_fast(fail_fast);
    }
    query.finish()?;
    selectors::check(ErrorKind::InvalidUrl, settings.selectors())?;
    Ok(settings)
}

/// A part of a subject, which has no spaces and no wildcards.
fn subject(query: &mut Query, name: &'static str) -> Result<Option<String>> {
    let text = query.text(name)?;
    match &text {
        Some(text) if text.is_empty() || text.contains(|c: char| c.is_whitespace() || "*>".contains(c)) => {
            Err(unfit(refusals::subject(name, text)))
        }
        _ => Ok(text),
    }
}

/// The credentials, which precede the host or are given by a single parameter.
fn credentials(query: &mut Query, from_authority: Option<Credentials>) -> Result<Option<Credentials>> {
    let given = [
        from_authority,
        query.text("creds")?.map(|path| Credentials::File(path.into())),
        query.text("nkey")?.map(|path| Credentials::Seed(path.into())),
        query.text("token")?.map(|token| Credentials::Token(Secret::new(token))),
    ];
    let mut given = given.into_iter().flatten();
    let first = given.next();
    if given.next().is_some() {
        return Err(unfit(refusals::two_identities()));
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Duration;

    fn parse(text: &str) -> Result<NatsSettings> {
        read(text, &Environment::default())
    }

    fn message(text: &str) -> String {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{error}");
        error.message().to_string()
    }

    fn in_context(text: &str, context: &str) -> Result<NatsSettings> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("nats/context")).unwrap();
        fs::write(dir.path().join("nats/context/c.json"), context).unwrap();
        fs::write(dir.path().join("nats/context.txt"), "c").unwrap();
        read(text, &Environment { config: Some(dir.path().into()), ..Environment::default() })
    }

    #[test]
    fn one_host_and_a_bucket() {
        let settings = parse("nats://localhost/elections").unwrap();
        assert_eq!(settings.bucket(), "elections");
        assert_eq!(settings.servers_shown(), "nats://localhost:4222");
        assert_eq!(settings.credentials, Credentials::Nothing);
        assert!(!settings.wants_tls());
    }

    #[test]
    fn several_hosts_share_the_scheme_and_credentials() {
        let settings = parse("tls://ada:p%40ss%2C@a:1,b:2,[::1]:3/elections").unwrap();
        assert_eq!(settings.servers_shown(), "tls://a:1, tls://b:2, tls://::1:3");
        let user = Credentials::User { name: "ada".into(), password: Secret::new("p@ss,") };
        assert_eq!(settings.credentials, user);
        assert!(settings.wants_tls());
        assert!(settings.servers.iter().all(|server| !server.has_user_pass()));
    }

    #[test]
    fn a_lone_user_is_a_token() {
        let settings = parse("nats://t%3Aken@a/b").unwrap();
        assert_eq!(settings.credentials, Credentials::Token(Secret::new("t:ken")));
    }

    #[test]
    fn every_parameter_is_taken() {
        let settings = parse(
            "wss://a:443/b?tls_ca=/ca%20dir/ca.pem&tls_cert=c&tls_key=k&tls_first=true&inbox_prefix=_I\
             &api_prefix=JS.x&connect_timeout=1500ms&discover=false&ping_interval=2s&fail_fast=true&creds=/a.creds",
        )
        .unwrap();
        assert_eq!(settings.files.ca, Some("/ca dir/ca.pem".into()));
        assert_eq!(settings.files.certificate, Some(("c".into(), "k".into())));
        assert!(settings.tls_first && settings.fail_fast && !settings.discover);
        assert_eq!(settings.inbox_prefix.as_deref(), Some("_I"));
        assert_eq!(settings.api_prefix.as_deref(), Some("JS.x"));
        assert_eq!(settings.connect_timeout, Duration::from_millis(1500));
        assert_eq!(settings.effective_ping_interval(), Duration::from_secs(2));
        assert_eq!(settings.credentials, Credentials::File("/a.creds".into()));
        let others = parse("nats://a/b?nkey=seed&domain=hub").unwrap();
        assert_eq!(others.credentials, Credentials::Seed("seed".into()));
        assert_eq!(others.api_prefix.as_deref(), Some("$JS.hub.API"));
        assert!(others.discover);
    }

    #[test]
    fn an_unknown_parameter_is_named_with_the_known_ones() {
        let message = message("nats://a/b?credz=x");
        assert!(message.contains("no parameter \"credz\""), "{message}");
        let known = "context, creds, nkey, token, tls_ca, tls_cert, tls_key, tls_first, inbox_prefix, domain, \
                     api_prefix, connect_timeout, discover, ping_interval, fail_fast";
        assert!(message.ends_with(known), "{message}");
    }

    #[test]
    fn malformed_urls_say_what_is_wrong() {
        for (url, why) in [
            ("nats:a/b", "\"://\" is missing"),
            ("http://a/b", "\"http\" is not a scheme"),
            ("nats://a", "names no bucket"),
            ("nats://a/", "names no bucket"),
            ("nats://a:port/b", "server 1 of the list"),
            ("nats://a:1,/b", "server 2 of the list"),
            ("nats://:4222/b", "server 1 of the list"),
            ("nats://a/b#c", "no part after #"),
            ("nats://u:x/y@a/b", "password contains /"),
            ("nats://u:x@a,v:y@b/b", "different credentials"),
            ("nats://u:%FF@a/b", "is not UTF-8"),
            ("nats://a/b?creds=", "creds is empty"),
            ("nats://a/b?creds=x&creds=y", "gives creds twice"),
            ("nats://a/b?creds=x&token=y", "two sets of credentials"),
            ("nats://u:x@a/b?nkey=y", "two sets of credentials"),
            ("nats://a/b?tls_cert=x", "needs tls_key"),
            ("nats://a/b?tls_key=x", "needs tls_cert"),
            ("nats://a/b?tls_first=yes", "write true or false"),
            ("nats://a/b?domain=x&api_prefix=y", "exclude each other"),
            ("nats://a/b?domain=x%20y", "a part of a subject has no spaces"),
            ("nats://a/b?connect_timeout=2", "connect_timeout=2"),
            ("nats://a/b?ping_interval=2days", "ping_interval=2days"),
        ] {
            let message = message(url);
            assert!(message.contains(why), "{url}: {message}");
        }
    }

    #[test]
    fn websockets_are_not_mixed_with_others() {
        let error = Authority::parse(None, "nats://a:1,ws://b:2").unwrap_err();
        assert!(error.message().contains("cannot be listed with others"), "{error}");
    }

    #[test]
    fn no_message_quotes_a_password() {
        for url in [
            "nats://u:hunter2/@a/b",
            "nats://u:hunter2",
            "nats://u:hunter2/b",
            "nats://u:hunter2@/b",
            "nats://u:1/b?hunter2@a/b",
            "nats://u:1/b?hunter2@&hunter2@a/b",
            "nats://a,u:hunter2://@b/c",
            "u:hunter2@a/b://",
        ] {
            let error = parse(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{url}: {error:?}");
        }
    }

    #[test]
    fn a_bucket_that_cannot_be_is_refused() {
        assert_eq!(parse("nats://a/b.c").unwrap_err().kind(), ErrorKind::InvalidName);
    }

    #[test]
    fn without_a_host_the_selected_context_says_where() {
        let settings = in_context("nats:///b", r#"{"url": "tls://x:1,y:2", "token": "t"}"#).unwrap();
        assert_eq!(settings.servers_shown(), "tls://x:1, nats://y:2");
        assert_eq!(settings.credentials, Credentials::Token(Secret::new("t")));
    }

    #[test]
    fn without_a_host_or_a_context_the_ways_to_name_one_are_listed() {
        let message = message("nats:///b");
        for way in ["?context=NAME", "$NATS_CONTEXT", "nats context select"] {
            assert!(message.contains(way), "{message}");
        }
    }

    #[test]
    fn what_the_url_says_goes_before_what_its_context_says() {
        let context = r#"{"url": "nats://x:1", "user": "u", "password": "p", "jetstream_domain": "d"}"#;
        let settings = in_context("nats://a:9/b?context=c&token=t", context).unwrap();
        assert_eq!(settings.servers_shown(), "nats://a:9");
        assert_eq!(settings.credentials, Credentials::Token(Secret::new("t")));
        assert_eq!(settings.api_prefix.as_deref(), Some("$JS.d.API"));
    }

    #[test]
    fn with_a_host_no_context_is_looked_for() {
        let settings = in_context("nats://a:9/b", r#"{"user": "u"}"#).unwrap();
        assert_eq!(settings.credentials, Credentials::Nothing);
    }
}

//! What NATS alone refuses of settings, and why: from `schema.toml`.

use std::time::Duration;

use incumbent_core::campaign::InvalidSettings;
use incumbent_core::text::Text;

// generated: refusals
/// Refuses two sets of credentials.
pub(crate) fn two_identities() -> Text {
    Text::from("the URL contains two sets of credentials; keep one of user:password, ").and(Text::setting("token")).and(", ").and(Text::setting("nkey")).and(" and ").and(Text::setting("creds"))
}

/// Refuses text that cannot be part of a subject.
pub(crate) fn subject(name: &'static str, text: &str) -> Text {
    Text::setting(name).and(format!(" is {text:?}, but a part of a subject has no spaces, no * and no >"))
}

/// Refuses a domain together with an API prefix.
pub(crate) fn two_prefixes() -> Text {
    Text::setting("domain").and(" and ").and(Text::setting("api_prefix")).and(" exclude each other")
}

/// Refuses a maximum age that NATS does not support.
pub(crate) fn age_too_short(lease: Duration, least: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "lease",
        value: format!("{lease:?}"),
        limit: Text::from(format!("at least {least:?}")),
        remedy: Text::from("NATS keeps every record at least that long"),
    }
}

/// Refuses a replica count that survives no more failures than a smaller one.
pub(crate) fn replicas(replicas: u64) -> InvalidSettings {
    InvalidSettings {
        setting: "replicas",
        value: format!("{replicas}"),
        limit: Text::from("1, 3 or 5"),
        remedy: Text::from("the cluster then survives the loss of 0, 1 or 2 servers"),
    }
}

/// Refuses a bucket limit that a few elections could reach.
pub(crate) fn bytes_too_few(bytes: u64, least: u64) -> InvalidSettings {
    InvalidSettings {
        setting: "max_bytes",
        value: format!("{bytes}"),
        limit: Text::from(format!("at least {least}")),
        remedy: Text::from("a record takes up to a few kilobytes, and a full bucket accepts no more candidates"),
    }
}

/// Refuses a bucket without a limit if the account requires one.
pub(crate) fn bytes_required() -> Text {
    Text::from("this NATS account requires a size limit for every bucket: give ").and(Text::setting("max_bytes")).and(", such as 10000000")
}

/// Refuses a bucket that is stated to be new but has been written to.
pub(crate) fn not_new(bucket: &str, count: u64) -> Text {
    Text::from(format!("the NATS bucket {bucket:?} has been written to {count} times, so it is not new; leave `")).and(Text::setting("new")).and("` out")
}

/// Refuses a feature that the server is too old for.
pub(crate) fn old_server(name: &'static str, version: &str) -> Text {
    Text::from("`").and(Text::setting(name)).and(format!("` needs nats-server {version} or newer: upgrade"))
}

// end of refusals

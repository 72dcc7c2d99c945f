//! What several stores refuse of settings, and why: from `bindings/schema/refusals.toml`.

use incumbent_core::campaign::InvalidSettings;
use incumbent_core::text::Text;

// generated: refusals
/// Refuses a key or a candidate's name that is empty.
pub fn empty_text(what: &str) -> Text {
    Text::from(format!("the {what} is empty; give it at least one character"))
}

/// Refuses a key or a candidate's name that is too long.
pub fn long_text(what: &str, size: u64, most: u64) -> Text {
    Text::from(format!("the {what} is {size} bytes long; the limit is {most}"))
}

/// Refuses a key or a candidate's name with an invisible character.
pub fn unseen_text(what: &str, text: &str, unseen: char) -> Text {
    Text::from(format!("the {what} {text:?} has the invisible character {unseen:?}; leave it out"))
}

/// Refuses a time of zero.
pub fn zero(name: &'static str) -> InvalidSettings {
    InvalidSettings {
        setting: name,
        value: "0s".into(),
        limit: Text::from("longer than 0s"),
        remedy: Text::from("2s is usual"),
    }
}

/// Refuses a certificate without its key.
pub fn certificate_alone() -> Text {
    Text::setting("tls_cert").and(" needs ").and(Text::setting("tls_key")).and(", the file with its key")
}

/// Refuses a key without its certificate.
pub fn key_alone() -> Text {
    Text::setting("tls_key").and(" needs ").and(Text::setting("tls_cert")).and(", the file with its certificate")
}

/// Refuses a file that cannot be read, or is not the expected PEM file.
pub fn unusable_file(path: &str, name: &'static str, what: &str) -> Text {
    Text::from(format!("the file {path} that `")).and(Text::setting(name)).and(format!("` names cannot be read as a PEM {what}"))
}

/// Refuses a parameter without a value.
pub fn empty_parameter(name: &'static str, scheme: &str) -> Text {
    Text::setting(name).and(format!(" is empty in the {scheme}: URL; leave it out"))
}

/// Refuses a flag that is neither true nor false.
pub fn flag_in_url(name: &'static str, value: &str, scheme: &str) -> Text {
    Text::setting(name).and(format!("={value} in the {scheme}: URL: write true or false"))
}

/// Refuses text that is not a duration.
pub fn length_in_url(name: &'static str, value: &str, scheme: &str) -> Text {
    Text::setting(name).and(format!("={value} in the {scheme}: URL is not a duration; write it like 10ms, 2s or 1m"))
}

/// Refuses a parameter that the URL contains twice.
pub fn twice_in_url(scheme: &str, name: &str) -> Text {
    Text::from(format!("the {scheme}: URL gives {name} twice; give it once"))
}

/// Refuses an unknown parameter.
pub fn unknown_in_url(scheme: &str, name: &str, known: &str) -> Text {
    Text::from(format!("a {scheme}: URL has no parameter{name}; the parameters are {known}"))
}

/// Refuses markers that differ from those of the handles that have the store open.
pub fn other_markers(name: &str, was: &str, is: &str) -> Text {
    Text::from(format!("memory:{name} is already open with markers={was}; use that instead of markers={is}"))
}

/// Refuses a requirement that only makes sense for a bucket.
pub fn of_buckets(name: &'static str, this: &str) -> Text {
    Text::from("`").and(Text::setting(name)).and(format!("` is only for NATS buckets, and this is {this}: leave it out"))
}

/// Refuses a lease for a whole store, where each candidate sets its own.
pub fn lease_of_buckets(this: &str) -> Text {
    Text::from("`").and(Text::setting("lease")).and(format!("` is only for NATS buckets, and this is {this}, where each candidate sets its own: pass it to the campaign"))
}

/// Refuses the preparation of a store that needs none.
pub fn preparation() -> Text {
    Text::from("a store of this kind needs no preparation; `init` is for sqlite:, nats:, etcd: and kafka:")
}

/// Refuses an election's key, if the whole store is prepared.
pub fn election_of_whole(election: &str) -> Text {
    Text::from(format!("{election:?} is an election, and this store is prepared as a whole; leave the key out"))
}

// end of refusals

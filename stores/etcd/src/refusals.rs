//! What etcd alone refuses of settings, and why: from `schema.toml`.

use incumbent_core::campaign::InvalidSettings;
use incumbent_core::text::Text;

// generated: refusals
/// Refuses TLS files for a URL without TLS.
pub(crate) fn files_without_tls() -> Text {
    Text::setting("tls_ca").and(", ").and(Text::setting("tls_cert")).and(" and ").and(Text::setting("tls_key")).and(" need TLS; write etcds:// instead of etcd://")
}

/// Refuses TLS files that do not fit each other.
pub(crate) fn unfit_files() -> Text {
    Text::from("TLS cannot be set up: the files of ").and(Text::setting("tls_ca")).and(", ").and(Text::setting("tls_cert")).and(" and ").and(Text::setting("tls_key")).and(" do not match, or the system trusts no certificate; give ").and(Text::setting("tls_ca"))
}

/// Refuses a prefix reserved for incumbent's own keys.
pub(crate) fn prefix_of_ours(prefix: &str) -> InvalidSettings {
    InvalidSettings {
        setting: "prefix",
        value: format!("{prefix:?}"),
        limit: Text::from("free of the part \".incumbent\""),
        remedy: Text::from("incumbent keeps its own keys there; choose another"),
    }
}

/// Refuses a prefix that is stated to be new but has been written to.
pub(crate) fn not_new(used: &str, prefix: &str) -> Text {
    Text::from(format!("{used}, so the prefix {prefix:?} of etcd is not new; leave `")).and(Text::setting("new")).and("` out")
}

/// Refuses a role that may write every key.
pub(crate) fn no_prefix() -> Text {
    Text::from("`").and(Text::setting("prefix")).and("` is empty and no election is named, so the role could write every key of the cluster; put a prefix into the URL (etcd://HOST:2379/PREFIX/), or name the elections")
}

// end of refusals

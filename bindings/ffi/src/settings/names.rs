//! The names of settings, and the kinds of values that a store's URL takes.

/// The kind of a parameter in a store's URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Flag,
    Length,
}

// generated: settings
/// The names of the settings of a candidate.
#[rustfmt::skip]
pub const CAMPAIGN: [&str; 12] = [
    "name",
    "preset",
    "lease",
    "skew",
    "drift_ppm",
    "slack",
    "win_delay",
    "splay",
    "drain",
    "interval",
    "backoff",
    "metadata",
];
/// The names of the settings of every store.
#[rustfmt::skip]
pub(super) const COMMON: [&str; 2] = [
    "fail_fast",
    "expected_lease",
];
/// The names of the settings of a preparation, besides those of the store.
#[rustfmt::skip]
pub(super) const INIT: [&str; 8] = [
    "new",
    "lease",
    "replicas",
    "max_bytes",
    "markers",
    "own_leases",
    "update",
    "election",
];
/// The parameters of a URL of memory.
#[rustfmt::skip]
pub(super) const MEMORY: [(&str, Kind); 1] = [
    ("markers", Kind::Flag),
];
/// The parameters of a URL of SQLite.
#[rustfmt::skip]
pub(super) const SQLITE: [(&str, Kind); 3] = [
    ("create", Kind::Flag),
    ("poll", Kind::Length),
    ("fuse", Kind::Flag),
];
/// The parameters of a URL of NATS.
#[rustfmt::skip]
pub(super) const NATS: [(&str, Kind); 14] = [
    ("tls_ca", Kind::Text),
    ("tls_cert", Kind::Text),
    ("tls_key", Kind::Text),
    ("connect_timeout", Kind::Length),
    ("context", Kind::Text),
    ("creds", Kind::Text),
    ("nkey", Kind::Text),
    ("token", Kind::Text),
    ("tls_first", Kind::Flag),
    ("inbox_prefix", Kind::Text),
    ("domain", Kind::Text),
    ("api_prefix", Kind::Text),
    ("discover", Kind::Flag),
    ("ping_interval", Kind::Length),
];
/// The parameters of a URL of etcd.
#[rustfmt::skip]
pub(super) const ETCD: [(&str, Kind); 4] = [
    ("tls_ca", Kind::Text),
    ("tls_cert", Kind::Text),
    ("tls_key", Kind::Text),
    ("connect_timeout", Kind::Length),
];
/// The parameters of a URL of Kafka.
#[rustfmt::skip]
pub(super) const KAFKA: [(&str, Kind); 7] = [
    ("create", Kind::Flag),
    ("topic", Kind::Text),
    ("session", Kind::Length),
    ("protocol", Kind::Text),
    ("instance_id", Kind::Text),
    ("goneli", Kind::Flag),
    ("sasl", Kind::Text),
];
/// Every parameter of a URL of each store.
#[cfg(test)]
#[rustfmt::skip]
pub(super) const OF_URLS: [(&str, &[&str]); 5] = [
    ("memory", &["markers"]),
    ("SQLite", &["create", "poll", "fuse"]),
    ("NATS", &["tls_ca", "tls_cert", "tls_key", "connect_timeout", "context", "creds", "nkey", "token", "tls_first", "inbox_prefix", "domain", "api_prefix", "discover", "ping_interval", "fail_fast"]),
    ("etcd", &["tls_ca", "tls_cert", "tls_key", "connect_timeout", "fail_fast"]),
    ("Kafka", &["create", "topic", "session", "protocol", "instance_id", "goneli", "sasl", "fail_fast"]),
];
// end of settings

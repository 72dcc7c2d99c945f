//! Settings of a NATS store: the URL, NATS contexts, credentials and the names that a bucket can hold.

pub(in crate::store::nats) mod context;
pub(in crate::store::nats) mod credentials;
pub(in crate::store::nats) mod names;
pub(in crate::store::nats) mod settings;
pub(in crate::store::nats) mod url;

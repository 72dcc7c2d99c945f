//! etcd's API over gRPC.

pub(super) mod connection;
pub(super) mod messages;

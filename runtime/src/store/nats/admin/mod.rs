//! Creating, checking and describing a bucket, for operators.

pub(in crate::store::nats) mod difference;
pub(in crate::store::nats) mod init;
pub(in crate::store::nats) mod operate;
pub(in crate::store::nats) mod permissions;
pub(in crate::store::nats) mod safety;
pub(in crate::store::nats) mod survey;

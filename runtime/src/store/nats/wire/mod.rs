//! Requests, answers and messages in JetStream's formats, and their meaning.

pub(in crate::store::nats) mod api;
pub(in crate::store::nats) mod follow;
pub(in crate::store::nats) mod message;
pub(in crate::store::nats) mod outcome;
pub(in crate::store::nats) mod stream;

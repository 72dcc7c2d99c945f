//! Requests, answers and messages as JetStream has them, and what each proves.

pub(in crate::store::nats) mod api;
pub(in crate::store::nats) mod follow;
pub(in crate::store::nats) mod message;
pub(in crate::store::nats) mod outcome;
pub(in crate::store::nats) mod stream;

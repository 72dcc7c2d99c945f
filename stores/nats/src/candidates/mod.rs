//! The candidates of a bucket's elections, requested over plain NATS.
//!
//! Nothing is stored, and nothing is sent before a call:
//!
//! | subject | subscribers | message |
//! |---|---|---|
//! | `_incumbent.roll.BUCKET` | every connection that has candidates | the call, with the incarnation of the bucket it concerns |
//! | `_incumbent.roll.BUCKET.TOKEN` | the caller, with a random token | the answers, as many messages as needed |
//!
//! The answers do not go to an inbox: the caller names the subject of its answers, so a candidate would publish, with
//! its own permissions, to any subject that a caller chose. Below the subject of the call there is nothing to damage.

pub(super) mod answer;
pub(super) mod request;
pub(super) mod subjects;
pub(super) mod wire;

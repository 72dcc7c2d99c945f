//! Kafka: an election is a consumer group. The member that owns partition zero of a leader topic leads once it has
//! proven that ownership.
//!
//! `incumbent_core::induction` implements the rule. Each candidate has its own client, which is its member of the
//! group. The connection has one client that writes and one that reads for all of them; neither ever joins a group.
//!
//! librdkafka is called directly for what the rule needs and `rdkafka` does not offer: the results of commits, an
//! assignment that is given up only when the work has drained, the id of a topic, the member id and the generation.

#![allow(unsafe_code, reason = "librdkafka is a library in C")]

mod admin;
mod cluster;
mod connecting;
mod doctor;
mod faults;
mod link;
mod member;
mod native;
mod producer;
mod reader;
#[rustfmt::skip]
#[doc(hidden)]
pub mod refusals;
mod report;
mod settings;
mod store;

pub use admin::{Acl, InitReport, Survey, TopicState, init, permissions, survey};
pub use incumbent_core::induction::{Group, Protocol};
pub use settings::KafkaSettings;

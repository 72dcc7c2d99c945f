//! Kafka: an election is a consumer group, whose member with partition zero of a leader topic leads once it proves that.
//!
//! `incumbent_core::induction` has the rule. A candidate has a client of its own, its member of the group; the connection
//! has one that writes and one that reads for all of them, and neither ever joins a group.
//!
//! librdkafka is called where `rdkafka` does not show what the rule needs: the results of commits, an assignment that is
//! given up only when the work has drained, the id of a topic, the member id and the generation.

#![allow(unsafe_code, reason = "librdkafka is a library in C")]

mod admin;
mod cluster;
mod link;
mod member;
mod native;
mod producer;
mod reader;
#[rustfmt::skip]
pub(crate) mod refusals;
mod settings;

pub use admin::{Acl, InitReport, Survey, TopicState, init, permissions, survey};
pub use incumbent_core::induction::{Group, Protocol};
pub use settings::KafkaSettings;

pub(crate) use admin::KafkaAdmin;
pub(crate) use link::Groups;

//! etcd, 3.4 and newer: an election is a queue of keys, the same queue that `etcdctl elect` and Go's
//! `concurrency.Election` use.
//!
//! `incumbent_core::queue` implements the rule. A candidate has two keys: the place is the standard key, `PREFIX
//! ELECTION/LEASE`; the companion is `PREFIX.incumbent/ELECTION/LEASE`; `PREFIX.incumbent` is the birth record.

mod adapter;
mod admin;
mod doctor;
mod elections;
mod inspection;
mod keys;
mod leases;
mod link;
mod prefixes;
mod reads;
#[rustfmt::skip]
mod refusals;
mod settings;
mod store;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod transaction;
mod watch;
/// etcd's API over gRPC.
mod wire {
    pub(super) mod connection;
    pub(super) mod messages;
}

pub use admin::permissions::{Permission, Role, permissions};
pub use admin::survey::{Birth, Member, MemberState, Survey, survey};
pub use admin::{InitReport, init};
pub use settings::EtcdSettings;

pub use incumbent_core::queue::Server;

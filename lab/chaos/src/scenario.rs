//! The runs: one nats-server, a cluster of three, and three members of etcd.

use std::time::Duration;

use clap::ValueEnum;
use incumbent::Preset;
use serde::{Deserialize, Serialize};

/// The software behind a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoreKind {
    /// NATS JetStream
    #[default]
    Nats,
    /// etcd
    Etcd,
}

/// A store, its elections, and their candidates.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) store: StoreKind,
    pub(crate) servers: usize,
    pub(crate) elections: Vec<Contest>,
    /// The candidates' names.
    pub(crate) names: Vec<&'static str>,
}

/// One election.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    pub(crate) key: &'static str,
    /// In etcd, the prefix of the elections.
    pub(crate) bucket: &'static str,
    pub(crate) lease: Duration,
    pub(crate) preset: Preset,
    /// The candidates that take part, by their indices in the names.
    pub(crate) among: Vec<usize>,
    /// Whether faults are aimed at this election. Otherwise it only has to survive the faults of other elections.
    pub(crate) is_aimed_at: bool,
    /// Whether a candidate on etcd's Go client takes part. That candidate's faults are aimed at this election.
    pub(crate) is_mixed: bool,
}

/// A bucket that gives each election its own lease and pushes expiry to watchers.
pub(crate) const MARKED: &str = "marked";
/// A bucket with one age for all records and no markers, as the Go library makes it.
pub(crate) const PLAIN: &str = "plain";
/// A separate bucket for the long lease: after a deletion no candidate leads for as long as a record of the bucket may
/// live, whatever the deleted leader's lease.
const PATIENT: &str = "patient";
/// The prefix of all elections in etcd.
const PREFIX: &str = "chaos";

/// A lease that survives the failure of a server, as recommended by the documentation.
const LONG: Duration = Duration::from_secs(30);

impl Scenario {
    /// All of them.
    pub(crate) fn all() -> [Self; 3] {
        [Self::one_node(), Self::cluster(), Self::etcd()]
    }

    /// Elections on one server, with leases of 1 to 3 s.
    fn one_node() -> Self {
        let among = vec![0, 1, 2, 3, 4];
        let contest = |key, bucket, seconds| Contest {
            key,
            bucket,
            lease: Duration::from_secs(seconds),
            preset: Preset::Fast,
            among: among.clone(),
            is_aimed_at: true,
            is_mixed: false,
        };
        Self {
            name: "one-node",
            store: StoreKind::Nats,
            servers: 1,
            elections: vec![
                contest("brisk", MARKED, 1),
                contest("steady", MARKED, 3),
                contest("plain", PLAIN, 2),
            ],
            names: vec!["c1", "c2", "c3", "c4", "c5"],
        }
    }

    /// Elections on three replicas: leases of 2 s, which end with the server that leads their stream, and one
    /// of 30 s, which survives it.
    fn cluster() -> Self {
        let contest = |key, bucket, seconds, among: &[usize]| Contest {
            key,
            bucket,
            lease: Duration::from_secs(seconds),
            preset: Preset::Fast,
            among: among.to_vec(),
            is_aimed_at: true,
            is_mixed: false,
        };
        let long = Contest {
            bucket: PATIENT,
            lease: LONG,
            preset: Preset::Standard,
            is_aimed_at: false,
            ..contest("long", MARKED, 0, &[4, 5])
        };
        Self {
            name: "cluster",
            store: StoreKind::Nats,
            servers: 3,
            elections: vec![
                contest("short", MARKED, 2, &[0, 1, 2, 3]),
                contest("plain", PLAIN, 2, &[0, 1, 2, 3]),
                long,
            ],
            names: vec!["c1", "c2", "c3", "c4", "long-1", "long-2"],
        }
    }

    /// Elections on three members that elect their leader fast, so that they grant short leases: of 3 s and 6 s, which
    /// end with that leader, one of 30 s, which survives it, and one of 3 s that a candidate on etcd's Go client takes
    /// part in.
    fn etcd() -> Self {
        let contest = |key, seconds, among: &[usize]| Contest {
            key,
            bucket: PREFIX,
            lease: Duration::from_secs(seconds),
            preset: Preset::Fast,
            among: among.to_vec(),
            is_aimed_at: true,
            is_mixed: false,
        };
        let mixed = Contest { is_aimed_at: false, is_mixed: true, ..contest("mixed", 3, &[0, 1]) };
        let long = Contest {
            lease: LONG,
            preset: Preset::Standard,
            is_aimed_at: false,
            ..contest("long", 0, &[4, 5])
        };
        Self {
            name: "etcd",
            store: StoreKind::Etcd,
            servers: 3,
            elections: vec![
                contest("short", 3, &[0, 1, 2, 3]),
                contest("steady", 6, &[0, 1, 2, 3]),
                mixed,
                long,
            ],
            names: vec!["c1", "c2", "c3", "c4", "long-1", "long-2"],
        }
    }

    /// The buckets, each with the longest lease in it.
    pub(crate) fn buckets(&self) -> Vec<(&'static str, Duration)> {
        let longest = |bucket| {
            let of_it = self.elections.iter().filter(|contest| contest.bucket == bucket);
            of_it.map(|contest| contest.lease).max().map(|lease| (bucket, lease))
        };
        [MARKED, PLAIN, PATIENT, PREFIX].into_iter().filter_map(longest).collect()
    }

    /// The elections that faults are aimed at.
    pub(crate) fn aims(&self) -> Vec<usize> {
        (0..self.elections.len()).filter(|at| self.elections[*at].is_aimed_at).collect()
    }
}

/// The default margin between a deadline and the end of the lease. In etcd only durations count, and no server's time
/// of day.
pub(crate) fn margin(store: StoreKind, lease: Duration) -> Duration {
    let skew = match store {
        StoreKind::Nats => (lease / 20).min(Duration::from_secs(1)),
        StoreKind::Etcd => Duration::ZERO,
    };
    skew + lease / 100 + (lease / 20).min(Duration::from_millis(250))
}

/// The longest silence of the store in which a leader keeps its term: the silence begins just before a renewal.
pub(crate) fn survives(store: StoreKind, lease: Duration) -> Duration {
    lease - margin(store, lease) - lease / 3
}

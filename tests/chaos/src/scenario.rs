//! The two runs: one server, and a cluster of three.

use std::time::Duration;

use incumbent::Preset;

/// A store, its elections, and their candidates.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) servers: usize,
    pub(crate) elections: Vec<Contest>,
    /// The candidates' names.
    pub(crate) names: Vec<&'static str>,
}

/// One election.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    pub(crate) key: &'static str,
    pub(crate) bucket: &'static str,
    pub(crate) lease: Duration,
    pub(crate) preset: Preset,
    /// The candidates that take part, by their indices in the names.
    pub(crate) among: Vec<usize>,
    /// Whether faults are aimed at it; otherwise it only has to survive those aimed at other elections.
    pub(crate) is_aimed_at: bool,
}

/// A bucket that gives each election a lease of its own and pushes expiry to watchers.
pub(crate) const MARKED: &str = "marked";
/// A bucket with one age for all records and no markers, as the Go library makes it.
pub(crate) const PLAIN: &str = "plain";
/// A bucket of its own for the long lease: after a deletion no candidate leads for as long as a record of the
/// bucket may live, whatever the deleted leader's lease.
const PATIENT: &str = "patient";

/// A lease that survives the failure of a server, as the documentation advises.
const LONG: Duration = Duration::from_secs(30);

impl Scenario {
    /// Both of them.
    pub(crate) fn all() -> [Self; 2] {
        [Self::one_node(), Self::cluster()]
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
        };
        Self {
            name: "one-node",
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
            servers: 3,
            elections: vec![
                contest("short", MARKED, 2, &[0, 1, 2, 3]),
                contest("plain", PLAIN, 2, &[0, 1, 2, 3]),
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
        [MARKED, PLAIN, PATIENT].into_iter().filter_map(longest).collect()
    }

    /// The elections that faults are aimed at.
    pub(crate) fn aims(&self) -> Vec<usize> {
        (0..self.elections.len()).filter(|at| self.elections[*at].is_aimed_at).collect()
    }
}

/// The default margin between a deadline and the end of the lease.
pub(crate) fn margin(lease: Duration) -> Duration {
    let (second, quarter) = (Duration::from_secs(1), Duration::from_millis(250));
    (lease / 20).min(second) + lease / 100 + (lease / 20).min(quarter)
}

/// The longest silence of the store in which a leader keeps its term: the silence begins just before a renewal.
pub(crate) fn survives(lease: Duration) -> Duration {
    lease - margin(lease) - lease / 3
}

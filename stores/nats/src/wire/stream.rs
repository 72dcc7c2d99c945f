//! The server's description of a bucket's stream, and the capabilities that follow from it.

use std::collections::HashMap;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::store::{Capabilities, StoreInfo};
use incumbent_core::{Incarnation, Revision};
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The metadata in which `init --new` states that the bucket's name was never used before. The value is the creation
/// time of the stream, so that the statement means nothing in a copied configuration.
pub(crate) const NEVER_USED: &str = "incumbent.never-used";

/// The server's own metadata: the API level of the stream's leading server.
const SERVER_LEVEL: &str = "_nats.level";

/// The API level since 2.11, which has markers and lease times per record.
pub(crate) const LEVEL_2_11: u32 = 1;
/// The API level since 2.12. Such servers check a write's compare before they propose it to a replicated stream.
pub(crate) const LEVEL_2_12: u32 = 2;

/// The longest delay of an expiry: the server's checks are at least 250 ms apart (`resetAgeChk` in its
/// `filestore.go`), on a clock that ticks every 100 ms (`ats`). Measured on 2.15: 60 to 410 ms by the
/// bucket's age on a busy machine, 1 to 5 ms by a record's own lease.
const GRANULARITY: Duration = Duration::from_millis(350);
/// The longest delay of an expiry before 2.11, where a check that runs slightly early is repeated only after a second.
const OLD_GRANULARITY: Duration = Duration::from_secs(1);
/// The longest time in which a cluster elects another leader for a stream: 5 to 7 s (measured on 2.15).
const CLUSTER_FAIL_OVER: Duration = Duration::from_secs(7);
/// The time for which a single server is down until it has restarted: a few seconds with little data.
const RESTART: Duration = Duration::from_secs(5);
/// The unit of lease times in records.
const FINEST_LEASE: Duration = Duration::from_millis(1);
/// `Nats-TTL` takes whole seconds.
const TTL_STEP: Duration = Duration::from_secs(1);

/// The parts of the answer to `STREAM.INFO` that an election needs.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct StreamInfo {
    pub(crate) config: Config,
    pub(crate) created: Timestamp,
    /// The time of the answer, by the clock of the stream's leader; absent before 2.10.
    #[serde(default, rename = "ts")]
    pub(crate) answered: Option<Timestamp>,
    pub(crate) state: State,
    /// The stream's JetStream domain.
    #[serde(default)]
    pub(crate) domain: Option<String>,
    /// The servers that hold the stream; absent for a single server.
    #[serde(default)]
    pub(crate) cluster: Option<Cluster>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct State {
    pub(crate) last_seq: u64,
    #[serde(default)]
    pub(crate) bytes: u64,
}

/// The servers that hold a stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Cluster {
    pub(crate) leader: Option<String>,
    /// The followers of the leader.
    pub(crate) replicas: Vec<Follower>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Follower {
    pub(crate) name: String,
    pub(crate) current: bool,
    pub(crate) offline: bool,
}

/// The stream's settings that matter for elections.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct Config {
    pub(crate) subjects: Vec<String>,
    pub(crate) retention: String,
    pub(crate) storage: String,
    pub(crate) persist_mode: Option<String>,
    pub(crate) num_replicas: u32,
    pub(crate) max_msgs_per_subject: i64,
    pub(crate) max_msgs: i64,
    pub(crate) max_bytes: i64,
    pub(crate) max_msg_size: i64,
    /// The maximum age in nanoseconds, like every duration here.
    pub(crate) max_age: i64,
    pub(crate) discard: String,
    pub(crate) discard_new_per_subject: bool,
    pub(crate) no_ack: bool,
    pub(crate) sealed: bool,
    pub(crate) deny_delete: bool,
    pub(crate) deny_purge: bool,
    pub(crate) allow_rollup_hdrs: bool,
    pub(crate) allow_msg_ttl: bool,
    pub(crate) allow_msg_counter: bool,
    pub(crate) subject_delete_marker_ttl: i64,
    pub(crate) mirror: Option<IgnoredAny>,
    pub(crate) sources: Option<Vec<IgnoredAny>>,
    pub(crate) subject_transform: Option<IgnoredAny>,
    pub(crate) metadata: HashMap<String, String>,
}

/// The parts of the answer to `INFO` that matter.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct AccountInfo {
    api: ApiInfo,
}

#[derive(Clone, Debug, Deserialize)]
struct ApiInfo {
    #[serde(default)]
    level: u32,
}

impl AccountInfo {
    /// The API level of the account's servers; 0 before 2.11.
    pub(crate) fn level(&self) -> u32 {
        self.api.level
    }
}

/// Nanoseconds since 1970, read from RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timestamp(pub(crate) u64);

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = OffsetDateTime::parse(&text, &Rfc3339).map_err(D::Error::custom)?;
        u64::try_from(time.unix_timestamp_nanos()).map(Self).map_err(D::Error::custom)
    }
}

impl StreamInfo {
    pub(crate) fn incarnation(&self) -> Incarnation {
        Incarnation(self.created.0)
    }

    /// The info for a campaign; `asked_at` was read before the request was sent.
    pub(crate) fn store_info(&self, asked_at: Instant) -> StoreInfo {
        StoreInfo {
            asked_at,
            incarnation: self.incarnation(),
            age: self.answered.map(|now| Duration::from_nanos(now.0.saturating_sub(self.created.0))),
            never_used: self.is_never_used(),
            max_age: self.config.max_age(),
            newest: Some(Revision(self.state.last_seq)),
        }
    }

    /// The time from `time` to this answer, by the server's clock; `None` if the answer has no time.
    pub(crate) fn since(&self, time: OffsetDateTime) -> Option<Duration> {
        let then = u64::try_from(time.unix_timestamp_nanos()).ok()?;
        self.answered.map(|now| Duration::from_nanos(now.0.saturating_sub(then)))
    }

    pub(crate) fn is_never_used(&self) -> bool {
        self.config.metadata.get(NEVER_USED).is_some_and(|text| *text == self.created.0.to_string())
    }

    /// The bucket's capabilities, on servers of that API level.
    pub(crate) fn capabilities(&self, level: u32) -> Capabilities {
        let config = &self.config;
        let longest = config.max_age().unwrap_or(Duration::MAX);
        let own_lease = config.allow_msg_ttl && level >= LEVEL_2_11;
        Capabilities {
            own_lease,
            lease_step: if own_lease { TTL_STEP } else { FINEST_LEASE },
            shortest: if own_lease { TTL_STEP.min(longest) } else { longest },
            longest,
            granularity: if level >= LEVEL_2_11 { GRANULARITY } else { OLD_GRANULARITY },
            expiry_pushed: config.subject_delete_marker_ttl > 0 && level >= LEVEL_2_11,
            incarnation_acked: false,
            watch_shows_all: true,
            window: 256,
            fail_over: if config.num_replicas > 1 { CLUSTER_FAIL_OVER } else { RESTART },
        }
    }
}

impl Config {
    /// The bucket's TTL; `None` if records never expire.
    pub(crate) fn max_age(&self) -> Option<Duration> {
        u64::try_from(self.max_age).ok().filter(|nanos| *nanos > 0).map(Duration::from_nanos)
    }

    /// The API level of the stream's leading server; 0 before 2.11.
    pub(crate) fn level(&self) -> u32 {
        self.metadata.get(SERVER_LEVEL).and_then(|level| level.parse().ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(config: &str) -> StreamInfo {
        let text = format!(
            r#"{{"type": "io.nats.jetstream.api.v1.stream_info_response", "total": 0,
                "config": {config}, "created": "2026-11-21T09:00:00.000000001Z",
                "state": {{"messages": 1, "last_seq": 17}}, "ts": "2026-11-21T10:00:01.5+01:00"}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    const CREATED: u64 = 1_795_251_600_000_000_001;

    #[test]
    fn the_incarnation_is_the_creation_time_in_nanoseconds() {
        assert_eq!(info("{}").incarnation(), Incarnation(CREATED));
    }

    #[test]
    fn facts_are_read_from_one_answer() {
        let info = info(r#"{"max_age": 30000000000}"#).store_info(Instant::from_nanos(5));
        assert_eq!(
            info,
            StoreInfo {
                asked_at: Instant::from_nanos(5),
                incarnation: Incarnation(CREATED),
                age: Some(Duration::from_nanos(1_499_999_999)),
                never_used: false,
                max_age: Some(Duration::from_secs(30)),
                newest: Some(Revision(17)),
            }
        );
    }

    #[test]
    fn a_statement_that_the_name_was_never_used_holds_for_its_own_stream_alone() {
        let stated = |created: u64| {
            info(&format!(r#"{{"metadata": {{"incumbent.never-used": "{created}"}}}}"#)).is_never_used()
        };
        assert!(stated(CREATED));
        assert!(!stated(CREATED - 1));
    }

    #[test]
    fn a_plain_bucket_has_one_lease_for_all() {
        let capabilities = info(r#"{"max_age": 30000000000, "num_replicas": 3}"#).capabilities(5);
        let lease = Duration::from_secs(30);
        assert_eq!(
            capabilities,
            Capabilities {
                own_lease: false,
                lease_step: Duration::from_millis(1),
                shortest: lease,
                longest: lease,
                granularity: Duration::from_millis(350),
                expiry_pushed: false,
                incarnation_acked: false,
                watch_shows_all: true,
                window: 256,
                fail_over: Duration::from_secs(7),
            }
        );
    }

    #[test]
    fn lease_times_per_record_and_markers_count_from_2_11_on() {
        let config = r#"{"max_age": 86400000000000, "allow_msg_ttl": true, "num_replicas": 1,
            "subject_delete_marker_ttl": 30000000000}"#;
        let new = info(config).capabilities(LEVEL_2_11);
        assert!(new.own_lease && new.expiry_pushed);
        assert_eq!((new.shortest, new.longest), (Duration::from_secs(1), Duration::from_secs(86_400)));
        assert_eq!(new.lease_step, Duration::from_secs(1));
        let old = info(config).capabilities(0);
        assert!(!old.own_lease && !old.expiry_pushed);
        assert_eq!(old.granularity, Duration::from_secs(1));
    }
}

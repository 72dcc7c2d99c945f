//! The real settings of a bucket and its servers, for an operator.

use std::time::{Duration, SystemTime};

use incumbent_core::store::{Capabilities, StoreInfo};

use super::safety::{self, Flaw};
use crate::adapter::OPENING_TIMEOUT;
use crate::config::settings::NatsSettings;
use crate::connection::Connection;
use crate::wire::api::{Api, Failure};
use crate::wire::bucket::Bucket;
use crate::wire::stream::StreamInfo;
use incumbent_store::clock::Clock;
use incumbent_store::{Error, ErrorKind, Result};

/// The real settings of a bucket and its servers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Survey {
    /// The version of the connected server.
    pub server: String,
    /// The API level of the account's servers: 0 before 2.11, 1 for 2.11, 2 for 2.12 and so on; `None` without
    /// permission to ask.
    pub account_level: Option<u32>,
    /// The API level of the stream's leading server.
    pub stream_level: u32,
    /// The number of servers that keep the bucket.
    pub replicas: u32,
    /// The servers that hold the bucket, the stream's leader first; empty without a cluster.
    pub holders: Vec<Holder>,
    /// `file` or `memory`.
    pub storage: String,
    /// True if a write is acknowledged before it is stored (`persist_mode: async`).
    pub acknowledges_early: bool,
    /// The number of values kept of each key.
    pub history: i64,
    /// The time for which a record is kept; `None` for no limit.
    pub max_age: Option<Duration>,
    /// The time for which the marker of an expiry is kept; `None` without markers.
    pub markers: Option<Duration>,
    /// True if a record can have its own lease.
    pub own_leases: bool,
    /// True if the bucket refuses to purge a leader's record.
    pub denies_purges: bool,
    /// True if the bucket refuses to delete a leader's record without a trace.
    pub denies_deletes: bool,
    /// The size of the bucket in bytes.
    pub bytes: u64,
    /// The limit in bytes; `None` without a limit.
    pub max_bytes: Option<u64>,
    /// The difference between the clock of the stream's leading server and this machine's; `None` if the server does
    /// not report its time.
    pub clock: Option<ClockDifference>,
    /// The settings that make elections unsafe.
    pub flaws: Vec<Flaw>,
    /// The capabilities for a campaign.
    pub capabilities: Capabilities,
    /// The bucket's description of itself.
    pub info: StoreInfo,
}

/// A server that holds a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The server's name.
    pub name: String,
    /// True if the server is reachable and up to date.
    pub is_well: bool,
}

/// The difference between two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDifference {
    /// The amount.
    pub by: Duration,
    /// True if the server's clock is ahead.
    pub server_is_ahead: bool,
    /// The largest error of the measured difference, in either direction: half of the request's round trip.
    pub uncertain_by: Duration,
}

/// Reads the settings of a bucket and its servers, even if an election on it would be unsafe. The survey changes
/// nothing, and does not wait for a server to come up.
///
/// # Errors
/// `NotFound` for a bucket that does not exist, `Unsupported` for a server that is too old, `Authentication`,
/// `PermissionDenied` and `StoreUnavailable` for a failed connection.
pub async fn survey(settings: &NatsSettings, clock: &Clock) -> Result<Survey> {
    let settings = settings.clone().fail_fast(true);
    let bucket = Bucket::new(&settings.bucket, settings.api_prefix.as_deref());
    let api = Api { connection: Connection::open(&settings).await?, bucket };
    let survey = tokio::time::timeout(OPENING_TIMEOUT, survey_bucket(&api, clock)).await;
    api.connection.close().await;
    survey.unwrap_or_else(|_| {
        let servers = settings.servers_shown();
        Err(Error::new(ErrorKind::StoreUnavailable, format!("JetStream at {servers} does not answer")))
    })
}

async fn survey_bucket(api: &Api, clock: &Clock) -> Result<Survey> {
    api.check_server()?;
    let failed = |failure: Failure| failure.error(&api.bucket);
    let account_level = api.account_level().await.map_err(failed)?;
    let (asked_at, before) = (clock.now(), SystemTime::now());
    let info: StreamInfo = api.stream_info().await.map_err(failed)?;
    let after = SystemTime::now();
    let stream_level = info.config.level();
    let level = account_level.map_or(stream_level, |of_account| of_account.min(stream_level));
    let config = &info.config;
    let positive = |number: i64| u64::try_from(number).ok().filter(|number| *number > 0);
    Ok(Survey {
        server: api.connection.client().server_info().version,
        account_level,
        stream_level,
        replicas: config.num_replicas,
        holders: holders(&info),
        storage: config.storage.clone(),
        acknowledges_early: config.persist_mode.as_deref() == Some("async"),
        history: config.max_msgs_per_subject,
        max_age: config.max_age(),
        markers: positive(config.subject_delete_marker_ttl).map(Duration::from_nanos),
        own_leases: config.allow_msg_ttl,
        denies_purges: config.deny_purge,
        denies_deletes: config.deny_delete,
        bytes: info.state.bytes,
        max_bytes: positive(config.max_bytes),
        clock: info.answered.and_then(|answered| difference(before, answered.0, after)),
        flaws: safety::flaws(&api.bucket, config, level),
        capabilities: info.capabilities(level),
        info: info.store_info(asked_at),
    })
}

fn holders(info: &StreamInfo) -> Vec<Holder> {
    let Some(cluster) = &info.cluster else { return Vec::new() };
    let leader = cluster.leader.iter().map(|name| Holder { name: name.clone(), is_well: true });
    let followers = cluster
        .replicas
        .iter()
        .map(|peer| Holder { name: peer.name.clone(), is_well: peer.current && !peer.offline });
    leader.chain(followers).collect()
}

/// Compares a server's time, in nanoseconds since 1970, with two readings of the local clock around it.
fn difference(before: SystemTime, theirs: u64, after: SystemTime) -> Option<ClockDifference> {
    let nanos = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).ok();
    let (before, after) = (nanos(before)?, nanos(after)?);
    let half = after.saturating_sub(before) / 2;
    let (ours, theirs) = (before + half, Duration::from_nanos(theirs));
    Some(ClockDifference { by: ours.abs_diff(theirs), server_is_ahead: theirs > ours, uncertain_by: half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_compared_with_the_middle_of_the_question() {
        let at = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        let told = |theirs: u64| difference(at(1_000), theirs * 1_000_000, at(1_010)).unwrap();
        let millis = Duration::from_millis;
        let expected = |by, server_is_ahead| ClockDifference {
            by: millis(by),
            server_is_ahead,
            uncertain_by: millis(5),
        };
        assert_eq!(told(1_005), expected(0, false));
        assert_eq!(told(3_005), expected(2_000, true));
        assert_eq!(told(5), expected(1_000, false));
        // A clock before 1970 cannot be compared.
        assert_eq!(difference(SystemTime::UNIX_EPOCH - millis(1), 0, at(0)), None);
    }
}

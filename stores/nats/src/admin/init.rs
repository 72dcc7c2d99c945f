//! Creates or corrects a bucket.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::difference::{Wanted, wanted};
use super::safety;
use crate::account_level;
use crate::check_server;
use crate::config::settings::NatsSettings;
use crate::connection::Connection;
use crate::refusals;
use crate::wire::api::{Api, Bucket, CONSUMERS_LIMITED, Failure, STREAM_NOT_FOUND};
use crate::wire::stream::{LEVEL_2_11, LEVEL_2_12, NEVER_USED, StreamInfo};
use incumbent_store::Difference;
use incumbent_store::{Error, ErrorKind, Result};

/// The stream's name is taken: another client created the bucket at the same moment.
const NAME_TAKEN: u64 = 10058;
/// The account requires a limit on the bytes of each stream.
const BYTES_REQUIRED: u64 = 10113;
/// The time within which the creator of a bucket that was never used must have marked it so, with two requests; and the
/// interval at which another `init` checks for the mark.
const STATED: Duration = Duration::from_secs(2);
const LOOKS: u32 = 20;
/// The metadata that distinguishes the requests of different `init` calls.
const MADE_BY: &str = "incumbent.made-by";
/// The server's default window for detecting duplicates, which this crate never sends.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);

/// The shortest maximum age that NATS accepts.
const SHORTEST: Duration = Duration::from_millis(100);
/// The most consumers of a new bucket. Each process that campaigns or observes has one. nats-server 2.15 and newer
/// allow 1,000 if neither the stream nor the account sets a limit, and -1 does not count as a limit.
const MOST_CONSUMERS: i64 = 100_000;

/// The smallest size limit of a bucket: some hundred elections, each with a record and a request of less than 200
/// bytes.
const LEAST_BYTES: u64 = 64 * 1024;

/// The time limit for the whole of `init`.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The time limit for one attempt. A cluster that has just elected a leader loses requests, and requests between its
/// servers take up to 4 s. Creating a stream of three replicas takes a second or two.
const ATTEMPT: Duration = Duration::from_secs(8);

/// The required settings of a bucket.
#[derive(Clone, Debug)]
#[must_use]
pub struct InitOptions {
    pub(crate) lease: Duration,
    pub(crate) replicas: u32,
    /// The size limit in bytes; `None` if no limit is requested.
    pub(crate) max_bytes: Option<u64>,
    pub(crate) markers: bool,
    pub(crate) own_leases: bool,
    pub(crate) never_used: bool,
    update: bool,
}

impl InitOptions {
    /// Returns options for a bucket on one server, whose records live for `lease`.
    pub fn new(lease: Duration) -> Self {
        Self {
            lease,
            replicas: 1,
            max_bytes: None,
            markers: false,
            own_leases: false,
            never_used: false,
            update: false,
        }
    }

    /// Sets the number of servers that keep the bucket: 1, 3 or 5.
    pub fn replicas(mut self, replicas: u32) -> Self {
        self.replicas = replicas;
        self
    }

    /// Sets the most bytes of the bucket, at least 65,536, for an account that requires a limit. By default a new
    /// bucket has none.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Sets whether the server reports an expiry to watchers by a marker (2.11 or newer). A bucket that older clients
    /// read must have no markers, because those clients take a marker for a live key.
    pub fn markers(mut self, markers: bool) -> Self {
        self.markers = markers;
        self
    }

    /// Sets whether each election may have its own lease, in whole seconds and shorter than the bucket's (2.11 or
    /// newer).
    pub fn own_leases(mut self, own_leases: bool) -> Self {
        self.own_leases = own_leases;
        self
    }

    /// States that the bucket's name was never used before, so that its first leader need not wait for a leader of an
    /// earlier bucket of that name. The statement is refused for a bucket that holds or has held a message. Not for
    /// automation: if automation recreates a bucket under a leader, the statement is false and there can be two
    /// leaders.
    pub fn never_used(mut self, never_used: bool) -> Self {
        self.never_used = never_used;
        self
    }

    /// Sets whether to change an existing bucket that differs, instead of reporting the differences.
    pub fn update(mut self, update: bool) -> Self {
        self.update = update;
        self
    }

    /// Refuses options that no bucket can have.
    ///
    /// # Errors
    /// `InvalidSetting`.
    pub fn check(&self) -> Result<()> {
        if self.lease < SHORTEST {
            return Err(Error::from(refusals::age_too_short(self.lease, SHORTEST)));
        }
        if !matches!(self.replicas, 1 | 3 | 5) {
            return Err(Error::from(refusals::replicas(self.replicas.into())));
        }
        if let Some(bytes) = self.max_bytes.filter(|bytes| *bytes < LEAST_BYTES) {
            return Err(Error::from(refusals::bytes_too_few(bytes, LEAST_BYTES)));
        }
        Ok(())
    }

    pub(crate) fn marker_ttl(&self) -> Duration {
        Duration::from_secs(self.lease.as_millis().div_ceil(1000) as u64)
    }
}

/// The findings and actions of [`init`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitReport {
    /// The bucket did not exist, and was created.
    pub created: bool,
    /// The bucket existed, and was changed.
    pub updated: bool,
    /// The differences found; empty for a new or correct bucket.
    pub differences: Vec<Difference>,
}

/// Creates a bucket for elections, or reports or corrects the differences of an existing one.
///
/// A second call changes nothing. A bucket without markers also refuses purges and rollups, because they would remove a
/// live leader's record.
///
/// # Errors
/// `InvalidSetting` for invalid options; `UnsafeStore` for differences that need a new bucket, and for a bucket that is
/// stated to be new but has been written to; `Unsupported` for a feature that the servers are too old for; and every
/// error of connecting to the server.
pub async fn init(settings: &NatsSettings, options: &InitOptions) -> Result<InitReport> {
    options.check()?;
    let settings = settings.clone().fail_fast(true);
    let bucket = Bucket::new(&settings.bucket, settings.api_prefix.as_deref());
    let connection = Connection::open(&settings).await?;
    let api = Api { connection, bucket };
    let mut creating = false;
    // If two calls draw the same number, both report that they created the bucket, which does no harm.
    let maker = getrandom::u64().unwrap_or(std::process::id().into());
    let attempts = async {
        loop {
            let attempt = run(&api, options, maker, &mut creating);
            if let Ok(report) = tokio::time::timeout(ATTEMPT, attempt).await {
                return report;
            }
        }
    };
    let report = tokio::time::timeout(TIME_LIMIT, attempts).await;
    api.connection.close().await;
    report.unwrap_or_else(|_| {
        let servers = settings.servers_shown();
        Err(Error::new(ErrorKind::StoreUnavailable, format!("JetStream at {servers} does not answer")))
    })
}

/// Makes one attempt. `creating` is set once the request to create the bucket has been sent: that request may have
/// succeeded without an answer, and the server accepts the same request again.
async fn run(api: &Api, options: &InitOptions, maker: u64, creating: &mut bool) -> Result<InitReport> {
    check_server(api)?;
    let level = account_level(api).await.map_err(|failure| failure.error(&api.bucket))?;
    check_level(options, level)?;

    let failed = |failure: Failure| failure.error(&api.bucket);
    let found = match api.stream_info::<Value>().await {
        Ok(found) => Some(found),
        Err(Failure::Api(error)) if error.err_code == STREAM_NOT_FOUND => None,
        Err(failure) => return Err(failed(failure)),
    };
    let existing = match found {
        Some(existing) if !*creating => existing,
        _ => {
            *creating = true;
            let request = format!("STREAM.CREATE.{}", api.bucket.stream);
            let mut config = creation(&api.bucket, options, maker);
            let mut answer = api.ask(&request, &config).await;
            if matches!(&answer, Err(Failure::Api(error)) if error.err_code == CONSUMERS_LIMITED) {
                // The account has a lower limit of its own, which applies to its streams.
                config["max_consumers"] = (-1).into();
                answer = api.ask(&request, &config).await;
            }
            match answer {
                Ok(created) => {
                    finish(api, options, created).await?;
                    return Ok(InitReport { created: true, updated: false, differences: Vec::new() });
                }
                Err(Failure::Api(error)) if error.err_code == NAME_TAKEN => {
                    api.stream_info().await.map_err(failed)?
                }
                Err(Failure::Api(error)) if error.err_code == BYTES_REQUIRED => {
                    return Err(Error::named(ErrorKind::InvalidSetting, refusals::bytes_required()));
                }
                Err(failure) => return Err(failed(failure)),
            }
        }
    };

    let existing = once_stated(api, options, existing).await?;
    let info = read(&existing)?;
    let count = info.state.last_seq;
    if options.never_used && count > 0 {
        return Err(Error::named(ErrorKind::UnsafeStore, refusals::not_new(&api.bucket.name, count)));
    }
    let wanted = wanted(&api.bucket, options, &info);
    let differences: Vec<_> = wanted.iter().map(|wanted| wanted.difference.clone()).collect();
    let updated = options.update && !differences.is_empty();
    if updated {
        if let Some(fixed) = differences.iter().find(|difference| !difference.changeable) {
            return Err(Error::new(
                ErrorKind::UnsafeStore,
                format!(
                    "the NATS bucket {:?} cannot be corrected: {} is {} and should be {}, which NATS never changes; \
                     delete the bucket and create it again with `incumbent init`",
                    api.bucket.name, fixed.setting, fixed.is, fixed.should
                ),
            ));
        }
        let changed = update(api, &existing, wanted, options).await?;
        finish(api, options, changed).await?;
    }
    Ok(InitReport { created: false, updated, differences })
}

/// Returns the bucket's state. If another `init` has just created the bucket, and this call also has to state that it
/// was never used, waits for the other call to do so.
async fn once_stated(api: &Api, options: &InitOptions, mut existing: Value) -> Result<Value> {
    for _ in 0..LOOKS {
        let info = read(&existing)?;
        let age = info.answered.map(|now| Duration::from_nanos(now.0.saturating_sub(info.created.0)));
        if !options.never_used || info.is_never_used() || age.is_none_or(|age| age > STATED) {
            break;
        }
        tokio::time::sleep(STATED / LOOKS).await;
        existing = api.stream_info().await.map_err(|failure| failure.error(&api.bucket))?;
    }
    Ok(existing)
}

fn check_level(options: &InitOptions, level: Option<u32>) -> Result<()> {
    // Without permission to ask, the level is not known. The resulting settings are checked afterwards.
    let Some(level) = level else { return Ok(()) };
    let needed = [
        ("markers", options.markers, LEVEL_2_11, "2.11"),
        ("own_leases", options.own_leases, LEVEL_2_11, "2.11"),
        ("replicas", options.replicas > 1, LEVEL_2_12, "2.12"),
    ];
    for (setting, is_asked, least, version) in needed {
        if is_asked && level < least {
            return Err(Error::named(ErrorKind::Unsupported, refusals::old_server(setting, version)));
        }
    }
    Ok(())
}

/// The configuration of a new bucket: the settings that key-value clients expect, and those that elections need. The
/// server accepts an identical request from any client as a repetition, so each `maker` sends a different one.
fn creation(bucket: &Bucket, options: &InitOptions, maker: u64) -> Value {
    let mut config = json!({
        "name": bucket.stream,
        "subjects": [bucket.subject(">")],
        "description": "leader elections",
        "retention": "limits",
        "storage": "file",
        "num_replicas": options.replicas,
        "max_consumers": MOST_CONSUMERS,
        "max_msgs": -1,
        "max_bytes": options.max_bytes.map_or(json!(-1), Value::from),
        "max_msg_size": -1,
        "max_msgs_per_subject": 1,
        "max_age": nanos(options.lease),
        "duplicate_window": nanos(options.lease.min(DUPLICATE_WINDOW)),
        "discard": "new",
        "allow_direct": true,
        "deny_delete": true,
        "deny_purge": !options.markers,
        "allow_rollup_hdrs": options.markers,
        "metadata": { MADE_BY: format!("{maker:016x}") },
    });
    if options.markers || options.own_leases {
        config["allow_msg_ttl"] = true.into();
    }
    if options.markers {
        config["subject_delete_marker_ttl"] = nanos(options.marker_ttl()).into();
    }
    config
}

/// Changes the wanted settings and leaves all others as they are on the server, including unknown ones.
async fn update(api: &Api, existing: &Value, wanted: Vec<Wanted>, options: &InitOptions) -> Result<Value> {
    let mut config = existing["config"].as_object().cloned().unwrap_or_default();
    for Wanted { difference, value } in wanted {
        if difference.setting != "metadata" {
            config.insert(difference.setting.into(), value);
        }
    }
    // The server refuses a window longer than the age.
    let window = config.get("duplicate_window").and_then(Value::as_u64).unwrap_or(0);
    config.insert("duplicate_window".into(), window.min(nanos(options.lease)).into());
    send_update(api, config).await
}

async fn send_update(api: &Api, config: Map<String, Value>) -> Result<Value> {
    api.ask(&format!("STREAM.UPDATE.{}", api.bucket.stream), &config)
        .await
        .map_err(|failure| failure.error(&api.bucket))
}

/// States that the name was never used, if requested, and checks the resulting settings.
async fn finish(api: &Api, options: &InitOptions, mut answer: Value) -> Result<()> {
    let created = read(&answer)?;
    if options.never_used && !created.is_never_used() {
        let mut config = answer["config"].as_object().cloned().unwrap_or_default();
        let mut metadata = match config.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        metadata.insert(NEVER_USED.into(), created.created.0.to_string().into());
        config.insert("metadata".into(), metadata.into());
        answer = send_update(api, config).await?;
    }
    let info = read(&answer)?;
    if let Some(Wanted { difference, .. }) = wanted(&api.bucket, options, &info).first() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the NATS server left {} of the bucket {:?} at {} instead of {}: it is too old, or its configuration overrides this",
                difference.setting, api.bucket.name, difference.is, difference.should
            ),
        ));
    }
    let level = info.config.level();
    safety::check(&api.bucket, &info.config, level)
}

fn read(answer: &Value) -> Result<StreamInfo> {
    serde_json::from_value(answer.clone()).map_err(|error| {
        Error::new(
            ErrorKind::Broken,
            format!("NATS described the bucket in a way that cannot be read: {error}"),
        )
        .caused_by(error)
    })
}

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_cannot_be_are_refused_by_name() {
        for (options, setting) in [
            (InitOptions::new(Duration::from_millis(99)), "lease is 99ms, and must be at least 100ms"),
            (InitOptions::new(Duration::from_secs(1)).replicas(2), "replicas is 2, and must be 1, 3 or 5"),
            (InitOptions::new(Duration::from_secs(1)).replicas(0), "replicas is 0, and must be 1, 3 or 5"),
            (
                InitOptions::new(Duration::from_secs(1)).max_bytes(65_535),
                "max_bytes is 65535, and must be at least 65536",
            ),
        ] {
            let error = options.check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidSetting);
            assert!(error.message().contains(setting), "{error}");
        }
    }

    #[test]
    fn markers_leases_per_record_and_replicas_want_newer_servers() {
        let options = || InitOptions::new(Duration::from_secs(30));
        for (options, level, version) in [
            (options().markers(true), 0, "2.11"),
            (options().own_leases(true), 0, "2.11"),
            (options().replicas(3), 1, "2.12"),
        ] {
            let error = check_level(&options, Some(level)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains(version), "{error}");
            check_level(&options, Some(level + 1)).unwrap();
            check_level(&options, None).unwrap();
        }
    }

    #[test]
    fn a_marker_stays_as_long_as_a_lease_in_whole_seconds() {
        let ttl = |millis| InitOptions::new(Duration::from_millis(millis)).marker_ttl();
        assert_eq!(ttl(750), Duration::from_secs(1));
        assert_eq!(ttl(30_000), Duration::from_secs(30));
        assert_eq!(ttl(30_001), Duration::from_secs(31));
    }
}

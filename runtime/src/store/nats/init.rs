//! Making a bucket right.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::api::{Api, Bucket, Failure, STREAM_NOT_FOUND};
use super::connection::Connection;
use super::safety;
use super::settings::NatsSettings;
use super::stream::{Config, LEVEL_2_11, LEVEL_2_12, NEVER_USED, StreamInfo};
use super::{account_level, check_server};
use crate::{Error, ErrorKind, Result};

/// The stream's name is taken: somebody else made the bucket in the same moment.
const NAME_TAKEN: u64 = 10058;
/// The server's default for the window in which it looks for duplicates. We send none.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);

/// What a bucket should be.
#[derive(Clone, Debug)]
#[must_use]
pub struct InitOptions {
    lease: Duration,
    replicas: u32,
    markers: bool,
    own_leases: bool,
    never_used: bool,
    update: bool,
}

impl InitOptions {
    /// A bucket whose records live for `lease`, on one server.
    pub fn new(lease: Duration) -> Self {
        Self { lease, replicas: 1, markers: false, own_leases: false, never_used: false, update: false }
    }

    /// On how many servers of a cluster it is kept: 1, 3 or 5.
    pub fn replicas(mut self, replicas: u32) -> Self {
        self.replicas = replicas;
        self
    }

    /// Whether the server tells watchers of an expiry, by a marker (2.11 or newer). Not for a bucket
    /// that clients older than that read: they take a marker for a live key.
    pub fn markers(mut self, markers: bool) -> Self {
        self.markers = markers;
        self
    }

    /// Whether each election may have a lease of its own, in whole seconds and shorter than the
    /// bucket's (2.11 or newer).
    pub fn own_leases(mut self, own_leases: bool) -> Self {
        self.own_leases = own_leases;
        self
    }

    /// States that the bucket's name was never used before, so that its first leader need not wait for
    /// a leader of an earlier bucket of that name.
    pub fn never_used(mut self, never_used: bool) -> Self {
        self.never_used = never_used;
        self
    }

    /// Whether to change a bucket that exists and differs, instead of telling the differences.
    pub fn update(mut self, update: bool) -> Self {
        self.update = update;
        self
    }

    fn check(&self) -> Result<()> {
        let refused = |message: String| Err(Error::new(ErrorKind::InvalidSetting, message));
        if self.lease < Duration::from_millis(100) {
            return refused(format!("`lease` is {:?}; NATS keeps records for 100 ms or more", self.lease));
        }
        if !matches!(self.replicas, 1 | 3 | 5) {
            return refused(format!(
                "`replicas` is {}; use 1, 3 or 5, of which a cluster survives the loss of none, one or two",
                self.replicas
            ));
        }
        Ok(())
    }

    fn marker_ttl(&self) -> Duration {
        Duration::from_secs(self.lease.as_millis().div_ceil(1000) as u64)
    }
}

/// What [`init`] found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitReport {
    /// The bucket was not there, and is now.
    pub created: bool,
    /// The bucket was there, and was changed.
    pub updated: bool,
    /// How the bucket differed; empty where it was right, or not there.
    pub differences: Vec<Difference>,
}

/// A setting of a bucket that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting, as the server's configuration calls it.
    pub setting: &'static str,
    /// What it is.
    pub is: String,
    /// What it should be.
    pub should: String,
    /// Whether it can be changed without making the bucket anew.
    pub changeable: bool,
}

/// Makes a bucket right for elections, or says how it differs.
///
/// Doing it twice changes nothing the second time. A bucket without markers also refuses purges and
/// rollups, which would take the record of a live leader away.
///
/// # Errors
/// `InvalidSetting` for options that cannot be; `UnsafeStore` for a bucket that differs in a way
/// that only making it anew can mend; `Unsupported` for what the servers are too old for; and
/// whatever keeps us from the server.
pub async fn init(settings: &NatsSettings, options: &InitOptions) -> Result<InitReport> {
    options.check()?;
    let settings = settings.clone().fail_fast(true);
    let bucket = Bucket::new(&settings.bucket, settings.api_prefix.as_deref());
    let connection = Connection::open(&settings).await?;
    let api = Api { connection, bucket };
    let report = run(&api, options).await;
    api.connection.close().await;
    report
}

async fn run(api: &Api, options: &InitOptions) -> Result<InitReport> {
    check_server(api)?;
    let level = account_level(api).await.map_err(|failure| failure.error(&api.bucket))?;
    check_level(options, level)?;

    let failed = |failure: Failure| failure.error(&api.bucket);
    let existing: Value = match api.stream_info().await {
        Ok(existing) => existing,
        Err(Failure::Api(error)) if error.err_code == STREAM_NOT_FOUND => {
            let request = format!("STREAM.CREATE.{}", api.bucket.stream);
            match api.ask(&request, &creation(&api.bucket, options)).await {
                Ok(created) => {
                    finish(api, options, created).await?;
                    return Ok(InitReport { created: true, updated: false, differences: Vec::new() });
                }
                Err(Failure::Api(error)) if error.err_code == NAME_TAKEN => {
                    api.stream_info().await.map_err(failed)?
                }
                Err(failure) => return Err(failed(failure)),
            }
        }
        Err(failure) => return Err(failed(failure)),
    };

    let info = read(&existing)?;
    let wanted = wanted(&api.bucket, options, &info);
    let differences: Vec<_> = wanted.iter().map(|wanted| wanted.difference.clone()).collect();
    let updated = options.update && !differences.is_empty();
    if updated {
        if let Some(fixed) = differences.iter().find(|difference| !difference.changeable) {
            return Err(Error::new(
                ErrorKind::UnsafeStore,
                format!(
                    "the NATS bucket {:?} cannot be made right: {} is {} and should be {}, which NATS does \
                     not let anybody change; delete the bucket and make it anew with `incumbent init`",
                    api.bucket.name, fixed.setting, fixed.is, fixed.should
                ),
            ));
        }
        let changed = update(api, &existing, wanted, options).await?;
        finish(api, options, changed).await?;
    }
    Ok(InitReport { created: false, updated, differences })
}

fn check_level(options: &InitOptions, level: Option<u32>) -> Result<()> {
    // Unknown where our user may not ask; what the server makes of it is checked afterwards.
    let Some(level) = level else { return Ok(()) };
    let refused = |what: &str, version: &str| {
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("{what} need nats-server {version} or newer: upgrade"),
        ))
    };
    if options.markers && level < LEVEL_2_11 {
        return refused("`markers`", "2.11");
    }
    if options.own_leases && level < LEVEL_2_11 {
        return refused("`own_leases`", "2.11");
    }
    if options.replicas > 1 && level < LEVEL_2_12 {
        return refused("replicas", "2.12");
    }
    Ok(())
}

/// The configuration of a new bucket: what key-value clients expect, and what elections need.
fn creation(bucket: &Bucket, options: &InitOptions) -> Value {
    let mut config = json!({
        "name": bucket.stream,
        "subjects": [bucket.subject(">")],
        "description": "leader elections",
        "retention": "limits",
        "storage": "file",
        "num_replicas": options.replicas,
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_msg_size": -1,
        "max_msgs_per_subject": 1,
        "max_age": nanos(options.lease),
        "duplicate_window": nanos(options.lease.min(DUPLICATE_WINDOW)),
        "discard": "new",
        "allow_direct": true,
        "deny_delete": true,
        "deny_purge": !options.markers,
        "allow_rollup_hdrs": options.markers,
    });
    if options.markers || options.own_leases {
        config["allow_msg_ttl"] = true.into();
    }
    if options.markers {
        config["subject_delete_marker_ttl"] = nanos(options.marker_ttl()).into();
    }
    config
}

/// A setting to change, and the change.
struct Wanted {
    difference: Difference,
    value: Value,
}

/// How a bucket that exists differs from what is asked for.
fn wanted(bucket: &Bucket, options: &InitOptions, info: &StreamInfo) -> Vec<Wanted> {
    let Config {
        subjects,
        retention,
        storage,
        persist_mode,
        num_replicas,
        max_msgs_per_subject,
        max_age,
        discard,
        discard_new_per_subject,
        no_ack,
        sealed,
        deny_delete,
        deny_purge,
        allow_rollup_hdrs,
        allow_msg_ttl,
        allow_msg_counter,
        subject_delete_marker_ttl,
        mirror,
        sources,
        subject_transform,
        // Limits on the whole bucket and what others keep in its metadata are its operator's.
        max_msgs: _,
        max_bytes: _,
        metadata: _,
    } = &info.config;

    let mut list = Differences(Vec::new());
    let subject = bucket.subject(">");
    let shown = subjects.join(", ");
    let is_so = if subjects.contains(&subject) { &subject } else { &shown };
    list.fixed("subjects", is_so.clone(), subject.clone());
    list.fixed("mirror", mirror.is_some(), false);
    list.fixed("sources", sources.as_ref().is_some_and(|sources| !sources.is_empty()), false);
    list.fixed("storage", storage.clone(), "file".to_string());
    list.fixed("retention", retention.clone(), "limits".to_string());
    list.fixed("persist_mode", persist_mode.as_deref().is_some_and(|mode| mode == "async"), false);
    list.fixed("sealed", *sealed, false);
    list.fixed("allow_msg_counter", *allow_msg_counter, false);
    list.free("subject_transform", subject_transform.is_some(), false, Value::Null);
    list.free("num_replicas", *num_replicas, options.replicas, options.replicas);
    list.free("max_msgs_per_subject", *max_msgs_per_subject, 1, 1);
    let age = u64::try_from(*max_age).unwrap_or(0);
    list.free("max_age", Age(age), Age(nanos(options.lease)), nanos(options.lease));
    list.free("discard", discard.clone(), "new".to_string(), "new");
    list.free("discard_new_per_subject", *discard_new_per_subject, false, false);
    list.free("no_ack", *no_ack, false, false);
    list.free("deny_delete", *deny_delete, true, true);
    if options.markers || options.own_leases {
        list.free("allow_msg_ttl", *allow_msg_ttl, true, true);
    }
    // A purge needs its denial lifted, which NATS does not allow; so does a marker.
    let marks = *subject_delete_marker_ttl > 0;
    if options.markers {
        list.fixed("deny_purge", *deny_purge, false);
        list.free("allow_rollup_hdrs", *allow_rollup_hdrs, true, true);
        let is = if marks { *subject_delete_marker_ttl as u64 } else { 0 };
        let should = if marks { is } else { nanos(options.marker_ttl()) };
        list.free("subject_delete_marker_ttl", Age(is), Age(should), should);
    } else if !marks {
        list.free("deny_purge", *deny_purge, true, true);
        list.free("allow_rollup_hdrs", *allow_rollup_hdrs, false, false);
    }
    if options.never_used {
        list.free("metadata", Stated(info.is_never_used()), Stated(true), Value::Null);
    }
    list.0
}

struct Differences(Vec<Wanted>);

impl Differences {
    fn fixed<T: PartialEq + ToString>(&mut self, setting: &'static str, is: T, should: T) {
        self.note(setting, is, should, false, Value::Null);
    }

    fn free<T: PartialEq + ToString>(
        &mut self,
        setting: &'static str,
        is: T,
        should: T,
        value: impl Into<Value>,
    ) {
        self.note(setting, is, should, true, value.into());
    }

    fn note<T: PartialEq + ToString>(
        &mut self,
        setting: &'static str,
        is: T,
        should: T,
        changeable: bool,
        value: Value,
    ) {
        if is != should {
            let difference =
                Difference { setting, is: is.to_string(), should: should.to_string(), changeable };
            self.0.push(Wanted { difference, value });
        }
    }
}

/// A time in nanoseconds, shown as a person reads it.
#[derive(PartialEq)]
struct Age(u64);

impl std::fmt::Display for Age {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => f.write_str("none"),
            nanos => write!(f, "{:?}", Duration::from_nanos(nanos)),
        }
    }
}

/// Whether it is stated that the name was never used.
#[derive(PartialEq)]
struct Stated(bool);

impl std::fmt::Display for Stated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0 { "stated that it was never used" } else { "no such statement" })
    }
}

/// Changes what is wanted and leaves all else as the server has it, also what we do not know.
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

/// States what was asked to be stated, and checks what the server made of it all.
async fn finish(api: &Api, options: &InitOptions, mut answer: Value) -> Result<()> {
    let created = read(&answer)?;
    if options.never_used && !created.is_never_used() {
        let mut config = answer["config"].as_object().cloned().unwrap_or_default();
        let metadata = config.entry("metadata").or_insert_with(|| json!({}));
        metadata[NEVER_USED] = created.created.0.to_string().into();
        answer = send_update(api, config).await?;
    }
    let info = read(&answer)?;
    if let Some(Wanted { difference, .. }) = wanted(&api.bucket, options, &info).first() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the NATS server left {} of the bucket {:?} at {} instead of {}: it is too old, or set up to",
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

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_cannot_be_are_refused_by_name() {
        for (options, setting) in [
            (InitOptions::new(Duration::from_millis(99)), "`lease`"),
            (InitOptions::new(Duration::from_secs(1)).replicas(2), "`replicas`"),
            (InitOptions::new(Duration::from_secs(1)).replicas(0), "`replicas`"),
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

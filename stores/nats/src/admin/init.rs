//! Creates or corrects a bucket.

use std::time::Duration;

use incumbent_core::text::Text;
use serde_json::{Map, Value, json};

use super::asked::{Asked, nanos};
use super::difference::{Wanted, wanted};
use super::safety;
use super::survey::{Survey, survey};
use crate::config::settings::NatsSettings;
use crate::connection::Connection;
use crate::refusals;
use crate::wire::api::{Api, CONSUMERS_LIMITED, Failure, STREAM_NOT_FOUND};
use crate::wire::bucket::Bucket;
use crate::wire::stream::{LEVEL_2_11, LEVEL_2_12, NEVER_USED, StreamInfo};
use incumbent_store::{Clock, Error, ErrorKind, InitOptions, InitReport, Result};

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

/// The most consumers of a new bucket. Each process that campaigns or observes has one. nats-server 2.15 and newer
/// allow 1,000 if neither the stream nor the account sets a limit, and -1 does not count as a limit.
const MOST_CONSUMERS: i64 = 100_000;

/// The most attempts to examine a bucket whose servers do not answer.
const SURVEYS: u32 = 4;

/// The limit for the whole of a preparation.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The time limit for one attempt. A cluster that has just elected a leader loses requests, and requests between its
/// servers take up to 4 s. Creating a stream of three replicas takes a second or two.
const ATTEMPT: Duration = Duration::from_secs(8);

/// Creates a bucket for elections, or reports or corrects the differences of an existing one. An existing bucket keeps
/// the settings for which nothing is required.
///
/// A second call changes nothing. A bucket without markers also refuses purges and rollups, because they would remove a
/// live leader's record.
///
/// # Errors
/// `InvalidSetting` for invalid options; `UnsafeStore` for differences that need a new bucket, and for a bucket that is
/// stated to be new but has been written to; `Unsupported` for a feature that the servers are too old for; and every
/// error of connecting to the server.
pub async fn init(settings: &NatsSettings, options: &InitOptions) -> Result<InitReport> {
    options.of_whole_store()?;
    Asked::new(options, None).check()?;
    let existing = match (options.lease, options.replicas) {
        (Some(_), Some(_)) => None,
        // A bucket that could not be examined may exist, so the default lease and replicas must not be assumed.
        _ => existing(settings).await?,
    };
    let asked = Asked::new(options, existing.as_ref());
    let mut report = prepare(settings, &asked).await?;
    let stated = options.never_used || existing.is_some_and(|bucket| bucket.info.never_used);
    report.lease = Some(asked.lease);
    report.never_used = stated && report.is_ready();
    Ok(report)
}

/// The existing bucket; `None` if there is none. The request is repeated if need be, because a cluster that has just
/// elected a leader loses requests.
async fn existing(settings: &NatsSettings) -> Result<Option<Survey>> {
    let settings = settings.clone().fail_fast(true);
    let mut tries = 1..SURVEYS;
    loop {
        match survey(&settings, &Clock::system()).await {
            Ok(existing) => return Ok(Some(existing)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::StoreUnavailable && tries.next().is_some() => {}
            Err(error) => return Err(error),
        }
    }
}

async fn prepare(settings: &NatsSettings, asked: &Asked<'_>) -> Result<InitReport> {
    asked.check()?;
    let settings = settings.clone().fail_fast(true);
    let bucket = Bucket::new(&settings.bucket, settings.api_prefix.as_deref());
    let connection = Connection::open(&settings).await?;
    let api = Api { connection, bucket };
    let mut creating = false;
    // If two calls draw the same number, both report that they created the bucket, which does no harm.
    let maker = getrandom::u64().unwrap_or(std::process::id().into());
    let attempts = async {
        loop {
            let attempt = run(&api, asked, maker, &mut creating);
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
async fn run(api: &Api, asked: &Asked<'_>, maker: u64, creating: &mut bool) -> Result<InitReport> {
    api.check_server()?;
    let level = api.account_level().await.map_err(|failure| failure.error(&api.bucket))?;
    check_level(asked, level)?;

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
            let mut config = creation(&api.bucket, asked, maker);
            let mut answer = api.ask(&request, &config).await;
            if matches!(&answer, Err(Failure::Api(error)) if error.err_code == CONSUMERS_LIMITED) {
                // The account has a lower limit of its own, which applies to its streams.
                config["max_consumers"] = (-1).into();
                answer = api.ask(&request, &config).await;
            }
            match answer {
                Ok(created) => {
                    finish(api, asked, created).await?;
                    let mut report = InitReport::default();
                    report.created = true;
                    return Ok(report);
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

    let existing = once_stated(api, asked, existing).await?;
    let info = read(&existing)?;
    let count = info.state.last_seq;
    if asked.options.never_used && count > 0 {
        return Err(Error::named(ErrorKind::UnsafeStore, refusals::not_new(&api.bucket.name, count)));
    }
    let wanted = wanted(&api.bucket, asked, &info);
    let differences: Vec<_> = wanted.iter().map(|wanted| wanted.difference.clone()).collect();
    let updated = asked.options.update && !differences.is_empty();
    if updated {
        if let Some(fixed) = differences.iter().find(|difference| !difference.changeable) {
            let text = Text::from(format!(
                "the NATS bucket {:?} cannot be corrected: {} is {} and should be {}, which NATS never changes; \
                 delete the bucket and create it again with ",
                api.bucket.name, fixed.setting, fixed.is, fixed.should
            ));
            return Err(Error::named(ErrorKind::UnsafeStore, text.and(Text::init(&[]))));
        }
        let changed = update(api, &existing, wanted, asked).await?;
        finish(api, asked, changed).await?;
    }
    let mut report = InitReport::default();
    (report.updated, report.differences) = (updated, differences);
    Ok(report)
}

/// Returns the bucket's state. If another `init` has just created the bucket, and this call also has to state that it
/// was never used, waits for the other call to do so.
async fn once_stated(api: &Api, asked: &Asked<'_>, mut existing: Value) -> Result<Value> {
    for _ in 0..LOOKS {
        let info = read(&existing)?;
        let age = info.answered.map(|now| Duration::from_nanos(now.0.saturating_sub(info.created.0)));
        if !asked.options.never_used || info.is_never_used() || age.is_none_or(|age| age > STATED) {
            break;
        }
        tokio::time::sleep(STATED / LOOKS).await;
        existing = api.stream_info().await.map_err(|failure| failure.error(&api.bucket))?;
    }
    Ok(existing)
}

fn check_level(asked: &Asked<'_>, level: Option<u32>) -> Result<()> {
    // Without permission to ask, the level is not known. The resulting settings are checked afterwards.
    let Some(level) = level else { return Ok(()) };
    let needed = [
        ("markers", asked.options.markers, LEVEL_2_11, "2.11"),
        ("own_leases", asked.options.own_leases, LEVEL_2_11, "2.11"),
        ("replicas", asked.replicas > 1, LEVEL_2_12, "2.12"),
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
fn creation(bucket: &Bucket, asked: &Asked<'_>, maker: u64) -> Value {
    let mut config = json!({
        "name": bucket.stream,
        "subjects": [bucket.subject(">")],
        "description": "leader elections",
        "retention": "limits",
        "storage": "file",
        "num_replicas": asked.replicas,
        "max_consumers": MOST_CONSUMERS,
        "max_msgs": -1,
        "max_bytes": asked.options.max_bytes.map_or(json!(-1), Value::from),
        "max_msg_size": -1,
        "max_msgs_per_subject": 1,
        "max_age": nanos(asked.lease),
        "duplicate_window": nanos(asked.lease.min(DUPLICATE_WINDOW)),
        "discard": "new",
        "allow_direct": true,
        "deny_delete": true,
        "deny_purge": !asked.options.markers,
        "allow_rollup_hdrs": asked.options.markers,
        "metadata": { MADE_BY: format!("{maker:016x}") },
    });
    if asked.options.markers || asked.options.own_leases {
        config["allow_msg_ttl"] = true.into();
    }
    if asked.options.markers {
        config["subject_delete_marker_ttl"] = nanos(asked.marker_ttl()).into();
    }
    config
}

/// Changes the wanted settings and leaves all others as they are on the server, including unknown ones.
async fn update(api: &Api, existing: &Value, wanted: Vec<Wanted>, asked: &Asked<'_>) -> Result<Value> {
    let mut config = existing["config"].as_object().cloned().unwrap_or_default();
    for Wanted { difference, value } in wanted {
        if difference.setting != "metadata" {
            config.insert(difference.setting.into(), value);
        }
    }
    // The server refuses a window longer than the age.
    let window = config.get("duplicate_window").and_then(Value::as_u64).unwrap_or(0);
    config.insert("duplicate_window".into(), window.min(nanos(asked.lease)).into());
    send_update(api, config).await
}

async fn send_update(api: &Api, config: Map<String, Value>) -> Result<Value> {
    api.ask(&format!("STREAM.UPDATE.{}", api.bucket.stream), &config)
        .await
        .map_err(|failure| failure.error(&api.bucket))
}

/// States that the name was never used, if requested, and checks the resulting settings.
async fn finish(api: &Api, asked: &Asked<'_>, mut answer: Value) -> Result<()> {
    let created = read(&answer)?;
    if asked.options.never_used && !created.is_never_used() {
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
    if let Some(Wanted { difference, .. }) = wanted(&api.bucket, asked, &info).first() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_leases_per_record_and_replicas_want_newer_servers() {
        let options = InitOptions::new;
        for (options, level, version) in [
            (options().markers(true), 0, "2.11"),
            (options().own_leases(true), 0, "2.11"),
            (options().replicas(3), 1, "2.12"),
        ] {
            let asked = Asked::new(&options, None);
            let error = check_level(&asked, Some(level)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains(version), "{error}");
            check_level(&asked, Some(level + 1)).unwrap();
            check_level(&asked, None).unwrap();
        }
    }
}

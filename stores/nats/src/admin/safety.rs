//! The check of a bucket's settings for safe elections.

use crate::wire::bucket::Bucket;
use crate::wire::stream::{Config, LEVEL_2_12};
use incumbent_core::text::Text;
use incumbent_store::{Error, ErrorKind, Result};

/// A setting that makes elections unsafe, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The flaw.
    pub what: String,
    /// The remedy.
    pub remedy: Text,
    kind: ErrorKind,
}

/// Refuses settings that make elections unsafe, with the remedy. `level` is the servers' API level.
pub(crate) fn check(bucket: &Bucket, config: &Config, level: u32) -> Result<()> {
    let Some(Flaw { what, remedy, kind }) = flaws(bucket, config, level).into_iter().next() else {
        return Ok(());
    };
    let name = &bucket.name;
    let text = Text::from(format!("an election on the NATS bucket {name:?} would be unsafe: {what}; "));
    Err(Error::named(kind, text.and(remedy)))
}

/// All settings that make elections unsafe, the worst first.
pub(crate) fn flaws(bucket: &Bucket, config: &Config, level: u32) -> Vec<Flaw> {
    let mut flaws: Vec<_> = unsafe_settings(bucket, config)
        .into_iter()
        .map(|(what, remedy)| Flaw { what, remedy, kind: ErrorKind::UnsafeStore })
        .collect();
    if config.num_replicas > 1 && level < LEVEL_2_12 {
        flaws.push(Flaw {
            what: format!(
                "it has {} replicas, which is safe only with nats-server 2.12 or newer",
                config.num_replicas
            ),
            remedy: "upgrade the servers, or use a bucket with one replica".into(),
            kind: ErrorKind::Unsupported,
        });
    }
    flaws
}

/// The size in bytes of the smallest record, slightly rounded down. A live record of this crate with a name of one
/// letter has 204 bytes, mostly headers (measured).
const SMALLEST_RECORD: i64 = 200;
/// The smallest possible `max_bytes` for one record: the server adds 34 bytes and the subject
/// (`fileStoreMsgSize`), and during a renewal the old and the new record both count.
const SMALLEST_BUCKET: i64 = 2 * (SMALLEST_RECORD + 40);

/// The unsafe settings and their remedies.
fn unsafe_settings(bucket: &Bucket, config: &Config) -> Vec<(String, Text)> {
    let adjust = || Text::init(&["update"]).and(" corrects it");
    let recreate = || Text::from("delete the bucket and create it again with ").and(Text::init(&[]));
    let mut list = Vec::new();
    let mut found = |what: &str, remedy: Text| list.push((what.to_string(), remedy));
    if config.mirror.is_some() {
        found("it mirrors another", "use the bucket it mirrors".into());
    }
    if config.sources.as_ref().is_some_and(|sources| !sources.is_empty()) {
        found("it copies records from other streams", "use a bucket without sources".into());
    }
    if config.storage != "file" {
        found(&format!("it is kept in {} and is empty after a restart", config.storage), recreate());
    }
    if config.persist_mode.as_deref().is_some_and(|mode| !mode.is_empty() && mode != "default") {
        found("it acknowledges writes before they are stored", recreate());
    }
    if config.max_age <= 0 {
        found("it has no TTL, so a leader that dies is never replaced", adjust());
    }
    if config.max_msgs_per_subject != 1 {
        let history = config.max_msgs_per_subject;
        found(&format!("its history is {history}, and must be 1"), adjust());
    }
    if config.retention != "limits" {
        found(&format!("its retention is {:?}, and must be \"limits\"", config.retention), recreate());
    }
    if config.discard != "new" && (config.max_bytes > 0 || config.max_msgs > 0) {
        found("when it is full it drops records that leaders still hold (discard \"old\")", adjust());
    }
    for (setting, limit, least) in [
        ("max_bytes", config.max_bytes, SMALLEST_BUCKET),
        ("max_msg_size", config.max_msg_size, SMALLEST_RECORD),
    ] {
        if limit > 0 && limit < least {
            found(
                &format!("it cannot hold a leader's record ({setting} is {limit} bytes)"),
                "raise the limit, or remove it with -1".into(),
            );
        }
    }
    if config.discard_new_per_subject {
        found("it refuses to replace a record (discard_new_per_subject)", adjust());
    }
    if config.no_ack {
        found("it does not acknowledge writes (no_ack)", adjust());
    }
    if config.sealed {
        found("it is sealed", recreate());
    }
    if config.allow_msg_counter {
        found("it holds counters, not records (allow_msg_counter)", recreate());
    }
    if config.subject_transform.is_some() {
        found("it stores records under other subjects (subject_transform)", adjust());
    }
    let subject = bucket.subject(">");
    if !config.subjects.contains(&subject) {
        found(&format!("its stream does not contain {subject}"), recreate());
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADJUST: &str = "`StoreSettings::init` with `InitOptions::new().update(true)` corrects it";
    const RECREATE: &str = "delete the bucket and create it again with `StoreSettings::init`";
    const RAISE: &str = "raise the limit, or remove it with -1";

    fn bucket() -> Bucket {
        Bucket::new("b", None)
    }

    fn safe() -> Config {
        Config {
            subjects: vec!["$KV.b.>".into()],
            retention: "limits".into(),
            storage: "file".into(),
            num_replicas: 1,
            max_msgs_per_subject: 1,
            max_msgs: -1,
            max_bytes: -1,
            max_age: 30_000_000_000,
            discard: "new".into(),
            deny_delete: true,
            ..Config::default()
        }
    }

    fn parsed(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_bucket_as_any_client_makes_it_is_safe() {
        check(&bucket(), &safe(), 0).unwrap();
        let marked = Config {
            allow_msg_ttl: true,
            subject_delete_marker_ttl: 30_000_000_000,
            allow_rollup_hdrs: true,
            ..safe()
        };
        check(&bucket(), &marked, 5).unwrap();
        check(&bucket(), &Config { max_bytes: 1 << 20, persist_mode: Some("default".into()), ..safe() }, 5)
            .unwrap();
    }

    #[test]
    fn what_would_break_the_promise_is_refused_with_the_remedy() {
        let mirror = parsed(r#"{"mirror": {"name": "KV_a"}}"#).mirror;
        let sources = parsed(r#"{"sources": [{"name": "KV_a"}]}"#).sources;
        let transform = parsed(r#"{"subject_transform": {"src": "a", "dest": "b"}}"#).subject_transform;
        for (config, what, remedy) in [
            (Config { mirror, ..safe() }, "mirrors another", "use the bucket it mirrors"),
            (Config { sources, ..safe() }, "records from other streams", "without sources"),
            (Config { storage: "memory".into(), ..safe() }, "kept in memory", RECREATE),
            (Config { persist_mode: Some("async".into()), ..safe() }, "before they are stored", RECREATE),
            (Config { max_age: 0, ..safe() }, "has no TTL", ADJUST),
            (Config { max_msgs_per_subject: 5, ..safe() }, "its history is 5", ADJUST),
            (Config { max_msgs_per_subject: -1, ..safe() }, "its history is -1", ADJUST),
            (Config { retention: "interest".into(), ..safe() }, "\"interest\"", RECREATE),
            (Config { discard: "old".into(), max_bytes: 9, ..safe() }, "discard \"old\"", ADJUST),
            (Config { discard: "old".into(), max_msgs: 9, ..safe() }, "discard \"old\"", ADJUST),
            (Config { max_bytes: 1, ..safe() }, "cannot hold a leader's record", RAISE),
            (Config { max_msg_size: 10, ..safe() }, "max_msg_size is 10 bytes", RAISE),
            (Config { discard_new_per_subject: true, ..safe() }, "discard_new_per_subject", ADJUST),
            (Config { no_ack: true, ..safe() }, "no_ack", ADJUST),
            (Config { sealed: true, ..safe() }, "sealed", RECREATE),
            (Config { allow_msg_counter: true, ..safe() }, "allow_msg_counter", RECREATE),
            (Config { subject_transform: transform, ..safe() }, "subject_transform", ADJUST),
            (Config { subjects: vec!["x".into()], ..safe() }, "does not contain $KV.b.>", RECREATE),
        ] {
            let error = check(&bucket(), &config, 5).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsafeStore);
            assert!(error.message().contains(what), "{error}");
            assert!(error.message().ends_with(remedy) || error.message().contains(remedy), "{error}");
        }
    }

    #[test]
    fn replicas_want_a_server_that_checks_the_compare_first() {
        let config = Config { num_replicas: 3, ..safe() };
        check(&bucket(), &config, LEVEL_2_12).unwrap();
        let error = check(&bucket(), &config, LEVEL_2_12 - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("2.12"), "{error}");
    }
}

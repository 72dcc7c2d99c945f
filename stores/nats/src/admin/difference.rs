//! The differences between a bucket and the required settings.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::asked::{Asked, nanos};
use crate::wire::bucket::Bucket;
use crate::wire::stream::{Config, StreamInfo};
use incumbent_store::Difference;

/// A setting to change, and the change.
pub(crate) struct Wanted {
    pub(crate) difference: Difference,
    pub(crate) value: Value,
}

/// The differences between an existing bucket and the requirements.
pub(crate) fn wanted(bucket: &Bucket, asked: &Asked<'_>, info: &StreamInfo) -> Vec<Wanted> {
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
        max_bytes,
        // The operator decides about other limits on the whole bucket and about other metadata.
        max_msgs: _,
        max_msg_size: _,
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
    list.free("num_replicas", *num_replicas, asked.replicas, asked.replicas);
    list.free("max_msgs_per_subject", *max_msgs_per_subject, 1, 1);
    let age = u64::try_from(*max_age).unwrap_or(0);
    list.free("max_age", Age(age), Age(nanos(asked.lease)), nanos(asked.lease));
    if let Some(bytes) = asked.options.max_bytes {
        list.free("max_bytes", Bytes(*max_bytes), Bytes(i64::try_from(bytes).unwrap_or(i64::MAX)), bytes);
    }
    list.free("discard", discard.clone(), "new".to_string(), "new");
    list.free("discard_new_per_subject", *discard_new_per_subject, false, false);
    list.free("no_ack", *no_ack, false, false);
    list.free("deny_delete", *deny_delete, true, true);
    if asked.options.markers || asked.options.own_leases {
        list.free("allow_msg_ttl", *allow_msg_ttl, true, true);
    }
    // NATS does not allow the denial of purges to be lifted, which purges or markers would require.
    let marks = *subject_delete_marker_ttl > 0;
    if asked.options.markers {
        list.fixed("deny_purge", *deny_purge, false);
        list.free("allow_rollup_hdrs", *allow_rollup_hdrs, true, true);
        let is = if marks { *subject_delete_marker_ttl as u64 } else { 0 };
        let should = if marks { is } else { nanos(asked.marker_ttl()) };
        list.free("subject_delete_marker_ttl", Age(is), Age(should), should);
    } else if !marks {
        list.free("deny_purge", *deny_purge, true, true);
        list.free("allow_rollup_hdrs", *allow_rollup_hdrs, false, false);
    }
    if asked.options.never_used {
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

/// A number of bytes; less than one means no limit.
#[derive(PartialEq)]
struct Bytes(i64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ..1 => f.write_str("unlimited"),
            bytes => write!(f, "{bytes}"),
        }
    }
}

/// A time in nanoseconds, displayed as a duration.
#[derive(PartialEq)]
struct Age(u64);

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("none"),
            nanos => write!(f, "{:?}", Duration::from_nanos(nanos)),
        }
    }
}

/// True if the bucket states that its name was never used.
#[derive(PartialEq)]
struct Stated(bool);

impl fmt::Display for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "stated that it was never used" } else { "no such statement" })
    }
}

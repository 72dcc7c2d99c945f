//! Records as NATS messages.

use std::str::FromStr;
use std::time::Duration;

use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_MARKER_REASON, NATS_MESSAGE_TTL};
use async_nats::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use incumbent_core::Revision;
use incumbent_core::record::{Entry, Headers, Kind, LEASE, NONCE, RELEASE, SUCCESSOR, TERM};
use incumbent_core::store::{Action, Expect, Write};

/// The header in which key-value clients state the operation of a message.
const KV_OPERATION: HeaderName = HeaderName::from_static("KV-Operation");

/// The headers of every record, defined once so that their names are not copied for each message.
static COMMON: [(&str, HeaderName); 5] = [
    (NONCE, HeaderName::from_static(NONCE)),
    (LEASE, HeaderName::from_static(LEASE)),
    (TERM, HeaderName::from_static(TERM)),
    (RELEASE, HeaderName::from_static(RELEASE)),
    (SUCCESSOR, HeaderName::from_static(SUCCESSOR)),
];

/// The operation of a tombstone. It has no rollup, which would only remove the replaced record. A `DEL` is not used,
/// because a cluster's own marker can erase an acknowledged write over it.
const TOMBSTONE: &str = "PURGE";

/// The message of a write, which takes over the write's texts. `own_lease` is the bucket's maximum age if the bucket
/// supports lease times per record, else `None`.
///
/// # Errors
/// The header that NATS cannot carry.
pub(crate) fn encode(write: Write, own_lease: Option<Duration>) -> Result<(HeaderMap, Bytes), String> {
    let mut headers = HeaderMap::new();
    let expected = match write.expect {
        Expect::Absent => 0,
        Expect::Revision(Revision(sequence)) => sequence,
    };
    headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, expected.to_string());
    let payload = match write.action {
        Action::Acquire(put) | Action::Renew(put) => {
            carry(&mut headers, put.headers)?;
            // The server takes whole seconds. The lease is rounded up, because a record must not expire before it.
            let seconds = put.lease.as_nanos().div_ceil(1_000_000_000);
            if own_lease.is_some_and(|max_age| put.lease < max_age) {
                headers.insert(NATS_MESSAGE_TTL, format!("{seconds}s"));
            }
            Bytes::from(put.value)
        }
        Action::Release { headers: release } => {
            carry(&mut headers, release)?;
            headers.insert(KV_OPERATION, TOMBSTONE);
            Bytes::new()
        }
    };
    Ok((headers, payload))
}

/// The headers of an unconditional tombstone that, unlike a release, proves nothing about its writer.
pub(crate) fn tombstone() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(KV_OPERATION, TOMBSTONE);
    headers
}

/// The headers of a tombstone that may replace only the message of that revision and, unlike a release, proves nothing
/// about its writer.
pub(crate) fn tombstone_over(Revision(sequence): Revision) -> HeaderMap {
    let mut headers = tombstone();
    headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, sequence.to_string());
    headers
}

fn carry(headers: &mut HeaderMap, ours: Headers) -> Result<(), String> {
    for (name, value) in ours {
        let common = COMMON.iter().find(|(common, _)| *common == name).map(|(_, name)| name.clone());
        let carried = common.or_else(|| HeaderName::from_str(&name).ok());
        // The client would panic on a value with a line break.
        let carried = carried.filter(|_| !value.contains(['\r', '\n']));
        let Some(carried) = carried else {
            return Err(format!("NATS cannot carry the header {name:?}"));
        };
        headers.insert(carried, value);
    }
    Ok(())
}

/// Decodes a stored message.
pub(crate) fn decode(sequence: u64, headers: Option<&HeaderMap>, payload: &[u8]) -> Entry {
    let pairs = headers.into_iter().flat_map(HeaderMap::iter).filter_map(|(name, values)| {
        Some((<HeaderName as AsRef<str>>::as_ref(name), values.first()?.as_str()))
    });
    Entry::decode(Revision(sequence), kind(headers), payload, pairs)
}

/// The kind of a message. A marker for any removal except an expiry counts as a deletion.
fn kind(headers: Option<&HeaderMap>) -> Kind {
    let text = |name| headers.and_then(|headers| headers.get(name)).map(HeaderValue::as_str);
    match (text(NATS_MARKER_REASON), text(KV_OPERATION)) {
        (Some("MaxAge"), _) => Kind::Expired,
        (Some(_), _) | (None, Some("DEL" | "PURGE")) => Kind::Tombstone,
        (None, _) => Kind::Live,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent_core::record::{Attempt, Record};
    use incumbent_core::store::Put;

    const MAX_AGE: Option<Duration> = Some(Duration::from_secs(60));

    fn put(lease: u64) -> Write {
        Write {
            attempt: Attempt(1),
            expect: Expect::Absent,
            action: Action::Acquire(Put {
                value: "a".into(),
                headers: vec![("Incumbent-Lease".into(), lease.to_string())],
                lease: Duration::from_millis(lease),
            }),
        }
    }

    fn release(expect: Expect) -> Write {
        let headers = vec![("Incumbent-Release".into(), "0 7".to_string())];
        Write { attempt: Attempt(2), expect, action: Action::Release { headers } }
    }

    fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
        headers.get(name).map(HeaderValue::as_str)
    }

    fn message(headers: &[(&str, &str)]) -> HeaderMap {
        headers
            .iter()
            .map(|(name, value)| (HeaderName::from_str(name).unwrap(), HeaderValue::from(*value)))
            .collect()
    }

    #[test]
    fn absence_is_expected_as_sequence_zero() {
        let (headers, _) = encode(put(5_000), None).unwrap();
        assert_eq!(header(&headers, "Nats-Expected-Last-Subject-Sequence"), Some("0"));
    }

    #[test]
    fn a_revision_is_expected_as_it_is() {
        let (headers, _) = encode(release(Expect::Revision(Revision(7))), None).unwrap();
        assert_eq!(header(&headers, "Nats-Expected-Last-Subject-Sequence"), Some("7"));
    }

    #[test]
    fn a_write_never_bears_a_message_id() {
        for write in [put(5_000), release(Expect::Absent)] {
            let (headers, _) = encode(write, MAX_AGE).unwrap();
            assert_eq!(header(&headers, "Nats-Msg-Id"), None);
        }
    }

    #[test]
    fn a_lease_of_its_own_is_sent_in_whole_seconds_and_none_too_few() {
        let ttl = |lease, own| {
            let (headers, _) = encode(put(lease), own).unwrap();
            header(&headers, "Nats-TTL").map(str::to_string)
        };
        assert_eq!(ttl(2_500, MAX_AGE).as_deref(), Some("3s"));
        assert_eq!(ttl(59_999, MAX_AGE).as_deref(), Some("60s"));
        assert_eq!(ttl(60_000, MAX_AGE), None);
        assert_eq!(ttl(900, MAX_AGE).as_deref(), Some("1s"));
        assert_eq!(ttl(5_000, MAX_AGE).as_deref(), Some("5s"));
        assert_eq!(ttl(2_500, None), None);
    }

    #[test]
    fn a_release_is_a_purge_without_a_rollup_and_without_a_value() {
        let (headers, payload) = encode(release(Expect::Absent), MAX_AGE).unwrap();
        assert_eq!(header(&headers, "KV-Operation"), Some("PURGE"));
        assert_eq!(header(&headers, "Nats-Rollup"), None);
        assert_eq!(header(&headers, "Nats-TTL"), None);
        assert_eq!(header(&headers, "Incumbent-Release"), Some("0 7"));
        assert!(payload.is_empty());
    }

    #[test]
    fn a_header_that_cannot_be_carried_is_named() {
        let mut write = put(5_000);
        let Action::Acquire(put) = &mut write.action else { unreachable!() };
        put.headers.push(("Incumbent-Meta-Host".into(), "a\r\nb".into()));
        assert_eq!(encode(write, None).unwrap_err(), "NATS cannot carry the header \"Incumbent-Meta-Host\"");
    }

    #[test]
    fn a_bare_value_is_a_live_record_of_other_software() {
        let record = Record {
            revision: Revision(3),
            candidate: "go-1".into(),
            write_id: None,
            lease: None,
            term_info: None,
            metadata: vec![],
            oversize: None,
        };
        assert_eq!(decode(3, None, b"go-1"), Entry::Live(record));
    }

    #[test]
    fn deletions_and_markers_are_distinguished() {
        let entry = |headers: &[(&str, &str)]| decode(3, Some(&message(headers)), b"");
        let deleted = Entry::Deleted { revision: Revision(3), lease: None };
        assert_eq!(entry(&[("KV-Operation", "DEL")]), deleted);
        assert_eq!(entry(&[("KV-Operation", "PURGE"), ("Nats-Rollup", "sub")]), deleted);
        assert_eq!(entry(&[("Nats-Marker-Reason", "Remove")]), deleted);
        assert_eq!(entry(&[("Nats-Marker-Reason", "Purge")]), deleted);
        let expired = entry(&[("Nats-Marker-Reason", "MaxAge"), ("Nats-TTL", "30s")]);
        assert_eq!(expired, Entry::Expired { revision: Revision(3) });
    }

    #[test]
    fn what_is_written_reads_back() {
        let (headers, payload) = encode(put(5_000), None).unwrap();
        let Entry::Live(record) = decode(9, Some(&headers), &payload) else { panic!("not live") };
        assert_eq!((record.candidate.as_str(), record.lease), ("a", Some(Duration::from_secs(5))));
    }
}

//! The entry of a key, by any writer.

use std::str::FromStr;

use arbitrary::{Arbitrary, Unstructured};
use async_nats::{HeaderMap, HeaderName, HeaderValue};
use incumbent::fuzzing;
use incumbent_core::Revision;
use incumbent_core::record::{Entry, LEASE, METADATA, NONCE, RELEASE, SUCCESSOR};

#[derive(Debug, Arbitrary)]
struct Message<'a> {
    sequence: u64,
    headers: Vec<(Name<'a>, &'a str)>,
    payload: &'a [u8],
}

#[derive(Debug, Arbitrary)]
enum Name<'a> {
    Nonce,
    Lease,
    Release,
    Successor,
    Metadata(&'a str),
    Operation,
    Marker,
    Lower(Box<Name<'a>>),
    Any(&'a str),
}

impl Name<'_> {
    fn text(&self) -> String {
        match self {
            Self::Nonce => NONCE.into(),
            Self::Lease => LEASE.into(),
            Self::Release => RELEASE.into(),
            Self::Successor => SUCCESSOR.into(),
            Self::Metadata(key) => format!("{METADATA}{key}"),
            Self::Operation => "KV-Operation".into(),
            Self::Marker => "Nats-Marker-Reason".into(),
            Self::Lower(name) => name.text().to_ascii_lowercase(),
            Self::Any(text) => (*text).into(),
        }
    }
}

impl Message<'_> {
    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::from_str(&name.text()), HeaderValue::from_str(value))
            {
                headers.append(name, value);
            }
        }
        headers
    }
}

pub(super) fn run(bytes: &[u8]) {
    let Ok(message) = Message::arbitrary_take_rest(Unstructured::new(bytes)) else { return };
    let headers = message.headers();
    let entry = fuzzing::decode(message.sequence, Some(&headers), message.payload);
    assert_eq!(entry.revision(), Some(Revision(message.sequence)));

    let text = |name: &str| headers.get(name).map(HeaderValue::as_str);
    let is_tombstone = matches!(text("KV-Operation"), Some("DEL" | "PURGE"));
    let reason = text("Nats-Marker-Reason");
    assert_eq!(matches!(entry, Entry::Expired { .. }), reason == Some("MaxAge"), "{entry:?}");
    assert_eq!(entry.live().is_some(), reason.is_none() && !is_tombstone, "{entry:?}");
    if let Entry::Live(record) = &entry {
        assert_eq!(record.candidate, String::from_utf8_lossy(message.payload));
        assert!(record.lease.is_none_or(|lease| !lease.is_zero()));
    }

    // A map returns its headers in another order each time.
    for _ in 0..4 {
        let again = fuzzing::decode(message.sequence, Some(&message.headers()), message.payload);
        assert_eq!(sorted(again), sorted(entry.clone()), "the same message reads in two ways");
    }
}

fn sorted(mut entry: Entry) -> Entry {
    if let Entry::Live(record) = &mut entry {
        record.metadata.sort();
    }
    entry
}

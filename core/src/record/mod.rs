//! The entry of an election's key, and its encoding.
//!
//! The value of a live record is the candidate's name, as the Go library `nats-kv-leader-elect` writes it. Everything
//! that only incumbent needs is in headers, which that library ignores. A store adapter carries value and headers
//! unchanged and leaves their meaning to this module.

mod fields;
mod headers;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;

pub use fields::{Attempt, Nonce, TermInfo, WriteId};
pub use headers::{
    Header, Headers, LEASE, METADATA, Metadata, NONCE, RELEASE, SUCCESSOR, TERM, deletion_headers,
};
pub(crate) use headers::{HeaderValue, metadata_key};
use headers::{
    lease_header, metadata_header, nonce_header, parse_release, release_header, successor_header, term_header,
};
pub(crate) use headers::{live_headers, release_headers};

use crate::token::{Incarnation, Revision};

/// The largest number of bytes in an entry of ours: the value, and the names and texts of its headers. A name has at
/// most 255 bytes and metadata at most 4,096, so no candidate writes anything longer. For longer entries, stores and
/// hosts pass on only an [`Entry::oversize`].
pub const LONGEST: usize = 64 << 10;

/// The longest value in such an entry, in bytes. A name has at most 255, and a request to hand over at most 288.
pub const LONGEST_VALUE: usize = 512;

/// A live record: its writer holds the lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The revision of the write that made the record.
    pub revision: Revision,
    /// The holder's name. Bytes that are not UTF-8 are shown as U+FFFD. A value too long for a name is replaced by its
    /// length: `(not a candidate's name: 6000000 bytes)`.
    pub candidate: String,
    /// The campaign and the attempt that wrote the record; `None` for a record of other software.
    pub write_id: Option<WriteId>,
    /// The holder's lease time; `None` if the store's own lease time applies.
    pub lease: Option<Duration>,
    /// The term that the record's holder claims to lead; `None` for a record written by other software.
    pub term_info: Option<TermInfo>,
    /// The leader's published metadata.
    pub metadata: Metadata,
    /// The record's size in bytes, if it is larger than a candidate's record can be. If so, nothing else in the record
    /// is read.
    pub oversize: Option<u64>,
}

impl Record {
    /// Returns true if both records state the same campaign.
    pub(crate) fn has_the_holder_of(&self, other: &Self) -> bool {
        let nonce = |record: &Self| record.write_id.map(|write_id| write_id.nonce);
        self.candidate == other.candidate && nonce(self) == nonce(other)
    }
}

/// The tombstone of a holder that released.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    /// The revision of the tombstone.
    pub revision: Revision,
    /// The campaign and attempt that released.
    pub write_id: Option<WriteId>,
    /// What is left of the holder's own win delay.
    pub owed: Duration,
    /// The incarnation in which the holder held the lease.
    pub incarnation: Incarnation,
    /// The successor, for which other candidates hold back for a moment.
    pub successor: Option<String>,
}

/// The entry of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// There is no entry: none was ever written, or it was removed without a trace.
    Vacant,
    /// A live record.
    Live(Record),
    /// A tombstone that certifies that its writer released.
    Released(Release),
    /// Any other tombstone, or a marker for a removal: an operator deleted the record.
    Deleted {
        /// The revision of the tombstone or marker.
        revision: Revision,
        /// The longest lease of the deleted holder, if stated. In a store without a maximum age the tombstone states it
        /// ([`deletion_headers`]), since nothing else bounds that lease there.
        lease: Option<Duration>,
    },
    /// The store's marker for a record that reached its maximum age.
    Expired {
        /// The revision of the marker.
        revision: Revision,
    },
}

/// The kind of message under a key, as the store's adapter classifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value.
    Live,
    /// A deletion, by a release or by an operator.
    Tombstone,
    /// The store's marker for an expiry.
    Expired,
}

impl Entry {
    /// Reads the message that a store found under a key.
    ///
    /// Never fails: a header that cannot be read, or that appears with two values, counts as missing. The result is
    /// always the cautious one: a foreign record, or a deletion that certifies nothing.
    pub fn decode<'a>(
        revision: Revision,
        kind: Kind,
        value: &[u8],
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut write_id = HeaderValue::Missing;
        let mut lease = HeaderValue::Missing;
        let mut term_info = HeaderValue::Missing;
        let mut release = HeaderValue::Missing;
        let mut successor = HeaderValue::Missing;
        let mut metadata = Metadata::new();
        let mut size = value.len();
        for (name, text) in headers {
            size = size.saturating_add(name.len()).saturating_add(text.len());
            if size > LONGEST {
                // Counted completely, but not kept.
            } else if name.eq_ignore_ascii_case(NONCE) {
                write_id.add(text);
            } else if name.eq_ignore_ascii_case(LEASE) {
                lease.add(text);
            } else if name.eq_ignore_ascii_case(TERM) {
                term_info.add(text);
            } else if name.eq_ignore_ascii_case(RELEASE) {
                release.add(text);
            } else if name.eq_ignore_ascii_case(SUCCESSOR) {
                successor.add(text);
            } else if let Some(key) = metadata_key(name) {
                metadata.push((key.to_string(), text.to_string()));
            }
        }
        if size > LONGEST || value.len() > LONGEST_VALUE {
            return Self::oversize(revision, kind, size as u64);
        }
        let write_id = write_id.text().and_then(|text| text.parse().ok());
        let lease = lease.text().and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let lease = lease.filter(|lease| !lease.is_zero());
        let term_info = term_info
            .text()
            .and_then(|text| text.parse().ok())
            .map(|term_info: TermInfo| term_info.made_at(revision));
        let release = release.text().and_then(parse_release);
        let successor = successor.text().map(str::to_string);
        match (kind, release) {
            (Kind::Expired, _) => Self::Expired { revision },
            (Kind::Tombstone, Some((owed, incarnation))) => {
                Self::Released(Release { revision, write_id, owed, incarnation, successor })
            }
            (Kind::Tombstone, None) => Self::Deleted { revision, lease },
            (Kind::Live, _) => {
                let candidate = String::from_utf8_lossy(value).into_owned();
                Self::Live(Record {
                    revision,
                    candidate,
                    write_id,
                    lease,
                    term_info,
                    metadata,
                    oversize: None,
                })
            }
        }
    }

    /// The entry for a message of more than [`LONGEST`] bytes, or with a value of more than [`LONGEST_VALUE`] bytes. A
    /// live message becomes a foreign record without headers; a tombstone certifies nothing.
    pub fn oversize(revision: Revision, kind: Kind, bytes: u64) -> Self {
        match kind {
            Kind::Live => Self::Live(Record {
                revision,
                candidate: format!("(not a candidate's name: {bytes} bytes)"),
                write_id: None,
                lease: None,
                term_info: None,
                metadata: Metadata::new(),
                oversize: Some(bytes),
            }),
            Kind::Tombstone => Self::Deleted { revision, lease: None },
            Kind::Expired => Self::Expired { revision },
        }
    }

    /// The message that a store keeps for this entry, as [`decode`](Self::decode) reads it back; `None` for an absent
    /// entry. For a record that is [too long](Self::oversize), the message has only its revision.
    pub fn encode(&self) -> Option<(Revision, Kind, String, Headers)> {
        let bare = |revision: &Revision, kind| Some((*revision, kind, String::new(), Headers::new()));
        match self {
            Self::Vacant => None,
            Self::Live(record) if record.oversize.is_some() => bare(&record.revision, Kind::Live),
            Self::Live(record) => {
                let mut headers = Headers::from_iter(nonce_header(record.write_id));
                headers.extend(record.lease.map(lease_header));
                headers.extend(record.term_info.map(term_header));
                headers.extend(record.metadata.iter().map(metadata_header));
                Some((record.revision, Kind::Live, record.candidate.clone(), headers))
            }
            Self::Released(release) => {
                let mut headers = Headers::from_iter(nonce_header(release.write_id));
                headers.push(release_header(release.owed, release.incarnation));
                headers.extend(release.successor.as_deref().map(successor_header));
                Some((release.revision, Kind::Tombstone, String::new(), headers))
            }
            Self::Deleted { revision, lease } => {
                let headers = lease.map(deletion_headers).unwrap_or_default();
                Some((*revision, Kind::Tombstone, String::new(), headers))
            }
            Self::Expired { revision } => bare(revision, Kind::Expired),
        }
    }

    /// The revision of the entry; `None` if there is none.
    pub fn revision(&self) -> Option<Revision> {
        match self {
            Self::Vacant => None,
            Self::Live(record) => Some(record.revision),
            Self::Released(release) => Some(release.revision),
            Self::Deleted { revision, .. } | Self::Expired { revision } => Some(*revision),
        }
    }

    /// The live record, if there is one.
    pub fn live(&self) -> Option<&Record> {
        match self {
            Self::Live(record) => Some(record),
            _ => None,
        }
    }
}

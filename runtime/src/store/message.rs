//! The message that a store keeps under a key for a write.

use std::time::Duration;

use incumbent_core::record::Kind;
use incumbent_core::store::Action;

/// The lifetime of a foreign record under a key that never held a lease.
pub(crate) const FOREIGN_LEASE: Duration = Duration::from_secs(30);

/// A stored message: value and headers exactly as they were given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) kind: Kind,
    pub(crate) value: &'a [u8],
    pub(crate) headers: &'a [(String, String)],
    /// The lifetime of a live record; `None` takes the lease of the record before it.
    pub(crate) lease: Option<Duration>,
}

impl<'a> Message<'a> {
    /// The message that `action` puts under the key.
    pub(crate) fn of(action: &'a Action) -> Self {
        match action {
            Action::Acquire(put) | Action::Renew(put) => Self {
                kind: Kind::Live,
                value: put.value.as_bytes(),
                headers: &put.headers,
                lease: Some(put.lease),
            },
            Action::Release { headers } => Self { kind: Kind::Tombstone, value: b"", headers, lease: None },
        }
    }

    /// A foreign writer's bare value.
    pub(crate) fn foreign(value: &'a [u8]) -> Self {
        Self { kind: Kind::Live, value, headers: &[], lease: None }
    }

    /// An operator's deletion, which certifies nothing. `headers` hold the lease of the deleted
    /// record, as [`deletion_headers`](incumbent_core::record::deletion_headers) writes it.
    pub(crate) fn deletion(headers: &'a [(String, String)]) -> Self {
        Self { kind: Kind::Tombstone, value: b"", headers, lease: None }
    }
}

/// Converts headers for [`Entry::decode`](incumbent_core::record::Entry::decode).
pub(crate) fn pairs(headers: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().map(|(name, text)| (name.as_str(), text.as_str()))
}

//! A write as the message a store keeps under a key.

use std::time::Duration;

use incumbent_core::record::Kind;
use incumbent_core::store::Action;

/// How long a foreign record lives under a key that never held a lease.
pub(crate) const FOREIGN_LEASE: Duration = Duration::from_secs(30);

/// What a store keeps: value and headers exactly as they were given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) kind: Kind,
    pub(crate) value: &'a [u8],
    pub(crate) headers: &'a [(String, String)],
    /// How long a live record lives; `None` takes the lease of the record before it.
    pub(crate) lease: Option<Duration>,
}

impl<'a> Message<'a> {
    /// What `action` puts under the key.
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

    /// An operator's deletion, which certifies nothing. `headers` say the lease of what is deleted, as
    /// [`deletion_headers`](incumbent_core::record::deletion_headers) writes it.
    pub(crate) fn deletion(headers: &'a [(String, String)]) -> Self {
        Self { kind: Kind::Tombstone, value: b"", headers, lease: None }
    }
}

/// Headers as [`Entry::decode`](incumbent_core::record::Entry::decode) takes them.
pub(crate) fn pairs(headers: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().map(|(name, text)| (name.as_str(), text.as_str()))
}

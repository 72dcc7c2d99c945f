//! Parts shared by the stores that keep their records themselves: capabilities, limits of names, stored messages and incarnations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use incumbent_core::record::{Header, Kind};
use incumbent_core::store::{Action, Capabilities};
use incumbent_core::{Incarnation, selector};

use crate::error::{Error, ErrorKind, Result};
use crate::refusals;

/// The longest key or name, in bytes. The bound is arbitrary; NATS and etcd have other limits.
const LONGEST: usize = 1024;

/// Refuses a text that is empty, is longer than 1024 bytes, has a control character, or has white space at either end.
/// `what` names the text in the error.
pub fn check_text(what: &str, text: &str) -> Result<()> {
    let refused = if text.is_empty() {
        refusals::empty_text(what)
    } else if text.len() > LONGEST {
        refusals::long_text(what, text.len() as u64, LONGEST as u64)
    } else if let Some(unseen) = selector::unseen(text) {
        refusals::unseen_text(what, text, unseen)
    } else {
        return Ok(());
    };
    Err(Error::named(ErrorKind::InvalidName, refused))
}

/// The capabilities of a store that keeps its records itself: its clock decides when a record expires, and every write
/// is applied before it is acknowledged.
pub const CAPABILITIES: Capabilities = Capabilities {
    own_lease: true,
    lease_step: Duration::from_millis(1),
    shortest: Duration::from_millis(1),
    // A year, in a store that needs no limit.
    longest: Duration::from_secs(365 * 24 * 3600),
    granularity: Duration::ZERO,
    expiry_pushed: false,
    incarnation_acked: true,
    watch_shows_all: false,
    window: 256,
    fail_over: Duration::ZERO,
};

/// The lifetime of a foreign record under a key that never had a lease.
pub const FOREIGN_LEASE: Duration = Duration::from_secs(30);

/// A stored message: value and headers exactly as they were given.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The kind of the message.
    pub kind: Kind,
    /// The message's value.
    pub value: &'a [u8],
    /// The message's headers.
    pub headers: &'a [Header],
    /// The lifetime of a live record; `None` keeps the previous record's lease.
    pub lease: Option<Duration>,
}

impl<'a> Message<'a> {
    /// The message that `action` writes under the key.
    pub fn of(action: &'a Action) -> Self {
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
    pub fn foreign(value: &'a [u8]) -> Self {
        Self { kind: Kind::Live, value, headers: &[], lease: None }
    }

    /// The message of an operator's deletion, which does not prove that the leader has stopped. `headers` hold the
    /// lease of the deleted record, as [`deletion_headers`](incumbent_core::record::deletion_headers) writes it.
    pub fn deletion(headers: &'a [Header]) -> Self {
        Self { kind: Kind::Tombstone, value: b"", headers, lease: None }
    }
}

/// Converts headers for [`Entry::decode`](incumbent_core::record::Entry::decode).
pub fn pairs(headers: &[Header]) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().map(|(name, text)| (&**name, text.as_str()))
}

/// The largest incarnation that this process has created or read. If the wall clock is set back between two
/// incarnations of a store, a process that knows the first still gives the second a larger number.
static LARGEST: AtomicU64 = AtomicU64::new(0);

/// Returns an incarnation for a new store, larger than every one that this process knows.
pub fn next_incarnation() -> Incarnation {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    let larger = |largest: u64| now.max(largest.saturating_add(1));
    let largest = LARGEST.fetch_update(Ordering::AcqRel, Ordering::Acquire, |l| Some(larger(l)));
    Incarnation(larger(largest.unwrap_or_else(|largest| largest)))
}

/// Remembers an incarnation read from a store, so that the next new one is larger.
pub fn remember_incarnation(incarnation: Incarnation) {
    LARGEST.fetch_max(incarnation.0, Ordering::AcqRel);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_larger_than_the_one_before() {
        let made: Vec<_> = (0..100).map(|_| next_incarnation()).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_wall_clock_that_was_set_back_does_not_make_a_smaller_one() {
        let ahead = Incarnation(next_incarnation().0 + 3_600_000_000_000);
        remember_incarnation(ahead);
        assert!(next_incarnation() > ahead);
    }
}

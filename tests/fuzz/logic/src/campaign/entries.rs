//! Entries that may be under the key.

use std::time::Duration;

use incumbent_core::record::{Attempt, Entry, Nonce, Record, Release, WriteId};
use incumbent_core::store::{Fault, FaultKind};
use incumbent_core::{Incarnation, Revision};

/// The campaign under test.
pub(super) const ME: Nonce = Nonce(0xa);
pub(super) const NAME: &str = "me";
const OTHER: Nonce = Nonce(0xb);

/// A live record: of a campaign of ours, or of other software.
pub(super) fn live(revision: u64, name: &str, write_id: Option<WriteId>, lease: Option<Duration>) -> Entry {
    Entry::Live(Record {
        revision: Revision(revision),
        candidate: name.into(),
        write_id,
        lease,
        term_info: None,
        metadata: Vec::new(),
        oversize: None,
    })
}

/// A record of the campaign under test.
pub(super) fn mine(revision: u64, attempt: Attempt, lease: Duration) -> Entry {
    live(revision, NAME, Some(WriteId { nonce: ME, attempt }), Some(lease))
}

/// A record of another campaign.
pub(super) fn theirs(revision: u64, name: &str, lease: Duration) -> Entry {
    live(revision, name, Some(WriteId { nonce: OTHER, attempt: Attempt(revision) }), Some(lease))
}

/// A release by another campaign.
pub(super) fn released(revision: u64, owed: Duration, life: Incarnation, successor: Option<&str>) -> Entry {
    Entry::Released(Release {
        revision: Revision(revision),
        write_id: Some(WriteId { nonce: OTHER, attempt: Attempt(revision) }),
        owed,
        incarnation: life,
        successor: successor.map(str::to_string),
    })
}

pub(super) fn fault(kind: FaultKind) -> Fault {
    Fault { kind, detail: "the store says so".into() }
}

/// Whether a live record is of the campaign under test.
pub(super) fn is_mine(record: &Record) -> bool {
    record.write_id.is_some_and(|write_id| write_id.nonce == ME)
}

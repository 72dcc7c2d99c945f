//! Conversion of the types that are passed to a guest.

use std::time::Duration;

use incumbent::incumbent_core::Revision;
use incumbent::incumbent_core::record::{Entry, Kind};
use incumbent::incumbent_core::store::{self, Capabilities, Fault, FaultKind, Outcome, StoreInfo};

use crate::bindings::incumbent::election::{records, stores, types};

/// Converts to nanoseconds, at most 584 years.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn capabilities(can: Capabilities) -> stores::Capabilities {
    stores::Capabilities {
        own_lease: can.own_lease,
        lease_step: nanos(can.lease_step),
        shortest: nanos(can.shortest),
        longest: nanos(can.longest),
        granularity: nanos(can.granularity),
        expiry_pushed: can.expiry_pushed,
        incarnation_acked: can.incarnation_acked,
        fail_over: nanos(can.fail_over),
    }
}

pub(crate) fn store_info(info: StoreInfo) -> stores::StoreInfo {
    stores::StoreInfo {
        incarnation: info.incarnation.0,
        age: info.age.map(nanos),
        never_used: info.never_used,
        max_age: info.max_age.map(nanos),
        newest: info.newest.map(|revision| revision.0),
    }
}

pub(crate) fn fault(fault: Fault) -> types::Fault {
    match fault.kind {
        FaultKind::Unreachable => types::Fault::Unreachable(fault.detail),
        FaultKind::Denied => types::Fault::Denied(fault.detail),
        FaultKind::Broken => types::Fault::Broken(fault.detail),
    }
}

pub(crate) fn message(entry: &Entry) -> Option<records::Message> {
    let oversize = entry.live().and_then(|record| record.oversize);
    let (Revision(revision), kind, value, headers) = entry.encode()?;
    let kind = match kind {
        Kind::Live => records::Kind::Live,
        Kind::Tombstone => records::Kind::Tombstone,
        Kind::Expired => records::Kind::Expired,
    };
    Some(records::Message { revision, kind, value: value.into_bytes(), headers, oversize })
}

pub(crate) fn outcome(outcome: Outcome) -> stores::Outcome {
    match outcome {
        Outcome::Applied { revision, incarnation } => stores::Outcome::Applied(stores::Applied {
            revision: revision.0,
            incarnation: incarnation.map(|incarnation| incarnation.0),
        }),
        Outcome::Refused { current } => stores::Outcome::Refused(current.0),
        Outcome::Busy => stores::Outcome::Busy,
        Outcome::NotSent => stores::Outcome::NotSent,
        Outcome::Unknown => stores::Outcome::Unknown,
        Outcome::Failed(why) => stores::Outcome::Failed(fault(why)),
    }
}

pub(crate) fn put(put: records::Put) -> store::Put {
    store::Put { value: put.value, headers: put.headers, lease: Duration::from_nanos(put.lease) }
}

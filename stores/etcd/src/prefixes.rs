//! Prefixes and elections whose keys would count for each other.
//!
//! An election under the prefix `P` takes every key that begins with `P ELECTION/` for a place, as Go's clients do. So
//! no prefix may be or begin with `P ELECTION/`: its birth record, which never expires, would come before every
//! candidate. Whichever of the two is created second is refused.

use std::sync::Arc;

use incumbent_core::queue::Operation;
use incumbent_core::store::{Fault, FaultKind};
use tonic::{Code, Status};

use super::keys::Keys;
use super::reads::{OPERATIONS, Reads};
use super::transaction::{fault, get, ranges, without_values};
use super::wire::connection::{Connection, method};
use super::wire::messages::{KeyValue, RangeRequest, RangeResponse, TxnRequest, TxnResponse};
use incumbent_store::{Error, ErrorKind, Result};

/// The keys that one request reads.
const PAGE: i64 = 1000;

/// Checks, before a birth record is written, that no key of the prefix is a candidate's place in an election of another
/// prefix. If the read is not permitted, returns a fault for candidates to report.
///
/// # Errors
/// A fault if there is such a place, or if the read fails.
pub(super) async fn check(connection: &Connection, keys: &Keys) -> std::result::Result<Option<Fault>, Fault> {
    match place_of_another(connection, keys).await {
        Ok(None) => Ok(None),
        Ok(Some(place)) => Err(Fault { kind: FaultKind::Broken, detail: keys.is_inside(&place) }),
        Err(status) if status.code() == Code::PermissionDenied => {
            let detail = keys.is_not_checked(status.message());
            tracing::warn!("{detail}");
            Ok(Some(Fault { kind: FaultKind::Denied, detail }))
        }
        Err(status) => Err(fault(Operation::Read, &status)),
    }
}

async fn place_of_another(
    connection: &Connection,
    keys: &Keys,
) -> std::result::Result<Option<Vec<u8>>, Status> {
    let Some((mut key, range_end)) = keys.places_of_another() else { return Ok(None) };
    while key < range_end {
        let page = page(connection, key, &range_end).await?;
        let named: Vec<_> = page.kvs.iter().filter(|kv| keys.lease_named_by(&kv.key).is_some()).collect();
        // A range of keys without values may come without their leases (3.7).
        for some in named.chunks(OPERATIONS) {
            let success = some.iter().map(|kv| get(kv.key.clone())).collect();
            let found = TxnRequest { success, ..Default::default() };
            let found: TxnResponse = connection.call(method::TXN, found).await?;
            let mut found = ranges(&found).flat_map(|range| &range.kvs);
            if let Some(place) = found.find(|kv| keys.is_place_of_another(kv)) {
                return Ok(Some(place.key.clone()));
            }
        }
        let Some(last) = page.kvs.last().filter(|_| page.more) else { break };
        key = keys.next_segment(&last.key).unwrap_or_else(|| behind(&last.key));
    }
    Ok(None)
}

/// Checks that no prefix lies inside the election's keys.
///
/// # Errors
/// `InvalidName`, with both prefixes. If the store does not answer, or the user may not read, the election's candidates
/// find out on their own.
pub(super) async fn check_overlap(
    connection: &Connection,
    reads: &Arc<Reads>,
    keys: &Keys,
    election: &str,
) -> Result<()> {
    let inside = |kv: &KeyValue| keys.prefix_inside(election, kv);
    // Elections that are entered together are read in one transaction. Few have more candidates than fit on a page.
    let first = reads.read(vec![without_values(keys.places(election), PAGE)]).await.ok();
    let first = first.iter().flat_map(ranges).next();
    let mut found = first.and_then(|page| page.kvs.iter().find_map(inside));
    let mut last = first.filter(|page| page.more).and_then(|page| page.kvs.last()).map(|kv| kv.key.clone());
    let (_, range_end) = keys.places(election);
    while let (None, Some(key)) = (&found, &last) {
        let Ok(page) = page(connection, behind(key), &range_end).await else { break };
        found = page.kvs.iter().find_map(inside);
        last = page.kvs.last().filter(|_| page.more).map(|kv| kv.key.clone());
    }
    match found {
        Some(inside) => Err(Error::new(ErrorKind::InvalidName, keys.shares_keys(election, &inside))),
        None => Ok(()),
    }
}

/// The keys of a range from this key on, without values, up to one request's limit.
async fn page(
    connection: &Connection,
    key: Vec<u8>,
    range_end: &[u8],
) -> std::result::Result<RangeResponse, Status> {
    let range_end = range_end.to_vec();
    let page = RangeRequest { key, range_end, limit: PAGE, keys_only: true, ..Default::default() };
    connection.call(method::RANGE, page).await
}

/// The first key that can come after this key.
fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

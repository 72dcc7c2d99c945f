//! Elections as observers and people see them: the first place is the leader.

use std::collections::{BTreeMap, BTreeSet};

use incumbent_core::queue::Operation;
use incumbent_core::record::{Attempt, Entry, Kind, TermInfo, WriteId};
use incumbent_core::store::{Fault, FaultKind};
use incumbent_core::{Incarnation, Revision, Token};

use super::keys::{Keys, Range, companion_of, incarnation_of, name_of, place_of, revision, standing_for};
use super::reads::OPERATIONS;
use super::transaction::{fault, get, in_order, ranges};
use super::wire::connection::{Connection, method};
use super::wire::messages::{KeyValue, Operation as Op, TxnRequest, TxnResponse};
use incumbent_store::{CandidateInfo, WatchEvent};

/// The queues of some elections.
struct Queues {
    incarnation: Option<Incarnation>,
    /// The places in the order of their creation, by election.
    places: BTreeMap<String, Vec<KeyValue>>,
    /// All companions, by election.
    companions: BTreeMap<String, Vec<KeyValue>>,
}

/// The entry of one election, and the revision at which it was read.
pub(super) async fn entry(
    connection: &Connection,
    keys: &Keys,
    election: &str,
) -> Result<(Entry, Revision), Fault> {
    let places = keys.places(election);
    let answer = read(
        connection,
        vec![get(keys.birth()), in_order(places, 1), in_order(keys.companions(election), 0)],
    );
    let answer = answer.await?;
    let Some(header) = answer.header else { return Err(incomplete()) };
    let mut answers = ranges(&answer).map(|range| range.kvs.as_slice());
    let (Some(birth), Some(places), Some(companions)) = (answers.next(), answers.next(), answers.next())
    else {
        return Err(incomplete());
    };
    let incarnation = birth.first().and_then(incarnation_of);
    let entry = entry_of(keys, election, incarnation, places, companions);
    Ok((entry, revision(header.revision)))
}

/// The entries of all elections that have a place.
pub(super) async fn list(connection: &Connection, keys: &Keys) -> Result<Vec<WatchEvent>, Fault> {
    let queues = queues(connection, keys, None).await?;
    let none = Vec::new();
    let event = |(election, places): (&String, &Vec<KeyValue>)| {
        let companions = queues.companions.get(election).unwrap_or(&none);
        let entry = entry_of(keys, election, queues.incarnation, places, companions);
        WatchEvent { key: election.clone(), entry }
    };
    Ok(queues.places.iter().filter(|(_, places)| !places.is_empty()).map(event).collect())
}

/// The candidates of all elections or of one, in the order of their queues.
pub(super) async fn candidates(
    connection: &Connection,
    keys: &Keys,
    election: Option<&str>,
) -> Result<Vec<CandidateInfo>, Fault> {
    let queues = queues(connection, keys, election).await?;
    let mut candidates = Vec::new();
    for (election, places) in &queues.places {
        // Only our candidates have companions, and an election may have no candidate of ours.
        let companions = queues.companions.get(election).map(Vec::as_slice).unwrap_or_default();
        for place in keys.only_places(election, places) {
            let companion = companion_beside(keys, election, place, companions);
            let read = companion.map(|kv| companion_of(kv, &keys.companions(election)));
            candidates.push(CandidateInfo {
                election: election.clone(),
                name: place_of(place, &keys.places(election)).name,
                nonce: read.and_then(|companion| companion.nonce),
                standing_for: companion.map(standing_for).unwrap_or_default(),
            });
        }
    }
    Ok(candidates)
}

/// Reads the queues of all elections or of one.
///
/// Without a prefix, every key of the cluster could be a place, so only elections in which one of our candidates has a
/// companion count.
async fn queues(connection: &Connection, keys: &Keys, election: Option<&str>) -> Result<Queues, Fault> {
    let companions = election.map_or_else(|| keys.watched(), |election| keys.companions(election));
    let places = match election {
        Some(election) => Some(keys.places(election)),
        None => keys.have_a_prefix().then(|| keys.all()),
    };
    let mut asked = vec![get(keys.birth()), in_order(companions, 0)];
    asked.extend(places.clone().map(|range| in_order(range, 0)));
    let answer = read(connection, asked).await?;
    let mut answers = ranges(&answer).map(|range| range.kvs.clone());
    let (Some(birth), Some(companions)) = (answers.next(), answers.next()) else { return Err(incomplete()) };
    let found = match places {
        Some(_) => answers.next().ok_or_else(incomplete)?,
        None => Vec::new(),
    };
    let mut queues = Queues {
        incarnation: birth.first().and_then(incarnation_of),
        places: BTreeMap::new(),
        companions: BTreeMap::new(),
    };
    let ours = keys.watched();
    for companion in companions {
        let name = name_of(&companion, &ours);
        if let Some((election, _)) = name.split_once('/') {
            queues.companions.entry(election.to_owned()).or_default().push(companion);
        }
    }
    match (election, places) {
        (Some(election), _) => drop(queues.places.insert(election.to_owned(), found)),
        (None, Some(_)) => {
            // In an election with at least one place of the usual form, places with any name count.
            let elections: BTreeSet<_> = found
                .iter()
                .filter_map(|kv| keys.election_of(&kv.key).map(str::to_owned))
                .chain(queues.companions.keys().cloned())
                .collect();
            let ranges: Vec<_> =
                elections.into_iter().map(|election| (keys.places(&election), election)).collect();
            for kv in found {
                let of = |((begin, _), _): &&(Range, String)| kv.key.starts_with(begin);
                if let Some((_, election)) = ranges.iter().find(of) {
                    queues.places.entry(election.clone()).or_default().push(kv);
                }
            }
        }
        (None, None) => {
            let elections: Vec<_> = queues.companions.keys().cloned().collect();
            for some in elections.chunks(OPERATIONS) {
                let asked = some.iter().map(|election| in_order(keys.places(election), 0)).collect();
                let answer = read(connection, asked).await?;
                if ranges(&answer).count() != some.len() {
                    return Err(incomplete());
                }
                for (election, range) in some.iter().zip(ranges(&answer)) {
                    queues.places.insert(election.clone(), range.kvs.clone());
                }
            }
        }
    }
    Ok(queues)
}

async fn read(connection: &Connection, success: Vec<Op>) -> Result<TxnResponse, Fault> {
    let request = TxnRequest { success, ..Default::default() };
    let answer = connection.call(method::TXN, request).await;
    answer.map_err(|status| fault(Operation::Read, &status))
}

/// A missing part of an answer means that it is unknown, not that the queue is empty.
fn incomplete() -> Fault {
    Fault { kind: FaultKind::Unreachable, detail: "etcd left a part of a read unanswered".into() }
}

/// The companion that one transaction created together with a place.
fn companion_beside<'a>(
    keys: &Keys,
    election: &str,
    place: &KeyValue,
    companions: &'a [KeyValue],
) -> Option<&'a KeyValue> {
    let name = name_of(place, &keys.places(election));
    let range = keys.companions(election);
    companions.iter().find(|companion| {
        companion.create_revision == place.create_revision && name_of(companion, &range) == name
    })
}

/// The leader, as observers see it: the first place. If a key of another prefix comes first, there is no leader.
fn entry_of(
    keys: &Keys,
    election: &str,
    incarnation: Option<Incarnation>,
    places: &[KeyValue],
    companions: &[KeyValue],
) -> Entry {
    let Some(first) = places.first().filter(|kv| keys.prefix_inside(election, kv).is_none()) else {
        return Entry::Vacant;
    };
    let created = revision(first.create_revision);
    let mut entry = Entry::decode(created, Kind::Live, &first.value, []);
    let companion = companion_beside(keys, election, first, companions);
    if let (Entry::Live(record), Some(companion)) = (&mut entry, companion) {
        let companion = companion_of(companion, &keys.companions(election));
        record.write_id = companion.nonce.map(|nonce| WriteId { nonce, attempt: Attempt(0) });
        record.lease = Some(companion.lease_time).filter(|lease| !lease.is_zero());
        record.term_info = incarnation.map(|incarnation| TermInfo {
            token: Token { incarnation, sequence: created },
            // Unknown, because nothing is written when a term is won.
            led_for: None,
        });
        record.metadata = companion.metadata;
    }
    entry
}

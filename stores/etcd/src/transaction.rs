//! The requests of a campaign, and the meaning of etcd's answers.

use incumbent_core::queue::{Action, Code, Failure, LeaseId, Operation, Outcome, Own, Snapshot};
use incumbent_core::store::{Fault, FaultKind};
use tonic::Status;

use super::keys::{Identity, Keys, Range, companion_of, companion_value, incarnation_of, place_of, revision};
use super::wire::messages::{
    self as wire, Compare, CompareTarget, CompareValue, Comparison, DeleteRequest, Header, OperationAnswer,
    OperationKind, Order, PutRequest, RangeRequest, RangeResponse, SortTarget, TxnRequest, TxnResponse,
};

/// The transaction that carries out `action`.
pub(super) fn write(keys: &Keys, election: &str, identity: &Identity, action: &Action) -> TxnRequest {
    let pair = |lease| (keys.place(election, lease), keys.companion(election, lease));
    let value = |successor: Option<&str>| companion_value(identity, successor);
    match action {
        Action::Enter { lease, companion, replaces } => {
            let (place, companion_key) = pair(*lease);
            let inside = keys.birth_inside(election);
            let mut txn = TxnRequest {
                compare: vec![absent(&place), absent(&companion_key), absent(&inside)],
                success: vec![
                    put(place.clone(), identity.name.as_bytes().to_vec(), Some(*lease)),
                    put(companion_key, value(None), Some(*companion)),
                ],
                failure: vec![get(place), get(inside)],
            };
            if let Some(Own { lease, revision }) = replaces {
                let (place, companion_key) = pair(*lease);
                for key in [place, companion_key] {
                    txn.compare.push(created_at(&key, signed(revision.0)));
                    txn.success.push(delete(key));
                }
            }
            txn
        }
        Action::Move { own, modified, to } => {
            let (_, companion_key) = pair(own.lease);
            TxnRequest {
                compare: vec![modified_at(&companion_key, signed(modified.0))],
                success: vec![attach(companion_key, *to)],
                failure: Vec::new(),
            }
        }
        Action::LeaveCompanion { lease } => {
            let (_, companion_key) = pair(*lease);
            TxnRequest { success: vec![delete(companion_key)], ..Default::default() }
        }
        Action::Name { own, modified, companion, successor } => {
            let (_, companion_key) = pair(own.lease);
            TxnRequest {
                compare: vec![modified_at(&companion_key, signed(modified.0))],
                success: vec![put(companion_key, value(successor.as_deref()), Some(*companion))],
                failure: Vec::new(),
            }
        }
        Action::Leave { lease, revision } => {
            let (place, companion_key) = pair(*lease);
            let each = |key: Vec<u8>| match revision {
                None => delete(key),
                Some(revision) => operation(OperationKind::Txn(TxnRequest {
                    compare: vec![created_at(&key, signed(revision.0))],
                    success: vec![delete(key)],
                    failure: Vec::new(),
                })),
            };
            TxnRequest { success: vec![each(place), each(companion_key)], ..Default::default() }
        }
    }
}

/// The meaning of the answer to a transaction that carries out `action`.
pub(super) fn written(
    keys: &Keys,
    election: &str,
    action: &Action,
    answer: Result<TxnResponse, Status>,
) -> Outcome {
    let only_deletes = matches!(action, Action::Leave { .. } | Action::LeaveCompanion { .. });
    let operation = if only_deletes { Operation::Delete } else { Operation::Put };
    let answer = match answer {
        Ok(answer) => answer,
        Err(status) => return Outcome::Failed(failure(operation, &status)),
    };
    if answer.succeeded {
        // An answer without a revision counts as no answer: the next attempt learns the revision.
        let applied = |header: Header| Outcome::Applied { revision: revision(header.revision) };
        return answer.header.map_or(Outcome::Failed(Failure::Unknown), applied);
    }
    let own = match action {
        Action::Enter { lease, .. } => Some(signed(lease.0)),
        _ => None,
    };
    let found = || ranges(&answer).flat_map(|range| &range.kvs);
    let created = found().find(|kv| Some(kv.lease) == own).map(|kv| revision(kv.create_revision));
    match found().find_map(|kv| keys.prefix_inside(election, kv)) {
        Some(inside) if created.is_none() => {
            let detail = keys.shares_keys(election, &inside);
            Outcome::Failed(Failure::Fault(Fault { kind: FaultKind::Broken, detail }))
        }
        _ => Outcome::Refused { created },
    }
}

/// The operations that read a queue at one revision. `own` names the candidate's own keys; `whole` asks for all places
/// and companions, not only the first two.
pub(super) fn read(keys: &Keys, election: &str, own: Option<LeaseId>, whole: bool) -> Vec<wire::Operation> {
    let all = |range| in_order(range, if whole { 0 } else { 2 });
    let mut reads = vec![get(keys.birth()), all(keys.places(election)), all(keys.companions(election))];
    if let Some(lease) = own {
        reads.push(get(keys.place(election, lease)));
        reads.push(get(keys.companion(election, lease)));
    }
    reads
}

/// Reads the first keys of a range in the order of their creation; all of them for a limit of 0.
pub(super) fn in_order((key, range_end): Range, limit: i64) -> wire::Operation {
    operation(OperationKind::Range(RangeRequest {
        key,
        range_end,
        limit,
        sort_order: Order::Ascending.into(),
        sort_target: SortTarget::CreateRevision.into(),
        ..Default::default()
    }))
}

/// Reads this many keys of a range without their values.
pub(super) fn without_values((key, range_end): Range, limit: i64) -> wire::Operation {
    operation(OperationKind::Range(RangeRequest {
        key,
        range_end,
        limit,
        keys_only: true,
        ..Default::default()
    }))
}

/// The queue in the answer to [`read`].
pub(super) fn snapshot(
    keys: &Keys,
    election: &str,
    answer: Result<TxnResponse, Status>,
) -> Result<Snapshot, Failure> {
    let answer = answer.map_err(|status| failure(Operation::Read, &status))?;
    let (Some(header), places, companions) =
        (answer.header, keys.places(election), keys.companions(election))
    else {
        return Err(Failure::Unknown);
    };
    let mut read = ranges(&answer).map(|range| range.kvs.as_slice());
    // A read has as many answers as it had requests; if one is missing, the read shows nothing.
    let (Some(birth), Some(first_places), Some(first_companions)) = (read.next(), read.next(), read.next())
    else {
        return Err(Failure::Unknown);
    };
    // A candidate without a place did not request its own keys.
    let (place, companion) = (read.next().unwrap_or_default(), read.next().unwrap_or_default());
    let inside = first_places.iter().find_map(|kv| keys.prefix_inside(election, kv));
    Ok(Snapshot {
        revision: revision(header.revision),
        raft_term: header.raft_term,
        birth: birth.first().and_then(incarnation_of),
        place: place.first().map(|kv| place_of(kv, &places)),
        companion: companion.first().map(|kv| companion_of(kv, &companions)),
        places: first_places.iter().map(|kv| place_of(kv, &places)).collect(),
        companions: first_companions.iter().map(|kv| companion_of(kv, &companions)).collect(),
        overlap: inside.map(|inside| keys.shares_keys(election, &inside)),
    })
}

/// The class of an error.
pub(super) fn failure(operation: Operation, status: &Status) -> Failure {
    let code = match status.code() {
        tonic::Code::Cancelled => Code::Canceled,
        tonic::Code::InvalidArgument => Code::InvalidArgument,
        tonic::Code::DeadlineExceeded => Code::DeadlineExceeded,
        tonic::Code::NotFound => Code::NotFound,
        tonic::Code::PermissionDenied => Code::PermissionDenied,
        tonic::Code::ResourceExhausted => Code::ResourceExhausted,
        tonic::Code::FailedPrecondition => Code::FailedPrecondition,
        tonic::Code::OutOfRange => Code::OutOfRange,
        tonic::Code::Unavailable => Code::Unavailable,
        tonic::Code::DataLoss => Code::DataLoss,
        tonic::Code::Unauthenticated => Code::Unauthenticated,
        _ => Code::Unknown,
    };
    Failure::of(operation, code, status.message())
}

/// Converts an error to a fault, for a caller that does not repeat the request.
pub(super) fn fault(operation: Operation, status: &Status) -> Fault {
    let kind = match failure(operation, status) {
        Failure::Fault(fault) => return fault,
        Failure::TooLarge | Failure::Behind | Failure::Compacted => FaultKind::Broken,
        _ => FaultKind::Unreachable,
    };
    Fault { kind, detail: format!("etcd: {}", status.message()) }
}

pub(super) fn ranges(answer: &TxnResponse) -> impl Iterator<Item = &RangeResponse> {
    answer.responses.iter().filter_map(|response| match &response.answer {
        Some(OperationAnswer::Range(range)) => Some(range),
        _ => None,
    })
}

pub(super) fn created_at(key: &[u8], revision: i64) -> Compare {
    Compare {
        result: Comparison::Equal.into(),
        target: CompareTarget::CreateRevision.into(),
        key: key.to_vec(),
        value: Some(CompareValue::CreateRevision(revision)),
    }
}

/// A condition that a key was last written at this revision.
pub(super) fn modified_at(key: &[u8], revision: i64) -> Compare {
    Compare {
        result: Comparison::Equal.into(),
        target: CompareTarget::ModRevision.into(),
        key: key.to_vec(),
        value: Some(CompareValue::ModRevision(revision)),
    }
}

/// A condition that a key does not exist.
pub(super) fn absent(key: &[u8]) -> Compare {
    created_at(key, 0)
}

pub(super) fn put(key: Vec<u8>, value: Vec<u8>, lease: Option<LeaseId>) -> wire::Operation {
    let lease = lease.map_or(0, |lease| signed(lease.0));
    let put = PutRequest { key, value, lease, ..Default::default() };
    operation(OperationKind::Put(put))
}

/// Attaches a key to another lease, and leaves its value as it is.
fn attach(key: Vec<u8>, lease: LeaseId) -> wire::Operation {
    let put = PutRequest { key, lease: signed(lease.0), ignore_value: true, ..Default::default() };
    operation(OperationKind::Put(put))
}

pub(super) fn delete(key: Vec<u8>) -> wire::Operation {
    operation(OperationKind::Delete(DeleteRequest { key, ..Default::default() }))
}

pub(super) fn get(key: Vec<u8>) -> wire::Operation {
    operation(OperationKind::Range(RangeRequest { key, ..Default::default() }))
}

pub(super) fn operation(kind: OperationKind) -> wire::Operation {
    wire::Operation { kind: Some(kind) }
}

/// A number in etcd's type, with the same bits.
fn signed(number: u64) -> i64 {
    number.cast_signed()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use incumbent_core::Revision;
    use incumbent_core::queue::{Companion, Place};
    use incumbent_core::record::Nonce;
    use incumbent_testkit::etcd::{EtcdServer, Options};
    use incumbent_testkit::tools::EtcdVersion;

    use super::super::keys::birth_value;
    use super::super::wire::connection::{Connection, method};
    use super::super::wire::messages::{GrantRequest, GrantResponse, RevokeRequest, RevokeResponse};
    use super::*;
    use crate::settings::EtcdSettings;

    struct Bench {
        server: EtcdServer,
        connection: Connection,
        keys: Keys,
        identity: Identity,
    }

    impl Bench {
        fn start(version: EtcdVersion) -> Self {
            let server = EtcdServer::start(Options::new().version(version));
            let connection = Connection::new(EtcdSettings::new(&server.address()).unwrap()).unwrap();
            let identity = Identity {
                name: "heron".into(),
                nonce: Nonce(7),
                lease_time: Duration::from_secs(10),
                since: UNIX_EPOCH,
                metadata: Vec::new(),
            };
            Self { server, connection, keys: Keys::new(""), identity }
        }

        async fn grant(&self, id: u64) -> LeaseId {
            let request = GrantRequest { ttl: 10, id: signed(id) };
            let answer: GrantResponse = self.connection.call(method::GRANT, request).await.unwrap();
            LeaseId(answer.id.cast_unsigned())
        }

        async fn write(&self, action: Action) -> Outcome {
            let request = write(&self.keys, "jobs", &self.identity, &action);
            written(&self.keys, "jobs", &action, self.connection.call(method::TXN, request).await)
        }

        async fn enter(&self, lease: LeaseId, companion: LeaseId) -> Revision {
            match self.write(Action::Enter { lease, companion, replaces: None }).await {
                Outcome::Applied { revision } => revision,
                other => panic!("{other:?}"),
            }
        }

        async fn read(&self, own: Option<LeaseId>) -> Snapshot {
            let success = read(&self.keys, "jobs", own, true);
            let request = TxnRequest { success, ..Default::default() };
            snapshot(&self.keys, "jobs", self.connection.call(method::TXN, request).await).unwrap()
        }
    }

    fn named(places: &[Place]) -> Vec<(&str, &str)> {
        places.iter().map(|place| (place.key.as_str(), place.name.as_str())).collect()
    }

    #[tokio::test]
    async fn a_candidacy_enters_names_a_successor_and_leaves_nothing_behind() {
        for version in EtcdVersion::tested() {
            let bench = Bench::start(version);
            let (a, b) = (bench.grant(0xa1).await, bench.grant(0xb1).await);
            bench.server.ctl(&[
                "put",
                ".incumbent",
                &String::from_utf8(birth_value(incumbent_core::Incarnation(42), false)).unwrap(),
            ]);
            bench.server.ctl(&["put", "jobs/foreign", "go-1"]);
            let revision = bench.enter(a, b).await;

            let seen = bench.read(Some(a)).await;
            assert_eq!(seen.birth, Some(incumbent_core::Incarnation(42)));
            assert_eq!(named(&seen.places), [("foreign", "go-1"), ("a1", "heron")]);
            let (place, companion) = (seen.place.unwrap(), seen.companion.unwrap());
            assert_eq!((place.created, place.lease), (revision, Some(a)));
            assert_eq!(
                (companion.created, companion.lease, companion.nonce),
                (revision, Some(b), Some(Nonce(7)))
            );

            let own = Own { lease: a, revision };
            let modified = companion.modified;
            let naming = Action::Name { own, modified, companion: b, successor: Some("egret".into()) };
            assert!(matches!(bench.write(naming).await, Outcome::Applied { .. }));
            let companion = bench.read(Some(a)).await.companion.unwrap();
            assert_eq!((companion.created, companion.successor.as_deref()), (revision, Some("egret")));

            // Keys that were created at another revision are left alone.
            let other = Some(Revision(revision.0 - 1));
            bench.write(Action::Leave { lease: a, revision: other }).await;
            assert!(bench.read(Some(a)).await.place.is_some());
            bench.write(Action::Leave { lease: a, revision: Some(revision) }).await;
            let seen = bench.read(Some(a)).await;
            assert_eq!((seen.place, seen.companion, seen.companions.len()), (None, None, 0));
            assert_eq!(named(&seen.places), [("foreign", "go-1")]);
        }
    }

    #[tokio::test]
    async fn an_election_with_another_prefix_inside_its_keys_is_not_entered() {
        for version in EtcdVersion::tested() {
            let bench = Bench::start(version);
            bench.server.ctl(&["put", "jobs/.incumbent", "42"]);
            let (a, b) = (bench.grant(0xa1).await, bench.grant(0xb1).await);
            let outcome = bench.write(Action::Enter { lease: a, companion: b, replaces: None }).await;
            let Outcome::Failed(Failure::Fault(fault)) = outcome else { panic!("{outcome:?}") };
            assert_eq!(fault.kind, FaultKind::Broken);
            assert!(fault.detail.contains("\"jobs\" under the prefix \"\""), "{fault}");
            assert!(fault.detail.contains("the prefix \"jobs/\""), "{fault}");
            let seen = bench.read(Some(a)).await;
            assert_eq!((seen.place, seen.companions.len()), (None, 0));
            assert_eq!(
                seen.overlap,
                Some(fault.detail),
                "a candidate already in the election reports the same"
            );
        }
    }

    #[tokio::test]
    async fn a_companion_moves_to_another_lease_and_a_write_before_that_moves_nothing_back() {
        for version in EtcdVersion::tested() {
            let bench = Bench::start(version);
            let (a, b, c) = (bench.grant(0xa1).await, bench.grant(0xb1).await, bench.grant(0xc1).await);
            let revision = bench.enter(a, b).await;
            let own = Own { lease: a, revision };
            let before = bench.read(Some(a)).await.companion.unwrap();
            assert_eq!(before.modified, revision);
            let moving = Action::Move { own, modified: revision, to: c };
            let Outcome::Applied { revision: modified } = bench.write(moving).await else { panic!() };
            let moved = bench.read(Some(a)).await.companion.unwrap();
            assert_eq!(moved, Companion { modified, lease: Some(c), ..before });

            for late in [
                Action::Move { own, modified: revision, to: b },
                Action::Name { own, modified: revision, companion: b, successor: Some("egret".into()) },
            ] {
                assert_eq!(bench.write(late).await, Outcome::Refused { created: None });
            }
            let dead = Action::Move { own, modified, to: LeaseId(0xd1) };
            assert_eq!(bench.write(dead).await, Outcome::Failed(Failure::LeaseGone));
            assert_eq!(bench.read(Some(a)).await.companion, Some(moved));

            let leaving = Action::LeaveCompanion { lease: a };
            assert!(matches!(bench.write(leaving).await, Outcome::Applied { .. }));
            let left = bench.read(Some(a)).await;
            assert_eq!((left.place.is_some(), left.companion), (true, None));
        }
    }

    #[test]
    fn a_transaction_whose_answer_has_no_revision_has_an_unknown_outcome() {
        let action = Action::Enter { lease: LeaseId(1), companion: LeaseId(2), replaces: None };
        let answer = TxnResponse { succeeded: true, ..Default::default() };
        let outcome = written(&Keys::new(""), "jobs", &action, Ok(answer));
        assert_eq!(outcome, Outcome::Failed(Failure::Unknown));
    }

    #[tokio::test]
    async fn a_second_attempt_learns_when_the_first_was_applied() {
        let bench = Bench::start(EtcdVersion::Newest);
        let (a, b) = (bench.grant(0xa1).await, bench.grant(0xb1).await);
        let revision = bench.enter(a, b).await;
        let again = bench.write(Action::Enter { lease: a, companion: b, replaces: None }).await;
        assert_eq!(again, Outcome::Refused { created: Some(revision) });
    }

    #[tokio::test]
    async fn stepping_behind_deletes_both_keys_and_creates_new_ones_at_one_revision() {
        let bench = Bench::start(EtcdVersion::Newest);
        let (a, b) = (bench.grant(0xa1).await, bench.grant(0xb1).await);
        let first = bench.enter(a, b).await;
        bench.server.ctl(&["put", "jobs/foreign", "go-1"]);
        let next = bench.grant(0xa2).await;
        let replaces = Some(Own { lease: a, revision: first });
        let outcome = bench.write(Action::Enter { lease: next, companion: b, replaces }).await;
        let Outcome::Applied { revision } = outcome else { panic!("{outcome:?}") };
        let seen = bench.read(Some(next)).await;
        assert_eq!(named(&seen.places), [("foreign", "go-1"), ("a2", "heron")]);
        assert_eq!(seen.companions.iter().map(|one| one.created).collect::<Vec<_>>(), [revision]);
    }

    #[tokio::test]
    async fn a_transaction_that_names_a_dead_lease_leaves_no_key() {
        for version in EtcdVersion::tested() {
            let bench = Bench::start(version);
            let (a, b) = (bench.grant(0xa1).await, bench.grant(0xb1).await);
            let revoke = RevokeRequest { id: signed(a.0) };
            let _: RevokeResponse = bench.connection.call(method::REVOKE, revoke).await.unwrap();
            let outcome = bench.write(Action::Enter { lease: a, companion: b, replaces: None }).await;
            assert_eq!(outcome, Outcome::Failed(Failure::LeaseGone));
            let seen = bench.read(Some(a)).await;
            assert_eq!((seen.places.len(), seen.companions.len()), (0, 0));
        }
    }

    #[tokio::test]
    async fn a_full_store_refuses_a_candidacy_and_still_deletes() {
        let options = Options::new().arguments(["--quota-backend-bytes=300000"]);
        let bench = Bench { server: EtcdServer::start(options), ..Bench::start(EtcdVersion::Newest) };
        let settings = EtcdSettings::new(&bench.server.address()).unwrap();
        let bench = Bench { connection: Connection::new(settings).unwrap(), ..bench };
        let (a, b) = (bench.grant(0xa1).await, bench.grant(0xb1).await);
        let revision = bench.enter(a, b).await;
        let filler = "x".repeat(50_000);
        let fill = || {
            bench.connection.call::<_, TxnResponse>(
                method::TXN,
                TxnRequest {
                    success: vec![put(b"filler".to_vec(), filler.clone().into_bytes(), None)],
                    ..Default::default()
                },
            )
        };
        while fill().await.is_ok() {}
        let own = Own { lease: a, revision };
        let naming = Action::Name { own, modified: revision, companion: b, successor: None };
        assert!(matches!(bench.write(naming).await, Outcome::Failed(Failure::Fault(_))));
        let leaving = bench.write(Action::Leave { lease: a, revision: Some(revision) }).await;
        assert!(matches!(leaving, Outcome::Applied { .. }), "{leaving:?}");
        assert_eq!(bench.read(Some(a)).await.place, None);
    }
}

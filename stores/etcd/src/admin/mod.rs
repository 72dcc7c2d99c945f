//! An operator's actions on the elections under a prefix: preparing it, and writes without a leader's consent.

pub(crate) mod permissions;
pub(crate) mod survey;

use std::time::Duration;

use async_trait::async_trait;
use incumbent_core::queue::{LeaseId, Operation as Attempted};
use incumbent_core::store::{Fault, FaultKind};
use incumbent_core::{Incarnation, Revision};
use tonic::Status;

use super::inspection::{self, error_of};
use super::keys::{self, Keys, birth_value};
use super::prefixes;
use super::settings::EtcdSettings;
use super::transaction::{absent, created_at, delete, fault, get, operation, put, ranges};
use super::wire::connection::{Connection, method};
use super::wire::messages::{
    self as wire, GrantRequest, GrantResponse, KeyValue, OperationKind, Order, PutRequest, RangeRequest,
    RangeResponse, SortTarget, TimeToLiveRequest, TimeToLiveResponse, TxnRequest, TxnResponse,
};
use crate::refusals;
use incumbent_store::local::next_incarnation;
use incumbent_store::{Error, ErrorKind, Result};
use incumbent_store::{StoreAdmin, request};

/// The time limit of an operator's action, long because a cluster that has just elected a leader loses requests.
const LIMIT: Duration = Duration::from_secs(5);
/// How often to try again if a place disappears or appears between the read and the write.
const TRIES: usize = 5;
/// The lease of a newly written place, as [`StoreAdmin::put`] promises.
const LEASE: Duration = Duration::from_secs(30);
/// The lease of a request to candidates, which watch for it and act at once.
const REQUEST_LEASE: Duration = Duration::from_secs(60);

/// The findings and actions of [`init`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitReport {
    /// There was no birth record, and one was written.
    pub created: bool,
    /// The incarnation of the elections under the prefix.
    pub incarnation: Incarnation,
    /// An operator stated that the prefix was never used before.
    pub never_used: bool,
}

/// Writes the birth record of the elections under a prefix, or reads the existing one.
///
/// Without it, the first candidate writes one and then waits for a lease; if the record is already older than a lease,
/// no candidate waits. `never_used` states that no election ever ran under that prefix, so that the first leader need
/// not wait at all in a cluster that has its own first leader. Not for automation: if a script writes the record again
/// under a leader, there can be two leaders.
///
/// # Errors
/// `UnsafeStore` for a prefix that is stated to be new but has a birth record or keys of elections; `Broken` for a
/// birth record that cannot be read; and every error of reaching the cluster.
pub async fn init(settings: &EtcdSettings, never_used: bool) -> Result<InitReport> {
    settings.check()?;
    let connection = Connection::new(settings.clone())?;
    inspection::find_member(&connection, settings, &settings.keys()).await?;
    let prepared = tokio::time::timeout(LIMIT, prepare(&connection, settings, never_used));
    prepared.await.unwrap_or_else(|_| Err(silent(settings)))
}

async fn prepare(connection: &Connection, settings: &EtcdSettings, never_used: bool) -> Result<InitReport> {
    let (keys, prefix) = (settings.keys(), &settings.prefix);
    let failed = |status: Status| error_of(connection.member(), settings, &status);
    let used = |what: String| Err(Error::named(ErrorKind::UnsafeStore, refusals::not_new(&what, prefix)));
    if never_used {
        // Without a prefix, foreign keys may belong to any software.
        let (key, range_end) = if prefix.is_empty() { keys.ours() } else { keys.all() };
        let look = RangeRequest { key, range_end, limit: 1, ..Default::default() };
        let found: RangeResponse = connection.call(method::RANGE, look).await.map_err(failed)?;
        if let Some(kv) = found.kvs.iter().find(|kv| kv.key != keys.birth()) {
            return used(format!("the key {:?} exists", String::from_utf8_lossy(&kv.key)));
        }
    }
    // An unfinished check is only logged here, because candidates report it.
    if let Err(Fault { kind, detail }) = prefixes::check(connection, &keys).await {
        let kind = match kind {
            FaultKind::Broken => ErrorKind::UnsafeStore,
            FaultKind::Denied => ErrorKind::PermissionDenied,
            FaultKind::Unreachable => ErrorKind::StoreUnavailable,
        };
        return Err(Error::new(kind, detail));
    }
    let incarnation = next_incarnation();
    let write = TxnRequest {
        compare: vec![absent(&keys.birth())],
        success: vec![put(keys.birth(), birth_value(incarnation, never_used), None)],
        failure: vec![get(keys.birth())],
    };
    let answer: TxnResponse = connection.call(method::TXN, write).await.map_err(failed)?;
    if answer.succeeded {
        return Ok(InitReport { created: true, incarnation, never_used });
    }
    let present = ranges(&answer).flat_map(|range| &range.kvs).next();
    let Some((incarnation, was_never_used)) = present.and_then(keys::birth_of) else {
        let key = String::from_utf8_lossy(&keys.birth()).into_owned();
        let message = format!(
            "the key {key:?} in etcd holds a value that is not incumbent's birth record; choose another prefix"
        );
        return Err(Error::new(ErrorKind::Broken, message));
    };
    if never_used && !was_never_used {
        return used("elections were prepared there before".into());
    }
    Ok(InitReport { created: false, incarnation, never_used: was_never_used })
}

/// A connection for an operator's unconditional writes.
pub(crate) struct EtcdAdmin {
    connection: Connection,
    keys: Keys,
}

#[async_trait]
impl StoreAdmin for EtcdAdmin {
    /// Overwrites the leading place of the election, and keeps its lease: without a lease, it would outlive a crashed
    /// leader and block every candidate.
    async fn put(&self, key: &str, value: &[u8]) -> Result<Revision, Fault> {
        in_time(async {
            if request::is_reserved(key) {
                return self.put_for(REQUEST_LEASE, |_| self.keys.request(key), value).await;
            }
            for _ in 0..TRIES {
                let (Some(place), _) = self.first_place(key).await? else {
                    return self.put_for(LEASE, |lease| self.keys.place(key, lease), value).await;
                };
                let (key, value) = (place.key.clone(), value.to_vec());
                let put = PutRequest { key, value, ignore_lease: true, ..Default::default() };
                let put = operation(OperationKind::Put(put));
                if let Some(revision) = self.write(Attempted::Put, &place, put).await? {
                    return Ok(revision);
                }
            }
            Err(unsteady(key))
        })
        .await
    }

    /// Deletes the leading place of the election, but not its companion, which holds the next candidate back until the
    /// leader has reported its loss or its connection's lease has run out.
    async fn delete(&self, key: &str) -> Result<Revision, Fault> {
        in_time(async {
            for _ in 0..TRIES {
                let (place, newest) = match request::is_reserved(key) {
                    true => {
                        let (found, newest) = self.first((self.keys.request(key), Vec::new()), 1).await?;
                        (found.into_iter().next(), newest)
                    }
                    false => self.first_place(key).await?,
                };
                let Some(place) = place else { return Ok(newest) };
                let deletion = delete(place.key.clone());
                if let Some(revision) = self.write(Attempted::Delete, &place, deletion).await? {
                    return Ok(revision);
                }
            }
            Err(unsteady(key))
        })
        .await
    }

    /// A leader's revision is the revision at which its place was created.
    async fn delete_at(&self, key: &str, revision: Revision) -> Result<Option<Revision>, Fault> {
        in_time(async {
            let (place, _) = self.first_place(key).await?;
            let is_it = |place: &KeyValue| keys::revision(place.create_revision) == revision;
            let Some(place) = place.filter(is_it) else { return Ok(None) };
            self.write(Attempted::Delete, &place, delete(place.key.clone())).await
        })
        .await
    }

    async fn lease_left(&self, key: &str) -> Result<Option<Duration>, Fault> {
        in_time(async {
            let (Some(place), _) = self.first_place(key).await? else { return Ok(None) };
            // A server may leave out the leases of keys that are read without their values.
            let read = RangeRequest { key: place.key, ..Default::default() };
            let read = self.connection.call::<_, RangeResponse>(method::RANGE, read).await;
            let read = read.map_err(|status| fault(Attempted::Read, &status))?;
            let Some(lease) = read.kvs.first().map(|kv| kv.lease).filter(|lease| *lease != 0) else {
                return Ok(None);
            };
            let ask = TimeToLiveRequest { id: lease, keys: false };
            let left = self.connection.call::<_, TimeToLiveResponse>(method::TIME_TO_LIVE, ask).await;
            let left = left.map_err(|status| fault(Attempted::Read, &status))?.ttl;
            // The time is negative for a lease that is gone.
            Ok(u64::try_from(left).ok().map(Duration::from_secs))
        })
        .await
    }
}

impl EtcdAdmin {
    /// Opens the cluster for an operator's writes.
    ///
    /// # Errors
    /// `InvalidSetting` for a setting that no connection can have.
    pub(crate) fn open(settings: &EtcdSettings) -> Result<Self> {
        settings.check()?;
        Ok(Self { connection: Connection::new(settings.clone())?, keys: settings.keys() })
    }

    /// The leading place of an election, and the revision at which it was read. If a key of another prefix comes first,
    /// no place leads.
    async fn first_place(&self, election: &str) -> Result<(Option<KeyValue>, Revision), Fault> {
        let (found, newest) = self.first(self.keys.places(election), 0).await?;
        let first = found.first();
        let leads = first.filter(|first| self.keys.only_places(election, &found).first() == Some(first));
        Ok((leads.cloned(), newest))
    }

    /// The keys of a range without their values, in the order of their creation, and the revision at which they were
    /// read. A limit of 0 reads all of them.
    async fn first(
        &self,
        (key, range_end): keys::Range,
        limit: i64,
    ) -> Result<(Vec<KeyValue>, Revision), Fault> {
        let look = RangeRequest {
            key,
            range_end,
            limit,
            keys_only: true,
            sort_order: Order::Ascending.into(),
            sort_target: SortTarget::CreateRevision.into(),
            ..Default::default()
        };
        let found = self.connection.call::<_, RangeResponse>(method::RANGE, look).await;
        let found = found.map_err(|status| fault(Attempted::Read, &status))?;
        Ok((found.kvs, keys::revision(found.header.unwrap_or_default().revision)))
    }

    /// Writes if exactly that key still exists, and returns the revision; `None` if it does not.
    async fn write(
        &self,
        attempted: Attempted,
        key: &KeyValue,
        write: wire::Operation,
    ) -> Result<Option<Revision>, Fault> {
        let compare = vec![created_at(&key.key, key.create_revision)];
        let write = TxnRequest { compare, success: vec![write], failure: Vec::new() };
        let answer = self.connection.call::<_, TxnResponse>(method::TXN, write).await;
        let answer = answer.map_err(|status| fault(attempted, &status))?;
        let written = answer.header.filter(|_| answer.succeeded);
        Ok(written.map(|header| keys::revision(header.revision)))
    }

    /// Puts a key under its own lease.
    async fn put_for(
        &self,
        ttl: Duration,
        key: impl Fn(LeaseId) -> Vec<u8>,
        value: &[u8],
    ) -> Result<Revision, Fault> {
        let grant = GrantRequest { ttl: i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX), id: 0 };
        let granted = self.connection.call::<_, GrantResponse>(method::GRANT, grant).await;
        let lease = granted.map_err(|status| fault(Attempted::Grant, &status))?.id;
        let lease = LeaseId(lease.cast_unsigned());
        let put =
            TxnRequest { success: vec![put(key(lease), value.to_vec(), Some(lease))], ..Default::default() };
        let answer = self.connection.call::<_, TxnResponse>(method::TXN, put).await;
        let answer = answer.map_err(|status| fault(Attempted::Put, &status))?;
        Ok(keys::revision(answer.header.unwrap_or_default().revision))
    }
}

fn silent(settings: &EtcdSettings) -> Error {
    let message = format!("etcd at {} does not answer within {LIMIT:?}", settings.servers_shown());
    Error::new(ErrorKind::StoreUnavailable, message)
}

async fn in_time<T>(act: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    tokio::time::timeout(LIMIT, act).await.unwrap_or_else(|_| {
        let detail =
            format!("etcd did not answer within {LIMIT:?}: check whether the change was made, and try again");
        Err(Fault { kind: FaultKind::Unreachable, detail })
    })
}

fn unsteady(key: &str) -> Fault {
    let detail = format!("the first place of the election {key:?} keeps changing: try again");
    Fault { kind: FaultKind::Unreachable, detail }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use incumbent_testkit::etcd::{EtcdServer, Options};
    use incumbent_testkit::tools::EtcdVersion;

    use super::super::Server;
    use super::survey::survey;
    use incumbent_store::Settings as _;

    use super::*;

    fn settings(server: &EtcdServer, prefix: &str) -> EtcdSettings {
        EtcdSettings::from_url(&format!("etcd://{}/{prefix}", server.address())).unwrap()
    }

    fn value(server: &EtcdServer, key: &str) -> String {
        server.ctl(&["get", key, "--print-value-only"])
    }

    #[tokio::test]
    async fn a_prefix_is_prepared_once_and_then_found_as_it_is() {
        let server = EtcdServer::start(Options::new());
        let settings = settings(&server, "prod/");
        let made = init(&settings, false).await.unwrap();
        assert_eq!((made.created, made.never_used), (true, false));
        let again = init(&settings, false).await.unwrap();
        assert_eq!(again, InitReport { created: false, ..made });
        // This statement comes too late.
        let refused = init(&settings, true).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::UnsafeStore);
        assert_eq!(value(&server, "prod/.incumbent").trim(), made.incarnation.0.to_string());
    }

    #[tokio::test]
    async fn a_prefix_is_stated_to_be_new_where_it_holds_nothing() {
        let server = EtcdServer::start(Options::new());
        server.ctl(&["put", "other", "software"]);
        let settings = settings(&server, "prod/");
        server.ctl(&["put", "prod/jobs/go", "ada"]);
        let refused = init(&settings, true).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::UnsafeStore);
        assert!(refused.message().contains("prod/jobs/go"), "{refused}");
        server.ctl(&["del", "prod/jobs/go"]);
        let made = init(&settings, true).await.unwrap();
        assert_eq!((made.created, made.never_used), (true, true));
        assert_eq!(init(&settings, true).await.unwrap(), InitReport { created: false, ..made });
    }

    #[tokio::test]
    async fn what_is_no_birth_record_is_reported_with_its_key() {
        let server = EtcdServer::start(Options::new());
        server.ctl(&["put", "prod/.incumbent", "something"]);
        let broken = init(&settings(&server, "prod/"), false).await.unwrap_err();
        assert_eq!(broken.kind(), ErrorKind::Broken);
        let says = "the key \"prod/.incumbent\" in etcd holds a value that is not incumbent's birth record; choose another prefix";
        assert_eq!(broken.message(), says);
    }

    #[tokio::test]
    async fn an_eviction_of_one_leader_leaves_every_other() {
        let server = EtcdServer::start(Options::new());
        server.ctl(&["put", "jobs/a", "a"]);
        server.ctl(&["put", "jobs/b", "b"]);
        let operator = EtcdAdmin::open(&settings(&server, "")).unwrap();
        let (first, _) = operator.first_place("jobs").await.unwrap();
        let first = keys::revision(first.unwrap().create_revision);
        assert!(operator.delete_at("jobs", first).await.unwrap().is_some());
        // The next candidate leads by now.
        assert_eq!(operator.delete_at("jobs", first).await.unwrap(), None);
        assert_eq!(server.ctl(&["get", "jobs/", "--prefix", "--keys-only"]), "jobs/b\n\n");
    }

    #[tokio::test]
    async fn an_eviction_deletes_the_first_place_and_leaves_the_companion() {
        for version in EtcdVersion::tested() {
            let server = EtcdServer::start(Options::new().version(version));
            for key in ["jobs/b", ".incumbent/jobs/b", "jobs/a"] {
                server.ctl(&["put", key, key]);
            }
            let operator = EtcdAdmin::open(&settings(&server, "")).unwrap();
            let revision = operator.delete("jobs").await.unwrap();
            assert_eq!(
                server.ctl(&["get", "", "--prefix", "--keys-only"]),
                ".incumbent/jobs/b\n\njobs/a\n\n"
            );
            operator.delete("jobs").await.unwrap();
            assert_eq!(operator.delete("jobs").await.unwrap(), Revision(revision.0 + 1), "nothing is left");
        }
    }

    #[tokio::test]
    async fn no_key_of_another_prefix_is_evicted() {
        let server = EtcdServer::start(Options::new());
        for key in ["app/.incumbent", "app/.incumbent/jobs/a1", "app/jobs/a1", "app/b2"] {
            server.ctl(&["put", key, key]);
        }
        let operator = EtcdAdmin::open(&settings(&server, "")).unwrap();
        let before = server.ctl(&["get", "", "--prefix", "--keys-only"]);
        operator.delete("app").await.unwrap();
        assert_eq!(server.ctl(&["get", "", "--prefix", "--keys-only"]), before, "no one leads behind them");
    }

    #[tokio::test]
    async fn a_prefix_that_is_named_like_an_election_in_use_is_not_prepared() {
        for version in EtcdVersion::tested() {
            let server = EtcdServer::start(Options::new().version(version));
            let granted = server.ctl(&["lease", "grant", "600"]);
            let lease = granted.split_whitespace().nth(1).unwrap();
            // A place's name has no leading zeros, although etcdctl prints them.
            let place = format!("app/{}", lease.trim_start_matches('0'));
            server.ctl(&["put", &place, "gopher", &format!("--lease={lease}")]);
            let refused = init(&settings(&server, "app"), false).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::UnsafeStore);
            for part in ["the prefix \"app/\"", "the election \"app\" under the prefix \"\""] {
                assert!(refused.message().contains(part), "{refused}");
            }
            assert_eq!(server.ctl(&["get", "app/.incumbent"]), "");
        }
    }

    #[tokio::test]
    async fn an_overwritten_place_keeps_its_lease_and_a_new_one_has_a_lease_of_its_own() {
        let server = EtcdServer::start(Options::new());
        let operator = EtcdAdmin::open(&settings(&server, "")).unwrap();
        operator.put("jobs", b"first").await.unwrap();
        let (place, _) = operator.first_place("jobs").await.unwrap();
        let place = place.unwrap();
        let lease_of = async |key: &[u8]| {
            let read = RangeRequest { key: key.to_vec(), ..Default::default() };
            let read: RangeResponse = operator.connection.call(method::RANGE, read).await.unwrap();
            LeaseId(read.kvs[0].lease.cast_unsigned())
        };
        let lease = lease_of(&place.key).await;
        assert_eq!(place.key, operator.keys.place("jobs", lease));
        operator.put("jobs", b"second").await.unwrap();
        let (after, _) = operator.first_place("jobs").await.unwrap();
        let after = after.unwrap();
        assert_eq!((&after.key, lease_of(&after.key).await), (&place.key, lease));
        assert_eq!(value(&server, &String::from_utf8_lossy(&place.key)), "second\n");
        assert!(lease != LeaseId(0) && after.mod_revision > place.mod_revision);
    }

    #[tokio::test]
    async fn a_request_lies_beside_the_election_and_vanishes_by_itself() {
        let server = EtcdServer::start(Options::new());
        let operator = EtcdAdmin::open(&settings(&server, "prod/")).unwrap();
        operator.put("_incumbent.hand-over.jobs", b"text").await.unwrap();
        assert_eq!(value(&server, "prod/.incumbent/_incumbent.hand-over.jobs"), "text\n");
        assert_eq!(server.ctl(&["lease", "list"]).lines().count(), 2);
        operator.delete("_incumbent.hand-over.jobs").await.unwrap();
        assert_eq!(server.ctl(&["get", "", "--prefix", "--keys-only"]), "");
    }

    #[tokio::test]
    async fn a_survey_says_what_the_members_are_and_changes_nothing() {
        for version in EtcdVersion::tested() {
            let server = EtcdServer::start(Options::new().version(version));
            let settings = settings(&server, "prod/");
            init(&settings, true).await.unwrap();
            let survey = survey(&settings).await.unwrap();
            let state = survey.members[0].state.as_ref().unwrap();
            assert_eq!(state.version, version.number());
            assert_eq!((state.leads, state.is_learner, state.alarms.len()), (true, false, 0));
            assert_eq!(survey.server, Server { shortest: Some(Duration::from_secs(2)) });
            assert!(survey.may_read && survey.may_write && survey.grants && survey.is_one_cluster);
            assert!(!survey.is_proxy && survey.others.is_empty());
            assert!(survey.birth.unwrap().never_used);
            assert_eq!(server.ctl(&["get", "", "--prefix", "--keys-only"]), "prod/.incumbent\n\n");
            assert_eq!(server.ctl(&["lease", "list"]).lines().count(), 1, "no lease is left");
        }
    }

    #[tokio::test]
    async fn a_survey_of_a_full_store_names_the_alarm() {
        let server = EtcdServer::start(Options::new().arguments(["--quota-backend-bytes=300000"]));
        let settings = settings(&server, "prod/");
        let operator = EtcdAdmin::open(&settings).unwrap();
        let filler = "x".repeat(50_000);
        while operator.put("jobs", filler.as_bytes()).await.is_ok() {}
        let survey = survey(&settings).await.unwrap();
        assert_eq!(survey.members[0].state.as_ref().unwrap().alarms, ["NOSPACE"]);
        assert!(!survey.grants && survey.may_read && survey.may_write);
        assert_eq!(survey.server.shortest, None, "not known, and no usual value");
    }
}

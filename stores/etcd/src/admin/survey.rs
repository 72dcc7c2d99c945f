//! The members of a cluster and what a user may do there, for an operator.

use std::time::Duration;

use futures_util::future::join_all;
use incumbent_core::queue::{LeaseId, Server};
use incumbent_core::{Incarnation, Revision};
use tokio::time::timeout;
use tonic::Status;

use super::{LIMIT, silent};
use crate::inspection::{error_of, shortest, unavailable, unusable};
use crate::keys::{self, birth_of};
use crate::settings::EtcdSettings;
use crate::transaction::{created_at, delete};
use crate::wire::connection::{Connection, method};
use crate::wire::messages::{
    ClusterMember, Compare, Comparison, MemberListRequest, MemberListResponse, RangeRequest, RangeResponse,
    StatusRequest, StatusResponse, TxnRequest, TxnResponse,
};
use incumbent_store::{ErrorKind, Result, threads};

/// The state of a cluster.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Survey {
    /// The members that the settings name, in their order.
    pub members: Vec<Member>,
    /// The names of the members that the settings do not name.
    pub others: Vec<String>,
    /// A host of the settings is an `etcd grpc-proxy`.
    pub is_proxy: bool,
    /// The hosts of the settings belong to one cluster.
    pub is_one_cluster: bool,
    /// The shortest lease, if a lease was granted.
    pub server: Server,
    /// The user in the settings, if there is one.
    pub user: Option<String>,
    /// A client without a user or a certificate may read, because the cluster requires neither.
    pub is_open: bool,
    /// The user may read all keys of the elections.
    pub may_read: bool,
    /// The user may write keys of the elections.
    pub may_write: bool,
    /// The cluster grants leases; a full cluster does not.
    pub grants: bool,
    /// The birth record of the elections under the prefix.
    pub birth: Option<Birth>,
}

/// A member that the settings name.
#[derive(Clone, Debug)]
pub struct Member {
    /// The member's host and port.
    pub address: String,
    /// The state that the member reports, or the reason for which it reports none.
    pub state: Result<MemberState, String>,
}

/// The state that a member reports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberState {
    /// The version of the server.
    pub version: String,
    /// The member leads the cluster.
    pub leads: bool,
    /// The member does not know the cluster's leader.
    pub is_cut_off: bool,
    /// The member has no vote, and serves no linearised reads.
    pub is_learner: bool,
    /// The size of its store in bytes.
    pub bytes: u64,
    /// The alarms that are raised in the cluster, such as `NOSPACE`.
    pub alarms: Vec<String>,
}

/// A birth record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// The incarnation.
    pub incarnation: Incarnation,
    /// An operator stated that the prefix was never used before.
    pub never_used: bool,
    /// The revision of the store at which the birth record was written.
    pub revision: Revision,
}

/// Asks every member that the settings name, and tries what a candidate needs.
///
/// The survey writes no key and does not wait for a member to come up. To learn the shortest lease that the servers
/// grant, it requests one and revokes it at once.
///
/// # Errors
/// `StoreUnavailable` if no member answers; `PermissionDenied` if none lets the user in.
pub async fn survey(settings: &EtcdSettings) -> Result<Survey> {
    settings.check()?;
    threads::ready().await?;
    let hosts = connect_to(settings, settings.hosts.clone())?;
    let asked = hosts.iter().map(|(_, connection)| status(connection));
    let states = join_all(asked).await;
    let (host, examined) = examine_by_any(&hosts, &states, settings).await?;
    let is_open = timeout(LIMIT, is_open(settings, host)).await.unwrap_or(false);
    let headers: Vec<_> = states.iter().flatten().filter_map(|status| status.header).collect();
    let mut others = examined.cluster;
    others.retain(|member| headers.iter().all(|header| header.member_id != member.id));
    let mut names: Vec<_> = others.into_iter().map(|member| member.name).collect();
    names.sort_unstable();
    let members = hosts.iter().zip(&states).map(|((address, _), state)| Member {
        address: address.clone(),
        state: state.as_ref().map(state_of).map_err(|status| status.message().to_owned()),
    });
    Ok(Survey {
        members: members.collect(),
        others: names,
        is_proxy: examined.is_proxy,
        is_one_cluster: headers.windows(2).all(|pair| pair[0].cluster_id == pair[1].cluster_id),
        server: Server { shortest: examined.shortest },
        user: settings.user_name().map(str::to_owned),
        is_open,
        may_read: examined.may_read,
        may_write: examined.may_write,
        grants: examined.shortest.is_some(),
        birth: examined.birth,
    })
}

/// Returns what the first member that serves elections and answers knows of the cluster, with the address of that
/// member.
///
/// # Errors
/// The first error other than a missing answer.
async fn examine_by_any<'a>(
    hosts: &'a [(String, Connection)],
    states: &[Result<StatusResponse, Status>],
    settings: &EtcdSettings,
) -> Result<(&'a str, Examined)> {
    let mut errors = Vec::new();
    for ((host, connection), state) in hosts.iter().zip(states) {
        errors.push(match (state, state.as_ref().ok().and_then(unusable)) {
            (Err(status), _) => error_of(host, settings, status),
            // A learner reports nothing about the cluster or its keys, and a member without a leader does not answer.
            (Ok(_), Some(why)) => unavailable(format!("{host} {why}")),
            (Ok(_), None) => match timeout(LIMIT, examine(connection, settings)).await {
                Ok(Ok(examined)) => return Ok((host.as_str(), examined)),
                Ok(Err(status)) => error_of(host, settings, &status),
                Err(_) => silent(settings),
            },
        });
    }
    let first = errors.iter().position(|error| error.kind() != ErrorKind::StoreUnavailable);
    // There is at least one host.
    Err(errors.into_iter().nth(first.unwrap_or_default()).unwrap_or_else(|| silent(settings)))
}

/// One member's answer about the cluster.
struct Examined {
    cluster: Vec<ClusterMember>,
    is_proxy: bool,
    shortest: Option<Duration>,
    may_read: bool,
    may_write: bool,
    birth: Option<Birth>,
}

async fn status(connection: &Connection) -> std::result::Result<StatusResponse, Status> {
    let asked = timeout(LIMIT, connection.call(method::STATUS, StatusRequest {})).await;
    asked.unwrap_or_else(|_| Err(Status::deadline_exceeded(format!("no answer within {LIMIT:?}"))))
}

fn state_of(status: &StatusResponse) -> MemberState {
    // For example `memberID:1234 alarm:NOSPACE ` and `etcdserver: no leader`.
    let alarms = status.errors.iter().filter_map(|error| error.split("alarm:").nth(1));
    MemberState {
        version: status.version.clone(),
        leads: status.header.is_some_and(|header| header.member_id == status.leader),
        is_cut_off: status.leader == 0,
        is_learner: status.is_learner,
        bytes: u64::try_from(status.db_size).unwrap_or(0),
        alarms: alarms.map(|alarm| alarm.trim().to_owned()).collect(),
    }
}

async fn examine(connection: &Connection, settings: &EtcdSettings) -> Result<Examined, Status> {
    let keys = settings.keys();
    let list: MemberListResponse = connection.call(method::MEMBERS, MemberListRequest {}).await?;
    let (key, range_end) = if settings.prefix.is_empty() { keys.ours() } else { keys.all() };
    let all = RangeRequest { key, range_end, limit: 1, keys_only: true, ..Default::default() };
    let may_read = permitted(connection.call::<_, RangeResponse>(method::RANGE, all).await)?.is_some();
    // The server checks the permission even for a write whose compare fails. No lease has the number 0, so no key has
    // this name.
    let nothing = keys.companion("doctor", LeaseId(0));
    let never = Compare { result: Comparison::Less.into(), ..created_at(&nothing, 0) };
    let probe = TxnRequest { compare: vec![never], success: vec![delete(nothing)], failure: Vec::new() };
    let may_write = permitted(connection.call::<_, TxnResponse>(method::TXN, probe).await)?.is_some();
    let birth = RangeRequest { key: keys.birth(), ..Default::default() };
    let birth = permitted(connection.call::<_, RangeResponse>(method::RANGE, birth).await)?;
    let birth = birth.iter().flat_map(|found| &found.kvs).find_map(|kv| {
        let (incarnation, never_used) = birth_of(kv)?;
        Some(Birth { incarnation, never_used, revision: keys::revision(kv.create_revision) })
    });
    Ok(Examined {
        cluster: list.members,
        is_proxy: list.header.is_none(),
        // If no lease was granted, the survey reports that.
        shortest: shortest(connection).await.ok(),
        may_read,
        may_write,
        birth,
    })
}

/// Prepares a connection to each of these hosts, with the same credentials.
fn connect_to(settings: &EtcdSettings, hosts: Vec<String>) -> Result<Vec<(String, Connection)>> {
    let alone = |host: String| EtcdSettings { hosts: vec![host], ..settings.clone() };
    hosts.into_iter().map(|host| Ok((host.clone(), Connection::new(alone(host))?))).collect()
}

/// Whether a client without a user may read. Over TLS a certificate may name the user.
async fn is_open(settings: &EtcdSettings, host: &str) -> bool {
    let mut stranger = settings.clone();
    stranger.user = None;
    let Ok(connections) = connect_to(&stranger, vec![host.to_owned()]) else { return false };
    let read = RangeRequest { key: settings.keys().birth(), ..Default::default() };
    let [(_, connection)] = connections.as_slice() else { return false };
    !settings.uses_tls() && connection.call::<_, RangeResponse>(method::RANGE, read).await.is_ok()
}

/// The answer; `None` if a permission is missing.
fn permitted<A>(answer: Result<A, Status>) -> Result<Option<A>, Status> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(status) if status.code() == tonic::Code::PermissionDenied => Ok(None),
        Err(status) => Err(status),
    }
}

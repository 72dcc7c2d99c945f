//! The servers behind the addresses, and the birth record.

use std::time::Duration;

use incumbent_core::queue::Operation;
use incumbent_core::store::{Fault, FaultKind, StoreInfo};
use incumbent_core::{Instant, Revision};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::{Code, Status};

use super::keys::{Keys, birth_of, birth_value, revision};
use super::prefixes;
use super::settings::EtcdSettings;
use super::transaction::{absent, fault, get, put, ranges};
use super::wire::connection::{Connection, method};
use super::wire::messages::{
    GrantRequest, GrantResponse, Header, KeyValue, MemberListRequest, MemberListResponse, RangeRequest,
    RangeResponse, RevokeRequest, RevokeResponse, StatusRequest, StatusResponse, TxnRequest, TxnResponse,
};
use incumbent_store::local;
use incumbent_store::{Error, ErrorKind, Result, threads};

/// A version: major, minor, patch.
type Version = (u32, u32, u32);

/// The oldest version that has all calls used here.
const OLDEST: Version = (3, 4, 0);
/// The time limit of the calls to a member when a store is opened. A member that lost its leader answers only after 7
/// s.
const OPENING_LIMIT: Duration = Duration::from_secs(5);
/// The time limit for the first bytes of a server that may speak another protocol.
const BYTES_LIMIT: Duration = Duration::from_secs(1);
/// The start of an HTTP/2 connection, with empty settings.
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// An empty TLS greeting, which a server answers with an alert.
const EMPTY_HELLO: &[u8] = &[0x16, 3, 1, 0, 4, 1, 0, 0, 0];

/// Finds a usable member, beginning with the current one. Returns the shortest lease, or `None` if no lease was
/// granted.
///
/// # Errors
/// The first error other than a missing answer, after every member has been tried.
pub(super) async fn find_member(
    connection: &Connection,
    settings: &EtcdSettings,
    keys: &Keys,
) -> Result<Option<Duration>> {
    threads::ready().await?;
    let mut errors = Vec::new();
    for _ in &settings.hosts {
        if !errors.is_empty() {
            connection.renew();
        }
        let member = connection.member().to_owned();
        let error = match tokio::time::timeout(OPENING_LIMIT, look(connection, settings, keys)).await {
            Ok(Ok(shortest)) => return Ok(shortest),
            Ok(Err(error)) if error.kind() == ErrorKind::StoreUnavailable => {
                other_protocol(&member, settings.uses_tls()).await.unwrap_or(error)
            }
            Ok(Err(error)) => error,
            Err(_) => unavailable(format!("{member} does not answer within {OPENING_LIMIT:?}")),
        };
        errors.push(error);
    }
    match errors.iter().position(|error| error.kind() != ErrorKind::StoreUnavailable) {
        Some(first) => Err(errors.swap_remove(first)),
        None => {
            let each: Vec<_> = errors.iter().map(Error::message).collect();
            Err(unavailable(format!("no member of etcd can be used: {}", each.join("; "))))
        }
    }
}

/// Checks that the member can be used, and asks for the shortest lease.
async fn look(connection: &Connection, settings: &EtcdSettings, keys: &Keys) -> Result<Option<Duration>> {
    let member = connection.member().to_owned();
    let refused = |status: Status| error_of(&member, settings, &status);
    let status: StatusResponse = connection.call(method::STATUS, StatusRequest {}).await.map_err(refused)?;
    if version(&status.version).is_some_and(|version| version < OLDEST) {
        let message = format!("etcd at {member} is {}; elections need 3.4 or newer: upgrade", status.version);
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if let Some(why) = unusable(&status) {
        return Err(unavailable(format!("{member} {why}")));
    }
    match connection.call(method::MEMBERS, MemberListRequest {}).await {
        Ok(members) if is_of_a_proxy(&members) => {
            let message = format!(
                "{member} is an etcd proxy, which answers keep-alives from its own memory; give the addresses of \
                 members"
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(_) => {}
        // Not allowed for every user.
        Err(status) if status.code() == Code::PermissionDenied => {}
        Err(status) => return Err(refused(status)),
    }
    // This read is linearised, and needs the permission that every candidate needs.
    let birth = RangeRequest { key: keys.birth(), ..Default::default() };
    let _: RangeResponse = connection.call(method::RANGE, birth).await.map_err(refused)?;
    // If no lease is granted, each inspection asks again.
    Ok(shortest(connection).await.ok())
}

/// Whether the member is usable at all; checked again at each change of member.
pub(super) async fn is_usable(connection: &Connection) -> bool {
    match connection.call::<_, StatusResponse>(method::STATUS, StatusRequest {}).await {
        Ok(status) => unusable(&status).is_none(),
        // No other member would accept the credentials either.
        Err(status) => !matches!(status.code(), Code::Unavailable | Code::Unknown | Code::DeadlineExceeded),
    }
}

pub(super) fn unusable(status: &StatusResponse) -> Option<&'static str> {
    if status.is_learner {
        return Some("is a learner, which cannot serve elections: give the addresses of voting members");
    }
    (status.leader == 0)
        .then_some("has no leader: most members of its cluster are down, or it cannot reach them")
}

/// A proxy that advertises an address lists itself, but its answer lacks a member's header.
fn is_of_a_proxy(answer: &MemberListResponse) -> bool {
    answer.header.is_none_or(|Header { cluster_id, .. }| cluster_id == 0)
}

/// Parses a version such as `3.7.3` or `3.6.0-rc.1`.
fn version(text: &str) -> Option<Version> {
    let mut numbers = text.splitn(3, '.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse().ok()
    });
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// The shortest lease that the server grants, from the answer to a grant of one second.
///
/// # Errors
/// A fault that explains why none was granted: a full server grants none.
pub(super) async fn shortest(connection: &Connection) -> std::result::Result<Duration, Fault> {
    let request = GrantRequest { ttl: 1, id: 0 };
    let granted = connection.call::<_, GrantResponse>(method::GRANT, request).await;
    let granted = granted.map_err(|status| not_at_present(Operation::Grant, &status))?;
    // Otherwise it runs out.
    let _ = connection.call::<_, RevokeResponse>(method::REVOKE, RevokeRequest { id: granted.id }).await;
    match u64::try_from(granted.ttl) {
        Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
        _ => {
            let detail = format!("etcd granted a lease of {} s instead of the requested 1 s", granted.ttl);
            Err(Fault { kind: FaultKind::Unreachable, detail })
        }
    }
}

/// The fault of a store that cannot write at present. Candidates wait for a full store just as for a store that does
/// not answer.
fn not_at_present(operation: Operation, status: &Status) -> Fault {
    let fault = fault(operation, status);
    match status.code() {
        Code::ResourceExhausted => Fault { kind: FaultKind::Unreachable, ..fault },
        _ => fault,
    }
}

/// What an inspection finds.
pub(super) struct Inspected {
    pub(super) info: StoreInfo,
    /// The alarm of the cluster, or else what could not be checked about the prefix.
    pub(super) flaw: Option<Fault>,
}

/// Reads the birth record, and writes one if there is none.
pub(super) async fn inspect(
    connection: &Connection,
    keys: &Keys,
    asked_at: Instant,
) -> std::result::Result<Inspected, Fault> {
    let status = connection.call::<_, StatusResponse>(method::STATUS, StatusRequest {});
    let read = RangeRequest { key: keys.birth(), ..Default::default() };
    let read = connection.call::<_, RangeResponse>(method::RANGE, read);
    let (status, read) = futures_util::join!(status, read);
    let read = read.map_err(|status| fault(Operation::Read, &status))?;
    let (birth, newest, unchecked) = match read.kvs.into_iter().next() {
        Some(birth) => (birth, revision_of(read.header, Operation::Read)?, None),
        None => {
            let unchecked = prefixes::check(connection, keys).await?;
            let (birth, newest) = give_birth(connection, keys).await?;
            (birth, newest, unchecked)
        }
    };
    let Some((incarnation, never_used)) = birth_of(&birth) else {
        let key = String::from_utf8_lossy(&birth.key).into_owned();
        let detail = format!(
            "the key {key:?} in etcd holds a value that is not incumbent's birth record; choose another prefix"
        );
        return Err(Fault { kind: FaultKind::Broken, detail });
    };
    local::remember_incarnation(incarnation);
    let info =
        StoreInfo { asked_at, incarnation, age: None, never_used, max_age: None, newest: Some(newest) };
    // Without an answer the alarm is unknown, but the read shows that the store serves requests.
    Ok(Inspected { info, flaw: status.ok().as_ref().and_then(alarm).or(unchecked) })
}

fn revision_of(header: Option<Header>, operation: Operation) -> std::result::Result<Revision, Fault> {
    let header =
        header.ok_or_else(|| fault(operation, &Status::unknown("etcd answered without a header")))?;
    Ok(revision(header.revision))
}

/// Writes a birth record unless another client has done so meanwhile, and returns the record that exists.
async fn give_birth(
    connection: &Connection,
    keys: &Keys,
) -> std::result::Result<(KeyValue, Revision), Fault> {
    let key = keys.birth();
    let value = birth_value(local::next_incarnation(), false);
    let request = TxnRequest {
        compare: vec![absent(&key)],
        success: vec![put(key.clone(), value, None), get(key.clone())],
        failure: vec![get(key)],
    };
    let answer = connection.call::<_, TxnResponse>(method::TXN, request).await;
    let answer = answer.map_err(|status| not_at_present(Operation::Put, &status))?;
    let newest = revision_of(answer.header, Operation::Put)?;
    let birth = ranges(&answer).flat_map(|range| &range.kvs).next().cloned();
    let birth = birth.ok_or_else(|| Fault {
        kind: FaultKind::Unreachable,
        detail: "etcd: a birth record was written but does not exist".into(),
    })?;
    if answer.succeeded {
        tracing::debug!("etcd: wrote a new birth record at revision {}", newest.0);
    }
    Ok((birth, newest))
}

/// The alarm of a cluster, which an operator must end.
fn alarm(status: &StatusResponse) -> Option<Fault> {
    let has = |alarm: &str| status.errors.iter().any(|error| error.contains(alarm));
    let remedy = if has("CORRUPT") {
        "etcd has the alarm CORRUPT: stop the cluster and repair it"
    } else if has("NOSPACE") {
        "etcd has the alarm NOSPACE: leaders keep leading, new candidates wait; compact and defragment it, then \
         disarm the alarm"
    } else {
        return None;
    };
    Some(Fault { kind: FaultKind::Broken, detail: remedy.into() })
}

/// The error of opening a store, given a member's answer or the lack of it.
pub(super) fn error_of(member: &str, settings: &EtcdSettings, status: &Status) -> Error {
    let text = status.message();
    let says = |part: &str| text.contains(part);
    let (kind, message) = match status.code() {
        Code::InvalidArgument if says("authentication failed") => (
            ErrorKind::Authentication,
            format!("etcd at {member} does not accept the user and the password: {text}; check them"),
        ),
        Code::InvalidArgument | Code::Unauthenticated if says("user name is empty") => (
            ErrorKind::Authentication,
            format!(
                "etcd at {member} requires a user; give user:password@ before the host, or a client certificate"
            ),
        ),
        Code::Unauthenticated => {
            (ErrorKind::Authentication, format!("etcd at {member} does not accept the credentials: {text}"))
        }
        Code::PermissionDenied => (
            ErrorKind::PermissionDenied,
            format!(
                "etcd at {member} does not let this user read the elections' keys: {text}; `incumbent permissions` \
                 prints the role that a candidate needs"
            ),
        ),
        Code::Unimplemented => (
            ErrorKind::Unsupported,
            format!("the server at {member} does not have etcd's v3 API; elections need etcd 3.4 or newer"),
        ),
        Code::Unavailable if settings.uses_tls() && is_about_tls(text) => (
            ErrorKind::Authentication,
            format!("no TLS connection to etcd at {member}: {text}; check tls_ca, tls_cert and tls_key"),
        ),
        Code::Unavailable if settings.uses_tls() && !settings.has_certificate() && was_closed(text) => (
            ErrorKind::Authentication,
            format!(
                "etcd at {member} closed the TLS connection ({text}), as servers do that require a client \
                 certificate; give tls_cert and tls_key"
            ),
        ),
        _ => (ErrorKind::StoreUnavailable, format!("{member}: {text}")),
    };
    Error::new(kind, message)
}

/// Whether a connection failed because of TLS itself, judging by the message of rustls. A handshake that breaks off
/// does not count, because a load balancer without servers causes that too.
fn is_about_tls(text: &str) -> bool {
    ["certificate", "corrupt message", "fatal alert", "peer is incompatible"]
        .iter()
        .any(|word| text.contains(word))
}

/// Whether a connection was closed after it had begun.
fn was_closed(text: &str) -> bool {
    ["connection closed", "broken pipe", "reset by peer"].iter().any(|word| text.contains(word))
}

/// The error for a server that accepts connections but is no etcd member, or is a member that unexpectedly uses TLS or
/// lacks it.
async fn other_protocol(member: &str, tls: bool) -> Option<Error> {
    let clear = answer(member, HTTP2).await?;
    // An HTTP/2 server first sends its settings, in a frame of type 4.
    let is_http2 = matches!(clear[..], [_, _, _, 4, ..]);
    let wants_tls = async {
        // A TLS alert of any version.
        answer(member, EMPTY_HELLO).await.is_some_and(|begun| begun.starts_with(&[0x15, 3]))
    };
    let (kind, message) = match tls {
        true if is_http2 => (ErrorKind::Authentication, "has no TLS; write etcd:// instead of etcds://"),
        false if !is_http2 && wants_tls.await => {
            (ErrorKind::Authentication, "requires TLS; write etcds:// instead of etcd://")
        }
        false if !is_http2 && clear.len() >= 4 => {
            (ErrorKind::Unsupported, "does not speak etcd's protocol; check the host and the port")
        }
        _ => return None,
    };
    Some(Error::new(kind, format!("the server at {member} {message}")))
}

/// The first bytes that a server sends in answer to `begin`, or before it.
async fn answer(member: &str, begin: &[u8]) -> Option<Vec<u8>> {
    let ask = async {
        let mut stream = TcpStream::connect(member).await.ok()?;
        stream.write_all(begin).await.ok()?;
        let mut begun = vec![0; 9];
        let length = stream.read(&mut begun).await.ok()?;
        begun.truncate(length);
        Some(begun)
    };
    tokio::time::timeout(BYTES_LIMIT, ask).await.ok()?
}

pub(super) fn unavailable(message: String) -> Error {
    Error::new(ErrorKind::StoreUnavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_and_without_a_suffix() {
        assert_eq!(version("3.7.3"), Some((3, 7, 3)));
        assert_eq!(version("3.6.0-rc.1"), Some((3, 6, 0)));
        assert_eq!(version("not_decided"), None);
        assert_eq!(version("3.7"), None);
    }
}

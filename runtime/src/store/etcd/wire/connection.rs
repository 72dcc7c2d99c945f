//! A connection to one member of an etcd cluster at a time.
//!
//! A client that balances its calls over several members would compare answers of different ones, and would notice late
//! that one of them is gone. So every call goes to one member, and [`renew`](Connection::renew) leaves it for the next.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, future, stream};
use http::uri::PathAndQuery;
use tokio::sync::mpsc;
use tonic::client::Grpc;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::messages::{
    AuthenticateRequest, AuthenticateResponse, KeepAliveRequest, KeepAliveResponse, WatchCommand,
    WatchCreate, WatchRequest, WatchResponse,
};

/// The names of the methods, as HTTP paths.
pub(in crate::store::etcd) mod method {
    pub(in crate::store::etcd) const TXN: &str = "/etcdserverpb.KV/Txn";
    pub(in crate::store::etcd) const RANGE: &str = "/etcdserverpb.KV/Range";
    pub(in crate::store::etcd) const GRANT: &str = "/etcdserverpb.Lease/LeaseGrant";
    pub(in crate::store::etcd) const REVOKE: &str = "/etcdserverpb.Lease/LeaseRevoke";
    pub(in crate::store::etcd) const STATUS: &str = "/etcdserverpb.Maintenance/Status";
    pub(in crate::store::etcd) const MEMBERS: &str = "/etcdserverpb.Cluster/MemberList";
    pub(super) const KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";
    pub(super) const WATCH: &str = "/etcdserverpb.Watch/Watch";
    pub(super) const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";
}

/// The metadata with the token that authenticates a call.
const TOKEN: &str = "token";
/// The metadata that has a member without a leader refuse a call.
const REQUIRE_LEADER: &str = "hasleader";
/// The requests of a stream that may wait for the connection.
const QUEUE: usize = 1024;
/// The interval of HTTP/2 pings on a silent connection, and the time limit of their answers. A server closes the connection
/// of a client that pings more often than each 5 s (`--grpc-keepalive-min-time`).
const PINGS: (Duration, Duration) = (Duration::from_secs(6), Duration::from_secs(3));
/// The time limit of a TCP connection and its TLS handshake.
const CONNECTING: Duration = Duration::from_secs(3);

/// A user of etcd's role-based access control.
#[derive(Clone)]
pub(in crate::store::etcd) struct User {
    pub(in crate::store::etcd) name: String,
    pub(in crate::store::etcd) password: String,
}

/// A connection to one member at a time.
pub(in crate::store::etcd) struct Connection {
    endpoints: Vec<Endpoint>,
    user: Option<User>,
    current: Mutex<Current>,
}

/// The member in use.
#[derive(Clone)]
struct Current {
    /// Grows with each change of the member.
    number: u64,
    channel: Channel,
    token: Option<MetadataValue<Ascii>>,
}

impl Connection {
    /// Prepares a connection to the first of `endpoints`, of which there is at least one. The first call connects.
    pub(in crate::store::etcd) fn new(endpoints: Vec<Endpoint>, user: Option<User>) -> Option<Self> {
        let endpoints: Vec<_> = endpoints
            .into_iter()
            .map(|endpoint| {
                let (interval, limit) = PINGS;
                endpoint
                    .connect_timeout(CONNECTING)
                    .tcp_nodelay(true)
                    .http2_keep_alive_interval(interval)
                    .keep_alive_timeout(limit)
                    .keep_alive_while_idle(true)
            })
            .collect();
        let channel = endpoints.first()?.connect_lazy();
        let current = Mutex::new(Current { number: 0, channel, token: None });
        Some(Self { endpoints, user, current })
    }

    /// The number of the connection: a stream of an earlier one is not continued by a later one.
    pub(in crate::store::etcd) fn number(&self) -> u64 {
        self.current().number
    }

    /// Leaves the member for the next one.
    pub(in crate::store::etcd) fn renew(&self) {
        let mut current = self.current();
        let number = current.number + 1;
        let next = usize::try_from(number).unwrap_or(0) % self.endpoints.len();
        *current = Current { number, channel: self.endpoints[next].connect_lazy(), token: None };
    }

    /// Sends a request, and waits for its answer without a time limit.
    ///
    /// A token that has expired is renewed once, and the request repeated: etcd refuses such a request before it does
    /// anything.
    pub(in crate::store::etcd) async fn call<Q, A>(
        &self,
        method: &'static str,
        request: Q,
    ) -> Result<A, Status>
    where
        Q: prost::Message + Clone + 'static,
        A: prost::Message + Default + 'static,
    {
        let current = self.authenticated().await?;
        match send(&current, method, request.clone()).await {
            Err(status) if self.user.is_some() && is_about_the_token(&status) => {
                self.forget_token(current.number);
                send(&self.authenticated().await?, method, request).await
            }
            answer => answer,
        }
    }

    /// Opens a stream for keep-alives. Their answers come in the order of the requests.
    pub(in crate::store::etcd) async fn keep_alives(
        &self,
        first: KeepAliveRequest,
    ) -> Result<(mpsc::Sender<KeepAliveRequest>, Streaming<KeepAliveResponse>), Status> {
        self.stream(method::KEEP_ALIVE, first).await
    }

    /// Opens a stream of watches.
    pub(in crate::store::etcd) async fn watches(
        &self,
        first: WatchCreate,
    ) -> Result<(mpsc::Sender<WatchRequest>, Streaming<WatchResponse>), Status> {
        self.stream(method::WATCH, WatchRequest { command: Some(WatchCommand::Create(first)) }).await
    }

    /// Opens a stream that a member without a leader ends. Without a first request a server never answers, not even that
    /// the stream is open.
    async fn stream<Q, A>(
        &self,
        method: &'static str,
        first: Q,
    ) -> Result<(mpsc::Sender<Q>, Streaming<A>), Status>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let current = self.authenticated().await?;
        let (sender, requests) = mpsc::channel(QUEUE);
        let later = stream::unfold(requests, |mut requests| async {
            requests.recv().await.map(|request| (request, requests))
        });
        let requests = stream::once(future::ready(first)).chain(later);
        let mut request = with_token(&current, requests);
        request.metadata_mut().insert(REQUIRE_LEADER, MetadataValue::from_static("true"));
        let mut grpc = ready(&current).await?;
        let codec = ProstCodec::<Q, A>::default();
        let answers = grpc.streaming(request, PathAndQuery::from_static(method), codec).await;
        Ok((sender, answers.map_err(without_transport)?.into_inner()))
    }

    /// The member in use, with a token where there is a user.
    async fn authenticated(&self) -> Result<Current, Status> {
        let current = self.current().clone();
        let Some(user) = self.user.as_ref().filter(|_| current.token.is_none()) else { return Ok(current) };
        let request = AuthenticateRequest { name: user.name.clone(), password: user.password.clone() };
        let answer: AuthenticateResponse = send(&current, method::AUTHENTICATE, request).await?;
        let token = MetadataValue::try_from(answer.token)
            .map_err(|_| Status::internal("etcd sent a token that is no text"))?;
        let mut newest = self.current();
        if newest.number == current.number {
            newest.token = Some(token.clone());
        }
        Ok(Current { token: Some(token), ..current })
    }

    fn forget_token(&self, number: u64) {
        let mut current = self.current();
        if current.number == number {
            current.token = None;
        }
    }

    /// Never held across an await.
    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn send<Q, A>(current: &Current, method: &'static str, request: Q) -> Result<A, Status>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let mut grpc = ready(current).await?;
    let codec = ProstCodec::<Q, A>::default();
    let request = with_token(current, request);
    let answer = grpc.unary(request, PathAndQuery::from_static(method), codec).await;
    Ok(answer.map_err(without_transport)?.into_inner())
}

/// Waits until the member can be sent to; an error means that nothing was sent.
async fn ready(current: &Current) -> Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(current.channel.clone());
    grpc.ready().await.map_err(|error| without_transport(Status::from_error(error.into())))?;
    Ok(grpc)
}

/// A broken connection is `Unavailable`, like the answer of a member that is stopping; tonic has `Unknown` for it.
fn without_transport(status: Status) -> Status {
    match std::error::Error::source(&status).is_some_and(|cause| cause.is::<tonic::transport::Error>()) {
        true => Status::unavailable(chain(&status)),
        false => status,
    }
}

/// The causes of an error, from the outermost to the innermost.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn with_token<T>(current: &Current, message: T) -> Request<T> {
    let mut request = Request::new(message);
    if let Some(token) = &current.token {
        request.metadata_mut().insert(TOKEN, token.clone());
    }
    request
}

/// Whether a new token may help (etcd's `rpctypes/error.go`).
fn is_about_the_token(status: &Status) -> bool {
    status.code() == Code::Unauthenticated
        || (status.code() == Code::InvalidArgument
            && status.message().contains("revision of auth store is old"))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use incumbent_testkit::etcd::{EtcdServer, Options};
    use incumbent_testkit::tools::EtcdVersion;

    use super::super::messages::*;
    use super::*;

    fn connect(server: &EtcdServer, user: Option<User>) -> Connection {
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address())).unwrap();
        Connection::new(vec![endpoint], user).unwrap()
    }

    fn put(key: &str, lease: i64) -> Operation {
        let put = PutRequest { key: key.into(), value: b"v".into(), lease, ..Default::default() };
        Operation { kind: Some(OperationKind::Put(put)) }
    }

    #[tokio::test]
    async fn two_keys_made_in_one_transaction_have_one_create_revision_on_every_version() {
        for version in EtcdVersion::tested() {
            let server = EtcdServer::start(Options::new().version(version));
            let connection = connect(&server, None);
            let granted: GrantResponse =
                connection.call(method::GRANT, GrantRequest { ttl: 10, id: 0 }).await.unwrap();
            assert_eq!(granted.ttl, 10);
            let txn = TxnRequest {
                success: vec![put("jobs/1", granted.id), put(".incumbent/jobs/1", granted.id)],
                ..Default::default()
            };
            let made: TxnResponse = connection.call(method::TXN, txn).await.unwrap();
            assert!(made.succeeded);
            let revision = made.header.unwrap().revision;
            let range = RangeRequest { key: vec![0], range_end: vec![0], ..Default::default() };
            let found: RangeResponse = connection.call(method::RANGE, range).await.unwrap();
            let found: Vec<_> = found.kvs.iter().map(|kv| (kv.create_revision, kv.lease)).collect();
            assert_eq!(found, [(revision, granted.id), (revision, granted.id)]);
        }
    }

    #[tokio::test]
    async fn keep_alives_are_answered_in_order_with_the_raft_term_and_a_dead_lease_with_zero() {
        let server = EtcdServer::start(Options::new());
        let connection = connect(&server, None);
        let mut ids = Vec::new();
        for _ in 0..5 {
            let request = GrantRequest { ttl: 30, id: 0 };
            let granted: GrantResponse = connection.call(method::GRANT, request).await.unwrap();
            ids.push(granted.id);
        }
        let revoke = RevokeRequest { id: ids[3] };
        let _: RevokeResponse = connection.call(method::REVOKE, revoke).await.unwrap();
        let (sender, mut answers) = connection.keep_alives(KeepAliveRequest { id: ids[0] }).await.unwrap();
        for id in &ids[1..] {
            sender.send(KeepAliveRequest { id: *id }).await.unwrap();
        }
        let status: StatusResponse = connection.call(method::STATUS, StatusRequest {}).await.unwrap();
        for (id, ttl) in ids.into_iter().zip([30, 30, 30, 0, 30]) {
            let answer = answers.message().await.unwrap().unwrap();
            assert_eq!((answer.id, answer.ttl), (id, ttl));
            assert_eq!(answer.header.unwrap().raft_term, status.raft_term);
        }
    }

    #[tokio::test]
    async fn a_watch_reports_puts_and_deletions_with_their_revisions() {
        let server = EtcdServer::start(Options::new());
        let connection = connect(&server, None);
        let create = WatchCreate { key: b"jobs/".into(), range_end: b"jobs0".into(), ..Default::default() };
        let (_sender, mut answers) = connection.watches(create).await.unwrap();
        assert!(answers.message().await.unwrap().unwrap().created);
        server.ctl(&["put", "jobs/1", "v"]);
        server.ctl(&["del", "jobs/1"]);
        for (kind, revision) in [(EventKind::Put, 2), (EventKind::Delete, 3)] {
            let answer = answers.message().await.unwrap().unwrap();
            let event = &answer.events[0];
            let kv = event.kv.as_ref().unwrap();
            assert_eq!((event.kind(), kv.key.as_slice(), kv.mod_revision), (kind, &b"jobs/1"[..], revision));
        }
    }

    #[tokio::test]
    async fn a_user_is_authenticated_and_again_after_the_token_is_gone() {
        let mut server = EtcdServer::start(Options::new());
        server.ctl(&["user", "add", "root:secret"]);
        server.ctl(&["user", "grant-role", "root", "root"]);
        server.ctl(&["auth", "enable"]);
        let user = |password: &str| Some(User { name: "root".into(), password: password.into() });
        let range = RangeRequest { key: b"jobs".into(), ..Default::default() };

        let wrong = connect(&server, user("wrong"));
        let refused = wrong.call::<_, RangeResponse>(method::RANGE, range.clone()).await.unwrap_err();
        assert_eq!(refused.message(), "etcdserver: authentication failed, invalid user ID or password");

        let connection = connect(&server, user("secret"));
        let first: RangeResponse = connection.call(method::RANGE, range.clone()).await.unwrap();
        assert_eq!(first.count, 0);
        // A member forgets its simple tokens when it restarts.
        server.restart();
        let second = connection.call::<_, RangeResponse>(method::RANGE, range.clone()).await;
        let again = match second {
            // The connection broke first.
            Err(status) if status.code() == Code::Unavailable => connection.call(method::RANGE, range).await,
            answer => answer,
        };
        assert_eq!(again.unwrap().count, 0);
    }
}

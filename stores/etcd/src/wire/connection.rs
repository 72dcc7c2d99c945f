//! A connection to one member of an etcd cluster at a time.
//!
//! A client that balanced its calls over several members would have to compare their answers, and would notice the loss
//! of one member late. So every call goes to the same member, and [`renew`](Connection::renew) switches to the next.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use http::uri::PathAndQuery;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::client::Grpc;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::messages::{
    AuthenticateRequest, AuthenticateResponse, KeepAliveRequest, KeepAliveResponse, WatchRequest,
    WatchResponse,
};
use crate::settings::EtcdSettings;
use incumbent_store::Result;

/// The names of the methods, as HTTP paths.
pub(crate) mod method {
    pub(crate) const TXN: &str = "/etcdserverpb.KV/Txn";
    pub(crate) const RANGE: &str = "/etcdserverpb.KV/Range";
    pub(crate) const GRANT: &str = "/etcdserverpb.Lease/LeaseGrant";
    pub(crate) const REVOKE: &str = "/etcdserverpb.Lease/LeaseRevoke";
    pub(crate) const TIME_TO_LIVE: &str = "/etcdserverpb.Lease/LeaseTimeToLive";
    pub(crate) const STATUS: &str = "/etcdserverpb.Maintenance/Status";
    pub(crate) const MEMBERS: &str = "/etcdserverpb.Cluster/MemberList";
    pub(super) const KEEP_ALIVE: &str = "/etcdserverpb.Lease/LeaseKeepAlive";
    pub(super) const WATCH: &str = "/etcdserverpb.Watch/Watch";
    pub(super) const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";
}

/// The metadata with the token that authenticates a call.
const TOKEN: &str = "token";
/// The metadata that makes a member without a leader refuse a call.
const REQUIRE_LEADER: &str = "hasleader";
/// The interval of HTTP/2 pings on a silent connection, and the time limit of their answers. A server closes the
/// connection of a client that pings more often than every 5 s (`--grpc-keepalive-min-time`), or that pings while no
/// call and no stream is open.
const PINGS: (Duration, Duration) = (Duration::from_secs(6), Duration::from_secs(3));

/// The largest accepted answer in bytes. A value of other software may have 1.5 MB by a server's default, and a queue
/// is read whole.
const LARGEST_ANSWER: usize = 64 << 20;

/// A connection to one member at a time.
pub(crate) struct Connection {
    settings: EtcdSettings,
    current: Mutex<Current>,
    /// Held while a token is requested, so that one request serves all calls that need it.
    authenticating: tokio::sync::Mutex<()>,
}

/// The member in use.
#[derive(Clone)]
struct Current {
    /// Grows with each change of the member.
    number: u64,
    /// The member's position in the settings' list.
    member: usize,
    channel: Channel,
    token: Token,
    /// Cancelled when the client leaves the member.
    left: CancellationToken,
}

/// The authentication of calls to the member.
#[derive(Clone, PartialEq, Eq)]
enum Token {
    /// None yet.
    Missing,
    /// The server has authentication switched off.
    NotNeeded,
    Given(MetadataValue<Ascii>),
}

/// The answers of a stream, until they end or the client leaves the member.
pub(crate) struct Answers<A> {
    stream: Streaming<A>,
    left: CancellationToken,
}

impl<A> Answers<A> {
    /// The next answer; an error if the stream has ended for any reason. Cancel-safe.
    pub(crate) async fn next(&mut self) -> std::result::Result<A, Status> {
        tokio::select! {
            biased;
            () = self.left.cancelled() => Err(left()),
            answer = self.stream.message() => match answer {
                Ok(Some(answer)) => Ok(answer),
                Ok(None) => Err(Status::unavailable("etcd ended the stream")),
                Err(status) => Err(without_transport(status)),
            },
        }
    }
}

impl Connection {
    /// Prepares a connection to the first member. The first call connects.
    ///
    /// # Errors
    /// The errors of the files for TLS.
    pub(crate) fn new(settings: EtcdSettings) -> Result<Self> {
        let first = settings.hosts.first().map_or("", String::as_str);
        let channel = pinged(settings.endpoint(first)?).connect_lazy();
        let current = Mutex::new(Current {
            number: 0,
            member: 0,
            channel,
            token: Token::Missing,
            left: CancellationToken::new(),
        });
        Ok(Self { settings, current, authenticating: tokio::sync::Mutex::default() })
    }

    /// The number of the connection. A later connection, with a larger number, does not continue the streams of an
    /// earlier one.
    pub(crate) fn number(&self) -> u64 {
        self.current().number
    }

    /// The address of the member in use.
    pub(crate) fn member(&self) -> &str {
        // The list never changes, and the member is a position in it.
        &self.settings.hosts[self.current().member]
    }

    /// Switches to the next member. Calls and streams that wait for the old member end with `Unavailable`.
    ///
    /// If the files for TLS cannot be read at present, the connection stays as it was.
    pub(crate) fn renew(&self) {
        // There is at least one host, because without hosts no connection is made.
        let next = (self.current().member + 1) % self.settings.hosts.len();
        let endpoint = match self.settings.endpoint(&self.settings.hosts[next]) {
            Ok(endpoint) => endpoint,
            Err(error) => return tracing::warn!("the connection to etcd cannot be renewed: {error}"),
        };
        let mut current = self.current();
        current.left.cancel();
        *current = Current {
            number: current.number + 1,
            member: next,
            channel: pinged(endpoint).connect_lazy(),
            token: Token::Missing,
            left: CancellationToken::new(),
        };
    }

    /// Leaves the member permanently: everything that waits for it, and every later call, fails with `Unavailable`.
    pub(crate) fn leave(&self) {
        self.current().left.cancel();
    }

    /// Sends a request, and waits for its answer until the client leaves the member.
    ///
    /// If the token has expired, gets a new one and repeats the request a single time. etcd refuses a request with an
    /// expired token before it does anything.
    pub(crate) async fn call<Q, A>(&self, method: &'static str, request: Q) -> std::result::Result<A, Status>
    where
        Q: prost::Message + Clone + 'static,
        A: prost::Message + Default + 'static,
    {
        let current = self.authenticated().await?;
        match send(&current, method, request.clone()).await {
            Err(status) if self.is_about(&current.token, &status) => {
                self.forget(&current);
                send(&self.authenticated().await?, method, request).await
            }
            answer => answer,
        }
    }

    /// Opens a stream for keep-alives. Their answers come in the order of the requests.
    pub(crate) async fn keep_alives(
        &self,
        requests: mpsc::UnboundedReceiver<KeepAliveRequest>,
    ) -> std::result::Result<Answers<KeepAliveResponse>, Status> {
        self.stream(method::KEEP_ALIVE, requests).await
    }

    /// Opens a stream of watches.
    pub(crate) async fn watches(
        &self,
        requests: mpsc::UnboundedReceiver<WatchRequest>,
    ) -> std::result::Result<Answers<WatchResponse>, Status> {
        self.stream(method::WATCH, requests).await
    }

    /// Opens a stream, which a member ends if it has no leader. A server confirms the stream only with its first
    /// answer, so the stream must begin with a request.
    async fn stream<Q, A>(
        &self,
        method: &'static str,
        requests: mpsc::UnboundedReceiver<Q>,
    ) -> std::result::Result<Answers<A>, Status>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let current = self.authenticated().await?;
        let requests = stream::unfold(requests, |mut requests| async {
            requests.recv().await.map(|request| (request, requests))
        });
        let mut request = with_token(&current, requests.boxed());
        request.metadata_mut().insert(REQUIRE_LEADER, MetadataValue::from_static("true"));
        let open = async {
            let mut grpc = ready(&current).await?;
            let codec = ProstCodec::<Q, A>::default();
            grpc.streaming(request, PathAndQuery::from_static(method), codec).await.map_err(without_transport)
        };
        let opened = tokio::select! {
            biased;
            () = current.left.cancelled() => Err(left()),
            opened = open => opened,
        };
        match opened {
            Ok(answers) => Ok(Answers { stream: answers.into_inner(), left: current.left }),
            Err(status) => {
                if self.is_about(&current.token, &status) {
                    self.forget(&current);
                }
                Err(status)
            }
        }
    }

    /// Whether the next call will authenticate again because of this answer.
    pub(crate) fn refused_token(&self, status: &Status) -> bool {
        let current = self.current().clone();
        let refused = self.is_about(&current.token, status);
        if refused {
            self.forget(&current);
        }
        refused
    }

    /// The member in use, with a token if there is a user.
    async fn authenticated(&self) -> std::result::Result<Current, Status> {
        let Some(user) = &self.settings.user else { return Ok(self.current().clone()) };
        let _once = self.authenticating.lock().await;
        let current = self.current().clone();
        if current.token != Token::Missing {
            return Ok(current);
        }
        let request =
            AuthenticateRequest { name: user.name.clone(), password: user.password.reveal().to_owned() };
        let token = match send::<_, AuthenticateResponse>(&current, method::AUTHENTICATE, request).await {
            Ok(answer) => Token::Given(
                MetadataValue::try_from(answer.token)
                    .map_err(|_| Status::internal("etcd sent a token that is not text"))?,
            ),
            // As etcd's own client does.
            Err(status) if status.message().contains("authentication is not enabled") => Token::NotNeeded,
            Err(status) => return Err(status),
        };
        let mut newest = self.current();
        if newest.number == current.number {
            newest.token = token.clone();
        }
        Ok(Current { token, ..current })
    }

    /// Forgets the token with which this call was sent, unless that token has already been replaced.
    fn forget(&self, used: &Current) {
        let mut current = self.current();
        if current.number == used.number && current.token == used.token {
            current.token = Token::Missing;
        }
    }

    /// Whether a new token may help (etcd's `rpctypes/error.go`).
    fn is_about(&self, token: &Token, status: &Status) -> bool {
        let says = |text| status.message().contains(text);
        self.settings.user.is_some()
            && match status.code() {
                Code::Unauthenticated => true,
                Code::InvalidArgument if *token == Token::NotNeeded => says("user name is empty"),
                Code::InvalidArgument => says("revision of auth store is old"),
                _ => false,
            }
    }

    /// Never held across an await.
    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pinged(endpoint: Endpoint) -> Endpoint {
    let (interval, limit) = PINGS;
    endpoint.tcp_nodelay(true).http2_keep_alive_interval(interval).keep_alive_timeout(limit)
}

async fn send<Q, A>(current: &Current, method: &'static str, request: Q) -> std::result::Result<A, Status>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let answer = async {
        let mut grpc = ready(current).await?;
        let codec = ProstCodec::<Q, A>::default();
        let request = with_token(current, request);
        let answer = grpc.unary(request, PathAndQuery::from_static(method), codec).await;
        Ok(answer.map_err(without_transport)?.into_inner())
    };
    tokio::select! {
        biased;
        () = current.left.cancelled() => Err(left()),
        answer = answer => answer,
    }
}

fn left() -> Status {
    Status::unavailable("the client switched to another member")
}

/// Waits until the member is ready. An error means that nothing was sent.
async fn ready(current: &Current) -> std::result::Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(current.channel.clone()).max_decoding_message_size(LARGEST_ANSWER);
    grpc.ready().await.map_err(|error| without_transport(Status::from_error(error.into())))?;
    Ok(grpc)
}

/// Turns a broken connection into `Unavailable`, like the answer of a member that is stopping; tonic reports `Unknown`.
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
    if let Token::Given(token) = &current.token {
        request.metadata_mut().insert(TOKEN, token.clone());
    }
    request
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use incumbent_testkit::etcd::{EtcdServer, Options};
    use incumbent_testkit::tools::EtcdVersion;

    use super::super::messages::*;
    use super::*;

    fn connect(server: &EtcdServer) -> Connection {
        Connection::new(EtcdSettings::new(&server.address()).unwrap()).unwrap()
    }

    fn put(key: &str, lease: i64) -> Operation {
        let put = PutRequest { key: key.into(), value: b"v".into(), lease, ..Default::default() };
        Operation { kind: Some(OperationKind::Put(put)) }
    }

    #[tokio::test]
    async fn two_keys_made_in_one_transaction_have_one_create_revision_on_every_version() {
        for version in EtcdVersion::tested() {
            let server = EtcdServer::start(Options::new().version(version));
            let connection = connect(&server);
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
        let connection = connect(&server);
        let mut ids = Vec::new();
        for _ in 0..5 {
            let request = GrantRequest { ttl: 30, id: 0 };
            let granted: GrantResponse = connection.call(method::GRANT, request).await.unwrap();
            ids.push(granted.id);
        }
        let revoke = RevokeRequest { id: ids[3] };
        let _: RevokeResponse = connection.call(method::REVOKE, revoke).await.unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        for id in &ids {
            sender.send(KeepAliveRequest { id: *id }).unwrap();
        }
        let mut answers = connection.keep_alives(requests).await.unwrap();
        let status: StatusResponse = connection.call(method::STATUS, StatusRequest {}).await.unwrap();
        for (id, ttl) in ids.into_iter().zip([30, 30, 30, 0, 30]) {
            let answer = answers.next().await.unwrap();
            assert_eq!((answer.id, answer.ttl), (id, ttl));
            assert_eq!(answer.header.unwrap().raft_term, status.raft_term);
        }
    }

    #[tokio::test]
    async fn a_watch_reports_puts_and_deletions_with_their_revisions() {
        let server = EtcdServer::start(Options::new());
        let connection = connect(&server);
        let create = WatchCreate { key: b"jobs/".into(), range_end: b"jobs0".into(), ..Default::default() };
        let (sender, requests) = mpsc::unbounded_channel();
        sender.send(WatchRequest { create: Some(create), cancel: None }).unwrap();
        let mut answers = connection.watches(requests).await.unwrap();
        assert!(answers.next().await.unwrap().created);
        server.ctl(&["put", "jobs/1", "v"]);
        server.ctl(&["del", "jobs/1"]);
        for (kind, revision) in [(EventKind::Put, 2), (EventKind::Delete, 3)] {
            let answer = answers.next().await.unwrap();
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
        let user = |password: &str| {
            let settings = EtcdSettings::new(&server.address()).unwrap();
            Connection::new(settings.user_and_password("root", password)).unwrap()
        };
        let range = RangeRequest { key: b"jobs".into(), ..Default::default() };

        let wrong = user("wrong");
        let refused = wrong.call::<_, RangeResponse>(method::RANGE, range.clone()).await.unwrap_err();
        assert_eq!(refused.message(), "etcdserver: authentication failed, invalid user ID or password");

        let connection = user("secret");
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

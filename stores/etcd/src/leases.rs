//! Grants leases, keeps them alive over one stream, and revokes them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use incumbent_core::queue::{Failure, KeptAlive, LeaseId, Operation};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Code, Status};

use super::transaction::failure;
use super::wire::connection::{Answers, Connection, method};
use super::wire::messages::{
    GrantRequest, GrantResponse, KeepAliveRequest, KeepAliveResponse, RevokeRequest, RevokeResponse,
    TimeToLiveRequest, TimeToLiveResponse,
};
use incumbent_store::clock::Clock;

/// The time after a refused grant of the companions' lease in which the refusal is repeated without asking again.
const REFUSED_FOR: Duration = Duration::from_secs(1);

/// The answer to one keep-alive.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeepAliveAnswer {
    /// The lease.
    pub(super) lease: LeaseId,
    /// The time on the clock before this keep-alive was sent.
    pub(super) sent_at: incumbent_core::Instant,
    /// The answer.
    pub(super) result: Result<KeptAlive, Failure>,
}

/// The leases of one connection.
pub(super) struct Leases {
    connection: Arc<Connection>,
    clock: Clock,
    /// Held during a grant, so that only one is made at a time.
    shared: tokio::sync::Mutex<Shared>,
    stream: Mutex<Option<Stream>>,
}

/// The leases of the companions.
#[derive(Default)]
struct Shared {
    /// Each by its lease time.
    leases: BTreeMap<Duration, LeaseId>,
    /// When a lease was last refused, and why: a full cluster, or a permission. For [`REFUSED_FOR`] all candidates of
    /// the connection get this refusal. Otherwise each of them would ask in every round until a lease is granted.
    refused: Option<(Instant, Failure)>,
}

/// A stream of keep-alives. etcd answers in the order of the requests.
struct Stream {
    /// The number of its connection.
    number: u64,
    waiting: Arc<Waiting>,
    _task: AbortOnDropHandle<()>,
}

/// The requests whose answers a stream waits for; `None` once it has ended.
struct Waiting(Mutex<Option<Asked>>);

struct Asked {
    requests: mpsc::UnboundedSender<KeepAliveRequest>,
    /// The requests without an answer, in order.
    waiters: VecDeque<Waiter>,
}

struct Waiter {
    lease: LeaseId,
    answer: oneshot::Sender<Result<KeptAlive, Failure>>,
}

impl Leases {
    pub(super) fn new(connection: &Arc<Connection>, clock: &Clock) -> Self {
        Self {
            connection: Arc::clone(connection),
            clock: clock.clone(),
            shared: tokio::sync::Mutex::default(),
            stream: Mutex::default(),
        }
    }

    /// Asks for a lease of this number, and returns the time to live that the server grants.
    pub(super) async fn grant(&self, lease: LeaseId, ttl: Duration) -> Result<Duration, Failure> {
        let request = GrantRequest { ttl: seconds(ttl), id: lease.0.cast_signed() };
        let answer = self.connection.call::<_, GrantResponse>(method::GRANT, request).await;
        let answer = answer.map_err(|status| failure(Operation::Grant, &status))?;
        Ok(span(answer.ttl))
    }

    /// The lease of this connection's companions, for this lease time. A new lease is granted if there is none yet, or
    /// only the `gone` one. The upper bits of its number are the raft term, which is read before the grant is sent, and
    /// the lower bits are `drawn`.
    pub(super) async fn share(
        &self,
        gone: Option<LeaseId>,
        ttl: Duration,
        raft_term: impl Future<Output = Result<u64, Failure>>,
        drawn: u64,
    ) -> Result<LeaseId, Failure> {
        let mut shared = self.shared.lock().await;
        if let Some(lease) = shared.leases.get(&ttl).filter(|lease| Some(**lease) != gone) {
            return Ok(*lease);
        }
        if let Some((_, failure)) = shared.refused.as_ref().filter(|(at, _)| at.elapsed() < REFUSED_FOR) {
            return Err(failure.clone());
        }
        // The old lease is forgotten before the grant, because a grant with an unknown outcome is not used.
        shared.leases.remove(&ttl);
        let lease = LeaseId::of_companions(raft_term.await?, drawn);
        // If the number is taken, the caller tries another.
        let granted = self.grant(lease, ttl).await;
        let refused = granted.as_ref().err().filter(|failure| failure.fault().is_some());
        shared.refused = refused.map(|failure| (Instant::now(), failure.clone()));
        granted?;
        shared.leases.insert(ttl, lease);
        Ok(lease)
    }

    /// Revokes the companions' leases that have no keys left. The other leases run out, because keys of their owners
    /// remain.
    pub(super) async fn give_up_shared(&self) {
        let leases = std::mem::take(&mut self.shared.lock().await.leases);
        for lease in leases.into_values() {
            let request = TimeToLiveRequest { id: lease.0.cast_signed(), keys: true };
            let left = self.connection.call::<_, TimeToLiveResponse>(method::TIME_TO_LIVE, request).await;
            if left.is_ok_and(|left| left.keys.is_empty()) {
                // A lease that could not be revoked runs out.
                let _ = self.revoke(lease).await;
            }
        }
    }

    /// Revokes a lease; the keys that are attached to it are deleted.
    pub(super) async fn revoke(&self, lease: LeaseId) -> Result<(), Failure> {
        let request = RevokeRequest { id: lease.0.cast_signed() };
        match self.connection.call::<_, RevokeResponse>(method::REVOKE, request).await {
            Ok(_) => Ok(()),
            Err(status) => match failure(Operation::Revoke, &status) {
                Failure::LeaseGone => Ok(()),
                failure => Err(failure),
            },
        }
    }

    /// Sends keep-alives of these leases, in order, and emits their answers.
    pub(super) fn keep_alive(self: &Arc<Self>, leases: Vec<LeaseId>) -> BoxStream<'static, KeepAliveAnswer> {
        let all = Arc::clone(self);
        let send = async move {
            leases.into_iter().map(|lease| (lease, all.clock.now(), all.send(lease))).collect::<Vec<_>>()
        };
        let answer = |(lease, sent_at, answer): (_, _, oneshot::Receiver<_>)| async move {
            // The answer is missing if the stream was abandoned.
            KeepAliveAnswer { lease, sent_at, result: answer.await.unwrap_or(Err(Failure::Unknown)) }
        };
        stream::once(send).flat_map(stream::iter).then(answer).boxed()
    }

    /// Abandons the stream of keep-alives; unanswered ones fail.
    pub(super) fn leave_stream(&self) {
        drop(self.stream().take());
    }

    /// Queues a keep-alive, on a new stream if there is none or it has ended.
    fn send(&self, lease: LeaseId) -> oneshot::Receiver<Result<KeptAlive, Failure>> {
        let (answer, receiver) = oneshot::channel();
        let mut waiter = Waiter { lease, answer };
        let mut stream = self.stream();
        let number = self.connection.number();
        if let Some(stream) = stream.as_ref().filter(|stream| stream.number == number) {
            match stream.send(waiter) {
                Ok(()) => return receiver,
                Err(back) => waiter = back,
            }
        }
        let opened = Stream::open(&self.connection, number);
        // A stream that was just opened has not ended, so it takes the waiter.
        let _ = opened.send(waiter);
        *stream = Some(opened);
        receiver
    }

    /// Never held across an await.
    fn stream(&self) -> MutexGuard<'_, Option<Stream>> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn open(connection: &Arc<Connection>, number: u64) -> Self {
        let (requests, queued) = mpsc::unbounded_channel();
        let waiting = Arc::new(Waiting(Mutex::new(Some(Asked { requests, waiters: VecDeque::new() }))));
        let task = run(Arc::clone(connection), queued, Arc::clone(&waiting));
        Self { number, waiting, _task: AbortOnDropHandle::new(tokio::spawn(task)) }
    }

    /// Returns the waiter if the stream has ended.
    fn send(&self, waiter: Waiter) -> Result<(), Waiter> {
        match &mut *self.waiting.lock() {
            Some(asked) => {
                asked.send(waiter.lease);
                asked.waiters.push_back(waiter);
                Ok(())
            }
            None => Err(waiter),
        }
    }
}

impl Asked {
    fn send(&self, lease: LeaseId) {
        // If the stream has ended, every waiter has already been answered with that failure.
        let _ = self.requests.send(KeepAliveRequest { id: lease.0.cast_signed() });
    }
}

/// Opens the stream and passes each answer to its request, until the stream ends.
///
/// If the token has expired, unanswered requests are sent once more over a new stream. Their callers count from before
/// the first sending, which is earlier and therefore safe. A server that denies one keep-alive ends the stream
/// (measured on 3.7.3; 3.4 denies none): the keep-alives of other elections are sent again.
async fn run(
    connection: Arc<Connection>,
    mut requests: mpsc::UnboundedReceiver<KeepAliveRequest>,
    waiting: Arc<Waiting>,
) {
    let mut repeated = false;
    let status = loop {
        let ended = match connection.keep_alives(requests).await {
            Ok(answers) => read(answers, &waiting, &mut repeated).await,
            Err(status) => status,
        };
        if connection.refused_token(&ended) && !repeated {
            repeated = true;
        } else if !waiting.denied(&ended) {
            break ended;
        }
        requests = waiting.ask_again();
    };
    waiting.end(&failure(Operation::KeepAlive, &status));
}

async fn read(mut answers: Answers<KeepAliveResponse>, waiting: &Waiting, repeated: &mut bool) -> Status {
    loop {
        match answers.next().await {
            // If the order differed from that of the requests, a lease would be credited with another lease's time.
            Ok(answer) if !waiting.answered(&answer) => {
                return Status::unknown("etcd answered keep-alives out of order");
            }
            Ok(_) => *repeated = false,
            Err(status) => return status,
        }
    }
}

impl Waiting {
    /// Whether the answer belongs to the longest-waiting request.
    fn answered(&self, answer: &KeepAliveResponse) -> bool {
        let first = self.lock().as_mut().and_then(|asked| asked.waiters.pop_front());
        let Some(first) = first.filter(|first| first.lease.0 == answer.id.cast_unsigned()) else {
            return false;
        };
        let raft_term = answer.header.unwrap_or_default().raft_term;
        // The receiver may be gone.
        let _ = first.answer.send(Ok(KeptAlive { ttl: span(answer.ttl), raft_term }));
        true
    }

    /// Whether the stream ended because the longest-waiting request was denied; if so, answers that request.
    fn denied(&self, ended: &Status) -> bool {
        if ended.code() != Code::PermissionDenied {
            return false;
        }
        let first = self.lock().as_mut().and_then(|asked| asked.waiters.pop_front());
        let Some(first) = first else { return false };
        // The receiver may be gone.
        let _ = first.answer.send(Err(failure(Operation::KeepAlive, ended)));
        true
    }

    /// Queues unanswered requests for another stream.
    fn ask_again(&self) -> mpsc::UnboundedReceiver<KeepAliveRequest> {
        let (requests, queued) = mpsc::unbounded_channel();
        if let Some(asked) = &mut *self.lock() {
            asked.requests = requests;
            asked.waiters.iter().for_each(|waiter| asked.send(waiter.lease));
        }
        queued
    }

    fn end(&self, failure: &Failure) {
        for waiter in self.lock().take().into_iter().flat_map(|asked| asked.waiters) {
            let _ = waiter.answer.send(Err(failure.clone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whole seconds, because the caller's leases have no fractions.
fn seconds(ttl: Duration) -> i64 {
    i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX)
}

/// A time to live; zero for a lease that is gone, whatever negative number the server sends.
fn span(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use incumbent_store::Settings as _;

    use super::*;
    use crate::EtcdSettings;
    use incumbent_core::store::FaultKind;
    use incumbent_testkit::etcd::{EtcdServer, Options};
    use incumbent_testkit::wait;

    const TTL: Duration = Duration::from_secs(10);
    /// A time limit for quick operations.
    const GENEROUS: Duration = Duration::from_secs(30);

    fn leases(server: &EtcdServer) -> Arc<Leases> {
        let settings = EtcdSettings::new(&server.address()).unwrap();
        Arc::new(Leases::new(&Arc::new(Connection::new(settings).unwrap()), &Clock::system()))
    }

    async fn answers(leases: &Arc<Leases>, of: &[LeaseId]) -> Vec<KeepAliveAnswer> {
        leases.keep_alive(of.to_vec()).collect().await
    }

    async fn ttls(leases: &Arc<Leases>, of: &[LeaseId]) -> Vec<Result<Duration, Failure>> {
        let answers = answers(leases, of).await;
        assert!(answers.iter().map(|answer| &answer.lease).eq(of));
        answers.into_iter().map(|answer| answer.result.map(|alive| alive.ttl)).collect()
    }

    #[tokio::test]
    async fn leases_are_kept_alive_on_one_stream_until_they_are_revoked() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        let [a, b] = [LeaseId(0xa1), LeaseId(u64::MAX - 5)];
        assert_eq!(leases.grant(a, TTL).await, Ok(TTL));
        assert_eq!(leases.grant(b, TTL).await, Ok(TTL));
        let before = leases.clock.now();
        let both = answers(&leases, &[a, b]).await;
        let (first, second) = (&both[0], &both[1]);
        assert!(before <= first.sent_at && first.sent_at <= second.sent_at);
        assert_eq!(first.result.as_ref().unwrap().raft_term, second.result.as_ref().unwrap().raft_term);
        assert_eq!(ttls(&leases, &[a, b]).await, [Ok(TTL), Ok(TTL)]);
        assert_eq!(leases.revoke(a).await, Ok(()));
        assert_eq!(ttls(&leases, &[a, b]).await, [Ok(Duration::ZERO), Ok(TTL)]);
        assert_eq!(leases.revoke(a).await, Ok(()), "it is gone, as asked");
    }

    #[tokio::test]
    async fn a_keep_alive_that_is_denied_fails_alone() {
        let server = EtcdServer::start(Options::new());
        let root = leases(&server);
        let [taken, others] = [[LeaseId(0xa1), LeaseId(0xa2)], [LeaseId(0xb1), LeaseId(0xb2)]];
        for lease in [taken, others].concat() {
            root.grant(lease, TTL).await.unwrap();
            let range = if taken.contains(&lease) { "taken" } else { "mine" };
            server.ctl(&["put", &format!("{range}/{lease}"), "", &format!("--lease={lease}")]);
        }
        for arguments in [
            &["user", "add", "root:root"][..],
            &["user", "grant-role", "root", "root"],
            &["role", "add", "x"],
            &["role", "grant-permission", "--prefix=true", "x", "readwrite", "mine/"],
            &["user", "add", "x:secret"],
            &["user", "grant-role", "x", "x"],
            &["auth", "enable"],
        ] {
            server.ctl(arguments);
        }
        let url = format!("etcd://x:secret@{}", server.address());
        let settings = EtcdSettings::from_url(&url).unwrap();
        let leases = Arc::new(Leases::new(&Arc::new(Connection::new(settings).unwrap()), &Clock::system()));
        let asked = [taken[0], others[0], taken[1], others[1]];
        let answers = ttls(&leases, &asked).await;
        let denied = |answer: &Result<_, Failure>| matches!(answer, Err(Failure::Fault(fault)) if fault.kind == FaultKind::Denied);
        assert!(denied(&answers[0]) && denied(&answers[2]), "{answers:?}");
        assert_eq!((&answers[1], &answers[3]), (&Ok(TTL), &Ok(TTL)));
    }

    #[tokio::test]
    async fn a_number_in_use_is_a_collision() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        leases.grant(LeaseId(7), TTL).await.unwrap();
        assert_eq!(leases.grant(LeaseId(7), TTL).await, Err(Failure::LeaseExists));
    }

    #[tokio::test]
    async fn companions_share_a_lease_until_it_is_gone() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        let of = LeaseId::of_companions;
        let (first, second) = (of(2, 1), of(5, 3));
        assert_eq!(leases.share(None, TTL, async { Ok(2) }, 1).await, Ok(first));
        let not_read = || async { panic!("a lease is there") };
        assert_eq!(leases.share(None, TTL, not_read(), 2).await, Ok(first));
        assert_eq!(leases.share(Some(first), TTL, async { Ok(5) }, 3).await, Ok(second));
        assert_eq!(leases.share(Some(first), TTL, not_read(), 4).await, Ok(second));
    }

    #[tokio::test]
    async fn no_lease_is_granted_for_companions_while_the_raft_term_cannot_be_read() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        assert_eq!(leases.share(None, TTL, async { Err(Failure::Unknown) }, 1).await, Err(Failure::Unknown));
        assert!(server.ctl(&["lease", "list"]).contains("found 0 leases"));
    }

    #[tokio::test]
    async fn a_refusal_of_a_lease_for_companions_counts_for_all_candidates_for_a_while() {
        let server = EtcdServer::start(Options::new().arguments(["--quota-backend-bytes=300000"]));
        let leases = leases(&server);
        let filler = "x".repeat(50_000);
        while server.try_ctl(&["put", "filler", &filler]).is_ok() {}
        let refused = leases.share(None, TTL, async { Ok(2) }, 1).await;
        assert!(matches!(refused, Err(Failure::Fault(_))), "{refused:?}");
        let not_read = async { panic!("it was refused a moment ago") };
        assert_eq!(leases.share(None, TTL, not_read, 2).await, refused);
        server.ctl(&["compact", &server.revision().to_string()]);
        server.ctl(&["defrag"]);
        server.ctl(&["alarm", "disarm"]);
        let granted = || async { leases.share(None, TTL, async { Ok(2) }, 3).await.ok() };
        let lease = wait::until_some_async("a lease", GENEROUS, granted).await;
        assert_eq!(lease, LeaseId::of_companions(2, 3));
    }

    #[tokio::test]
    async fn a_number_of_companions_that_exists_is_reported_and_another_is_granted() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        let taken = LeaseId::of_companions(2, 7);
        leases.grant(taken, TTL).await.unwrap();
        assert_eq!(leases.share(None, TTL, async { Ok(2) }, 7).await, Err(Failure::LeaseExists));
        let other = LeaseId::of_companions(2, 8);
        assert_eq!(leases.share(None, TTL, async { Ok(2) }, 8).await, Ok(other));
    }

    #[tokio::test]
    async fn a_shared_lease_is_given_up_unless_a_companion_is_left() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        let (free, used) = (TTL, TTL * 2);
        let raft_term = || async { Ok(2) };
        let without = leases.share(None, free, raft_term(), 1).await.unwrap();
        let with = leases.share(None, used, raft_term(), 2).await.unwrap();
        server.ctl(&["put", ".incumbent/jobs/a1", "{}", &format!("--lease={with}")]);
        leases.give_up_shared().await;
        assert_eq!(ttls(&leases, &[without, with]).await, [Ok(Duration::ZERO), Ok(used)]);
    }

    #[tokio::test]
    async fn keep_alives_of_a_member_that_stopped_fail_when_it_is_left_and_continue_over_the_next_stream() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        let lease = LeaseId(9);
        let ttl = Duration::from_secs(60);
        leases.grant(lease, ttl).await.unwrap();
        assert_eq!(ttls(&leases, &[lease]).await, [Ok(ttl)]);
        server.pause();
        let mut waiting = leases.keep_alive(vec![lease]);
        assert!(futures_util::poll!(waiting.next()).is_pending());
        leases.leave_stream();
        assert_eq!(waiting.next().await.unwrap().result, Err(Failure::Unknown));
        server.resume();
        assert_eq!(ttls(&leases, &[lease]).await, [Ok(ttl)]);
    }
}

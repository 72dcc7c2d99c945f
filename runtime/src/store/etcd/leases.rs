//! Leases: granted, kept alive over one stream, revoked.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::queue::{Failure, KeptAlive, LeaseId, Operation};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;
use tonic::{Status, Streaming};

use super::transaction::failure;
use super::wire::connection::{Connection, method};
use super::wire::messages::{
    GrantRequest, GrantResponse, KeepAliveRequest, KeepAliveResponse, RevokeRequest, RevokeResponse,
};
use crate::clock::Clock;

/// The leases of one connection.
pub(super) struct Leases {
    connection: Arc<Connection>,
    clock: Clock,
    /// The lease of the companions, by its lease time. Held while one is granted, so that one is.
    shared: tokio::sync::Mutex<BTreeMap<Duration, LeaseId>>,
    stream: tokio::sync::Mutex<Option<Stream>>,
}

/// A stream of keep-alives. etcd answers in the order of the requests.
struct Stream {
    /// The connection that it belongs to.
    number: u64,
    requests: mpsc::Sender<KeepAliveRequest>,
    waiting: Arc<Waiting>,
    _reader: AbortOnDropHandle<()>,
}

/// The requests without an answer; `None` once the stream has ended.
#[derive(Default)]
struct Waiting(Mutex<Option<VecDeque<Waiter>>>);

struct Waiter {
    lease: LeaseId,
    answer: oneshot::Sender<Result<KeptAlive, Failure>>,
}

/// The answer to one keep-alive, and the reading of the clock before it was sent.
pub(super) type Answered = (LeaseId, Instant, Result<KeptAlive, Failure>);

impl Leases {
    pub(super) fn new(connection: &Arc<Connection>, clock: &Clock) -> Self {
        Self {
            connection: Arc::clone(connection),
            clock: clock.clone(),
            shared: tokio::sync::Mutex::default(),
            stream: tokio::sync::Mutex::default(),
        }
    }

    /// Asks for a lease of this number, and returns the time to live that the server grants.
    pub(super) async fn grant(&self, lease: LeaseId, ttl: Duration) -> Result<Duration, Failure> {
        let request = GrantRequest { ttl: seconds(ttl), id: lease.0.cast_signed() };
        let answer = self.connection.call::<_, GrantResponse>(method::GRANT, request).await;
        let answer = answer.map_err(|status| failure(Operation::Grant, &status))?;
        Ok(span(answer.ttl))
    }

    /// The lease of this connection's companions of this lease time. A new one is granted where there is none yet, or only
    /// the one that is `gone`. `number` draws its number.
    pub(super) async fn share(
        &self,
        gone: Option<LeaseId>,
        ttl: Duration,
        number: impl FnOnce() -> LeaseId,
    ) -> Result<LeaseId, Failure> {
        let mut shared = self.shared.lock().await;
        if let Some(lease) = shared.get(&ttl).filter(|lease| Some(**lease) != gone) {
            return Ok(*lease);
        }
        // Forgotten before it is granted: a grant of unknown outcome is not used.
        shared.remove(&ttl);
        let lease = number();
        self.grant(lease, ttl).await?;
        shared.insert(ttl, lease);
        Ok(lease)
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

    /// Sends keep-alives of these leases, in order, and waits for their answers until `limit`.
    ///
    /// A stream that did not answer in time is left for a new one: a member that lost its leader holds an answer, and all
    /// answers behind it, for seconds.
    pub(super) async fn keep_alive<const N: usize>(
        &self,
        leases: [LeaseId; N],
        limit: Duration,
    ) -> [Answered; N] {
        let deadline = tokio::time::Instant::now() + limit;
        let mut sent = Vec::with_capacity(N);
        for lease in leases {
            let sent_at = self.clock.now();
            let sending = tokio::time::timeout_at(deadline, self.send(lease));
            sent.push((sent_at, sending.await.unwrap_or(Err(Failure::Unknown))));
        }
        let mut answers = Vec::with_capacity(N);
        for (lease, (sent_at, receiver)) in leases.into_iter().zip(sent) {
            let answer = match receiver {
                Ok(receiver) => match tokio::time::timeout_at(deadline, receiver).await {
                    Ok(Ok(answer)) => answer,
                    // The stream ended.
                    Ok(Err(_)) => Err(Failure::Unknown),
                    Err(_) => {
                        *self.stream.lock().await = None;
                        Err(Failure::Unknown)
                    }
                },
                Err(failure) => Err(failure),
            };
            answers.push((lease, sent_at, answer));
        }
        let mut answers = answers.into_iter();
        let now = self.clock.now();
        // Each lease has an answer above, so the default is never taken.
        std::array::from_fn(|_| answers.next().unwrap_or((LeaseId(0), now, Err(Failure::Unknown))))
    }

    async fn send(&self, lease: LeaseId) -> Result<oneshot::Receiver<Result<KeptAlive, Failure>>, Failure> {
        let request = KeepAliveRequest { id: lease.0.cast_signed() };
        let (answer, receiver) = oneshot::channel();
        let waiter = Waiter { lease, answer };
        let mut stream = self.stream.lock().await;
        let number = self.connection.number();
        let waiter = match stream.as_ref().filter(|stream| stream.number == number) {
            Some(stream) => match stream.waiting.add(waiter) {
                Ok(()) => {
                    return match stream.requests.send(request).await {
                        Ok(()) => Ok(receiver),
                        Err(_) => Err(Failure::Unknown),
                    };
                }
                Err(waiter) => waiter,
            },
            None => waiter,
        };
        *stream = None;
        let opened = self.connection.keep_alives(request).await;
        let (requests, answers) = opened.map_err(|status| failure(Operation::KeepAlive, &status))?;
        let waiting = Arc::new(Waiting(Mutex::new(Some(VecDeque::from([waiter])))));
        let reader = tokio::spawn(read(answers, Arc::clone(&waiting)));
        *stream = Some(Stream { number, requests, waiting, _reader: AbortOnDropHandle::new(reader) });
        Ok(receiver)
    }
}

/// Hands each answer to the request that it belongs to, until the stream ends.
async fn read(mut answers: Streaming<KeepAliveResponse>, waiting: Arc<Waiting>) {
    let ended = loop {
        match answers.message().await {
            Ok(Some(answer)) => {
                // Another order than that of the requests would give a lease another's time.
                if !waiting.answered(&answer) {
                    break Failure::Unknown;
                }
            }
            Ok(None) => break Failure::Unknown,
            Err(status) => break ended_with(&status),
        }
    };
    waiting.end(&ended);
}

fn ended_with(status: &Status) -> Failure {
    failure(Operation::KeepAlive, status)
}

impl Waiting {
    /// Gives the waiter back once the stream has ended.
    fn add(&self, waiter: Waiter) -> Result<(), Waiter> {
        match &mut *self.lock() {
            Some(waiting) => {
                waiting.push_back(waiter);
                Ok(())
            }
            None => Err(waiter),
        }
    }

    /// Whether the answer belongs to the request that waits longest.
    fn answered(&self, answer: &KeepAliveResponse) -> bool {
        let first = self.lock().as_mut().and_then(VecDeque::pop_front);
        let Some(first) = first.filter(|first| first.lease.0 == answer.id.cast_unsigned()) else {
            return false;
        };
        let raft_term = answer.header.unwrap_or_default().raft_term;
        // The receiver may be gone.
        let _ = first.answer.send(Ok(KeptAlive { ttl: span(answer.ttl), raft_term }));
        true
    }

    fn end(&self, failure: &Failure) {
        for waiter in self.lock().take().into_iter().flatten() {
            let _ = waiter.answer.send(Err(failure.clone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<VecDeque<Waiter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whole seconds; the caller's leases have no others.
fn seconds(ttl: Duration) -> i64 {
    i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX)
}

/// A time to live; zero for a lease that is gone, whatever the server has below it.
fn span(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(all(test, unix))]
mod tests {
    use incumbent_testkit::etcd::{EtcdServer, Options};
    use tonic::transport::Endpoint;

    use super::*;

    const TTL: Duration = Duration::from_secs(10);
    const LIMIT: Duration = Duration::from_secs(20);

    fn leases(server: &EtcdServer) -> Leases {
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address())).unwrap();
        Leases::new(&Arc::new(Connection::new(vec![endpoint], None).unwrap()), &Clock::system())
    }

    fn ttls<const N: usize>(answers: [Answered; N]) -> [Result<Duration, Failure>; N] {
        answers.map(|(_, _, answer)| answer.map(|alive| alive.ttl))
    }

    #[tokio::test]
    async fn leases_are_kept_alive_on_one_stream_until_they_are_revoked() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        let [a, b] = [LeaseId(0xa1), LeaseId(u64::MAX - 5)];
        assert_eq!(leases.grant(a, TTL).await, Ok(TTL));
        assert_eq!(leases.grant(b, TTL).await, Ok(TTL));
        let before = leases.clock.now();
        let [first, second] = leases.keep_alive([a, b], LIMIT).await;
        assert!(before <= first.1 && first.1 <= second.1 && second.1 <= leases.clock.now());
        assert_eq!(first.2.as_ref().unwrap().raft_term, second.2.as_ref().unwrap().raft_term);
        assert_eq!(ttls([first, second]), [Ok(TTL), Ok(TTL)]);
        assert_eq!(leases.revoke(a).await, Ok(()));
        assert_eq!(ttls(leases.keep_alive([a, b], LIMIT).await), [Ok(Duration::ZERO), Ok(TTL)]);
        assert_eq!(leases.revoke(a).await, Ok(()), "it is gone, as asked");
    }

    #[tokio::test]
    async fn a_number_that_stands_is_a_collision() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        leases.grant(LeaseId(7), TTL).await.unwrap();
        assert_eq!(leases.grant(LeaseId(7), TTL).await, Err(Failure::LeaseExists));
    }

    #[tokio::test]
    async fn companions_share_a_lease_until_it_is_gone() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        let first = leases.share(None, TTL, || LeaseId(1)).await;
        assert_eq!(first, Ok(LeaseId(1)));
        assert_eq!(leases.share(None, TTL, || LeaseId(2)).await, Ok(LeaseId(1)));
        assert_eq!(leases.share(Some(LeaseId(1)), TTL, || LeaseId(3)).await, Ok(LeaseId(3)));
        assert_eq!(leases.share(Some(LeaseId(1)), TTL, || LeaseId(4)).await, Ok(LeaseId(3)));
    }

    #[tokio::test]
    async fn a_member_that_stopped_is_given_up_in_time_and_used_again_when_it_goes_on() {
        let server = EtcdServer::start(Options::new());
        let leases = leases(&server);
        let lease = LeaseId(9);
        leases.grant(lease, Duration::from_secs(60)).await.unwrap();
        leases.keep_alive([lease], LIMIT).await;
        server.pause();
        let paused = leases.keep_alive([lease], Duration::from_millis(300)).await;
        assert_eq!(ttls(paused), [Err(Failure::Unknown)]);
        server.resume();
        assert_eq!(ttls(leases.keep_alive([lease], LIMIT).await), [Ok(Duration::from_secs(60))]);
    }
}

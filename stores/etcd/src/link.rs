//! The driver's link to etcd, whose elections are queues.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use incumbent_core::Instant;
use incumbent_core::campaign::ReadId;
use incumbent_core::queue::{
    self, Action, Answer, Campaign, Change, Failure, LeaseId, Leases, Outcome, Queue, Request, Server,
    Snapshot,
};
use incumbent_core::record::Entry;
use incumbent_core::session::CampaignId;
use incumbent_core::store::{self, Capabilities, Fault, Put, StoreInfo};

use super::adapter::Etcd;
use super::keys::Identity;
use super::leases::KeepAliveAnswer;
use super::settings::EtcdSettings;
use incumbent_store::Result;
use incumbent_store::clock::Clock;
use incumbent_store::link::{Answers, Asked, Asking, Link, Reports, Watch, within};
use incumbent_store::{CandidateInfo, EntryInfo, Registry, WatchEvent};

/// The longest time for which a lease outlives its time to live (measured on etcd).
const GRANULARITY: Duration = Duration::from_millis(500);

/// This store grants leases in whole seconds.
const LEASE_STEP: Duration = Duration::from_secs(1);

/// The driver's link to an etcd cluster.
pub struct Queues {
    etcd: Arc<Etcd>,
    reports: Reports,
    /// The keep-alives that campaigns asked for in this turn of the driver.
    keep_alives: Vec<KeepAlives>,
}

/// The keep-alives of one campaign.
struct KeepAlives {
    id: CampaignId,
    leases: Leases,
    limit: Duration,
}

impl Queues {
    /// Connects to the cluster.
    ///
    /// # Errors
    /// Those of [`Etcd::open`].
    pub async fn open(settings: &EtcdSettings, reports: Reports) -> Result<Self> {
        let etcd = Arc::new(Etcd::open(settings, &reports.clock).await?);
        Ok(Self { etcd, reports, keep_alives: Vec::new() })
    }
}

impl Link for Queues {
    type Rule = Queue;

    const ENTRIES_STAY: bool = true;

    fn properties(&self) -> Server {
        self.etcd.server()
    }

    fn capabilities(&self) -> Capabilities {
        let server = self.etcd.server();
        // The bounds are only shown to people. Until the servers have granted a lease, all that is known is that leases
        // are whole seconds.
        let (shortest, longest) = server.lease_bounds().unwrap_or((LEASE_STEP, Duration::MAX));
        Capabilities {
            own_lease: true,
            lease_step: LEASE_STEP,
            shortest,
            longest,
            granularity: GRANULARITY,
            expiry_pushed: true,
            incarnation_acked: false,
            watch_shows_all: false,
            window: server.window(),
            fail_over: server.fail_over().unwrap_or_default(),
        }
    }

    fn check_key(&self, key: &str) -> Result<()> {
        self.etcd.check_key(key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        self.etcd.check_name(name)
    }

    fn check_overlap(&self, election: &str) -> Option<BoxFuture<'static, Result<()>>> {
        let (etcd, election) = (Arc::clone(&self.etcd), election.to_owned());
        Some(async move { etcd.check_overlap(&election).await }.boxed())
    }

    fn flaw(&self) -> Option<Fault> {
        self.etcd.flaw()
    }

    fn inspect(&self) -> BoxFuture<'static, Result<StoreInfo, Fault>> {
        let etcd = Arc::clone(&self.etcd);
        async move { etcd.inspect().await }.boxed()
    }

    fn ask(&mut self, campaign: &Campaign, asked: Asked<Queue>) -> Option<Asking<Self>> {
        let Asked { id, election, since, request, limit } = asked;
        let request = match request {
            Request::KeepAlive { leases } => {
                self.keep_alives.push(KeepAlives { id, leases, limit });
                return None;
            }
            request => request,
        };
        let identity = Identity {
            name: campaign.name().to_owned(),
            nonce: campaign.nonce(),
            lease_time: campaign.lease_time(),
            since,
            metadata: campaign.metadata().to_vec(),
        };
        let (etcd, reports) = (Arc::clone(&self.etcd), self.reports.clone());
        if let Request::Read { read, own, whole } = request {
            let ask = async move { etcd.read(&election, own, whole).await }.boxed();
            let limits = [Some(limit), Some(campaign.lease_time())];
            let reading =
                Reading { id, read, ask, sent_at: reports.clock.now(), limits, clock: reports.clock };
            return Some(Asking::Several(stream::unfold(reading, Reading::next).boxed()));
        }
        let answer = async move {
            let answer = answer(&etcd, &reports, &election, &identity, request, limit).await;
            answer.map(|answer| (id, answer)).into_iter().collect()
        };
        Some(Asking::Several(stream::once(answer).boxed()))
    }

    /// One lease of companions serves many campaigns, and one keep-alive serves all of them.
    fn ask_together(&mut self) -> Option<BoxStream<'static, Answers<Self>>> {
        let asked = std::mem::take(&mut self.keep_alives);
        let round = Round::begin(asked, self.reports.clock.clone(), |leases| self.etcd.keep_alive(leases))?;
        Some(stream::unfold(round, Round::next).boxed())
    }

    fn is_handing_over(campaign: &Campaign) -> bool {
        campaign.is_handing_over()
    }

    fn follow(&self, key: &str) {
        self.etcd.follow(key);
    }

    fn unfollow(&self, key: &str) {
        self.etcd.unfollow(key);
    }

    fn watch(&self) -> BoxFuture<'static, Result<Watch<Self>, Fault>> {
        let etcd = Arc::clone(&self.etcd);
        async move { etcd.watch().await }.boxed()
    }

    fn entry_of(_: &Change) -> Option<&Entry> {
        None
    }

    fn entry(&self, key: &str) -> BoxFuture<'static, Result<Entry, Fault>> {
        let (etcd, key) = (Arc::clone(&self.etcd), key.to_owned());
        async move { etcd.entry(&key).await }.boxed()
    }

    /// A leader's keep-alives leave no trace in its keys.
    fn written(&self, _: &str) -> BoxFuture<'static, Result<Option<EntryInfo>, Fault>> {
        async { Ok(None) }.boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<WatchEvent>, Fault>> {
        let etcd = Arc::clone(&self.etcd);
        async move { etcd.list().await }.boxed()
    }

    fn candidates(
        &self,
        _: &Registry,
        election: Option<String>,
    ) -> BoxFuture<'static, Result<Option<Vec<CandidateInfo>>, Fault>> {
        let etcd = Arc::clone(&self.etcd);
        async move { etcd.candidates(election.as_deref()).await.map(Some) }.boxed()
    }

    /// The store itself has the place of every candidate.
    fn register(&self, _: &Registry) -> BoxFuture<'static, Result<(), Fault>> {
        async { Ok(()) }.boxed()
    }

    fn reconnect(&self) -> BoxFuture<'static, ()> {
        let etcd = Arc::clone(&self.etcd);
        async move { etcd.reconnect().await }.boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let etcd = Arc::clone(&self.etcd);
        async move { etcd.close().await }.boxed()
    }
}

/// The answer to a request; [`Failure::Unanswered`] if none comes within the limit.
async fn answer(
    etcd: &Etcd,
    reports: &Reports,
    election: &Arc<str>,
    identity: &Identity,
    request: Request,
    limit: Duration,
) -> Option<Answer> {
    let clock = &reports.clock;
    let sent = clock.now();
    Some(match request {
        Request::Grant { lease, ttl } => {
            Answer::Granted { lease, result: answered(clock, limit, etcd.grant(lease, ttl)).await }
        }
        Request::Share { gone, ttl } => {
            Answer::Shared { result: answered(clock, limit, etcd.share(gone, ttl)).await }
        }
        Request::Write(queue::Write { attempt, action }) => {
            let written = within(clock.clone(), limit, etcd.write(election, identity, &action)).await;
            let outcome = written.unwrap_or(Outcome::Failed(Failure::Unanswered));
            reports.written(election, sent, &reported(identity, &action), &reported_outcome(&outcome));
            Answer::Wrote { attempt, outcome }
        }
        Request::Revoke { lease } => {
            Answer::Revoked { lease, result: answered(clock, limit, etcd.revoke(lease)).await }
        }
        // Asked for separately.
        Request::KeepAlive { .. } | Request::Read { .. } => return None,
    })
}

async fn answered<T>(
    clock: &Clock,
    limit: Duration,
    ask: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    within(clock.clone(), limit, ask).await.unwrap_or(Err(Failure::Unanswered))
}

/// A read for a campaign. If no answer comes within the first limit, the campaign gets [`Failure::Unanswered`]. An
/// answer within the second limit still counts for a lease.
struct Reading {
    id: CampaignId,
    read: ReadId,
    ask: BoxFuture<'static, Result<Box<Snapshot>, Failure>>,
    sent_at: Instant,
    /// The two limits of the wait for the answer, one after the other.
    limits: [Option<Duration>; 2],
    clock: Clock,
}

impl Reading {
    async fn next(mut self) -> Option<(Answers<Queues>, Self)> {
        // One of the two.
        let is_late = self.limits[0].is_none();
        let limit = self.limits[usize::from(is_late)].take()?;
        let answered = within(self.clock.clone(), limit, &mut self.ask).await;
        let result = answered.unwrap_or(Err(if is_late { Failure::Unknown } else { Failure::Unanswered }));
        if result != Err(Failure::Unanswered) {
            self.limits = [None, None];
        }
        let answer = Answer::Read { read: self.read, sent_at: self.sent_at, result };
        Some((vec![(self.id, answer)], self))
    }
}

/// Keep-alives that were sent together, and the campaigns that wait for each answer.
struct Round {
    answers: BoxStream<'static, KeepAliveAnswer>,
    waiting: HashMap<LeaseId, Vec<CampaignId>>,
    began: Instant,
    until: Instant,
    clock: Clock,
}

impl Round {
    /// Sends the keep-alives of a turn, one for each lease.
    fn begin(
        asked: Vec<KeepAlives>,
        clock: Clock,
        keep_alive: impl FnOnce(Vec<LeaseId>) -> BoxStream<'static, KeepAliveAnswer>,
    ) -> Option<Self> {
        let limit = asked.iter().map(|asked| asked.limit).max()?;
        let mut leases = Vec::new();
        let mut waiting = HashMap::<_, Vec<_>>::new();
        for KeepAlives { id, leases: of_campaign, .. } in asked {
            for lease in of_campaign.iter() {
                let campaigns = waiting.entry(lease).or_default();
                if campaigns.is_empty() {
                    leases.push(lease);
                }
                campaigns.push(id);
            }
        }
        let began = clock.now();
        Some(Self { answers: keep_alive(leases), waiting, began, until: began + limit, clock })
    }

    async fn next(mut self) -> Option<(Answers<Queues>, Self)> {
        if self.waiting.is_empty() {
            return None;
        }
        let answer = tokio::select! {
            biased;
            answer = self.answers.next() => answer,
            () = self.clock.sleep_until(self.until) => None,
        };
        let kept = |lease, sent_at, result| move |id| (id, Answer::KeptAlive { lease, sent_at, result });
        let answers = match answer {
            Some(KeepAliveAnswer { lease, sent_at, result }) => {
                let campaigns = self.waiting.remove(&lease).unwrap_or_default();
                campaigns.into_iter().map(|id| kept(lease, sent_at, result.clone())(id)).collect()
            }
            // The stream has ended or the limit has passed.
            None => {
                let unanswered = std::mem::take(&mut self.waiting).into_iter();
                let unanswered =
                    unanswered.flat_map(|(lease, ids)| ids.into_iter().map(move |id| (lease, id)));
                unanswered.map(|(lease, id)| kept(lease, self.began, Err(Failure::Unknown))(id)).collect()
            }
        };
        Some((answers, self))
    }
}

/// The write of a record that is equivalent to this action, for the listener. Taking a place is an acquire.
fn reported(identity: &Identity, action: &Action) -> store::Action {
    let header = |(key, text): &(String, String)| (key.clone().into(), text.clone());
    let put = || Put {
        value: identity.name.clone(),
        headers: identity.metadata.iter().map(header).collect(),
        lease: identity.lease_time,
    };
    match action {
        Action::Enter { .. } => store::Action::Acquire(put()),
        Action::Name { .. } | Action::Move { .. } => store::Action::Renew(put()),
        Action::Leave { .. } | Action::LeaveCompanion { .. } => {
            store::Action::Release { headers: Vec::new() }
        }
    }
}

fn reported_outcome(outcome: &Outcome) -> store::Outcome {
    match outcome {
        Outcome::Applied { revision } => store::Outcome::Applied { revision: *revision, incarnation: None },
        Outcome::Refused { created } => store::Outcome::Refused { current: created.unwrap_or_default() },
        Outcome::Failed(Failure::Busy) => store::Outcome::Busy,
        Outcome::Failed(Failure::Fault(fault)) => store::Outcome::Failed(fault.clone()),
        Outcome::Failed(failure) if failure.may_be_applied() => store::Outcome::Unknown,
        Outcome::Failed(_) => store::Outcome::NotSent,
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use incumbent_core::queue::KeptAlive;

    use super::*;

    const ALIVE: KeptAlive = KeptAlive { ttl: Duration::from_secs(10), raft_term: 2 };
    const LIMIT: Duration = Duration::from_secs(10);
    const A: LeaseId = LeaseId(0xa);
    const B: LeaseId = LeaseId(0xb);
    const C: LeaseId = LeaseId(0xc);

    /// A round for these places and the companions' lease, and the leases that it sent. The first `answers` of its
    /// keep-alives are answered, in order.
    fn round(places: &[(CampaignId, LeaseId)], answers: usize, clock: &Clock) -> (Round, Vec<LeaseId>) {
        let leases = |place| Leases { place, companion: B, moves_to: None };
        let asked =
            places.iter().map(|(id, place)| KeepAlives { id: *id, leases: leases(*place), limit: LIMIT });
        let mut sent = Vec::new();
        let round = Round::begin(asked.collect(), clock.clone(), |leases| {
            sent.clone_from(&leases);
            let answer =
                |lease| KeepAliveAnswer { lease, sent_at: Instant::from_nanos(lease.0), result: Ok(ALIVE) };
            stream::iter(leases.into_iter().take(answers).map(answer)).chain(stream::pending()).boxed()
        });
        (round.unwrap(), sent)
    }

    fn kept(id: CampaignId, lease: LeaseId) -> (CampaignId, Answer) {
        (id, Answer::KeptAlive { lease, sent_at: Instant::from_nanos(lease.0), result: Ok(ALIVE) })
    }

    #[tokio::test]
    async fn a_lease_of_several_campaigns_is_kept_alive_once_a_turn() {
        let (round, sent) = round(&[(1, A), (2, C)], 3, &Clock::manual(Instant::ZERO));
        assert_eq!(sent, [A, B, C]);
        let answers: Vec<_> = stream::unfold(round, Round::next).concat().await;
        assert_eq!(answers, [kept(1, A), kept(1, B), kept(2, B), kept(2, C)]);
    }

    #[test]
    fn without_a_keep_alive_in_a_turn_nothing_is_sent() {
        let nothing = |_| -> BoxStream<'static, KeepAliveAnswer> { panic!("nothing is sent") };
        assert!(Round::begin(Vec::new(), Clock::manual(Instant::ZERO), nothing).is_none());
    }

    #[tokio::test]
    async fn a_keep_alive_that_is_not_answered_within_its_limit_is_unknown() {
        let clock = Clock::manual(Instant::ZERO);
        let (round, _) = round(&[(1, A)], 1, &clock);
        let mut answers = stream::unfold(round, Round::next).boxed();
        assert_eq!(answers.next().await.unwrap(), [kept(1, A)]);
        assert!(futures_util::poll!(answers.next()).is_pending());
        clock.advance(LIMIT);
        let unknown = Answer::KeptAlive { lease: B, sent_at: Instant::ZERO, result: Err(Failure::Unknown) };
        assert_eq!(answers.next().await.unwrap(), [(1, unknown)]);
        assert!(answers.next().await.is_none());
    }

    #[tokio::test]
    async fn a_request_that_is_not_answered_within_its_limit_says_so() {
        let clock = Clock::manual(Instant::ZERO);
        let mut late = Box::pin(answered(&clock, LIMIT, pending::<Result<(), Failure>>()));
        assert!(futures_util::poll!(&mut late).is_pending());
        clock.advance(LIMIT);
        assert_eq!(late.await, Err(Failure::Unanswered));
    }

    #[tokio::test]
    async fn a_read_that_outlasts_its_limit_says_so_and_its_answer_still_counts() {
        let clock = Clock::manual(Instant::ZERO);
        let (answer, receiver) = tokio::sync::oneshot::channel();
        let ask = async move { receiver.await.unwrap() }.boxed();
        let limits = [Some(LIMIT), Some(LIMIT)];
        let reading =
            Reading { id: 1, read: ReadId(5), ask, sent_at: Instant::ZERO, limits, clock: clock.clone() };
        let mut answers = stream::unfold(reading, Reading::next).boxed();
        let read = |failure| {
            vec![(1, Answer::Read { read: ReadId(5), sent_at: Instant::ZERO, result: Err(failure) })]
        };
        assert!(futures_util::poll!(answers.next()).is_pending());
        clock.advance(LIMIT);
        assert_eq!(answers.next().await.unwrap(), read(Failure::Unanswered));
        answer.send(Err(Failure::Busy)).unwrap();
        assert_eq!(answers.next().await.unwrap(), read(Failure::Busy));
        assert!(answers.next().await.is_none());
    }
}

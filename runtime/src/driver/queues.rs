//! The link to a store whose elections are queues.

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

use super::in_flight::within;
use super::link::{Answers, Asked, Asking, Link, Watch, Watched, WriteReports};
use crate::Result;
use crate::clock::Clock;
use crate::store::queue_adapter::{Identity, KeepAliveAnswer, QueueAdapter, QueueEvent};
use crate::store::{CandidateInfo, EntryInfo, Registry, WatchEvent};

/// The longest time for which a lease stands after it has run out (measured on etcd).
const GRANULARITY: Duration = Duration::from_millis(500);

/// A store of this kind grants whole seconds.
const LEASE_STEP: Duration = Duration::from_secs(1);

pub(super) struct QueueLink {
    adapter: Arc<dyn QueueAdapter>,
    writes: WriteReports,
    /// The keep-alives that campaigns asked for in this turn of the driver.
    keep_alives: Vec<KeepAlives>,
}

/// The keep-alives of one campaign.
struct KeepAlives {
    id: CampaignId,
    leases: Leases,
    limit: Duration,
}

impl QueueLink {
    pub(super) fn new(adapter: Box<dyn QueueAdapter>, writes: WriteReports) -> Self {
        Self { adapter: adapter.into(), writes, keep_alives: Vec::new() }
    }
}

impl Link for QueueLink {
    type Rule = Queue;

    const ENTRIES_STAY: bool = true;

    fn properties(&self) -> Server {
        self.adapter.server()
    }

    fn capabilities(&self) -> Capabilities {
        let server = self.adapter.server();
        // Shown to people. Until the servers have granted a lease, no more is known than that it is whole seconds.
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
        self.adapter.check_key(key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        self.adapter.check_name(name)
    }

    fn check_overlap(&self, election: &str) -> Option<BoxFuture<'static, Result<()>>> {
        let (adapter, election) = (Arc::clone(&self.adapter), election.to_owned());
        Some(async move { adapter.check_overlap(&election).await }.boxed())
    }

    fn flaw(&self) -> Option<Fault> {
        self.adapter.flaw()
    }

    fn inspect(&self) -> BoxFuture<'static, Result<StoreInfo, Fault>> {
        let adapter = Arc::clone(&self.adapter);
        async move { adapter.inspect().await }.boxed()
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
        let (adapter, writes) = (Arc::clone(&self.adapter), self.writes.clone());
        if let Request::Read { read, own, whole } = request {
            let ask = async move { adapter.read(&election, own, whole).await }.boxed();
            let limits = [Some(limit), Some(campaign.lease_time())];
            let reading = Reading { id, read, ask, sent_at: writes.clock.now(), limits, clock: writes.clock };
            return Some(Asking::Several(stream::unfold(reading, Reading::next).boxed()));
        }
        let answer = async move {
            let answer = answer(&*adapter, &writes, &election, &identity, request, limit).await;
            answer.map(|answer| (id, answer)).into_iter().collect()
        };
        Some(Asking::Several(stream::once(answer).boxed()))
    }

    /// One lease of companions serves many campaigns, and is kept alive once for all of them.
    fn ask_together(&mut self) -> Option<BoxStream<'static, Answers<Self>>> {
        let asked = std::mem::take(&mut self.keep_alives);
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
        let clock = self.writes.clock.clone();
        let began = clock.now();
        let answers = self.adapter.keep_alive(leases);
        let round = Round { answers, waiting, began, until: began + limit, clock };
        Some(stream::unfold(round, Round::next).boxed())
    }

    fn is_handing_over(campaign: &Campaign) -> bool {
        campaign.is_handing_over()
    }

    fn follow(&self, key: &str) {
        self.adapter.follow(key);
    }

    fn unfollow(&self, key: &str) {
        self.adapter.unfollow(key);
    }

    fn watch(&self) -> BoxFuture<'static, Result<Watch<Self>, Fault>> {
        let adapter = Arc::clone(&self.adapter);
        async move {
            let watched = |event| match event {
                QueueEvent::Changed { election, change } => Watched::Changed { election, shown: change },
                QueueEvent::Request { key, text, revision } => Watched::Requested { key, text, revision },
            };
            Ok(adapter.watch().await?.map(watched).boxed())
        }
        .boxed()
    }

    fn entry_of(_: &Change) -> Option<&Entry> {
        None
    }

    fn entry(&self, key: &str) -> BoxFuture<'static, Result<Entry, Fault>> {
        let (adapter, key) = (Arc::clone(&self.adapter), key.to_owned());
        async move { adapter.entry(&key).await }.boxed()
    }

    /// A leader's keep-alives leave no trace in its keys.
    fn written(&self, _: &str) -> BoxFuture<'static, Result<Option<EntryInfo>, Fault>> {
        async { Ok(None) }.boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<WatchEvent>, Fault>> {
        let adapter = Arc::clone(&self.adapter);
        async move { adapter.list().await }.boxed()
    }

    fn candidates(
        &self,
        _: &Registry,
        election: Option<String>,
    ) -> BoxFuture<'static, Result<Option<Vec<CandidateInfo>>, Fault>> {
        let adapter = Arc::clone(&self.adapter);
        async move { adapter.candidates(election.as_deref()).await.map(Some) }.boxed()
    }

    /// The store holds the place of every candidate.
    fn register(&self, _: &Registry) -> BoxFuture<'static, Result<(), Fault>> {
        async { Ok(()) }.boxed()
    }

    fn reconnect(&self) -> BoxFuture<'static, ()> {
        let adapter = Arc::clone(&self.adapter);
        async move { adapter.reconnect().await }.boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let adapter = Arc::clone(&self.adapter);
        async move { adapter.close().await }.boxed()
    }
}

/// The answer to a request, which without one within the limit is [`Failure::Unanswered`].
async fn answer(
    adapter: &dyn QueueAdapter,
    writes: &WriteReports,
    election: &Arc<str>,
    identity: &Identity,
    request: Request,
    limit: Duration,
) -> Option<Answer> {
    let clock = writes.clock.clone();
    let sent = clock.now();
    let unanswered = Failure::Unanswered;
    Some(match request {
        Request::Grant { lease, ttl } => {
            let granted = within(clock, limit, adapter.grant(lease, ttl)).await;
            Answer::Granted { lease, result: granted.unwrap_or(Err(unanswered)) }
        }
        Request::Share { gone, ttl } => {
            let shared = within(clock, limit, adapter.share(gone, ttl)).await;
            Answer::Shared { result: shared.unwrap_or(Err(unanswered)) }
        }
        Request::Write(queue::Write { attempt, action }) => {
            let outcome = within(clock, limit, adapter.write(election, identity, &action)).await;
            let outcome = outcome.unwrap_or(Outcome::Failed(unanswered));
            writes.report(election, sent, &reported(identity, &action), &reported_outcome(&outcome));
            Answer::Wrote { attempt, outcome }
        }
        Request::Revoke { lease } => {
            let revoked = within(clock, limit, adapter.revoke(lease)).await;
            Answer::Revoked { lease, result: revoked.unwrap_or(Err(unanswered)) }
        }
        // Asked for apart.
        Request::KeepAlive { .. } | Request::Read { .. } => return None,
    })
}

/// A read of a campaign. Where no answer comes within the limit, one says so, and the store's own still counts for a lease.
struct Reading {
    id: CampaignId,
    read: ReadId,
    ask: BoxFuture<'static, Result<Box<Snapshot>, Failure>>,
    sent_at: Instant,
    /// The times for which it is waited for, from now on.
    limits: [Option<Duration>; 2],
    clock: Clock,
}

impl Reading {
    async fn next(mut self) -> Option<(Answers<QueueLink>, Self)> {
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
    async fn next(mut self) -> Option<(Answers<QueueLink>, Self)> {
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
            // The stream has ended, or the limit has passed.
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

/// The write of a record that has the same effect, for the listener to writes: to take a place is to acquire.
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
    use std::sync::Mutex;
    use std::time::SystemTime;

    use async_trait::async_trait;
    use incumbent_core::Incarnation;
    use incumbent_core::campaign::Settings;
    use incumbent_core::queue::{KeptAlive, Own, Snapshot};
    use incumbent_core::record::{Attempt, Nonce};

    use super::*;
    use crate::notifier::{Notifier, WriteListener};

    const SERVER: Server = Server { shortest: Some(Duration::from_secs(2)) };
    const ALIVE: KeptAlive = KeptAlive { ttl: Duration::from_secs(10), raft_term: 2 };
    const LIMIT: Duration = Duration::from_secs(10);
    const A: LeaseId = LeaseId(0xa);
    const B: LeaseId = LeaseId(0xb);
    const C: LeaseId = LeaseId(0xc);

    /// Answers as many keep-alives as it is told to, and nothing else.
    struct Silent {
        answers: usize,
        kept_alive: Mutex<Vec<LeaseId>>,
    }

    #[async_trait]
    impl QueueAdapter for Silent {
        fn server(&self) -> Server {
            SERVER
        }

        fn check_key(&self, _: &str) -> Result<()> {
            Ok(())
        }

        fn check_name(&self, _: &str) -> Result<()> {
            Ok(())
        }

        async fn inspect(&self) -> Result<StoreInfo, Fault> {
            pending().await
        }

        async fn grant(&self, _: LeaseId, _: Duration) -> Result<Duration, Failure> {
            pending().await
        }

        async fn share(&self, _: Option<LeaseId>, _: Duration) -> Result<LeaseId, Failure> {
            pending().await
        }

        fn keep_alive(&self, leases: Vec<LeaseId>) -> BoxStream<'static, KeepAliveAnswer> {
            self.kept_alive.lock().unwrap().extend(&leases);
            let answer =
                |lease| KeepAliveAnswer { lease, sent_at: Instant::from_nanos(lease.0), result: Ok(ALIVE) };
            stream::iter(leases.into_iter().take(self.answers).map(answer)).chain(stream::pending()).boxed()
        }

        async fn read(&self, _: &str, _: Option<LeaseId>, _: bool) -> Result<Box<Snapshot>, Failure> {
            pending().await
        }

        async fn write(&self, _: &str, _: &Identity, _: &Action) -> Outcome {
            pending().await
        }

        async fn revoke(&self, _: LeaseId) -> Result<(), Failure> {
            pending().await
        }

        fn follow(&self, _: &str) {}

        fn unfollow(&self, _: &str) {}

        async fn watch(&self) -> Result<BoxStream<'static, QueueEvent>, Fault> {
            pending().await
        }

        async fn entry(&self, _: &str) -> Result<Entry, Fault> {
            pending().await
        }

        async fn list(&self) -> Result<Vec<WatchEvent>, Fault> {
            pending().await
        }

        async fn candidates(&self, _: Option<&str>) -> Result<Vec<CandidateInfo>, Fault> {
            pending().await
        }

        async fn reconnect(&self) {}

        async fn close(&self) {}
    }

    fn link(answers: usize, clock: &Clock) -> (QueueLink, Arc<Silent>) {
        let adapter = Arc::new(Silent { answers, kept_alive: Mutex::default() });
        let writes = WriteReports {
            clock: clock.clone(),
            listener: WriteListener::default(),
            notifier: Notifier::new(),
        };
        (QueueLink { adapter: Arc::clone(&adapter) as _, writes, keep_alives: Vec::new() }, adapter)
    }

    fn ask(
        link: &mut QueueLink,
        id: CampaignId,
        request: Request,
    ) -> Option<BoxStream<'static, Answers<QueueLink>>> {
        let info = StoreInfo {
            asked_at: Instant::ZERO,
            incarnation: Incarnation(1),
            age: None,
            never_used: false,
            max_age: None,
            newest: None,
        };
        let campaign =
            Campaign::new(Settings::new("ada"), SERVER, &info, Nonce(1), 1, Instant::ZERO).unwrap();
        let (election, since) = ("jobs".into(), SystemTime::UNIX_EPOCH);
        match link.ask(&campaign, Asked { id, election, since, request, limit: LIMIT })? {
            Asking::Several(answers) => Some(answers),
            Asking::One(_) => None,
        }
    }

    fn of(place: LeaseId) -> Leases {
        Leases { place, companion: B, moves_to: None }
    }

    fn kept(id: CampaignId, lease: LeaseId) -> (CampaignId, Answer) {
        (id, Answer::KeptAlive { lease, sent_at: Instant::from_nanos(lease.0), result: Ok(ALIVE) })
    }

    #[tokio::test]
    async fn a_lease_of_several_campaigns_is_kept_alive_once_a_turn() {
        let (mut link, adapter) = link(3, &Clock::manual(Instant::ZERO));
        assert!(link.ask_together().is_none());
        for (id, lease) in [(1, A), (2, C)] {
            assert!(ask(&mut link, id, Request::KeepAlive { leases: of(lease) }).is_none());
        }
        let answers: Vec<_> = link.ask_together().unwrap().concat().await;
        assert_eq!(*adapter.kept_alive.lock().unwrap(), [A, B, C]);
        assert_eq!(answers, [kept(1, A), kept(1, B), kept(2, B), kept(2, C)]);
        assert!(link.ask_together().is_none(), "each is sent once");
    }

    #[tokio::test]
    async fn what_is_not_answered_within_its_limit_is_unknown() {
        let clock = Clock::manual(Instant::ZERO);
        let (mut link, _) = link(1, &clock);
        let _ = ask(&mut link, 1, Request::KeepAlive { leases: of(A) });
        let mut answers = link.ask_together().unwrap();
        let revoking = ask(&mut link, 1, Request::Revoke { lease: A }).unwrap();
        let action = Action::Name {
            own: Own { lease: A, revision: Default::default() },
            modified: Default::default(),
            companion: B,
            successor: None,
        };
        let writing =
            ask(&mut link, 1, Request::Write(queue::Write { attempt: Attempt(7), action })).unwrap();
        assert_eq!(answers.next().await.unwrap(), [kept(1, A)]);
        let mut late =
            Box::pin(futures_util::future::join3(answers.concat(), revoking.concat(), writing.concat()));
        assert!(futures_util::poll!(&mut late).is_pending());
        clock.advance(LIMIT);
        let (answers, revoked, written) = late.await;
        let unknown = Answer::KeptAlive { lease: B, sent_at: Instant::ZERO, result: Err(Failure::Unknown) };
        assert_eq!(answers, [(1, unknown)]);
        assert_eq!(revoked, [(1, Answer::Revoked { lease: A, result: Err(Failure::Unanswered) })]);
        let outcome = Outcome::Failed(Failure::Unanswered);
        assert_eq!(written, [(1, Answer::Wrote { attempt: Attempt(7), outcome })]);
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

//! The driver's link to a cluster: a campaign is a member of its election's consumer group.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, try_join_all};
use futures_util::{FutureExt, StreamExt, stream};
use incumbent_core::induction::{
    Answer, Campaign, Connection, Failure, Induction, Kind, Publish, Request, Shown,
};
use incumbent_core::record::{Attempt, Entry};
use incumbent_core::session::CampaignId;
use incumbent_core::store::{Action, Capabilities, Fault, Outcome, Put, StoreInfo};
use incumbent_core::{Instant, Revision};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::admin::refused;
use super::cluster::{Cluster, time_of_day};
use super::member::Member;
use super::reader::{Change, Reader};
use super::report::{Answers as ToCampaign, Report};
use super::settings::KafkaSettings;
use incumbent_store::link::{Answers, Asked, Asking, Link, Reports, Watch, Watched, within};
use incumbent_store::{CandidateInfo, EntryInfo, Registry, WatchEvent};
use incumbent_store::{Error, ErrorKind, Result};

/// The shortest and the longest lease of a group.
const LEASES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(24 * 3600));
/// The time after which a broker counts as crashed: its session (`broker.session.timeout.ms`).
const FAIL_OVER: Duration = Duration::from_secs(9);

/// The time limit of a read. A read that fails by it names the unreachable broker, if there is one. The driver itself
/// would give up half a second later.
const READING: Duration = Duration::from_millis(4500);

/// The driver's link to a Kafka cluster.
pub struct Groups {
    cluster: Arc<Cluster>,
    reader: Arc<Reader>,
    reports: Reports,
    members: HashMap<CampaignId, Candidacy>,
    /// The key of the first election. If the settings give all elections the same topic, no other key is accepted.
    only: Mutex<Option<String>>,
}

/// A campaign's parts in the cluster.
struct Candidacy {
    election: Arc<str>,
    topic: String,
    answers: ToCampaign,
    member: Option<Member>,
    /// Whether the campaign's topic is read, or will be once an inspection has succeeded.
    follows: bool,
    sent: Sent,
}

/// The records that have no delivery report yet, for the listener to writes.
type Sent = Arc<Mutex<HashMap<Attempt, (Instant, Action)>>>;

impl Groups {
    /// Connects to the cluster.
    ///
    /// # Errors
    /// Those of [`Cluster::open`] and [`Reader::open`].
    pub async fn open(settings: &KafkaSettings, reports: Reports) -> Result<Self> {
        let cluster = Cluster::open(settings, &reports.clock).await?;
        let reader = Arc::new(Reader::open(&cluster)?);
        Ok(Self { cluster, reader, reports, members: HashMap::new(), only: Mutex::default() })
    }

    fn settings(&self) -> &KafkaSettings {
        self.cluster.settings()
    }
}

impl Candidacy {
    fn new(election: &Arc<str>, topic: String) -> (Self, UnboundedReceiver<Report>) {
        let (answers, received) = unbounded_channel();
        let (election, sent) = (Arc::clone(election), Sent::default());
        (Self { election, topic, answers, member: None, follows: false, sent }, received)
    }
}

impl Link for Groups {
    type Rule = Induction;

    const ENTRIES_STAY: bool = false;

    fn properties(&self) -> Connection {
        Connection {
            group: self.settings().group(),
            read_at: self.reports.clock.now(),
            time_of_day: time_of_day(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            own_lease: true,
            lease_step: Duration::from_millis(1),
            shortest: LEASES.0,
            longest: LEASES.1,
            granularity: Duration::ZERO,
            expiry_pushed: false,
            incarnation_acked: true,
            watch_shows_all: false,
            window: 256,
            fail_over: FAIL_OVER,
        }
    }

    fn check_key(&self, key: &str) -> Result<()> {
        self.settings().check_key(key)?;
        if !self.settings().has_one_topic() {
            return Ok(());
        }
        let mut only = self.only.lock().unwrap_or_else(PoisonError::into_inner);
        if only.get_or_insert_with(|| key.to_owned()) == key {
            return Ok(());
        }
        let message = format!(
            "the election {key:?} would share its topic with {:?}; put {{group}} into `topic`, or use a separate \
             store for each",
            only.as_deref().unwrap_or_default()
        );
        Err(Error::new(ErrorKind::InvalidName, message))
    }

    fn check_name(&self, name: &str) -> Result<()> {
        KafkaSettings::check_name(name)
    }

    fn check_hand_over(&self) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, refused().detail))
    }

    fn flaw(&self) -> Option<Fault> {
        None
    }

    fn inspect(&self) -> BoxFuture<'static, Result<StoreInfo, Fault>> {
        let cluster = Arc::clone(&self.cluster);
        async move { cluster.inspect().await }.boxed()
    }

    /// All reports of a campaign's clients come through the stream of its first request.
    fn ask(&mut self, campaign: &Campaign, asked: Asked<Induction>) -> Option<Asking<Self>> {
        let Asked { id, election, request, .. } = asked;
        let mut answers = None;
        if !self.members.contains_key(&id) {
            let (candidacy, received) = Candidacy::new(&election, self.settings().topic_of(&election));
            let stream = Stream {
                id,
                received,
                election,
                topic: candidacy.topic.clone(),
                reader: Arc::clone(&self.reader),
                sent: Arc::clone(&candidacy.sent),
                lease: campaign.lease_time(),
                reports: self.reports.clone(),
            };
            answers = Some(Asking::Several(stream::unfold(stream, Stream::next).boxed()));
            self.members.insert(id, candidacy);
        }
        let candidacy = self.members.get_mut(&id)?;
        match request {
            Request::Join => {
                if let Some(before) = candidacy.member.take() {
                    before.replace();
                }
                let client = campaign.client_settings();
                let (election, answers) = (&candidacy.election, candidacy.answers.clone());
                match Member::join(&self.cluster, election, campaign.name(), client, answers) {
                    Ok(member) => candidacy.member = Some(member),
                    Err(fault) => {
                        let loss = incumbent_core::induction::Loss::Dead(fault);
                        send(&candidacy.answers, Answer::GroupLost(loss));
                    }
                }
            }
            Request::Publish(publish) => {
                let (sent, action) = (self.reports.clock.now(), reported(campaign, &publish));
                lock(&candidacy.sent).insert(publish.attempt, (sent, action));
                self.cluster.publish(&candidacy.topic, &publish, &candidacy.answers);
            }
            Request::Commit { attempt, offset, metadata } => match &candidacy.member {
                Some(member) => member.commit(attempt, offset, &metadata, &candidacy.answers),
                None => {
                    let result = Err(Failure::Unknown);
                    send(&candidacy.answers, Answer::Committed { attempt, result });
                }
            },
            Request::Committed { number } => match &candidacy.member {
                Some(member) => member.ask_committed(number, &candidacy.answers),
                None => {
                    let result = Err(Failure::Unknown);
                    send(&candidacy.answers, Answer::CommittedToken { number, result });
                }
            },
            Request::Yield => {
                if let Some(member) = &candidacy.member {
                    member.yield_partition();
                }
            }
            Request::Leave => match &candidacy.member {
                Some(member) => member.leave(),
                None => send(&candidacy.answers, Answer::Left),
            },
            Request::Members => {
                let (cluster, answers) = (Arc::clone(&self.cluster), candidacy.answers.clone());
                let group = self.cluster.settings().group_of(&candidacy.election);
                tokio::task::spawn_blocking(move || {
                    let members = cluster.members(&group);
                    send(&answers, Answer::Members(members.map(|members| members.len())));
                });
            }
            Request::Inspect => {
                let follows = !std::mem::replace(&mut candidacy.follows, true);
                let (cluster, topic) = (Arc::clone(&self.cluster), candidacy.topic.clone());
                let answers = candidacy.answers.clone();
                tokio::task::spawn_blocking(move || {
                    let result =
                        if follows { cluster.prepare(&topic) } else { cluster.inspect_topic(&topic) };
                    let id = result.as_ref().ok().and_then(|topic| topic.id);
                    send(&answers, Answer::Inspected(result));
                    // If the campaign is over, the report has no receiver.
                    let _ = answers.send(Report::Inspected { id, follows });
                });
            }
        }
        answers
    }

    fn ended(&mut self, id: CampaignId) {
        if let Some(member) = self.members.remove(&id).and_then(|candidacy| candidacy.member) {
            member.leave();
        }
    }

    fn watch(&self) -> BoxFuture<'static, Result<Watch<Self>, Fault>> {
        let changes = stream::unfold(self.reader.watch(), async |mut changes| {
            let Change { election, shown } = changes.recv().await?;
            Some((Watched::Changed { election, shown }, changes))
        });
        let changes = changes.boxed();
        async move { Ok(changes) }.boxed()
    }

    fn entry_of(_: &Shown) -> Option<&Entry> {
        None
    }

    fn entry(&self, key: &str) -> BoxFuture<'static, Result<Entry, Fault>> {
        let (reader, cluster, key) = (Arc::clone(&self.reader), Arc::clone(&self.cluster), key.to_owned());
        let clock = self.reports.clock.clone();
        async move {
            let mut reading = pin!(reader.entry(&key));
            if let Some(read) = within(clock, READING, &mut reading).await {
                return Ok(read?.0);
            }
            // The reader keeps trying without reporting failures, so the cluster is asked for one.
            match cluster.unreached() {
                Some(fault) => Err(fault),
                None => Ok(reading.await?.0),
            }
        }
        .boxed()
    }

    fn observed(&self, key: &str) -> BoxFuture<'static, Result<Entry, Fault>> {
        let (reader, key) = (Arc::clone(&self.reader), key.to_owned());
        async move {
            match reader.shown(&key) {
                Some(entry) => Ok(entry),
                None => Ok(reader.entry(&key).await?.0),
            }
        }
        .boxed()
    }

    fn written(&self, key: &str) -> BoxFuture<'static, Result<Option<EntryInfo>, Fault>> {
        let (reader, key) = (Arc::clone(&self.reader), key.to_owned());
        async move { Ok(reader.entry(&key).await?.1) }.boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<WatchEvent>, Fault>> {
        let (cluster, reader) = (Arc::clone(&self.cluster), Arc::clone(&self.reader));
        async move {
            // The entries of all elections are read at the same time.
            let elections = cluster.ask(|cluster| cluster.elections()).await?;
            let entries = elections.into_iter().map(async |key| {
                let (entry, _) = reader.entry(&key).await?;
                Ok(WatchEvent { key, entry })
            });
            try_join_all(entries).await
        }
        .boxed()
    }

    /// The members of the groups; anything that a member does not report about itself is unknown.
    fn candidates(
        &self,
        own: &Registry,
        election: Option<String>,
    ) -> BoxFuture<'static, Result<Option<Vec<CandidateInfo>>, Fault>> {
        let (cluster, own) = (Arc::clone(&self.cluster), own.list());
        async move {
            let elections = match election {
                Some(election) => vec![election],
                None => cluster.ask(|cluster| cluster.elections()).await?,
            };
            let mut candidates = Vec::new();
            for election in elections {
                let group = cluster.settings().group_of(&election);
                for name in cluster.ask(move |cluster| cluster.members(&group)).await? {
                    let known = own.iter().find(|own| own.election == election && own.name == name);
                    candidates.push(known.cloned().unwrap_or_else(|| CandidateInfo {
                        election: election.clone(),
                        name,
                        nonce: None,
                        standing_for: Duration::ZERO,
                    }));
                }
            }
            Ok(Some(candidates))
        }
        .boxed()
    }

    /// The group knows its members.
    fn register(&self, _: &Registry) -> BoxFuture<'static, Result<(), Fault>> {
        async { Ok(()) }.boxed()
    }

    /// Each client reconnects on its own.
    fn reconnect(&self) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.reader.close();
        async {}.boxed()
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        // The members leave even after a panic of the driver, because a client that keeps polling would keep the
        // partition.
        for member in self.members.drain().filter_map(|(_, candidacy)| candidacy.member) {
            member.leave();
        }
        self.reader.close();
    }
}

/// The reports of a campaign's clients.
struct Stream {
    id: CampaignId,
    received: UnboundedReceiver<Report>,
    election: Arc<str>,
    topic: String,
    reader: Arc<Reader>,
    sent: Sent,
    lease: Duration,
    reports: Reports,
}

impl Stream {
    async fn next(mut self) -> Option<(Answers<Groups>, Self)> {
        loop {
            match self.received.recv().await? {
                Report::Answer(answer) => {
                    if let Answer::Published { attempt, result } = &answer {
                        self.report(*attempt, result);
                        if let Ok(offset) = result {
                            self.reader.appended(&self.topic, *offset, self.lease);
                        }
                    }
                    return Some((vec![(self.id, answer)], self));
                }
                // All answers before the inspection have been passed on.
                Report::Inspected { id, follows } => {
                    if follows {
                        self.reader.follow(&self.election, &self.topic, self.lease);
                    }
                    if let Some(id) = id {
                        self.reader.identified(&self.topic, id);
                    }
                }
            }
        }
    }

    fn report(&self, attempt: Attempt, result: &Result<Revision, Failure>) {
        let Some((sent, action)) = lock(&self.sent).remove(&attempt) else { return };
        let outcome = match result {
            Ok(revision) => Outcome::Applied { revision: *revision, incarnation: None },
            Err(failure) => failure.fault().map_or(Outcome::Unknown, |fault| Outcome::Failed(fault.clone())),
        };
        self.reports.written(&self.election, sent, &action, &outcome);
    }
}

/// The write of a record that is equivalent to this append, for the listener to writes.
fn reported(campaign: &Campaign, publish: &Publish) -> Action {
    let put = || Put {
        value: publish.name.clone(),
        headers: publish.headers.clone(),
        lease: campaign.lease_time(),
    };
    match publish.kind {
        Kind::Claim => Action::Acquire(put()),
        Kind::Heartbeat | Kind::Probe => Action::Renew(put()),
        Kind::Release { .. } => Action::Release { headers: publish.headers.clone() },
    }
}

fn send(answers: &UnboundedSender<Report>, answer: Answer) {
    // If the campaign is over, the answer has no receiver.
    let _ = answers.send(Report::Answer(answer));
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

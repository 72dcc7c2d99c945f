//! A store that is open for elections.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use incumbent_ffi::settings::{self, Value};
use incumbent_ffi::{Feed, LoopProbe, loop_probe};
use tokio::sync::Notify;

use crate::candidate::Candidate;
use crate::pending::{
    PendingCandidate, PendingElections, PendingEnd, PendingInit, PendingLeader, PendingObservations,
    PendingParticipants, PendingStore, next,
};
use crate::value::{Election, Failure, InitReport, Leader, Participant, Seen, Setting, dialect};

/// A store that is open for elections.
#[derive(uniffi::Object)]
pub struct Store(incumbent_ffi::Store);

impl Store {
    pub(crate) fn of(store: incumbent_ffi::Store) -> Arc<Self> {
        Arc::new(Self(store))
    }
}

/// Returns the schemes of the URLs that this build opens.
#[uniffi::export]
pub fn stores() -> Vec<String> {
    incumbent_ffi::BUILT_IN.iter().map(|scheme| (*scheme).to_owned()).collect()
}

/// Opens the store at `url`. Checks the settings at once, as far as possible without opening it.
#[uniffi::export]
pub fn open_store(url: &str, settings: HashMap<String, Setting>) -> Result<Arc<PendingStore>, Failure> {
    let opening = settings::opening(url, crate::value::settings(settings), dialect())?;
    opening.check()?;
    Ok(Arc::new(incumbent_ffi::Store::open(opening).map(Store::of).into()))
}

/// Prepares the store at `url` for elections. Checks the settings at once, as far as possible without the store.
#[uniffi::export]
pub fn init_store(url: &str, settings: HashMap<String, Setting>) -> Result<Arc<PendingInit>, Failure> {
    let init = settings::init(url, crate::value::settings(settings), dialect())?;
    init.check()?;
    Ok(Arc::new(incumbent_ffi::init(init).map(InitReport::from).into()))
}

/// Closes every store and candidate of this process, within `limit`; for an exit hook.
#[uniffi::export]
pub fn shut_down(limit: Duration) {
    incumbent_ffi::shut_down(limit);
}

/// Closes every store and candidate of this process, within `limit`, for a library that is unloaded while its process
/// continues: what is opened later gets an engine of its own.
#[uniffi::export]
pub fn retire(limit: Duration) {
    incumbent_ffi::retire(limit);
}

#[uniffi::export]
impl Store {
    /// Campaigns in the election of that key. `health_interval` enables health checks. `executor` enables the check that
    /// an executor of the language does not hang; the setting `watch_loop` is the limit of that check. Checks the
    /// settings at once, as far as possible without the store.
    pub fn campaign(
        &self,
        election: String,
        mut settings: HashMap<String, Setting>,
        health_interval: Option<Duration>,
        executor: Option<Arc<ExecutorProbe>>,
    ) -> Result<Arc<PendingCandidate>, Failure> {
        let limit = settings.remove("watch_loop").map_or(Value::Nothing, Value::from);
        let watch = settings::loop_watch(limit, dialect())?;
        let mut campaign = settings::campaign(crate::value::settings(settings), dialect())?;
        if let Some(executor) = executor {
            campaign = campaign.watch(&executor.probe, watch);
        }
        if let Some(interval) = health_interval {
            campaign = campaign.ask_health(Value::Time(interval), dialect())?;
        }
        Ok(Arc::new(self.0.campaign(election, campaign).map(Candidate::of).into()))
    }

    /// Watches the election of that key without taking part.
    pub fn observe(&self, election: String) -> Arc<PendingObservations> {
        let seen = |seen: incumbent_ffi::Observation, age| Seen {
            election: seen.election.to_string(),
            leader: seen.leader.map(Leader::from),
            age,
        };
        Arc::new(self.0.observe(election, seen).map(|feed| Arc::new(Observations(feed))).into())
    }

    /// Asks for the leader of that election now.
    pub fn leader(&self, election: String) -> Arc<PendingLeader> {
        Arc::new(self.0.leader(election).map(|leader| leader.map(Leader::from)).into())
    }

    /// Asks for all elections of the store, by key.
    pub fn list(&self) -> Arc<PendingElections> {
        Arc::new(self.0.list().map(|all| all.into_iter().map(Election::from).collect::<Vec<_>>()).into())
    }

    /// Asks for the candidates of that election; nothing if the store cannot find out.
    pub fn candidates(&self, election: String) -> Arc<PendingParticipants> {
        let plain = |all: Vec<_>| all.into_iter().map(Participant::from).collect::<Vec<_>>();
        Arc::new(self.0.candidates(election).map(move |all| all.map(plain)).into())
    }

    /// Closes every candidate cleanly, and then the store. Closing twice is no error.
    pub fn close(&self, inside: bool) -> Arc<PendingEnd> {
        Arc::new(self.0.close(inside).into())
    }
}

/// The leaders of an election, in order.
#[derive(uniffi::Object)]
pub struct Observations(Feed<Seen>);

#[uniffi::export]
impl Observations {
    /// The next one; nothing once the store is closed or this was stopped.
    pub async fn next(&self) -> Result<Option<Seen>, Failure> {
        next(&self.0).await
    }

    /// Stops reading: a waiting caller gets nothing.
    pub fn stop(&self) {
        self.0.close();
    }
}

/// Checks whether an executor of the language still runs code: a task on that executor waits with `asked`, and calls
/// `answered` each time.
#[derive(uniffi::Object)]
pub struct ExecutorProbe {
    probe: LoopProbe,
    question: Arc<Notify>,
}

#[uniffi::export]
impl ExecutorProbe {
    /// Creates a probe that asks while a candidate with it leads.
    #[uniffi::constructor]
    #[allow(clippy::new_without_default, reason = "the languages call it, and they know no default")]
    pub fn new() -> Arc<Self> {
        let question = Arc::new(Notify::new());
        let asking = Arc::clone(&question);
        let probe = loop_probe(move || {
            let asking = Arc::clone(&asking);
            Box::new(move || asking.notify_one())
        });
        Arc::new(Self { probe, question })
    }

    /// Waits for the next question.
    pub async fn asked(&self) {
        self.question.notified().await;
    }

    /// Answers that the executor runs code.
    pub fn answered(&self) {
        self.probe.answered();
    }

    /// Stops asking: a waiting caller returns. For a language that cannot abandon the wait.
    pub fn stop(&self) {
        self.probe.stop();
        self.question.notify_one();
    }
}

impl Drop for ExecutorProbe {
    fn drop(&mut self) {
        self.probe.stop();
    }
}

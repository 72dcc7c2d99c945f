//! A store that is open for elections.

use std::sync::Arc;
use std::time::Duration;

use incumbent::store::{CandidateInfo, Difference, InitReport};
use incumbent::{ElectionInfo, ErrorKind, Leader, Observation};

use crate::candidate::{asked, leaving};
use crate::engine::{Engine, ProcessBound, no_thread};
use crate::settings::{Campaign, Init, Opening};
use crate::{Candidate, Error, Feed, Operation, Result};

/// A store that is open for elections. It stays open until it is closed or every handle to it, its candidates and its
/// observers is dropped.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<ProcessBound<incumbent::Store>>,
}

impl Store {
    /// Opens a store with the settings from [`settings::opening`](crate::settings::opening).
    pub fn open(opening: Opening) -> Operation<Self> {
        Operation::start(async move {
            let settings = opening.settings()?;
            let mut builder = incumbent::Store::builder().fail_fast(opening.fail_fast);
            if let Some(lease) = opening.expected_lease {
                builder = builder.expected_lease(lease);
            }
            let opened = builder.open_settings(settings).await;
            Self::new(opened.map_err(|error| opening.given.shown_in(error))?)
        })
    }

    pub(crate) fn new(store: incumbent::Store) -> Result<Self> {
        let inner = Arc::new(ProcessBound::new(store));
        Engine::get()?.open().add_store(&inner);
        Ok(Self { inner })
    }

    /// Campaigns in the election of that key, with the settings from [`settings::campaign`](crate::settings::campaign).
    pub fn campaign(&self, election: String, campaign: Campaign) -> Operation<Candidate> {
        let Campaign { options, health_interval, given } = campaign;
        self.ask(|store| async move {
            let (options, questions) = match health_interval {
                Some(interval) => {
                    let (options, questions) = asked(options, interval);
                    (options, Some(questions))
                }
                None => (options, None),
            };
            let entered = store.campaign(&election, options).await;
            Candidate::asked(entered.map_err(|error| given.shown_in(error))?, questions)
        })
    }

    /// Observes the election of that key without taking part. `convert` gets each observation, and how long it had been
    /// true when it is taken.
    pub fn observe<T: 'static>(
        &self,
        election: String,
        mut convert: impl FnMut(Observation, Duration) -> T + Send + 'static,
    ) -> Operation<Feed<T>> {
        self.ask(|store| async move {
            let observer = store.observe(&election).await?;
            let clock = store.clock().clone();
            Feed::new(observer, move |seen| {
                let age = clock.now().since(seen.since);
                convert(seen, age)
            })
        })
    }

    /// Answers with the leader of that election now, read from the leader of the store.
    pub fn leader(&self, election: String) -> Operation<Option<Leader>> {
        self.ask(|store| async move { Ok(store.leader(&election).await?) })
    }

    /// Answers with all elections of the store, by key.
    pub fn list(&self) -> Operation<Vec<ElectionInfo>> {
        self.ask(|store| async move { Ok(store.list().await?) })
    }

    /// Answers with the candidates of that election on all connections, the longest-standing first; `None` if the store
    /// cannot find out.
    pub fn candidates(&self, election: String) -> Operation<Option<Vec<CandidateInfo>>> {
        self.ask(|store| async move { Ok(store.candidates(&election).await?) })
    }

    /// Closes every candidate cleanly, and then the store. Closing twice is no error.
    pub fn close(&self, inside: bool) -> Operation<()> {
        match self.inner.get("store") {
            Ok(store) => leaving(store.request_close(), inside),
            Err(error) => Operation::answered(Err(error)),
        }
    }

    /// Fails in a forked child.
    ///
    /// # Errors
    /// `Forked`.
    pub fn check(&self) -> Result<(), Error> {
        self.inner.get("store").map(drop)
    }

    fn ask<T, Fut>(&self, question: impl FnOnce(incumbent::Store) -> Fut) -> Operation<T>
    where
        T: Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
    {
        match self.inner.get("store") {
            Ok(store) => Operation::start(question(store.clone())),
            Err(error) => Operation::answered(Err(error)),
        }
    }
}

/// Prepares a store for elections, as `incumbent init` does, with the settings from
/// [`settings::init`](crate::settings::init). A bucket that differs from the requested settings is an error.
pub fn init(init: Init) -> Operation<InitReport> {
    Operation::start(async move {
        let Init { store, options } = init;
        let settings = store.settings()?;
        let report = on_own_thread(async move { settings.init(&options).await }).await?;
        let report = report.map_err(|error| store.given.shown_in(error))?;
        if report.is_ready() { Ok(report) } else { Err(differs(&report)) }
    })
}

/// Runs `work` on a thread with a runtime of its own, because the engine's has no I/O. Stops it once its caller is
/// gone.
async fn on_own_thread<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
    let (mut ready, done) = tokio::sync::oneshot::channel();
    let run = move || {
        runtime.block_on(async move {
            tokio::select! {
                // A caller that is gone needs no answer.
                result = work => drop(ready.send(result)),
                () = ready.closed() => {}
            }
        });
        runtime.shutdown_background();
    };
    std::thread::Builder::new().name("incumbent-init".into()).spawn(run).map_err(no_thread)?;
    done.await.map_err(|_| Error::new(ErrorKind::Broken, "the thread that prepared the store has ended"))
}

/// The error for a bucket that differs from the requested settings.
fn differs(report: &InitReport) -> Error {
    let shown = |difference: &Difference| {
        let Difference { setting, is, should, .. } = difference;
        let option = difference.option().map(|option| format!(" ({option})")).unwrap_or_default();
        format!("{setting}{option} is {is}, and should be {should}")
    };
    let differences: Vec<_> = report.differences.iter().map(shown).collect();
    let remedy = if report.is_correctable() {
        "to change it, prepare it again with the same settings and `update`"
    } else {
        "NATS does not allow all of these changes: delete the bucket and prepare it again"
    };
    let message =
        format!("the bucket differs from the requested settings: {}; {remedy}", differences.join("; "));
    Error::new(ErrorKind::UnsafeStore, message)
}

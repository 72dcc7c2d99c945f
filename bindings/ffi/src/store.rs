//! A store that is open for elections.

use std::sync::Arc;

use incumbent::store::StoreSettings;

use crate::candidate::leaving;
use crate::engine::Engine;
use crate::health;
use crate::here::Here;
use crate::settings::{Campaign, Opening};
use crate::{Candidate, Error, Feed, Leader, Observed, Operation, Result};

/// A store that is open for elections. It stays open until it is closed or every handle to it, its candidates and its
/// observers is dropped.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Here<incumbent::Store>>,
}

/// An election of a store, and its leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionInfo {
    /// The election's key.
    pub election: String,
    /// The leader; `None` where the key is free.
    pub leader: Option<Leader>,
}

impl Store {
    /// Opens a store with the settings from [`settings::opening`](crate::settings::opening).
    pub fn open(opening: Opening) -> Operation<Self> {
        Operation::start(async move {
            let settings = opening.url.parse::<StoreSettings>()?;
            let mut builder = incumbent::Store::builder().fail_fast(opening.fail_fast);
            if let Some(lease) = opening.expected_lease {
                builder = builder.expected_lease(lease);
            }
            Self::new(builder.open_settings(settings).await?)
        })
    }

    pub(crate) fn new(store: incumbent::Store) -> Result<Self> {
        let inner = Arc::new(Here::new(store));
        Engine::get()?.open().add_store(&inner);
        Ok(Self { inner })
    }

    /// Campaigns in the election of that key, with the settings from [`settings::campaign`](crate::settings::campaign).
    pub fn campaign(&self, election: String, campaign: Campaign) -> Operation<Candidate> {
        let Campaign { options, health_interval } = campaign;
        self.ask(|store| async move {
            let (options, questions) = match health_interval {
                Some(interval) => {
                    let (options, questions) = health::asked(options, interval);
                    (options, Some(questions))
                }
                None => (options, None),
            };
            Candidate::asked(store.campaign(&election, options).await?, questions)
        })
    }

    /// Observes the election of that key without taking part.
    pub fn observe(&self, election: String) -> Operation<Feed<Observed>> {
        self.ask(|store| async move { Feed::new(store.observe(&election).await?) })
    }

    /// Answers with the leader of that election now, read from the leader of the store.
    pub fn leader(&self, election: String) -> Operation<Option<Leader>> {
        self.ask(|store| async move { Ok(store.leader(&election).await?.map(Leader::from)) })
    }

    /// Answers with all elections of the store, by key.
    pub fn list(&self) -> Operation<Vec<ElectionInfo>> {
        self.ask(|store| async move {
            let listed = store.list().await?.into_iter();
            Ok(listed
                .map(|one| ElectionInfo { election: one.election, leader: one.leader.map(Leader::from) })
                .collect())
        })
    }

    /// Closes every candidate cleanly, and then the store. Closing twice is no error.
    pub fn close(&self, inside: bool) -> Operation<()> {
        match self.inner.get("store") {
            Ok(store) => leaving(store.request_close(), inside),
            Err(error) => Operation::ready(Err(error)),
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
            Err(error) => Operation::ready(Err(error)),
        }
    }
}

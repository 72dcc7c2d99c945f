//! The link to a store whose candidates take turns writing one record.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use incumbent_core::campaign::{Answer, Campaign, KeyLease, Request};
use incumbent_core::record::Entry;
use incumbent_core::store::{Capabilities, Fault, Outcome, StoreInfo};

use crate::adapter::{Adapter, EntryInfo, WatchEvent};
use crate::error::Result;
use crate::link::{Asked, Asking, Link, OneAnswer, Reports, Watch, Watched, in_time, unanswered};
use crate::registry::merge;
use crate::registry::{CandidateInfo, Registry};
use crate::request;

/// The link to a store that implements [`Adapter`].
pub struct RecordLink {
    adapter: Arc<dyn Adapter>,
    reports: Reports,
}

impl RecordLink {
    /// A link over this adapter.
    pub fn new(adapter: Box<dyn Adapter>, reports: Reports) -> Self {
        Self { adapter: adapter.into(), reports }
    }
}

impl Link for RecordLink {
    type Rule = KeyLease;

    const ENTRIES_STAY: bool = false;

    fn properties(&self) -> Capabilities {
        self.adapter.capabilities()
    }

    fn capabilities(&self) -> Capabilities {
        self.adapter.capabilities()
    }

    fn check_key(&self, key: &str) -> Result<()> {
        self.adapter.check_key(key)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        self.adapter.check_name(name)
    }

    fn flaw(&self) -> Option<Fault> {
        self.adapter.flaw()
    }

    fn inspect(&self) -> BoxFuture<'static, Result<StoreInfo, Fault>> {
        let adapter = Arc::clone(&self.adapter);
        async move { adapter.inspect().await }.boxed()
    }

    fn ask(&mut self, _: &Campaign, asked: Asked<KeyLease>) -> Option<Asking<Self>> {
        let Asked { id, election, request, limit, .. } = asked;
        let (adapter, reports) = (Arc::clone(&self.adapter), self.reports.clone());
        let until = reports.clock.now() + limit;
        let answer = async move {
            let sent = reports.clock.now();
            let answer = match request {
                Request::Write(write) => {
                    let (attempt, action) =
                        (write.attempt, reports.listener.is_there().then(|| write.action.clone()));
                    let outcome = in_time(&reports.clock, until, adapter.write(&election, write)).await;
                    // A write without an answer within the limit has an unknown outcome.
                    let outcome = outcome.unwrap_or(Outcome::Unknown);
                    if let Some(action) = action {
                        reports.written(&election, sent, &action, &outcome);
                    }
                    Answer::Wrote { attempt, outcome }
                }
                Request::Read(read) => {
                    let result = in_time(&reports.clock, until, adapter.read(&election)).await;
                    Answer::Read { read, result: result.unwrap_or_else(|| Err(unanswered("a read", limit))) }
                }
            };
            (id, answer)
        };
        Some(Asking::One(OneAnswer { until, answer: answer.boxed() }))
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
            let watched = |item| match item {
                crate::adapter::Watched::ShownAll(of) => Watched::ShownAll(of),
                crate::adapter::Watched::Entry(WatchEvent { key, entry }) => match entry {
                    Entry::Live(record) if request::is_reserved(&key) => {
                        Watched::Requested { key, text: record.candidate, revision: record.revision }
                    }
                    shown => Watched::Changed { election: key, shown },
                },
            };
            Ok(adapter.watch().await?.map(watched).boxed())
        }
        .boxed()
    }

    fn entry_of(shown: &Entry) -> Option<&Entry> {
        Some(shown)
    }

    fn entry(&self, key: &str) -> BoxFuture<'static, Result<Entry, Fault>> {
        let (adapter, key) = (Arc::clone(&self.adapter), key.to_owned());
        async move { adapter.read(&key).await }.boxed()
    }

    fn written(&self, key: &str) -> BoxFuture<'static, Result<Option<EntryInfo>, Fault>> {
        let (adapter, key) = (Arc::clone(&self.adapter), key.to_owned());
        async move { adapter.written(&key).await }.boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<WatchEvent>, Fault>> {
        let adapter = Arc::clone(&self.adapter);
        async move { adapter.list().await }.boxed()
    }

    fn candidates(
        &self,
        own: &Registry,
        election: Option<String>,
    ) -> BoxFuture<'static, Result<Option<Vec<CandidateInfo>>, Fault>> {
        let (adapter, own) = (Arc::clone(&self.adapter), own.clone());
        async move {
            let heard = adapter.candidates().await?;
            Ok(heard.map(|heard| merge(own.list(), heard, election.as_deref())))
        }
        .boxed()
    }

    fn register(&self, own: &Registry) -> BoxFuture<'static, Result<(), Fault>> {
        let (adapter, own) = (Arc::clone(&self.adapter), own.clone());
        async move { adapter.register(&own).await }.boxed()
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

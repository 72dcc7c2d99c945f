//! Helpers for these tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::jetstream;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use incumbent::clock::Clock;
use incumbent::incumbent_core::Revision;
use incumbent::incumbent_core::record::{Attempt, Entry, Headers};
use incumbent::incumbent_core::store::{Action, Expect, Fault, Outcome, Put, Write};
use incumbent::store::nats::{ConnectionEvent, InitOptions, Nats, NatsSettings, init};
use incumbent::store::{Adapter, WatchEvent, Watched};
use incumbent_testkit::nats::{NatsServer, Options};
use incumbent_testkit::wait::{self, GENEROUS};
use tokio::time::timeout;

pub(crate) const BUCKET: &str = "elections";
pub(crate) const KEY: &str = "jobs.nightly";
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// A server with a bucket, and a store open on it.
pub(crate) struct Bench {
    pub(crate) server: NatsServer,
    pub(crate) store: Nats,
    pub(crate) events: Events,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::with(&InitOptions::new().lease(LEASE)).await
    }

    pub(crate) async fn with(options: &InitOptions) -> Self {
        let server = NatsServer::start(Options::new());
        init(&settings(&server.url()), options).await.unwrap();
        let (store, events) = open(&settings(&server.url())).await;
        Self { server, store, events }
    }

    /// Another client's view of the same server.
    pub(crate) async fn jetstream(&self) -> jetstream::Context {
        jetstream(&self.server.url()).await
    }
}

pub(crate) fn settings(url: &str) -> NatsSettings {
    // The interval is short enough to wait until a silent connection is given up, and long enough that a busy machine
    // gives up none.
    NatsSettings::new(url, BUCKET).unwrap().fail_fast(true).ping_interval(Duration::from_secs(2))
}

pub(crate) async fn open(settings: &NatsSettings) -> (Nats, Events) {
    let events = Events::default();
    let store = within(Nats::open(&events.listen(settings), &Clock::system())).await.unwrap();
    (store, events)
}

pub(crate) async fn refusal(settings: &NatsSettings) -> incumbent::Error {
    within(Nats::open(settings, &Clock::system())).await.expect_err("the store was opened")
}

pub(crate) async fn jetstream(url: &str) -> jetstream::Context {
    jetstream::new(async_nats::connect(url).await.unwrap())
}

/// The reports of a store about its connection.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<ConnectionEvent>>>);

impl Events {
    pub(crate) fn listen(&self, settings: &NatsSettings) -> NatsSettings {
        let events = self.0.clone();
        settings.clone().on_event(move |event| events.lock().unwrap().push(event))
    }

    pub(crate) fn so_far(&self) -> Vec<ConnectionEvent> {
        self.0.lock().unwrap().clone()
    }

    /// The servers in the order of the connections to them.
    pub(crate) fn connected(&self) -> Vec<String> {
        let server = |event| match event {
            ConnectionEvent::Connected { server } => Some(server),
            _ => None,
        };
        self.so_far().into_iter().filter_map(server).collect()
    }

    pub(crate) fn count(&self, event: &ConnectionEvent) -> usize {
        self.so_far().iter().filter(|reported| *reported == event).count()
    }

    pub(crate) async fn wait_for(
        &self,
        what: &str,
        found: impl Fn(&ConnectionEvent) -> bool,
    ) -> ConnectionEvent {
        wait::until_some_async(what, GENEROUS, || async { self.so_far().into_iter().find(&found) }).await
    }
}

/// Fails if a call takes too long, because no call in these tests has to wait.
pub(crate) async fn within<F: Future>(call: F) -> F::Output {
    timeout(GENEROUS, call).await.unwrap_or_else(|_| panic!("no answer within {GENEROUS:?}"))
}

pub(crate) fn acquire(expect: Expect) -> Write {
    acquire_for(expect, LEASE)
}

pub(crate) fn acquire_for(expect: Expect, lease: Duration) -> Write {
    let headers = headers(&[("Incumbent-Lease", &lease.as_millis().to_string())]);
    Write {
        attempt: Attempt(1),
        expect,
        action: Action::Acquire(Put { value: "worker-1".into(), headers, lease }),
    }
}

pub(crate) fn release(expect: Expect) -> Write {
    Write {
        attempt: Attempt(2),
        expect,
        action: Action::Release { headers: headers(&[("Incumbent-Release", "0 9")]) },
    }
}

fn headers(more: &[(&str, &str)]) -> Headers {
    let nonce = ("Incumbent-Nonce", "000000000000000000000000000000aa.1");
    std::iter::once(&nonce)
        .chain(more)
        .map(|(name, text)| (name.to_string().into(), text.to_string()))
        .collect()
}

pub(crate) async fn applied(store: &Nats, key: &str, write: &Write) -> Revision {
    match within(store.write(key, write.clone())).await {
        Outcome::Applied { revision, .. } => revision,
        other => panic!("not applied: {other:?}"),
    }
}

pub(crate) async fn fault(store: &Nats, key: &str, write: &Write) -> Fault {
    match within(store.write(key, write.clone())).await {
        Outcome::Failed(fault) => fault,
        other => panic!("not failed: {other:?}"),
    }
}

pub(crate) async fn read(store: &Nats, key: &str) -> Entry {
    within(store.read(key)).await.unwrap()
}

pub(crate) async fn next(watch: &mut BoxStream<'static, Watched>) -> WatchEvent {
    next_or_end(watch).await.expect("the watch has ended")
}

/// The next change; `None` if the watch ends.
pub(crate) async fn next_or_end(watch: &mut BoxStream<'static, Watched>) -> Option<WatchEvent> {
    let change = async |item| match item {
        Watched::Entry(change) => Some(change),
        Watched::ShownAll(_) => None,
    };
    within(std::pin::pin!(watch.filter_map(change)).next()).await
}

//! The watch of a connection: of all keys, or of a few.
//!
//! A consumer of all keys receives every renewal of every election in the bucket. With ten thousand processes, each
//! campaigning in one election, that would be ten thousand times ten thousand messages in each renewal interval. So a
//! connection that needs few keys has a consumer for just those, and replaces it when it needs more.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use incumbent_core::session::Scope;
use incumbent_core::store::Fault;
use tokio::sync::watch;

use crate::wire::api::{Api, Failure};
use crate::wire::follow::{ConsumerMessage, Follow};
use incumbent_store::Watched;

/// The most keys in a consumer's filter. The limit is low because a server compares each message with every filter.
const FEW: usize = 8;

/// The keys that campaigns and observers of a connection need.
pub(super) struct Followed(Arc<watch::Sender<BTreeSet<String>>>);

impl Default for Followed {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(BTreeSet::new())))
    }
}

impl Followed {
    pub(super) fn follow(&self, key: &str) {
        self.0.send_if_modified(|keys| keys.insert(key.to_owned()));
    }

    /// Whether the next watch begins with a consumer of fewer keys.
    pub(super) fn unfollow(&self, key: &str) {
        self.0.send_if_modified(|keys| keys.remove(key));
    }

    /// Begins a watch of the followed keys, which grows as keys are added. If no key is followed, it watches all keys.
    pub(super) async fn watch(
        &self,
        api: &Arc<Api>,
        interval: Duration,
    ) -> Result<BoxStream<'static, Watched>, Fault> {
        let mut followed = self.0.subscribe();
        let scope = scope(&followed.borrow_and_update());
        let follow = Follow::begin(api, &scope, interval).await;
        let follow = follow.map_err(|failure| failure.fault(&api.bucket))?;
        let consumer = Consumer::new(follow, scope);
        let (api, sender) = (Arc::clone(api), Arc::clone(&self.0));
        let watching = Watching { api, interval, _sender: sender, followed, consumer, next: None };
        Ok(stream::unfold(watching, Watching::next).boxed())
    }
}

/// The elections that a consumer for these keys shows.
fn scope(keys: &BTreeSet<String>) -> Scope {
    match keys.len() {
        1..=FEW => Scope::Elections(keys.iter().cloned().collect()),
        _ => Scope::All,
    }
}

struct Watching {
    api: Arc<Api>,
    interval: Duration,
    followed: watch::Receiver<BTreeSet<String>>,
    /// Kept so that the watch outlives the handle that began it.
    _sender: Arc<watch::Sender<BTreeSet<String>>>,
    consumer: Consumer,
    /// The consumer that will replace the present one, while it is being created.
    next: Option<BoxFuture<'static, Result<Consumer, Failure>>>,
}

struct Consumer {
    scope: Scope,
    messages: BoxStream<'static, ConsumerMessage>,
    /// The number of entries from before the consumer's creation that have not been shown yet; `None` once the watch
    /// has reported that all have been shown.
    waiting: Option<u64>,
}

impl Consumer {
    fn new(follow: Follow, scope: Scope) -> Self {
        Self { scope, waiting: Some(follow.waiting()), messages: follow.into_stream() }
    }
}

impl Watching {
    async fn next(mut self) -> Option<(Watched, Self)> {
        loop {
            let consumer = &mut self.consumer;
            if consumer.waiting == Some(0) {
                consumer.waiting = None;
                return Some((Watched::ShownAll(consumer.scope.clone()), self));
            }
            tokio::select! {
                biased;
                // The previous consumer is dropped together with what it has not shown yet, because the new one shows
                // all present entries.
                created = created(&mut self.next) => (self.consumer, self.next) = (created.ok()?, None),
                changed = self.followed.changed(), if self.next.is_none() => {
                    changed.ok()?;
                    self.grow();
                }
                message = consumer.messages.next() => match message? {
                    ConsumerMessage::Entry { watched, pending } => {
                        consumer.waiting = consumer.waiting.map(|_| pending);
                        return Some((Watched::Entry(watched), self));
                    }
                    // Entries that were counted but not sent no longer exist.
                    ConsumerMessage::Idle => consumer.waiting = consumer.waiting.map(|_| 0),
                    ConsumerMessage::Stalled => {}
                },
            }
        }
    }

    /// Creates another consumer if the present consumer does not show all followed keys.
    fn grow(&mut self) {
        let keys = self.followed.borrow_and_update();
        let present = &self.consumer.scope;
        // The keys are not copied, because there may be many thousands of them.
        if *present == Scope::All || keys.iter().all(|key| present.contains(key)) {
            return;
        }
        let (api, scope, interval) = (Arc::clone(&self.api), scope(&keys), self.interval);
        let create = async move { Ok(Consumer::new(Follow::begin(&api, &scope, interval).await?, scope)) };
        self.next = Some(create.boxed());
    }
}

async fn created(
    next: &mut Option<BoxFuture<'static, Result<Consumer, Failure>>>,
) -> Result<Consumer, Failure> {
    match next {
        Some(next) => next.await,
        None => std::future::pending().await,
    }
}

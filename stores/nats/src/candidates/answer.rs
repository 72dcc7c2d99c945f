//! Answers requests for candidates, while this connection has candidates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Subscriber};
use futures_util::StreamExt;
use incumbent_core::Incarnation;
use incumbent_core::store::{Fault, FaultKind};
use tokio::task::JoinHandle;

use super::subjects::{calls, takes_answers};
use super::wire;
use crate::wire::bucket::Bucket;
use incumbent_store::Registry;

/// The longest answer in bytes. It is below the servers' default limit of 1 MiB, because renewals share the connection.
const LONGEST_ANSWER: usize = 64 * 1024;
/// The pause after each call, so that answers never delay renewals on this thread.
const PAUSE: Duration = Duration::from_millis(5);

/// A task that answers calls until this is dropped. The client renews the subscription on every new connection.
pub(crate) struct Answering(JoinHandle<()>);

impl Answering {
    /// Begins to answer calls from the registry, if they concern the current incarnation of the bucket.
    pub(crate) async fn begin(
        client: &Client,
        bucket: &Bucket,
        incarnation: &Arc<AtomicU64>,
        registry: &Registry,
    ) -> Result<Self, Fault> {
        let received = client.subscribe(calls(bucket)).await.map_err(|error| Fault {
            kind: FaultKind::Unreachable,
            detail: format!(
                "requests for candidates of the NATS bucket {:?} cannot be received: {error}",
                bucket.name
            ),
        })?;
        let answerer = Answerer {
            client: client.clone(),
            bucket: bucket.clone(),
            incarnation: Arc::clone(incarnation),
            registry: registry.clone(),
        };
        Ok(Self(tokio::spawn(answerer.run(received))))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Answerer {
    client: Client,
    bucket: Bucket,
    incarnation: Arc<AtomicU64>,
    registry: Registry,
}

impl Answerer {
    async fn run(self, mut received: Subscriber) {
        while let Some(call) = received.next().await {
            let Some(reply) = call.reply.filter(|reply| takes_answers(&self.bucket, reply)) else { continue };
            let incarnation = Incarnation(self.incarnation.load(Ordering::Relaxed));
            // An answer that the client queued while it was disconnected would come too late.
            if !wire::concerns(&call.payload, incarnation)
                || self.client.connection_state() != State::Connected
            {
                continue;
            }
            let limit = LONGEST_ANSWER.min(self.client.max_payload() / 2);
            for answer in wire::answers(&self.registry.list(), limit) {
                if self.client.publish(reply.clone(), answer).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

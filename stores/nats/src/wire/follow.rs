//! One consumer for many keys of a bucket.
//!
//! The client has an ordered consumer too, but that one repairs itself: after a gap or a restart it continues from the
//! last sequence that it saw. In a bucket that was deleted and created again that sequence means nothing, and the
//! watcher would never learn of the gap. So this consumer ends as soon as it cannot guarantee that it has seen every
//! change in order, and the driver begins another watch from the present entries.
//!
//! If a record is replaced before it has been sent, it is never sent, because the bucket holds only the newest record
//! of each key. That is not a gap, because the newest record follows.

use std::time::Duration;

use async_nats::header::NATS_LAST_CONSUMER;
use async_nats::{Client, HeaderValue, Message, StatusCode, Subscriber, jetstream};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use incumbent_core::session::Scope;
use incumbent_core::store::{Fault, FaultKind};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::api::{Api, Failure};
use super::message;
use crate::connection::{Link, NoAnswer};
use incumbent_store::{WatchEvent, request};

/// The longest heartbeat interval. A longer one would leave a dead consumer unnoticed for long.
const LONGEST_HEARTBEAT: Duration = Duration::from_secs(5);
/// The shortest heartbeat interval: twice the server's minimum of 100 ms.
const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(200);
/// The number of missed heartbeats after which the consumer counts as dead.
const MISSED_HEARTBEATS: u32 = 3;
/// The header with the subject on which to answer a missed flow control request.
const STALLED: &str = "Nats-Consumer-Stalled";
/// The time after which the server may remove an unused consumer.
const INACTIVE: Duration = Duration::from_secs(5);

/// A consumer and its position.
pub(crate) struct Follow {
    subscriber: Subscriber,
    /// A context of the client's messages, taken from the last message for the next one.
    jetstream: Option<jetstream::Context>,
    client: Client,
    prefix: String,
    link: watch::Receiver<Link>,
    connection: u64,
    order: Order,
    /// The number of entries that were waiting when the consumer was created.
    waiting: u64,
    silence_limit: Duration,
    last_message: Instant,
}

/// A message of the consumer.
#[allow(clippy::large_enum_variant, reason = "only one exists at a time, and it is passed on immediately")]
pub(crate) enum ConsumerMessage {
    /// An entry, and the number of entries that were still waiting when it was sent.
    Entry { watched: WatchEvent, pending: u64 },
    /// A heartbeat, sent while nothing is left to deliver.
    Idle,
    /// A heartbeat or a flow control request, sent while more is left to deliver.
    Stalled,
}

/// The request for the newest message of every key, and then for every change.
#[derive(Serialize)]
struct Create<'a> {
    stream_name: &'a str,
    config: ConsumerConfig<'a>,
}

#[derive(Serialize)]
struct ConsumerConfig<'a> {
    deliver_subject: &'a str,
    deliver_policy: &'a str,
    filter_subjects: Vec<String>,
    ack_policy: &'a str,
    replay_policy: &'a str,
    max_deliver: u32,
    flow_control: bool,
    idle_heartbeat: u64,
    inactive_threshold: u64,
    num_replicas: u32,
    mem_storage: bool,
}

#[derive(Deserialize)]
struct Created {
    #[serde(default)]
    num_pending: u64,
}

impl Follow {
    /// Creates the consumer of all keys, or of some elections and an operator's requests about them. A silent consumer
    /// should be noticed within about `interval`.
    pub(crate) async fn begin(api: &Api, scope: &Scope, interval: Duration) -> Result<Self, Failure> {
        if !api.connection.is_usable() {
            return Err(Failure::NoAnswer(NoAnswer::NotConnected));
        }
        let heartbeat = interval.clamp(SHORTEST_HEARTBEAT, LONGEST_HEARTBEAT);
        let connection = api.connection.number();
        let client = api.connection.client();
        let inbox = client.new_inbox();
        let subscriber = client
            .subscribe(inbox.clone())
            .await
            .map_err(|error| Failure::Unreadable(format!("the inbox {inbox}: {error}")))?;
        let filters = match scope {
            Scope::All => vec![api.bucket.subject(">")],
            Scope::Elections(keys) => {
                let filters = keys.iter().flat_map(|key| [key.clone(), request::subject(key)]);
                filters.map(|key| api.bucket.subject(&key)).collect()
            }
        };
        let request = Create {
            stream_name: &api.bucket.stream,
            config: ConsumerConfig {
                deliver_subject: &inbox,
                deliver_policy: "last_per_subject",
                filter_subjects: filters,
                ack_policy: "none",
                replay_policy: "instant",
                max_deliver: 1,
                flow_control: true,
                idle_heartbeat: nanos(heartbeat),
                inactive_threshold: nanos(INACTIVE),
                // The consumer ends with its server. The driver notices that and creates another.
                num_replicas: 1,
                mem_storage: true,
            },
        };
        let created: Created = api.ask(&format!("CONSUMER.CREATE.{}", api.bucket.stream), &request).await?;
        Ok(Self {
            subscriber,
            jetstream: Some(api.connection.jetstream().clone()),
            client: client.clone(),
            prefix: api.bucket.prefix.clone(),
            link: api.connection.link(),
            connection,
            order: Order::default(),
            waiting: created.num_pending,
            silence_limit: heartbeat * MISSED_HEARTBEATS,
            last_message: Instant::now(),
        })
    }

    /// The consumer's next message; `None` once the order is no longer certain.
    async fn next(&mut self) -> Option<ConsumerMessage> {
        let connection = self.connection;
        let message = tokio::select! {
            biased;
            message = self.subscriber.next() => message?,
            _ = self.link.wait_for(|link| link.is_over(connection)) => return None,
            () = sleep_until(self.last_message + self.silence_limit) => return None,
        };
        self.last_message = Instant::now();
        match message.status {
            None => self.deliver(message),
            Some(StatusCode::IDLE_HEARTBEAT) => self.on_control(&message).await,
            // This happens, for instance, if the consumer was deleted.
            Some(_) => None,
        }
    }

    fn deliver(&mut self, message: Message) -> Option<ConsumerMessage> {
        let message = jetstream::Message { message, context: self.jetstream.take()? };
        let info = message.info().ok()?;
        let (sequence, in_stream, pending) = (info.consumer_sequence, info.stream_sequence, info.pending);
        self.order.takes(sequence).then_some(())?;
        let key = message.subject.strip_prefix(&self.prefix)?.to_string();
        let entry = message::decode(in_stream, message.headers.as_ref(), &message.payload);
        self.jetstream = Some(message.context);
        Some(ConsumerMessage::Entry { watched: WatchEvent { key, entry }, pending })
    }

    /// Answers a flow control request, or compares a heartbeat's count of sent messages with those that have arrived.
    async fn on_control(&mut self, message: &Message) -> Option<ConsumerMessage> {
        let headers = message.headers.as_ref();
        let stalled = headers.and_then(|headers| headers.get(STALLED)).map(|subject| subject.as_str().into());
        if let Some(subject) = message.reply.clone().or(stalled) {
            self.client.publish(subject, Bytes::new()).await.ok()?;
            return Some(ConsumerMessage::Stalled);
        }
        let sent = headers.and_then(|headers| headers.get(NATS_LAST_CONSUMER)).map(HeaderValue::as_str);
        match sent.and_then(|text| text.parse().ok()) {
            Some(sent) => self.order.is_complete(sent).then_some(ConsumerMessage::Idle),
            None => Some(ConsumerMessage::Stalled),
        }
    }

    /// Returns the newest entry of every key, in the order of the keys.
    pub(crate) async fn collect(mut self) -> Result<Vec<WatchEvent>, Fault> {
        let mut newest = std::collections::BTreeMap::new();
        let mut waiting = self.waiting;
        while waiting > 0 {
            match self.next().await {
                Some(ConsumerMessage::Entry { watched, pending }) => {
                    waiting = pending;
                    newest.insert(watched.key, watched.entry);
                }
                Some(ConsumerMessage::Stalled) => {}
                // The counted entries that have not been sent no longer exist: they expired or were removed.
                Some(ConsumerMessage::Idle) => break,
                None => {
                    let detail = "the connection to NATS broke before every key was listed".to_string();
                    return Err(Fault { kind: FaultKind::Unreachable, detail });
                }
            }
        }
        Ok(newest.into_iter().map(|(key, entry)| WatchEvent { key, entry }).collect())
    }

    /// The number of entries that existed when the consumer was created.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// The messages as a stream.
    pub(crate) fn into_stream(self) -> BoxStream<'static, ConsumerMessage> {
        stream::unfold(self, |mut follow| async { Some((follow.next().await?, follow)) }).boxed()
    }
}

/// The deliveries of a consumer, which numbers them from 1.
#[derive(Debug, Default)]
struct Order {
    newest: u64,
}

impl Order {
    /// Accepts the next delivery. Returns false for any other number.
    fn takes(&mut self, number: u64) -> bool {
        let next = number == self.newest + 1;
        if next {
            self.newest = number;
        }
        next
    }

    /// Returns true if all `sent` deliveries of a heartbeat have arrived.
    fn is_complete(&self, sent: u64) -> bool {
        sent == self.newest
    }
}

impl Link {
    /// Returns true if, by the events so far, the connection with that number has ended.
    fn is_over(self, connection: u64) -> bool {
        self.number > connection || (self.number == connection && !self.up)
    }
}

fn nanos(span: Duration) -> u64 {
    // Cannot overflow: all spans here are constants of a few seconds.
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_are_taken_in_order_and_none_may_be_missing_or_come_twice() {
        let mut order = Order::default();
        assert!(order.takes(1) && order.takes(2));
        assert!(!order.takes(2));
        assert!(!order.takes(4));
        assert!(order.takes(3));
    }

    #[test]
    fn a_heartbeat_reveals_a_missing_delivery() {
        let mut order = Order::default();
        assert!(order.is_complete(0) && !order.is_complete(1));
        order.takes(1);
        assert!(order.is_complete(1));
    }

    #[test]
    fn a_connection_is_over_when_it_is_down_or_another_one_is_ready() {
        assert!(!Link { number: 2, up: true }.is_over(2));
        assert!(Link { number: 2, up: false }.is_over(2));
        assert!(Link { number: 3, up: true }.is_over(2));
        assert!(!Link { number: 1, up: false }.is_over(2), "the second event has not arrived yet");
    }
}

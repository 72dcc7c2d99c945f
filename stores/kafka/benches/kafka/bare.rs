//! Two bare consumers of one group. They show the least time that a hand-over can take: one consumer closes, and the
//! other is assigned the partition.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};

use crate::{HEARTBEAT, SESSION, SETTLED};

/// How long an assignment may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Two consumers: one owns the partition, and the other waits.
pub(crate) struct Pair {
    servers: String,
    topic: String,
    owner: Member,
    waiter: Member,
}

/// A consumer that a separate thread polls until it is closed.
struct Member {
    is_over: Arc<AtomicBool>,
    assigned: Receiver<(Instant, usize)>,
    polling: Option<JoinHandle<()>>,
}

/// Reports each assignment with the number of its partitions.
struct Assignments(Sender<(Instant, usize)>);

impl ClientContext for Assignments {}

impl ConsumerContext for Assignments {
    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(partitions) = rebalance {
            // The pair may be gone.
            let _ = self.0.send((Instant::now(), partitions.count()));
        }
    }
}

impl Member {
    fn join(servers: &str, topic: &str) -> Self {
        let (sender, assigned) = channel();
        let consumer: BaseConsumer<Assignments> = ClientConfig::new()
            .set("bootstrap.servers", servers)
            .set("group.id", topic)
            .set("enable.auto.commit", "false")
            .set("auto.offset.reset", "latest")
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("session.timeout.ms", SESSION.as_millis().to_string())
            .set("heartbeat.interval.ms", HEARTBEAT.as_millis().to_string())
            .create_with_context(Assignments(sender))
            .expect("sound settings");
        consumer.subscribe(&[topic]).expect("a sound topic");
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let polling = std::thread::spawn(move || {
            while !over.load(Ordering::Acquire) {
                // The topic is empty.
                drop(consumer.poll(Duration::from_millis(5)));
            }
            // Dropping the consumer closes it, which leaves the group.
        });
        Self { is_over, assigned, polling: Some(polling) }
    }

    /// Waits for an assignment with this number of partitions, and returns its instant.
    fn await_assignment(&self, partitions: usize) -> Instant {
        loop {
            let (at, count) = self.assigned.recv_timeout(LIMIT).expect("an assignment in time");
            if count == partitions {
                return at;
            }
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(polling) = self.polling.take() {
            // A thread that panicked has already reported it.
            let _ = polling.join();
        }
    }
}

impl Pair {
    pub(crate) fn start(servers: &str, topic: &str) -> Self {
        let owner = Member::join(servers, topic);
        owner.await_assignment(1);
        let waiter = Member::join(servers, topic);
        waiter.await_assignment(0);
        std::thread::sleep(HEARTBEAT + SETTLED);
        Self { servers: servers.into(), topic: topic.into(), owner, waiter }
    }

    /// Hands over once, and returns the time from the close of one consumer to the assignment of the other. Then a new
    /// consumer joins.
    pub(crate) fn hand_over(&mut self, phase: Duration) -> Duration {
        std::thread::sleep(phase);
        // Assignments before the close are part of the earlier rebalance.
        while self.waiter.assigned.try_recv().is_ok() {}
        let began = Instant::now();
        self.owner.is_over.store(true, Ordering::Release);
        let took = self.waiter.await_assignment(1) - began;
        self.owner = Member::join(&self.servers, &self.topic);
        std::mem::swap(&mut self.owner, &mut self.waiter);
        self.waiter.await_assignment(0);
        std::thread::sleep(HEARTBEAT + SETTLED);
        took
    }
}

//! A producer that is polled on its own thread. `rdkafka`'s own threaded producer panics if the operating system
//! refuses to start that thread.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::producer::BaseProducer;

use super::connecting::Reports;
use incumbent_store::{Error, ErrorKind, Result, threads};

/// The longest wait for an event, and so the longest time from the drop of the producer to the end of its thread.
const POLL: Duration = Duration::from_millis(100);

/// A producer and its thread.
pub(super) struct Polled {
    producer: Arc<BaseProducer<Reports>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Polled {
    /// # Errors
    /// `InvalidSetting` for settings that librdkafka refuses, `StoreUnavailable` without a thread.
    pub(super) fn new(settings: &ClientConfig) -> Result<Self> {
        can_start_client("this store")?;
        let made: KafkaResult<BaseProducer<_>> = settings.create_with_context(Reports::default());
        let producer = Arc::new(made.map_err(|error| no_client("this store", &error))?);
        let ended = Arc::new(AtomicBool::new(false));
        let poll = {
            let (producer, ended) = (Arc::clone(&producer), Arc::clone(&ended));
            move || {
                while !ended.load(Ordering::Relaxed) {
                    producer.poll(POLL);
                }
            }
        };
        let thread = Builder::new().name("incumbent-kafka".into()).spawn(poll);
        let thread = thread.map_err(|error| threads::refused("this store", Some(error)))?;
        Ok(Self { producer, ended, thread: Some(thread) })
    }
}

impl Deref for Polled {
    type Target = BaseProducer<Reports>;

    fn deref(&self) -> &Self::Target {
        &self.producer
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread ends after its current poll, unless it has panicked.
            let _ = thread.join();
        }
    }
}

/// The threads of a new client, with some to spare: the client's own, one for each known broker including the
/// coordinator, and our thread, which polls the client.
const THREADS: usize = 8;

/// Makes sure that a client can start its threads; otherwise librdkafka ends the program
/// (`rd_kafka_broker_add_logical`).
pub(super) fn can_start_client(what: &str) -> Result<()> {
    threads::can_start(THREADS, what)
}

/// The error if librdkafka creates no client.
pub(super) fn no_client(what: &str, error: &KafkaError) -> Error {
    let text = error.to_string();
    // "Failed to create thread: Resource temporarily unavailable (11)", as at a limit on processes.
    if text.contains("create thread") || text.contains("broker thread") {
        return threads::refused(what, None);
    }
    Error::new(ErrorKind::InvalidSetting, format!("librdkafka refuses the settings of {what}: {text}"))
}

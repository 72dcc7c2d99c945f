//! The reader of a connection: partition zero of the leader topics, for the campaigns and for observers.
//!
//! One client that is never a member of any group. A topic is read from its beginning for each campaign that enters, so
//! that every campaign reads all of it; a campaign that had read it before takes that for a gap, which costs it a wait at
//! most.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use incumbent_core::induction::{Kind, Record, Shown, read};
use incumbent_core::record::{self, Entry};
use incumbent_core::store::Fault;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::cluster::{Cluster, is_missing, time_of_day};
use super::native::{Consumer, DroppedApart, Event};
use crate::store::EntryInfo;
use crate::{Error, ErrorKind};

/// The longest wait for an event.
const POLL: Duration = Duration::from_millis(500);
/// The pause before a topic that could not be read is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// The lease of other software: goNELI's default heartbeat timeout.
const FOREIGN_LEASE: Duration = Duration::from_secs(5);
/// A heartbeat of a former time counts as a leader's until its lease and this are over by the wall clocks.
const SLACK: Duration = Duration::from_secs(1);

/// A change of an election's log.
pub(crate) struct Change {
    pub(crate) election: String,
    pub(crate) shown: Shown,
}

/// The reader of a connection.
pub(crate) struct Reader {
    /// Owned by its thread.
    consumer: Weak<DroppedApart<Consumer>>,
    shared: Arc<Mutex<Logs>>,
}

#[derive(Default)]
struct Logs {
    /// By topic.
    logs: HashMap<String, Log>,
    watch: Option<UnboundedSender<Change>>,
    closed: bool,
}

/// A log, as far as it was read.
struct Log {
    election: String,
    /// When to begin from the beginning.
    restart: Option<Instant>,
    /// Read to its end at least once since.
    caught_up: bool,
    leader: Option<Leader>,
    waiting: Vec<oneshot::Sender<()>>,
}

#[derive(Clone)]
struct Leader {
    record: record::Record,
    /// The time of day at which it was written, by its writer's clock or the broker's.
    written: Option<Duration>,
    /// When it was read.
    seen: Instant,
}

impl Reader {
    /// # Errors
    /// `InvalidSetting` for settings that the client refuses, `Broken` without a thread.
    pub(crate) fn open(cluster: &Cluster) -> crate::Result<Self> {
        let consumer = Consumer::new(&cluster.settings.reader("incumbent")).map_err(|error| {
            let message = format!("librdkafka refuses the settings of a reader: {error}");
            Error::new(ErrorKind::InvalidSetting, message)
        })?;
        let (consumer, shared) = (Arc::new(DroppedApart::new(consumer)), Arc::<Mutex<Logs>>::default());
        let polled = Arc::downgrade(&consumer);
        let polling = Polling { consumer, shared: Arc::clone(&shared) };
        let thread = std::thread::Builder::new().name("incumbent-reader".into());
        thread.spawn(move || polling.run()).map_err(|error| {
            let message = "the operating system refuses a thread for a reader; raise the limit of threads";
            Error::new(ErrorKind::Broken, message).caused_by(error)
        })?;
        Ok(Self { consumer: polled, shared })
    }

    /// Reads the election's topic from its beginning.
    pub(crate) fn follow(&self, election: &str, topic: &str) {
        let mut logs = lock(&self.shared);
        let log = logs.logs.entry(topic.to_owned()).or_insert_with(|| Log::new(election));
        (log.restart, log.caught_up) = (Some(Instant::now()), false);
        drop(logs);
        self.wake();
    }

    /// The changes of all logs from now on.
    pub(crate) fn watch(&self) -> UnboundedReceiver<Change> {
        let (sender, receiver) = unbounded_channel();
        lock(&self.shared).watch = Some(sender);
        receiver
    }

    /// The leader that was read last. A topic that is not read yet is read from its beginning, and from then on; one that
    /// does not exist is read once it does.
    pub(crate) async fn entry(
        &self,
        cluster: &Arc<Cluster>,
        election: &str,
    ) -> Result<(Entry, Option<EntryInfo>), Fault> {
        let topic = &cluster.settings.topic_of(election);
        if !lock(&self.shared).logs.get(topic).is_some_and(|log| log.caught_up) {
            let asked = topic.clone();
            match cluster.ask(move |cluster| cluster.describe_topic(&asked)).await {
                Err(fault) if is_missing(&fault) => {
                    if !lock(&self.shared).logs.contains_key(topic) {
                        self.follow(election, topic);
                    }
                    return Ok((Entry::Vacant, None));
                }
                described => described?,
            };
        }
        Ok(self.read(election, topic).await)
    }

    /// As [`entry`](Self::entry), for a topic that exists.
    pub(crate) async fn read(&self, election: &str, topic: &str) -> (Entry, Option<EntryInfo>) {
        let waiting = {
            let mut logs = lock(&self.shared);
            let log = logs
                .logs
                .entry(topic.to_owned())
                .or_insert_with(|| Log { restart: Some(Instant::now()), ..Log::new(election) });
            (!log.caught_up).then(|| {
                let (sender, receiver) = oneshot::channel();
                log.waiting.push(sender);
                receiver
            })
        };
        if let Some(waiting) = waiting {
            self.wake();
            // Dropped with a reader that has closed.
            let _ = waiting.await;
        }
        let logs = lock(&self.shared);
        let leader = logs.logs.get(topic).and_then(|log| log.leader.clone());
        match leader {
            None => (Entry::Vacant, None),
            // It wrote nothing for its lease.
            Some(Leader { record, seen, .. }) if seen.elapsed() > record.lease.unwrap_or(FOREIGN_LEASE) => {
                (Entry::Vacant, None)
            }
            Some(Leader { record, written, .. }) => {
                let ago = written.map(|written| time_of_day().saturating_sub(written));
                let info = ago.map(|ago| EntryInfo { revision: record.revision, ago });
                (Entry::Live(record), info)
            }
        }
    }

    fn wake(&self) {
        if let Some(consumer) = self.consumer.upgrade() {
            consumer.wake();
        }
    }

    pub(crate) fn close(&self) {
        let mut logs = lock(&self.shared);
        (logs.closed, logs.watch) = (true, None);
        logs.logs.clear();
        drop(logs);
        self.wake();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.close();
    }
}

struct Polling {
    consumer: Arc<DroppedApart<Consumer>>,
    shared: Arc<Mutex<Logs>>,
}

impl Polling {
    fn run(self) {
        loop {
            let mut logs = lock(&self.shared);
            if logs.closed {
                break;
            }
            let now = Instant::now();
            let mut next = now + POLL;
            for (topic, log) in &mut logs.logs {
                match log.restart {
                    Some(at) if at <= now => {
                        log.restart = None;
                        self.consumer.read_from_beginning(topic);
                    }
                    Some(at) => next = next.min(at),
                    None => {}
                }
            }
            drop(logs);
            if let Some(event) = self.consumer.poll(next.saturating_duration_since(now)) {
                lock(&self.shared).handle(event);
            }
        }
        // A reader is no member: there is nothing to leave.
        drop(self.consumer);
    }
}

impl Logs {
    fn handle(&mut self, event: Event) {
        match event {
            Event::Record { topic, record, written } => {
                let Some(log) = self.logs.get_mut(&topic) else { return };
                log.take_in(&record, written.map(Duration::from_millis));
                self.show(&topic, Shown::Record(record));
            }
            Event::End { topic } => {
                if let Some(log) = self.logs.get_mut(&topic) {
                    log.at_end();
                }
            }
            Event::Error { error, topic: Some(topic), .. } => {
                tracing::debug!(topic, "a reader: {}: {}", error.name, error.text);
                let Some(log) = self.logs.get_mut(&topic) else { return };
                if read(&error.name).is_some() {
                    log.restart.get_or_insert(Instant::now() + PAUSE);
                    // The place is lost; a topic that is missing has no leader.
                    log.leader = None;
                    log.at_end();
                    self.show(&topic, Shown::Gap);
                }
            }
            Event::Error { error, .. } => tracing::debug!("a reader: {}: {}", error.name, error.text),
            Event::Assign { .. } | Event::Revoke { .. } | Event::Committed { .. } | Event::Nothing => {}
        }
    }

    fn show(&mut self, topic: &str, shown: Shown) {
        let Some((log, watch)) = self.logs.get(topic).zip(self.watch.as_ref()) else { return };
        // A watch that has ended is replaced by the next.
        let _ = watch.send(Change { election: log.election.clone(), shown });
    }
}

impl Log {
    fn new(election: &str) -> Self {
        Self { election: election.into(), restart: None, caught_up: false, leader: None, waiting: Vec::new() }
    }

    /// The leader is who last wrote that it leads, as campaigns read it.
    fn take_in(&mut self, record: &Record, written: Option<Duration>) {
        let nonce = |write_id: Option<record::WriteId>| write_id.map(|write_id| write_id.nonce);
        let leads = record.write_id.is_none() || record.term_info.is_some_and(|info| info.led_for.is_some());
        match record.kind {
            Kind::Heartbeat if leads => {
                let record = record::Record {
                    revision: record.offset,
                    candidate: record.name.clone(),
                    write_id: record.write_id,
                    lease: Some(record.lease.unwrap_or(FOREIGN_LEASE)),
                    term_info: record.term_info,
                    metadata: record.metadata.clone(),
                    oversize: None,
                };
                self.leader = Some(Leader { record, written, seen: Instant::now() });
            }
            Kind::Release { .. } => {
                let of = |leader: &Leader| nonce(leader.record.write_id) == nonce(record.write_id);
                self.leader.take_if(|leader| of(leader));
            }
            _ => {}
        }
    }

    /// What was read up to here is of a former time: a leader whose lease is over by now is none.
    fn at_end(&mut self) {
        if !std::mem::replace(&mut self.caught_up, true) {
            self.leader.take_if(|leader| {
                let lease = leader.record.lease.unwrap_or(FOREIGN_LEASE) + SLACK;
                leader.written.is_some_and(|written| written + lease < time_of_day())
            });
        }
        for waiting in self.waiting.drain(..) {
            // A caller that no longer waits needs no answer.
            let _ = waiting.send(());
        }
    }
}

/// Never held while the client is asked.
fn lock(logs: &Mutex<Logs>) -> MutexGuard<'_, Logs> {
    logs.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent_core::Revision;
    use incumbent_core::record::{Attempt, Nonce, TermInfo, WriteId};
    use incumbent_core::{Incarnation, Token};

    fn record(author: u128, kind: Kind, leads: bool) -> Record {
        let token = Token { incarnation: Incarnation(1), sequence: Revision(2) };
        Record {
            offset: Revision(4),
            name: format!("n{author}"),
            write_id: (author > 0).then_some(WriteId { nonce: Nonce(author), attempt: Attempt(1) }),
            kind,
            lease: None,
            term_info: Some(TermInfo { token, led_for: leads.then_some(Duration::ZERO) }),
            topic: None,
            metadata: Vec::new(),
        }
    }

    fn name(log: &Log) -> Option<&str> {
        log.leader.as_ref().map(|leader| leader.record.candidate.as_str())
    }

    #[test]
    fn the_leader_is_who_last_wrote_that_it_leads() {
        let mut log = Log::new("jobs");
        log.take_in(&record(1, Kind::Claim, false), None);
        log.take_in(&record(1, Kind::Heartbeat, false), None);
        assert_eq!(name(&log), None);
        log.take_in(&record(1, Kind::Heartbeat, true), None);
        log.take_in(&record(2, Kind::Release { proven: Revision(1) }, false), None);
        assert_eq!(name(&log), Some("n1"));
        log.take_in(&record(1, Kind::Release { proven: Revision(1) }, false), None);
        assert_eq!(name(&log), None);
        log.take_in(&record(0, Kind::Heartbeat, false), None);
        assert_eq!(name(&log), Some("n0"), "of goNELI's members only the owner writes");
    }

    #[test]
    fn a_leader_of_a_former_time_is_none_once_the_end_is_read_for_the_first_time() {
        let old = Some(time_of_day().saturating_sub(Duration::from_secs(60)));
        let mut log = Log::new("jobs");
        log.take_in(&record(1, Kind::Heartbeat, true), old);
        log.at_end();
        assert_eq!(name(&log), None);
        log.take_in(&record(1, Kind::Heartbeat, true), old);
        log.at_end();
        assert_eq!(name(&log), Some("n1"), "read as it was written, whatever its writer's clock");
    }
}

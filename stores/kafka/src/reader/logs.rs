//! The logs of a reader: the offset from which each is read, the client that reads it, and when another client must.
//!
//! This module queries neither clients nor brokers.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use incumbent_core::induction::{Shown, TopicId, read};
use incumbent_core::record::Entry;
use incumbent_core::store::{Fault, FaultKind};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::log::{ClientId, Log, Reading, TOLERANCE};
use crate::cluster::Extent;
use crate::faults::{is_missing, of_client};
use crate::native::Event;
use incumbent_store::EntryInfo;

/// The pause before an unreadable topic is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// The time without a new record after which the brokers are asked for a log's end, because its client may be showing
/// nothing. A leader with a usual lease renews more often than this.
const QUIET: Duration = Duration::from_secs(10);
/// The time for which records that have been read can answer an observer. Without it, every record that an observer is
/// shown would make it ask the brokers again.
const LATELY: Duration = Duration::from_secs(1);
/// The time after which an unanswered query is repeated. Longer than the limit of a query to the brokers.
const UNANSWERED: Duration = Duration::from_secs(15);

/// A change of an election's log.
pub(crate) struct Change {
    pub(crate) election: String,
    pub(crate) shown: Shown,
}

/// An order to the thread of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Ask the brokers where the log begins and ends, and answer with [`Logs::answered`].
    Ask { topic: String, within: Option<Duration> },
    /// Read the log from this offset on.
    Read { topic: String, from: u64 },
    /// Create another client, which takes the logs that need a client.
    AddClient,
}

/// The logs, by topic.
#[derive(Default)]
pub(super) struct Logs {
    logs: HashMap<String, Log>,
    pub(super) watch: Option<UnboundedSender<Change>>,
    clients: Vec<ClientId>,
    closed: bool,
}

impl Logs {
    // ---- clients ----

    /// Adds a client, which takes the logs that need one.
    pub(super) fn add_client(&mut self) -> ClientId {
        let id = ClientId(self.clients.last().map_or(0, |newest| newest.0 + 1));
        self.clients.push(id);
        for log in self.logs.values_mut().filter(|log| log.needs_client()) {
            log.client = id;
        }
        id
    }

    pub(super) fn remove_client(&mut self, id: ClientId) {
        self.clients.retain(|other| *other != id);
    }

    /// Whether this client reads a log, or will read the next one.
    pub(super) fn needs(&self, client: ClientId) -> bool {
        let reads = || self.logs.values().any(|log| log.client == client);
        !self.closed && (self.clients.last() == Some(&client) || reads())
    }

    pub(super) fn is_read_by(&self, topic: &str, client: ClientId) -> bool {
        self.logs.get(topic).is_some_and(|log| log.client == client && !log.needs_client())
    }

    fn log(&mut self, election: &str, topic: &str, now: Instant) -> &mut Log {
        let newest = self.clients.last().copied().unwrap_or_default();
        self.logs.entry(topic.to_owned()).or_insert_with(|| Log::new(election, newest, now))
    }

    /// Gives a log to a client that has never read it, if there is such a client.
    fn change_client(&mut self, topic: &str, now: Instant) {
        let newest = self.clients.last().copied();
        let Some(log) = self.logs.get_mut(topic) else { return };
        log.give_up_client(now);
        if let Some(newest) = newest.filter(|newest| log.barred < Some(*newest)) {
            log.client = newest;
        }
    }

    /// The orders for this client's thread, and the instant at which to ask for more.
    pub(super) fn orders(&mut self, client: ClientId, now: Instant) -> (Vec<Order>, Option<Instant>) {
        let own = |log: &Log| log.client == client && !log.needs_client();
        let overdue = |log: &Log| log.due.is_some_and(|(_, by)| by <= now);
        let withheld: Vec<_> = self.logs.iter().filter(|(_, log)| own(log) && overdue(log)).collect();
        let withheld: Vec<_> = withheld.into_iter().map(|(topic, _)| topic.clone()).collect();
        for topic in withheld {
            tracing::warn!(
                topic,
                "the client shows no records of a topic that has some; using another client"
            );
            self.change_client(&topic, now);
        }
        let (mut orders, mut next) = (Vec::new(), None::<Instant>);
        for (topic, log) in self.logs.iter_mut().filter(|(_, log)| log.client == client) {
            if log.needs_client() {
                if !orders.contains(&Order::AddClient) {
                    orders.push(Order::AddClient);
                }
                continue;
            }
            let mut ask = |log: &mut Log, within| {
                log.asked = Some((now, log.next));
                orders.push(Order::Ask { topic: topic.clone(), within });
            };
            let asked_at = log.asked.map(|(at, _)| at);
            match log.reading {
                Reading::Begins(at) if at <= now => {
                    log.reading = Reading::Asking;
                    ask(log, log.within());
                }
                Reading::Asking if asked_at.is_none_or(|at| at + UNANSWERED <= now) => ask(log, log.within()),
                Reading::From(from) => {
                    log.reading = Reading::Follows;
                    orders.push(Order::Read { topic: topic.clone(), from });
                }
                Reading::Follows if asked_at.unwrap_or(log.read_at) + QUIET <= now => ask(log, None),
                Reading::Begins(_) | Reading::Asking | Reading::Follows => {}
            }
            let at = match log.reading {
                Reading::Begins(at) => Some(at),
                Reading::Asking | Reading::From(_) => None,
                Reading::Follows => Some(log.read_at + QUIET),
            };
            let due = log.due.map(|(_, by)| by);
            next = [next, at.filter(|at| *at > now), due].into_iter().flatten().min();
        }
        (orders, next)
    }

    // ---- questions and answers ----

    /// Enters a campaign with this lease, which will be shown all that it needs of the log.
    pub(super) fn follow(&mut self, election: &str, topic: &str, lease: Duration, now: Instant) {
        let log = self.log(election, topic, now);
        log.lease = log.lease.max(Some(lease));
        (log.reading, log.asked) = (Reading::Begins(now), None);
    }

    /// Records the topic's id. If the topic had a different id before, another client reads it, beginning with its
    /// newest records.
    pub(super) fn identified(&mut self, topic: &str, id: TopicId, now: Instant) {
        let Some(log) = self.logs.get_mut(topic) else { return };
        if log.id.replace(id).is_some_and(|known| known != id) {
            log.lose_place(now);
            tracing::debug!(topic, "the topic was recreated; using another client");
            self.change_client(topic, now);
        }
    }

    /// Reports that a campaign of this connection appended a record, which must be shown within a lease.
    pub(super) fn expect(&mut self, topic: &str, offset: u64, lease: Duration, now: Instant) {
        if let Some(log) = self.logs.get_mut(topic).filter(|log| log.reading == Reading::Follows) {
            // A tolerance above the first means that the previous client showed nothing either, so this user may lack
            // permission to read the topic.
            let within = if log.tolerance > TOLERANCE { lease.max(log.tolerance) } else { lease };
            log.expect(offset, now + within);
        }
    }

    /// Answers a caller that asks for the leader, after the log's end was queried. If the log has not been read up to
    /// that end, returns what the caller must wait for.
    ///
    /// # Errors
    /// The log's end is not known.
    pub(super) fn question(
        &mut self,
        election: &str,
        topic: &str,
        extent: Result<Extent, Fault>,
        now: Instant,
    ) -> Result<Option<oneshot::Receiver<Result<(), Fault>>>, Fault> {
        if self.closed {
            let detail = "the store was closed".into();
            return Err(Fault { kind: FaultKind::Unreachable, detail });
        }
        self.log(election, topic, now);
        let extent = match extent {
            Ok(extent) => extent,
            Err(fault) if is_missing(&fault) => {
                self.is_missing(topic, now);
                return Ok(None);
            }
            Err(fault) => return Err(fault),
        };
        if let Some(id) = extent.id {
            self.identified(topic, id, now);
        }
        let log = self.log(election, topic, now);
        if matches!(log.reading, Reading::Begins(_)) && log.lease.is_none() && !log.needs_client() {
            log.begin(&extent, now);
        }
        if log.is_read_up_to(extent.high) {
            return Ok(None);
        }
        if log.reading == Reading::Follows {
            log.expect_end(extent.high, now);
        }
        Ok(Some(log.wait(extent.high)))
    }

    /// The answer to [`Order::Ask`].
    pub(super) fn answered(&mut self, topic: &str, extent: Result<Extent, Fault>, now: Instant) {
        let Some(log) = self.logs.get_mut(topic) else { return };
        let Some((_, next)) = log.asked.take() else { return };
        let extent = match extent {
            Ok(extent) => extent,
            Err(fault) if is_missing(&fault) => return self.is_missing(topic, now),
            Err(fault) => {
                tracing::debug!(topic, "cannot find the end of a log: {fault}");
                if log.reading == Reading::Asking {
                    log.reading = Reading::Begins(now + PAUSE);
                    log.answer(&Err(fault));
                } else {
                    log.read_at = now;
                }
                return;
            }
        };
        let known = log.id;
        if let Some(id) = extent.id {
            self.identified(topic, id, now);
        }
        let Some(log) = self.logs.get_mut(topic).filter(|log| !log.needs_client()) else { return };
        let is_another = known.is_some() && extent.id.is_some() && known != extent.id;
        if is_another {
            return;
        }
        let is_gap = match log.reading {
            Reading::Asking => log.begin(&extent, now),
            Reading::Follows if extent.high < next => {
                log.lose_place(now);
                true
            }
            Reading::Follows => {
                log.read_at = now;
                log.expect_end(extent.high, now);
                false
            }
            Reading::Begins(_) | Reading::From(_) => false,
        };
        if is_gap {
            self.show(topic, Shown::Gap);
        }
    }

    /// No topic, no leader.
    fn is_missing(&mut self, topic: &str, now: Instant) {
        let Some(log) = self.logs.get_mut(topic) else { return };
        let was_read = matches!(log.reading, Reading::Follows | Reading::From(_));
        log.lose_place(now + PAUSE);
        log.answer(&Ok(()));
        if was_read {
            self.show(topic, Shown::Gap);
        }
    }

    pub(super) fn leader(&self, topic: &str) -> (Entry, Option<EntryInfo>) {
        self.logs.get(topic).map_or((Entry::Vacant, None), Log::leader)
    }

    /// The leader according to recently read records, if any.
    pub(super) fn shown(&self, topic: &str, now: Instant) -> Option<Entry> {
        let log = self.logs.get(topic)?;
        let is_new = log.reading == Reading::Follows && log.read_at + LATELY > now;
        (is_new && log.is_read_up_to(log.next)).then(|| log.leader().0)
    }

    // ---- events ----

    /// Takes an event that a client reports for a log that it reads.
    pub(super) fn handle(&mut self, client: ClientId, event: Event, now: Instant) {
        let follows = |logs: &Self, topic: &str| {
            logs.is_read_by(topic, client)
                && logs.logs.get(topic).is_some_and(|log| log.reading == Reading::Follows)
        };
        match event {
            Event::Record { topic, record, written } if follows(self, &topic) => {
                let (next, shown) = (record.offset.0.saturating_add(1), record.clone());
                // The record is shown before it is taken in, because at the log's end the reading may begin again from
                // an older record.
                self.show(&topic, Shown::Record(shown));
                let Some(log) = self.logs.get_mut(&topic) else { return };
                log.take_in(&record, written.map(Duration::from_millis), now);
                log.read_up_to(next, now);
            }
            // The last records may be markers of transactions, which clients never see.
            Event::End { topic, offset } if follows(self, &topic) => {
                if let Some(log) = self.logs.get_mut(&topic).filter(|log| log.next < offset) {
                    log.read_up_to(offset, now);
                }
            }
            Event::Error { error, topic: Some(topic), .. } if follows(self, &topic) => {
                tracing::debug!(topic, "a reader: {}: {}", error.name, error.text);
                let Some(log) = self.logs.get_mut(&topic) else { return };
                let fault = of_client(&error);
                if read(&error.name).is_some() {
                    log.lose_place(now + PAUSE);
                    self.show(&topic, Shown::Gap);
                } else if fault.kind == FaultKind::Denied {
                    log.answer(&Err(fault));
                }
            }
            Event::Error { error, .. } => tracing::debug!("a reader: {}: {}", error.name, error.text),
            Event::Record { .. }
            | Event::End { .. }
            | Event::Assign { .. }
            | Event::Revoke { .. }
            | Event::Committed { .. }
            | Event::Nothing => {}
        }
    }

    fn show(&mut self, topic: &str, shown: Shown) {
        let Some((log, watch)) = self.logs.get(topic).zip(self.watch.as_ref()) else { return };
        // The next watch replaces one that has ended.
        let _ = watch.send(Change { election: log.election.clone(), shown });
    }

    pub(super) fn close(&mut self) {
        (self.closed, self.watch) = (true, None);
        self.logs.clear();
    }
}

#[cfg(test)]
mod tests;

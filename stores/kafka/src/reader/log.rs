//! One log, up to the record that has been read last: its leader, and the waiting callers.

use std::time::{Duration, Instant};

use incumbent_core::induction::{Kind, Record, TopicId};
use incumbent_core::record::{self, Entry};
use incumbent_core::store::Fault;
use tokio::sync::oneshot;

use crate::cluster::{Extent, time_of_day};
use incumbent_store::EntryInfo;

/// The lease of other software: goNELI's default heartbeat timeout.
pub(super) const FOREIGN_LEASE: Duration = Duration::from_secs(5);
/// A leader's last heartbeat counts until its lease and this slack have passed on the wall clocks.
const SLACK: Duration = Duration::from_secs(1);
/// The minimum number of newest records that are read: the heartbeats of twenty leases.
pub(super) const NEWEST: u64 = 100;
/// The maximum number of newest records that are read.
const MOST: u64 = 10_000;
/// The factor by which more records are read if the newest ones state no incarnation.
const FURTHER: u64 = 10;
/// The time within which a client must show a record of the log, before another client reads the log. It is below the
/// limit of a query (5 s), so that a query gets the second client's answer. It is doubled after each client that showed
/// nothing.
pub(super) const TOLERANCE: Duration = Duration::from_secs(3);
const MOST_TOLERANCE: Duration = Duration::from_secs(60);

/// A client that reads; later clients have larger numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ClientId(pub(super) u64);

/// A log, up to the record that has been read last.
pub(super) struct Log {
    pub(super) election: String,
    /// The client that reads it.
    pub(super) client: ClientId,
    /// Clients up to this number never read this log again.
    pub(super) barred: Option<ClientId>,
    pub(super) id: Option<TopicId>,
    /// The longest lease of the log's campaigns; `None` with observers only.
    pub(super) lease: Option<Duration>,
    pub(super) reading: Reading,
    /// How many of the newest records are read.
    newest: u64,
    /// True if a record that has been read states an incarnation.
    stated: bool,
    /// Whether the log has records older than those that are read.
    has_older: bool,
    /// The offset after the last record read.
    pub(super) next: u64,
    /// The log's end when reading began. It no longer matters once the log has been read up to there.
    end: u64,
    caught_up: bool,
    /// Whether the log's campaigns have been shown any of it.
    is_shown: bool,
    /// A record known to be in the log, and the instant by which it must be shown.
    pub(super) due: Option<(u64, Instant)>,
    pub(super) tolerance: Duration,
    /// The instant at which a record was last read, or at which everything was known to have been read.
    pub(super) read_at: Instant,
    /// The instant at which the brokers were asked for the log's end, and the position up to which the log had been
    /// read by then.
    pub(super) asked: Option<(Instant, u64)>,
    leader: Option<Leader>,
    waiting: Vec<Waiting>,
}

/// The state of the reading of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The reading begins at that time.
    Begins(Instant),
    /// The brokers are being asked where to begin.
    Asking,
    /// The log's client should read from this offset.
    From(u64),
    /// The log's client reads.
    Follows,
}

struct Waiting {
    /// The log's end when the caller asked.
    end: u64,
    read: oneshot::Sender<Result<(), Fault>>,
}

#[derive(Clone)]
struct Leader {
    record: record::Record,
    /// The time of day at which the record was written, by its writer's clock or the broker's.
    written: Option<Duration>,
    /// When it was read.
    seen: Instant,
}

impl Log {
    pub(super) fn new(election: &str, client: ClientId, now: Instant) -> Self {
        Self {
            election: election.into(),
            client,
            barred: None,
            id: None,
            lease: None,
            reading: Reading::Begins(now),
            newest: NEWEST,
            stated: false,
            has_older: false,
            next: 0,
            end: 0,
            caught_up: false,
            is_shown: false,
            due: None,
            tolerance: TOLERANCE,
            read_at: now,
            asked: None,
            leader: None,
            waiting: Vec::new(),
        }
    }

    /// The time within which each record must be read, for the log's campaigns.
    pub(super) fn within(&self) -> Option<Duration> {
        self.lease.map(|lease| lease.max(FOREIGN_LEASE) + SLACK)
    }

    /// Whether another client must be created to read the log.
    pub(super) fn needs_client(&self) -> bool {
        self.barred.is_some_and(|barred| self.client <= barred)
    }

    /// Begins to read the log in its present extent. Returns true if the log's campaigns must treat this as a gap.
    pub(super) fn begin(&mut self, extent: &Extent, now: Instant) -> bool {
        let Extent { id, low, high, recent } = *extent;
        let recent = recent.unwrap_or(high).max(high.saturating_sub(MOST));
        let from = high.saturating_sub(self.newest).min(recent).max(low);
        (self.reading, self.next, self.end) = (Reading::From(from), from, high);
        (self.has_older, self.stated, self.caught_up) = (from > low, false, false);
        (self.id, self.due, self.read_at) = (id.or(self.id), None, now);
        for waiting in &mut self.waiting {
            // The callers asked earlier, and the log may have been replaced since then.
            waiting.end = high;
        }
        self.expect_end(high, now);
        self.reached(now);
        std::mem::replace(&mut self.is_shown, true) || from > 0
    }

    /// Requires that the record at this offset is shown by that instant.
    pub(super) fn expect(&mut self, offset: u64, by: Instant) {
        if offset >= self.next {
            self.due.get_or_insert((offset, by));
        }
    }

    /// Reports that the log ends at `end`: all records before it must be shown within the tolerance.
    pub(super) fn expect_end(&mut self, end: u64, now: Instant) {
        if let Some(last) = end.checked_sub(1) {
            self.expect(last, now + self.tolerance);
        }
    }

    /// Returns a receiver for a caller that waits until the log has been read up to `end`.
    pub(super) fn wait(&mut self, end: u64) -> oneshot::Receiver<Result<(), Fault>> {
        let (read, receiver) = oneshot::channel();
        self.waiting.push(Waiting { end, read });
        receiver
    }

    pub(super) fn is_read_up_to(&self, end: u64) -> bool {
        let is_read = matches!(self.reading, Reading::Follows | Reading::From(_));
        is_read && self.caught_up && self.next >= end
    }

    /// Reports that everything before this offset has been read.
    pub(super) fn read_up_to(&mut self, next: u64, now: Instant) {
        (self.next, self.read_at) = (next, now);
        if let Some((offset, by)) = self.due {
            // A client that shows any records shows them all.
            self.due = (offset >= next).then(|| (offset, by.max(now + self.tolerance)));
        }
        self.reached(now);
    }

    /// Gives up the log's client, which shows none of the log's records or has read an earlier topic of that name.
    /// Another client must read the log.
    pub(super) fn give_up_client(&mut self, now: Instant) {
        self.barred = Some(self.client);
        self.tolerance = (self.tolerance * 2).min(MOST_TOLERANCE);
        (self.reading, self.due, self.asked) = (Reading::Begins(now), None, None);
    }

    /// Forgets the leader, because the position in the log is lost or the topic is gone.
    pub(super) fn lose_place(&mut self, again: Instant) {
        self.reading = Reading::Begins(again);
        (self.leader, self.due, self.asked) = (None, None, None);
    }

    fn reached(&mut self, now: Instant) {
        if !self.caught_up && self.next >= self.end {
            // More records are read until one states an incarnation, because a claim copies the largest incarnation
            // before it.
            let goes_further = self.lease.is_some() && !self.stated && self.has_older && self.newest < MOST;
            if goes_further {
                self.newest = self.newest.saturating_mul(FURTHER).min(MOST);
                self.reading = Reading::Begins(now);
                return;
            }
            self.caught_up = true;
            // The records that have been read so far may be old, so a leader whose lease has run out by now does not
            // count.
            self.leader.take_if(|leader| {
                let lease = leader.record.lease.unwrap_or(FOREIGN_LEASE) + SLACK;
                leader.written.is_some_and(|written| written + lease < time_of_day())
            });
        }
        let (caught_up, next) = (self.caught_up, self.next);
        for waiting in self.waiting.extract_if(.., |waiting| caught_up && waiting.end <= next) {
            // A caller that no longer waits has dropped its receiver.
            let _ = waiting.read.send(Ok(()));
        }
    }

    /// Answers all waiting callers that the topic cannot be read, or does not exist.
    pub(super) fn answer(&mut self, answer: &Result<(), Fault>) {
        for waiting in self.waiting.drain(..) {
            // A caller that no longer waits has dropped its receiver.
            let _ = waiting.read.send(answer.clone());
        }
    }

    /// Adds a record. The leader is the candidate that last wrote that it leads, as campaigns read it.
    pub(super) fn take_in(&mut self, record: &Record, written: Option<Duration>, now: Instant) {
        self.tolerance = TOLERANCE;
        self.stated |= record.term_info.is_some();
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
                self.leader = Some(Leader { record, written, seen: now });
            }
            Kind::Release { .. } => {
                let of = |leader: &Leader| nonce(leader.record.write_id) == nonce(record.write_id);
                self.leader.take_if(|leader| of(leader));
            }
            _ => {}
        }
    }

    /// The leader, unless it has written nothing for its lease.
    pub(super) fn leader(&self) -> (Entry, Option<EntryInfo>) {
        match &self.leader {
            Some(Leader { record, written, seen })
                if seen.elapsed() <= record.lease.unwrap_or(FOREIGN_LEASE) =>
            {
                let ago = written.map(|written| time_of_day().saturating_sub(written));
                let info = ago.map(|ago| EntryInfo { revision: record.revision, ago });
                (Entry::Live(record.clone()), info)
            }
            _ => (Entry::Vacant, None),
        }
    }
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

    fn log() -> Log {
        Log::new("jobs", ClientId::default(), Instant::now())
    }

    fn name(log: &Log) -> Option<&str> {
        log.leader.as_ref().map(|leader| leader.record.candidate.as_str())
    }

    #[test]
    fn the_leader_is_who_last_wrote_that_it_leads() {
        let (mut log, now) = (log(), Instant::now());
        log.take_in(&record(1, Kind::Claim, false), None, now);
        log.take_in(&record(1, Kind::Heartbeat, false), None, now);
        assert_eq!(name(&log), None);
        log.take_in(&record(1, Kind::Heartbeat, true), None, now);
        log.take_in(&record(2, Kind::Release { proven: Revision(1) }, false), None, now);
        assert_eq!(name(&log), Some("n1"));
        log.take_in(&record(1, Kind::Release { proven: Revision(1) }, false), None, now);
        assert_eq!(name(&log), None);
        log.take_in(&record(0, Kind::Heartbeat, false), None, now);
        assert_eq!(name(&log), Some("n0"), "among goNELI's members only the owner writes");
    }

    #[test]
    fn a_leader_of_a_former_time_is_none_once_the_end_is_read_for_the_first_time() {
        let old = Some(time_of_day().saturating_sub(Duration::from_secs(60)));
        let (mut log, now) = (log(), Instant::now());
        log.begin(&Extent { id: None, low: 0, high: 5, recent: None }, now);
        log.take_in(&record(1, Kind::Heartbeat, true), old, now);
        log.read_up_to(5, now);
        assert_eq!(name(&log), None);
        log.take_in(&record(1, Kind::Heartbeat, true), old, now);
        log.read_up_to(6, now);
        assert_eq!(
            name(&log),
            Some("n1"),
            "read soon after it was written, whatever the writer's clock showed"
        );
    }
}

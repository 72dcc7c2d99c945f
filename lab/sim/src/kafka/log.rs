//! Partition zero of the leader topic: the records that retention leaves, and the topic's identity.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::induction::{Record, TopicId};
use incumbent_core::record::Header;
use incumbent_core::{Instant, Revision};

#[derive(Debug)]
pub(super) struct Log {
    pub(super) topic: TopicId,
    /// The offset of the oldest record.
    base: u64,
    records: VecDeque<(Instant, Record)>,
    keeps: Duration,
    /// The number of active failures of the partition's leader.
    pub(super) down: u32,
}

impl Log {
    /// Creates a new topic, which keeps records for `keeps`.
    pub(super) fn new(keeps: Duration) -> Self {
        Self { topic: TopicId(1), base: 0, records: VecDeque::new(), keeps, down: 0 }
    }

    /// The offset of the next record.
    pub(super) fn next(&self) -> u64 {
        self.base + self.records.len() as u64
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Appends a record and returns its offset.
    pub(super) fn append(&mut self, now: Instant, value: &str, headers: &[Header]) -> Revision {
        let offset = Revision(self.next());
        let headers = headers.iter().map(|(name, text)| (&**name, text.as_str()));
        self.records.push_back((now, Record::decode(offset, value.as_bytes(), headers)));
        while self.records.front().is_some_and(|(at, _)| now.since(*at) > self.keeps) {
            self.records.pop_front();
            self.base += 1;
        }
        offset
    }

    /// The records from this offset on.
    pub(super) fn from(&self, offset: u64) -> impl Iterator<Item = &Record> {
        let skipped = offset.saturating_sub(self.base) as usize;
        self.records.iter().skip(skipped).map(|(_, record)| record)
    }

    /// Deletes every record; the offsets continue.
    pub(super) fn delete_records(&mut self) {
        self.base = self.next();
        self.records.clear();
    }

    /// Deletes the topic and recreates it.
    pub(super) fn remake(&mut self) {
        self.topic = TopicId(self.topic.0 + 1);
        self.base = 0;
        self.records.clear();
    }
}

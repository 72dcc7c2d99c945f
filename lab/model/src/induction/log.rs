//! The topic, its log, and its readers.

use std::time::Duration;

use incumbent_core::induction::{Answer, Kind, Publish, Record, Shown, TOPIC, TopicId};
use incumbent_core::record::{Attempt, WriteId};
use incumbent_core::{Instant, Revision};

use super::{CANDIDATES, FIRST_TOPIC, Group, InductionPart, topic};
use crate::node::{name, nonce};
use crate::property::Property;
use crate::step::Step;

impl Step<'_, Group> {
    /// Appends a record. Every reader reads it at once, since a later read would only make waits longer.
    pub(super) fn append(&mut self, writer: usize, publish: &Publish) -> Revision {
        let headers = publish.headers.iter().map(|(name, text)| (&**name, text.as_str()));
        // This is the offset of the new record.
        let offset = Revision(self.state.store.log.len() as u64);
        let value = publish.value(Duration::ZERO);
        let record = Record::decode(offset, value.as_bytes(), headers);
        self.state.store.log.push(record.clone());
        let topic = self.state.store.topic;
        if record.kind == Kind::Claim {
            self.node(writer).claims.push((offset, topic, number(record.topic)));
        }
        for reader in 0..CANDIDATES {
            let shown = match self.world.without {
                Some(InductionPart::Claims) if reader != writer && record.kind == Kind::Claim => {
                    Record { kind: Kind::Heartbeat, ..record.clone() }
                }
                // In place of this record, the reader gets a heartbeat of its own.
                Some(InductionPart::Log) if reader != writer => Record {
                    offset,
                    name: name(reader).into(),
                    write_id: Some(WriteId { nonce: nonce(reader, 1), attempt: Attempt(0) }),
                    kind: Kind::Heartbeat,
                    lease: None,
                    term_info: None,
                    topic: None,
                    metadata: Vec::new(),
                },
                _ => record.clone(),
            };
            self.show(reader, Shown::Record(shown));
        }
        offset
    }

    pub(super) fn show(&mut self, reader: usize, shown: Shown) {
        if self.state.nodes[reader].campaign.is_some() {
            self.deliver(reader, shown.into());
        }
    }

    pub(super) fn inspect(&self, asked_at: Instant) -> Answer {
        let is_remade = !self.world.lacks(InductionPart::Topic);
        let number = if is_remade { self.state.store.topic } else { FIRST_TOPIC };
        Answer::Inspected(Ok(topic(number, asked_at)))
    }

    /// Checks that a release names the topic that contains its term's claim.
    pub(super) fn releases(&mut self, place: usize, publish: &mut Publish) {
        let mut named = None;
        for (_, text) in publish.headers.iter_mut().filter(|(name, _)| name == TOPIC) {
            if self.world.lacks(InductionPart::Release) {
                *text = TopicId(self.state.store.topic.into()).to_string();
            }
            named = number(text.parse().ok());
        }
        let led_in = self.state.nodes[place].led_in;
        if named != led_in {
            let says = format!("led in topic {led_in:?} and releases {named:?}");
            self.check(place, Property::I8, Err(says));
        }
    }
}

/// The number of a topic.
fn number(id: Option<TopicId>) -> Option<u8> {
    id.and_then(|id| u8::try_from(id.0).ok())
}

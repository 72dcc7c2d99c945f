//! One incarnation of a bucket: the key's newest message, the sequence, and the compare.

use std::rc::Rc;
use std::time::Duration;

use incumbent_core::record::{Entry, Headers, Kind, Stamp};
use incumbent_core::store::{Action, Expect, Write};
use incumbent_core::{Incarnation, Instant, Revision};

/// The newest message of the key.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) revision: Revision,
    /// The entry as candidates read it.
    pub(crate) entry: Entry,
    /// The wall clock of the server that stored it; its age counts from here.
    pub(crate) stored: Instant,
    /// The same in the world's time.
    pub(crate) at: Instant,
    /// Its own lease time.
    pub(crate) ttl: Option<Duration>,
    /// The attempt that wrote it, where one of our campaigns did.
    pub(crate) stamp: Option<Stamp>,
}

/// The content of a bucket at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) incarnation: Incarnation,
    /// The time of its creation: in the world's time, and by the wall clock of its server.
    pub(crate) made: Instant,
    pub(crate) made_wall: Instant,
    /// Its creator stated that its name was never used before.
    pub(crate) never_used: bool,
    pub(crate) sequence: u64,
    pub(crate) message: Option<Rc<Message>>,
}

/// A message to put under the key, and its clock.
pub(crate) struct Put<'a> {
    pub(crate) kind: Kind,
    pub(crate) value: &'a str,
    pub(crate) headers: &'a Headers,
    pub(crate) ttl: Option<Duration>,
    pub(crate) stamp: Option<Stamp>,
}

static NO_HEADERS: Headers = Headers::new();

impl Put<'_> {
    /// A message without a body.
    pub(crate) fn bare(kind: Kind) -> Self {
        Self { kind, value: "", headers: &NO_HEADERS, ttl: None, stamp: None }
    }
}

impl Bucket {
    /// An empty bucket; `wall` is its creator's clock, and becomes its incarnation.
    pub(crate) fn new(now: Instant, wall: Instant, sequence: u64, never_used: bool) -> Self {
        Self {
            incarnation: Incarnation(wall.as_nanos()),
            made: now,
            made_wall: wall,
            never_used,
            sequence,
            message: None,
        }
    }

    pub(crate) fn entry(&self) -> Entry {
        self.message.as_ref().map_or(Entry::Vacant, |message| message.entry.clone())
    }

    /// The key's newest revision; zero where there is none.
    pub(crate) fn revision(&self) -> Revision {
        self.message.as_ref().map_or(Revision(0), |message| message.revision)
    }

    /// Whether the compare of a write holds.
    pub(crate) fn compare(&self, expect: Expect) -> bool {
        let expected = match expect {
            Expect::Absent => Revision(0),
            Expect::Revision(revision) => revision,
        };
        self.revision() == expected
    }

    /// Applies a campaign's write.
    pub(crate) fn apply(
        &mut self,
        write: &Write,
        stamp: Stamp,
        own_lease: bool,
        now: Instant,
        wall: Instant,
    ) {
        let put = match &write.action {
            Action::Acquire(put) | Action::Renew(put) => Put {
                kind: Kind::Live,
                value: &put.value,
                headers: &put.headers,
                // A store keeps whole seconds, and never less than was asked for.
                ttl: own_lease
                    .then(|| Duration::from_millis(put.lease.as_millis().div_ceil(1_000) as u64 * 1_000)),
                stamp: Some(stamp),
            },
            Action::Release { headers } => {
                Put { kind: Kind::Tombstone, value: "", headers, ttl: None, stamp: Some(stamp) }
            }
        };
        self.put(&put, now, wall);
    }

    /// Puts a message under the key, over any entry.
    pub(crate) fn put(&mut self, put: &Put<'_>, now: Instant, wall: Instant) {
        self.sequence += 1;
        let revision = Revision(self.sequence);
        let headers = put.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let entry = Entry::decode(revision, put.kind, put.value.as_bytes(), headers);
        self.message =
            Some(Rc::new(Message { revision, entry, stored: wall, at: now, ttl: put.ttl, stamp: put.stamp }));
    }
}

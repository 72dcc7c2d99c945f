//! One life of a bucket: the key's newest message, the sequence, and the compare.

use std::rc::Rc;
use std::time::Duration;

use incumbent_core::record::{Entry, Headers, Kind, Stamp};
use incumbent_core::store::{Action, Expect, Write};
use incumbent_core::{Incarnation, Instant, Revision};

/// The newest message of the key.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) revision: Revision,
    /// As candidates read it.
    pub(crate) entry: Entry,
    /// By the wall clock of the server that stored it; its age counts from here.
    pub(crate) stored: Instant,
    /// In the world's time.
    pub(crate) at: Instant,
    /// A lease time of its own.
    pub(crate) ttl: Option<Duration>,
    /// Which attempt wrote it, where a campaign of ours did.
    pub(crate) stamp: Option<Stamp>,
}

/// What a bucket holds at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) incarnation: Incarnation,
    /// When it was made: in the world's time, and by the wall clock of the server that made it.
    pub(crate) made: Instant,
    pub(crate) made_wall: Instant,
    /// Whoever made it stated that its name was never used before.
    pub(crate) never_used: bool,
    pub(crate) sequence: u64,
    pub(crate) message: Option<Rc<Message>>,
}

/// What is put under the key, and by whose clock.
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
    /// An empty bucket; `wall` is what its maker's clock shows, and names its life.
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

    /// Applies a write of a campaign's.
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

    /// Puts a message under the key, whatever is there.
    pub(crate) fn put(&mut self, put: &Put<'_>, now: Instant, wall: Instant) {
        self.sequence += 1;
        let revision = Revision(self.sequence);
        let headers = put.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let entry = Entry::decode(revision, put.kind, put.value.as_bytes(), headers);
        self.message =
            Some(Rc::new(Message { revision, entry, stored: wall, at: now, ttl: put.ttl, stamp: put.stamp }));
    }
}

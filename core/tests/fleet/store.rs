//! A key of a store: compare-and-swap by revision, expiry by the store's clock, tombstones and markers.

use std::time::Duration;

use incumbent_core::record::{Entry, Headers, Kind};
use incumbent_core::store::{Action, Capabilities, Expect, Facts, Outcome, Write};
use incumbent_core::{Incarnation, Instant, Revision};

pub(crate) const LEASE: Duration = Duration::from_secs(10);
const GRANULARITY: Duration = Duration::from_millis(250);

pub(crate) struct Store {
    markers: bool,
    acked: bool,
    incarnation: u64,
    created: Instant,
    sequence: u64,
    last: Option<Message>,
}

struct Message {
    revision: u64,
    kind: Kind,
    value: String,
    headers: Headers,
    written: Instant,
}

impl Store {
    pub(crate) fn new(markers: bool, acked: bool, now: Instant) -> Self {
        Self { markers, acked, incarnation: now.as_nanos(), created: now, sequence: 0, last: None }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        Capabilities {
            own_lease: false,
            lease_step: Duration::ZERO,
            shortest: Duration::from_millis(100),
            longest: Duration::MAX,
            granularity: GRANULARITY,
            expiry_pushed: self.markers,
            incarnation_acked: self.acked,
            fail_over: Duration::ZERO,
        }
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        Incarnation(self.incarnation)
    }

    pub(crate) fn facts(&self, asked_at: Instant, now: Instant) -> Facts {
        Facts {
            asked_at,
            incarnation: Incarnation(self.incarnation),
            age: Some(now.since(self.created)),
            never_used: false,
            max_age: Some(LEASE),
            newest: Some(Revision(self.sequence)),
        }
    }

    /// Removes what is too old; tells watchers where there are markers.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Entry> {
        let last = self.last.as_ref()?;
        if now.since(last.written) < LEASE {
            return None;
        }
        let was_live = last.kind == Kind::Live;
        self.last = None;
        (self.markers && was_live).then(|| self.put(Kind::Expired, String::new(), Headers::new(), now))
    }

    pub(crate) fn read(&self) -> Entry {
        self.last.as_ref().map_or(Entry::Vacant, |last| {
            let headers = last.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
            Entry::decode(Revision(last.revision), last.kind, last.value.as_bytes(), headers)
        })
    }

    pub(crate) fn write(&mut self, write: &Write, now: Instant) -> (Outcome, Option<Entry>) {
        let current = self.last.as_ref().map_or(0, |last| last.revision);
        let expected = match write.expect {
            Expect::Absent => 0,
            Expect::Revision(revision) => revision.0,
        };
        if current != expected {
            return (Outcome::Refused { current: Revision(current) }, None);
        }
        let entry = match &write.action {
            Action::Acquire(put) | Action::Renew(put) => {
                self.put(Kind::Live, put.value.clone(), put.headers.clone(), now)
            }
            Action::Release { headers } => self.put(Kind::Tombstone, String::new(), headers.clone(), now),
        };
        let incarnation = self.acked.then_some(Incarnation(self.incarnation));
        (Outcome::Applied { revision: Revision(self.sequence), incarnation }, Some(entry))
    }

    /// An operator's deletion.
    pub(crate) fn delete(&mut self, now: Instant) -> Entry {
        self.put(Kind::Tombstone, String::new(), Headers::new(), now)
    }

    /// An operator's write over whatever is there.
    pub(crate) fn overwrite(&mut self, now: Instant) -> Entry {
        self.put(Kind::Live, "operator".into(), Headers::new(), now)
    }

    /// The store is deleted and made again; `skip` writes to other keys follow.
    pub(crate) fn recreate(&mut self, skip: u64, now: Instant) {
        *self = Self { sequence: skip, ..Self::new(self.markers, self.acked, now) };
    }

    fn put(&mut self, kind: Kind, value: String, headers: Headers, now: Instant) -> Entry {
        self.sequence += 1;
        self.last = Some(Message { revision: self.sequence, kind, value, headers, written: now });
        self.read()
    }
}

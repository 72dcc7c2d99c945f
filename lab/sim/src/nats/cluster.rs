//! The simulated store: one bucket with one election's key, kept by one or three servers.

use std::rc::Rc;
use std::time::Duration;

use incumbent_core::record::{Entry, Headers, Kind, WriteId};
use incumbent_core::store::{Action, Expect, Write};
use incumbent_core::{Incarnation, Instant, Revision};

use crate::clock::{Clock, START};

/// The newest message of the key.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) revision: Revision,
    /// The entry as candidates read it.
    pub(crate) entry: Entry,
    /// The reading of the wall clock of the server that stored the message. The message's age counts from it.
    pub(crate) stored: Instant,
    /// When the message was stored, in the world's time.
    pub(crate) at: Instant,
    /// Its own lease time.
    pub(crate) ttl: Option<Duration>,
    /// The attempt that wrote the message, if one of our campaigns did.
    pub(crate) write_id: Option<WriteId>,
}

/// The content of a bucket at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) incarnation: Incarnation,
    /// When the bucket was created: in the world's time, and by its server's wall clock.
    pub(crate) made: Instant,
    pub(crate) made_wall: Instant,
    /// Whether the bucket's creator stated that the bucket's name was never used before.
    pub(crate) never_used: bool,
    pub(crate) sequence: u64,
    pub(crate) message: Option<Rc<Message>>,
}

/// A message to put under the key.
pub(crate) struct Put<'a> {
    pub(crate) kind: Kind,
    pub(crate) value: &'a str,
    pub(crate) headers: &'a Headers,
    pub(crate) ttl: Option<Duration>,
    pub(crate) write_id: Option<WriteId>,
}

static NO_HEADERS: Headers = Headers::new();

impl Put<'_> {
    /// A message without a body.
    pub(crate) fn bare(kind: Kind) -> Self {
        Self { kind, value: "", headers: &NO_HEADERS, ttl: None, write_id: None }
    }
}

impl Bucket {
    /// Creates an empty bucket. `wall` is the reading of its creator's clock, and becomes its incarnation.
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

    /// The key's newest revision; zero if there is none.
    pub(crate) fn revision(&self) -> Revision {
        self.message.as_ref().map_or(Revision(0), |message| message.revision)
    }

    /// Whether a write's compare succeeds.
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
        write_id: WriteId,
        own_lease: bool,
        now: Instant,
        wall: Instant,
    ) {
        let put = match &write.action {
            Action::Acquire(put) | Action::Renew(put) => Put {
                kind: Kind::Live,
                value: &put.value,
                headers: &put.headers,
                // A store keeps records for whole seconds, and never for less than requested.
                ttl: own_lease
                    .then(|| Duration::from_millis(put.lease.as_millis().div_ceil(1_000) as u64 * 1_000)),
                write_id: Some(write_id),
            },
            Action::Release { headers } => {
                Put { kind: Kind::Tombstone, value: "", headers, ttl: None, write_id: Some(write_id) }
            }
        };
        self.put(&put, now, wall);
    }

    /// Puts a message under the key, over any entry.
    pub(crate) fn put(&mut self, put: &Put<'_>, now: Instant, wall: Instant) {
        self.sequence += 1;
        let revision = Revision(self.sequence);
        let headers = put.headers.iter().map(|(name, text)| (&**name, text.as_str()));
        let entry = Entry::decode(revision, put.kind, put.value.as_bytes(), headers);
        self.message = Some(Rc::new(Message {
            revision,
            entry,
            stored: wall,
            at: now,
            ttl: put.ttl,
            write_id: put.write_id,
        }));
    }
}

#[derive(Debug, Default)]
pub(crate) struct Server {
    /// By how many nanoseconds the server's wall clock is ahead of the world.
    pub(crate) ahead: i64,
    /// The number of faults that keep the server down.
    pub(crate) down: u32,
    /// The server's isolation, if it is isolated.
    pub(crate) isolated: Option<Isolated>,
}

#[derive(Debug)]
pub(crate) struct Isolated {
    pub(crate) knew: Bucket,
    pub(crate) since: Instant,
    pub(crate) led: bool,
    /// Whether the server accepted a write that it can never commit.
    pub(crate) stuck: bool,
}

/// The server that answers a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The stream's leader.
    Leader(usize),
    /// A server that led the stream, is cut off, and does not know that.
    Stale(usize),
    /// The server can be reached, but the stream has no leader.
    Leaderless,
    /// No server at all.
    Silence,
}

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) servers: Vec<Server>,
    pub(crate) leader: Option<usize>,
    /// The state that the majority has committed.
    pub(crate) bucket: Bucket,
    /// Whether the bucket was deleted and has not been recreated yet.
    pub(crate) gone: bool,
    pub(crate) max_age: Duration,
    /// By how many parts per million all servers' clocks run fast.
    pub(crate) rate: i64,
    /// The number of the latest election, so that a cancelled election does not take place.
    pub(crate) election: u64,
}

impl Cluster {
    pub(crate) fn new(servers: usize, max_age: Duration, rate: i64, never_used: bool) -> Self {
        Self {
            servers: (0..servers).map(|_| Server::default()).collect(),
            leader: Some(0),
            bucket: Bucket::new(START, START, 0, never_used),
            gone: false,
            max_age,
            rate,
            election: 0,
        }
    }

    pub(crate) fn wall(&self, server: usize, now: Instant) -> Instant {
        let ahead = self.servers[server].ahead;
        let now = Clock::new(START, START, self.rate).at(now);
        let span = Duration::from_nanos(ahead.unsigned_abs());
        if ahead < 0 { now.before(span) } else { now + span }
    }

    /// The wall clock of the stream's leader at `now`.
    pub(crate) fn leaders_wall(&self, now: Instant) -> Instant {
        self.wall(self.leader.unwrap_or(0), now)
    }

    pub(crate) fn is_up(&self, server: usize) -> bool {
        self.servers[server].down == 0 && self.servers[server].isolated.is_none()
    }

    pub(crate) fn has_quorum(&self) -> bool {
        (0..self.servers.len()).filter(|server| self.is_up(*server)).count() * 2 > self.servers.len()
    }

    /// The first server after `server` that can be reached, including isolated ones.
    pub(crate) fn next_server(&self, server: usize) -> Option<usize> {
        let count = self.servers.len();
        (1..=count).map(|step| (server + step) % count).find(|server| self.servers[*server].down == 0)
    }

    /// The server that answers a request that arrives at `server`.
    pub(crate) fn route(&self, server: usize) -> Route {
        if self.servers[server].down > 0 {
            return Route::Silence;
        }
        match (&self.servers[server].isolated, self.leader) {
            (Some(isolated), _) if isolated.led => Route::Stale(server),
            (Some(_), _) => Route::Silence,
            (None, Some(leader)) => Route::Leader(leader),
            (None, None) => Route::Leaderless,
        }
    }

    /// The longest time for which the key's message may live.
    pub(crate) fn age_limit(&self) -> Duration {
        let own = self.bucket.message.as_ref().and_then(|message| message.ttl);
        own.map_or(self.max_age, |own| own.min(self.max_age))
    }

    /// The world's time at which the message becomes too old by the leader's clock.
    pub(crate) fn expires_at(&self, now: Instant) -> Option<Instant> {
        let message = self.bucket.message.as_ref()?;
        let leader = self.leader?;
        let left = (message.stored + self.age_limit()).since(self.wall(leader, now));
        Some(Clock::new(now, Instant::ZERO, self.rate).when(Instant::ZERO + left))
    }

    /// The largest difference between the servers' clocks.
    pub(crate) fn spread(&self) -> Duration {
        let ahead = || self.servers.iter().map(|server| server.ahead);
        let spread = ahead().max().unwrap_or(0) - ahead().min().unwrap_or(0);
        Duration::from_nanos(spread.unsigned_abs())
    }
}

//! The servers that keep the bucket: their leader, their isolation, and their knowledge.

use std::time::Duration;

use incumbent_core::Instant;

use super::Bucket;
use crate::clock::Clock;

/// The world's time at which runs begin, so that clocks may differ both ways.
pub(crate) const START: Instant = Instant::from_nanos(1_000_000_000_000);

#[derive(Debug, Default)]
pub(crate) struct Server {
    /// Nanoseconds by which its wall clock is ahead of the world.
    pub(crate) ahead: i64,
    /// The number of faults that hold it down.
    pub(crate) down: u32,
    /// Its isolation: the state it knew, the beginning, and whether it led.
    pub(crate) isolated: Option<Isolated>,
}

#[derive(Debug)]
pub(crate) struct Isolated {
    pub(crate) knew: Bucket,
    pub(crate) since: Instant,
    pub(crate) led: bool,
    /// A write that it took and can never commit.
    pub(crate) stuck: bool,
}

/// The server that answers a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The stream's leader.
    Leader(usize),
    /// A server that led the stream, is cut off, and does not know it.
    Stale(usize),
    /// The server is there, but the stream has no leader.
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
    /// The bucket was deleted and is not made again yet.
    pub(crate) gone: bool,
    pub(crate) max_age: Duration,
    /// Parts per million by which the servers' clocks run fast, all of them alike.
    pub(crate) rate: i64,
    /// Counts elections, so that a cancelled one does not happen.
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

    /// The first server after `server` that can be reached, isolated ones included.
    pub(crate) fn next_server(&self, server: usize) -> Option<usize> {
        let count = self.servers.len();
        (1..=count).map(|step| (server + step) % count).find(|server| self.servers[*server].down == 0)
    }

    /// The server that answers a request which arrives at `server`.
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

    /// The longest time that the key's message may live.
    pub(crate) fn age_limit(&self) -> Duration {
        let own = self.bucket.message.as_ref().and_then(|message| message.ttl);
        own.map_or(self.max_age, |own| own.min(self.max_age))
    }

    /// The world's time at which the message is too old by the leader's clock.
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

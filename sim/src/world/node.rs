//! A candidate's process: its campaign, its clock, its connection and its watch.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::campaign::{Campaign, Input, Lease, ReadId};
use incumbent_core::record::{Entry, Nonce};
use incumbent_core::store::Write;
use incumbent_core::{Incarnation, Instant, Revision, Token};

use crate::clock::Clock;
use crate::dice::Dice;

/// What a candidate asks of the store.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Write(Write),
    Read(ReadId),
    Inspect { asked_at: Instant },
    Watch { number: u64 },
}

/// What arrives at a candidate.
#[derive(Clone, Debug)]
pub(crate) enum Hears {
    Input(Input),
    /// A watch stands, and tells what is there.
    Stands {
        number: u64,
        life: Incarnation,
        entry: Entry,
    },
    /// A watch tells what changed.
    Watched {
        number: u64,
        life: Incarnation,
        entry: Entry,
    },
    /// A watch missed something, and ends.
    Gap {
        number: u64,
    },
    /// A new connection is there.
    Connected,
}

pub(crate) struct Node {
    /// Its own, so that what happens to others changes little for it.
    pub(crate) dice: Dice,
    /// Counts the processes at this place.
    pub(crate) process: u64,
    pub(crate) nonce: Nonce,
    /// `None` while the process has not yet heard from the store, or is gone.
    pub(crate) campaign: Option<Campaign>,
    /// The same campaign again, with clean clock readings, where the run compares.
    pub(crate) shadow: Option<Campaign>,
    pub(crate) alive: bool,
    pub(crate) healthy: bool,
    pub(crate) clock: Clock,
    /// The rate of its clock when nothing is wrong with it.
    pub(crate) rate: i64,
    pub(crate) stopped_until: Instant,
    pub(crate) backlog: VecDeque<Hears>,
    pub(crate) server: usize,
    /// Whether a new connection is on its way: as in the runtime, there is one at a time, however often it is asked
    /// for.
    pub(crate) connecting: bool,
    /// How many faults cut off what it sends, and what it hears; and how many let its client queue.
    pub(crate) mute: u32,
    pub(crate) deaf: u32,
    pub(crate) queueing: u32,
    pub(crate) outbox: Vec<Ask>,
    pub(crate) denied: u32,
    /// How many faults make its client slow to take in what its watch tells.
    pub(crate) slow: u32,
    /// A server answered it from a life of the store that is over: until when such an answer may arrive.
    pub(crate) misled: Option<Instant>,
    /// The longest maximum age of the store that its process was told.
    pub(crate) oldest: Duration,
    pub(crate) watch: Watch,
    /// The life that its last inspection showed.
    pub(crate) inspected: Option<Incarnation>,
    /// The newest revision that its watch or an acknowledgement told, and in which life. The answer to a read
    /// does not count: where it is late, the campaign has given it up.
    pub(crate) seen: (Incarnation, Revision),
    /// When it will be woken; never where nothing is due.
    pub(crate) wakes: Instant,
    pub(crate) lease: Option<Lease>,
    /// The token above which it stays out, where it said so last and did not lead since.
    pub(crate) barred: Option<Token>,
    /// Until when, in the world's time, it leads.
    pub(crate) leads_until: Option<Instant>,
}

#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) number: u64,
    /// The one life it sees and the server it is on, once it stands there.
    pub(crate) on: Option<(Incarnation, usize)>,
    /// Whether the candidate knows that it stands.
    pub(crate) stands: bool,
    /// Its news arrive in order.
    pub(crate) last: Instant,
}

impl Node {
    pub(crate) fn new(dice: Dice, clock: Clock, rate: i64, server: usize) -> Self {
        Self {
            dice,
            process: 0,
            nonce: Nonce(0),
            campaign: None,
            shadow: None,
            alive: false,
            healthy: true,
            clock,
            rate,
            stopped_until: Instant::ZERO,
            backlog: VecDeque::new(),
            server,
            connecting: false,
            mute: 0,
            deaf: 0,
            queueing: 0,
            outbox: Vec::new(),
            denied: 0,
            slow: 0,
            misled: None,
            oldest: Duration::ZERO,
            watch: Watch { number: 0, on: None, stands: false, last: Instant::ZERO },
            inspected: None,
            seen: (Incarnation(0), Revision(0)),
            wakes: Instant::NEVER,
            lease: None,
            barred: None,
            leads_until: None,
        }
    }

    pub(crate) fn is_stopped(&self, now: Instant) -> bool {
        self.stopped_until > now
    }

    /// Whether it leads, by what its `is_leader` would answer.
    pub(crate) fn leads(&self, now: Instant) -> bool {
        self.leads_until.is_some_and(|until| now < until)
    }

    /// Notes a revision that the campaign is about to be handed.
    pub(crate) fn sees(&mut self, revision: Option<Revision>) {
        if let (Some(life), Some(revision)) = (self.inspected, revision) {
            if self.seen.0 != life {
                self.seen = (life, revision);
            }
            self.seen.1 = self.seen.1.max(revision);
        }
    }

    /// Begins a watch of another number; what the old one has still to tell is not for this campaign.
    pub(crate) fn next_watch(&mut self) -> u64 {
        let number = self.watch.number + 1;
        self.watch = Watch { number, on: None, stands: false, last: Instant::ZERO };
        number
    }
}

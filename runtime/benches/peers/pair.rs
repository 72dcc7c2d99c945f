//! A leader and a candidate that waits for the leader's end, and the faults of the leader.

use std::thread;
use std::time::{Duration, Instant};

use incumbent::Clock;

use crate::side::{Candidate, LED, Leaving, Side};

/// The longest time that an event may take. The slowest fail-over has a lease of a minute.
const LIMIT: Duration = Duration::from_secs(180);
/// The time for a new waiting candidate to settle. etcd registers a watch of its Go client within 100 ms, and some
/// programs print that they campaign just before they do.
const SETTLED: Duration = Duration::from_millis(150);
/// The lease that determines the length of faults for a lock without a lease. It is the lease of the other sides.
const WITHOUT_LEASE: Duration = Duration::from_secs(2);

/// A temporary fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The leader's process is stopped, and continues.
    Pause,
    /// The leader's connections carry nothing in either direction for a while.
    Partition,
}

/// The result of a fault, if another candidate led within two leases after it ended.
pub(crate) struct Succession {
    /// The time from the fault to the successor's report that it leads.
    pub(crate) after: Duration,
    /// The time for which both reported that they lead: from the successor's report to the old leader's last yes. For a
    /// pause, only the part after the pause counts.
    pub(crate) overlap: Duration,
}

/// A leader and a candidate that waits for the leader's end, in their own election.
pub(crate) struct Pair<'a> {
    pub(crate) side: &'a Side,
    election: String,
    fault: Option<Fault>,
    leader: Candidate,
    waiter: Candidate,
    /// The time since which the waiter waits.
    waiting: u64,
    /// The number of candidates started.
    started: u32,
    /// True if the former leader is gone and the waiter leads instead.
    lacks_waiter: bool,
}

impl<'a> Pair<'a> {
    /// Starts a leader, and then a candidate that waits. Both can have this fault.
    pub(crate) fn start(side: &'a Side, election: &str, fault: Option<Fault>) -> Self {
        let leader = enter(side, election, 1, fault);
        leader.event(side.leads, 0, LIMIT);
        let waiter = enter(side, election, 2, fault);
        let election = election.into();
        let mut pair =
            Self { side, election, fault, leader, waiter, waiting: 0, started: 2, lacks_waiter: false };
        pair.settle(0);
        pair
    }

    /// Waits until the waiter waits.
    fn settle(&mut self, since: u64) {
        self.waiting = self.waiter.event(self.side.waits, since, LIMIT);
        if let Some(present) = &self.side.present {
            present(&self.election, 2);
        }
        thread::sleep(SETTLED);
        if !self.side.loses.is_empty() {
            // The leader may have changed.
            if self.waiter.newest_is(self.side.leads, self.side.loses) {
                std::mem::swap(&mut self.leader, &mut self.waiter);
            }
            self.waiting = now();
        }
    }

    /// Starts a waiting candidate, if the leader has gone and the previous waiter leads.
    pub(crate) fn complete(&mut self) {
        if std::mem::take(&mut self.lacks_waiter) {
            self.started += 1;
            let since = now();
            std::mem::swap(&mut self.leader, &mut self.waiter);
            self.waiter = enter(self.side, &self.election, self.started, self.fault);
            self.settle(since);
        }
    }

    /// Returns true if the waiter leads without a fault, which happens on a machine that stalls for longer than a
    /// lease. In that case another pair is started, and nothing is counted.
    fn is_spoilt(&mut self) -> bool {
        let is_spoilt = self.waiter.reported(self.side.leads, self.waiting).is_some();
        if is_spoilt {
            eprintln!("not counted: a leader lost its lease, {}", self.side.name);
            *self = Self::start(self.side, &format!("{}-again", self.election), self.fault);
        }
        is_spoilt
    }

    /// Makes the leader leave. Returns the time from its request to the waiter's report.
    pub(crate) fn hand_over(&mut self) -> Option<Duration> {
        if self.is_spoilt() {
            return None;
        }
        let closes = self.side.leaving == Leaving::Closes;
        let since = now();
        self.leader.order(if closes { "close" } else { "resign" });
        let leaving = self.leader.event(if closes { "closing" } else { "resigning" }, since, LIMIT);
        let elected = self.waiter.event(self.side.leads, leaving, LIMIT);
        if closes {
            self.leader.event("closed", leaving, LIMIT);
            self.lacks_waiter = true;
        } else {
            self.leader.event("resigned", leaving, LIMIT);
            std::mem::swap(&mut self.leader, &mut self.waiter);
            self.waiter.order("campaign");
            self.settle(elected);
        }
        Some(Duration::from_nanos(elected - leaving))
    }

    /// Kills the leader. Returns the time from the signal to the waiter's report.
    pub(crate) fn crash(&mut self) -> Option<Duration> {
        if self.is_spoilt() {
            return None;
        }
        let killed = now();
        self.leader.kill();
        let elected = self.waiter.event(self.side.leads, self.waiting, LIMIT);
        self.lacks_waiter = true;
        Some(Duration::from_nanos(elected.checked_sub(killed)?))
    }

    /// Begins the fault, and ends it after two leases. The inner option is `None` if no other candidate led within two
    /// more leases.
    pub(crate) fn disturb(&mut self) -> Option<Option<Succession>> {
        if self.is_spoilt() {
            return None;
        }
        let fault = self.fault.expect("the pair was started with one");
        let twice = 2 * self.side.lease.unwrap_or(WITHOUT_LEASE);
        let began = now();
        match fault {
            Fault::Pause => self.leader.pause(),
            Fault::Partition => self.leader.cut(),
        }
        thread::sleep(twice);
        let ended = now();
        match fault {
            Fault::Pause => self.leader.resume(),
            Fault::Partition => self.leader.heal(),
        }
        let waited = Instant::now();
        let elected = loop {
            match self.waiter.reported(self.side.leads, self.waiting) {
                Some(elected) => break elected,
                None if waited.elapsed() > twice => return Some(None),
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        let leads_since = self.leader.last_reported(self.side.leads).unwrap_or_default();
        let led = self.leader.event(LED, leads_since, LIMIT);
        self.lacks_waiter = true;
        let from = if fault == Fault::Pause { elected.max(ended) } else { elected };
        Some(Some(Succession {
            after: Duration::from_nanos(elected.checked_sub(began)?),
            overlap: Duration::from_nanos(led.saturating_sub(from)),
        }))
    }
}

/// Starts a candidate.
fn enter(side: &Side, election: &str, number: u32, fault: Option<Fault>) -> Candidate {
    let is_cuttable = fault == Some(Fault::Partition);
    Candidate::start(side, election, &format!("c{number}"), fault.is_some(), is_cuttable)
}

/// The time on the machine's clock, which all candidates print.
fn now() -> u64 {
    Clock::system().now().as_nanos()
}

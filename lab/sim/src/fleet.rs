//! Many processes with one candidate each on one bucket, without faults except crashes. Counts what they ask of the
//! store and what it sends them: when all start, at rest, and after the leader's crash.
//!
//! The store answers at once, after about a millisecond on the network, however much it is asked. So this counts the
//! requests that a real store has to handle, not the time that it needs for them.

use std::time::Duration;

use incumbent_core::campaign::{self, Event as Reported};
use incumbent_core::record::{Entry, Kind, Nonce, WriteId};
use incumbent_core::session::{CampaignId, Enter, Input, Output, Scope, Session};
use incumbent_core::store::{Capabilities, Outcome, StoreInfo, Write};
use incumbent_core::{Instant, Revision};

use crate::clock::START;
use crate::dice::Dice;
use crate::nats::{Bucket, Put};
use crate::plan::BUCKET;
use crate::queue::Queue;
use crate::setting::Setting;

/// The campaign number of each process's only candidate.
const CANDIDATE: CampaignId = 1;
/// The lease, which is the default on NATS.
const LEASE: Duration = Duration::from_secs(30);
/// How late a server of version 2.11 or newer removes a record, as in `stores/nats/src`.
const GRANULARITY: Duration = Duration::from_millis(350);
/// The time within which all processes start.
const STARTS: Duration = Duration::from_secs(1);
/// The longest time until all candidates lead or wait, and until another candidate leads after a crash.
const LIMIT: Duration = Duration::from_secs(300);
/// The length of the spans in which requests are counted.
const SPAN: Duration = Duration::from_millis(100);
/// The time after a leader was found for which requests are still counted.
const AFTER: Duration = Duration::from_secs(5);

/// How the candidates of many processes are spread over elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elections {
    /// All processes are candidates of one election.
    One,
    /// Each process is the only candidate in its own election.
    Each,
}

/// The requests that processes sent to the store in some time, and what the store sent them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Writes that were applied.
    pub writes: u64,
    /// Writes that were refused because another write came first.
    pub refused: u64,
    /// Reads of a key.
    pub reads: u64,
    /// Requests for the bucket's state.
    pub inspections: u64,
    /// Watches that began.
    pub watches: u64,
    /// Changes of a key that a watch sent.
    pub sent: u64,
    /// The requests of the busiest tenth of a second.
    pub busiest: u64,
}

impl Demand {
    /// All requests to the store.
    pub fn requests(&self) -> u64 {
        self.writes + self.refused + self.reads + self.inspections + self.watches
    }
}

/// The requests of a fleet of processes to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// The requests from the start of the first process until all candidates led or waited for a leader.
    pub start: Demand,
    /// In [`Fleet::RESTED`] after that.
    pub rest: Demand,
    /// The fail-overs after several crashes, one after another. There are some only in [`Elections::One`].
    pub fail_overs: Vec<FailOver>,
}

/// A fail-over after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailOver {
    /// The requests from the end of the crashed leader's lease until five seconds after another candidate led.
    pub demand: Demand,
    /// The time from the end of the crashed leader's lease until another candidate led.
    pub took: Duration,
}

impl Fleet {
    /// The time for which the requests of a fleet at rest are counted. It is a whole number of renewals.
    pub const RESTED: Duration = Duration::from_secs(90);
    /// The number of crashes.
    pub const CRASHES: usize = 5;

    /// Runs this many processes.
    ///
    /// # Errors
    /// Returns a description if not all candidates lead or wait in the end, which would be a defect.
    pub fn run(processes: usize, elections: Elections, seed: u64) -> Result<Self, String> {
        let mut world = World::new(processes, elections, seed);
        world.until("all to lead or wait", |world| world.settled == processes)?;
        let start = world.counted();
        // Afterwards the effects of the last requests are over.
        world.run_for(AFTER);
        world.counted();
        world.run_for(Self::RESTED);
        let rest = world.counted();
        let crashes = if matches!(elections, Elections::One) { Self::CRASHES } else { 0 };
        let fail_overs = (0..crashes).map(|_| world.crash()).collect::<Result<_, _>>()?;
        Ok(Self { start, rest, fail_overs })
    }
}

enum Event {
    Begin(usize),
    Wake(usize),
    Arrive(usize, Request),
    Deliver(usize, Box<Input>),
    Expire { election: usize, revision: Revision },
}

enum Request {
    Ask(campaign::Request),
    Inspect { number: u64, asked_at: Instant },
    Watch { number: u64 },
}

struct Process {
    session: Option<Session>,
    election: usize,
    wakes: Instant,
    /// When the store's latest message arrives, so that no message overtakes another.
    receives: Instant,
    /// The present watch.
    watch: u64,
    is_settled: bool,
    leads: bool,
}

struct Election {
    name: String,
    bucket: Bucket,
    /// The processes whose watches show the election.
    watchers: Vec<usize>,
}

struct World {
    now: Instant,
    queue: Queue<Event>,
    dice: Dice,
    processes: Vec<Process>,
    elections: Vec<Election>,
    /// The bucket's newest revision.
    sequence: u64,
    /// The number of processes that lead or wait for a leader.
    settled: usize,
    demand: Demand,
    /// The number of the current span, and the requests in it.
    span: (u128, u64),
}

impl World {
    fn new(processes: usize, elections: Elections, seed: u64) -> Self {
        let mut dice = Dice::new(seed, 0);
        let mut queue = Queue::new();
        let number = match elections {
            Elections::One => 1,
            Elections::Each => processes,
        };
        let all = (0..processes).map(|process| {
            queue.put(START + dice.micros(0, STARTS.as_micros() as u64), Event::Begin(process));
            Process {
                session: None,
                election: process.min(number - 1),
                wakes: Instant::NEVER,
                receives: START,
                watch: 0,
                is_settled: false,
                leads: false,
            }
        });
        let processes = all.collect();
        let elections = (0..number).map(|election| Election {
            name: format!("election-{election}"),
            bucket: Bucket::new(START, START, 0, true),
            watchers: Vec::new(),
        });
        let elections = elections.collect();
        let (demand, span) = (Demand::default(), (0, 0));
        Self { now: START, queue, dice, processes, elections, sequence: 0, settled: 0, demand, span }
    }

    /// Runs until a condition holds.
    fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> Result<(), String> {
        let limit = self.now + LIMIT;
        while !holds(self) {
            if self.now > limit || !self.step(limit) {
                return Err(format!("waited {LIMIT:?} for {what}"));
            }
        }
        Ok(())
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        while self.step(end) {}
        self.now = end;
    }

    /// Returns the counts since the last call.
    fn counted(&mut self) -> Demand {
        self.span = (0, 0);
        std::mem::take(&mut self.demand)
    }

    /// The leader's process dies.
    fn crash(&mut self) -> Result<FailOver, String> {
        let leader = self.processes.iter().position(|process| process.leads);
        let leader = leader.ok_or("no process leads")?;
        let expires = self.elections[0].bucket.message.as_ref().map(|message| message.at + LEASE);
        let expires = expires.ok_or("the leader has no record")?;
        (self.processes[leader].session, self.processes[leader].leads) = (None, false);
        self.elections[0].watchers.retain(|watcher| *watcher != leader);
        self.run_for(expires.since(self.now));
        self.counted();
        self.until("another leader", |world| world.processes.iter().any(|process| process.leads))?;
        let took = self.now.since(expires);
        self.run_for(AFTER);
        Ok(FailOver { demand: self.counted(), took })
    }

    /// Handles the next event, unless it is after `end`. Returns whether there was one.
    fn step(&mut self, end: Instant) -> bool {
        let Some((at, event)) = self.queue.take() else { return false };
        if at > end {
            self.queue.put(at, event);
            return false;
        }
        self.now = at;
        match event {
            Event::Begin(process) => self.begin(process),
            Event::Wake(process) => {
                if self.processes[process].wakes <= self.now {
                    self.processes[process].wakes = Instant::NEVER;
                    self.handle(process, Input::Tick);
                }
            }
            Event::Arrive(process, request) => self.serve(process, request),
            Event::Deliver(process, input) => self.handle(process, *input),
            Event::Expire { election, revision } => {
                if self.elections[election].bucket.revision() == revision {
                    self.put(election, |bucket, now| bucket.put(&Put::bare(Kind::Expired), now, now));
                }
            }
        }
        true
    }

    fn begin(&mut self, process: usize) {
        let place = &mut self.processes[process];
        place.session = Some(Session::new(Capabilities { granularity: GRANULARITY, ..BUCKET }));
        let settings = Setting::plain(LEASE).settings(format!("p{process}"), Duration::ZERO);
        let (election, nonce) = (self.elections[place.election].name.as_str().into(), nonce(process));
        let seed = self.dice.number();
        let enter = Enter { id: CANDIDATE, election, settings, nonce, seed, fail_fast: false };
        self.handle(process, Input::Enter(Box::new(enter)));
    }

    /// Gives an input to a session and carries out its outputs.
    fn handle(&mut self, process: usize, input: Input) {
        // A process that has ended receives nothing.
        let Some(mut session) = self.processes[process].session.take() else { return };
        // Each input answers an output of this session, so none is misuse.
        session.handle(self.now, input).unwrap_or_else(|misuse| unreachable!("{misuse}"));
        loop {
            match session.poll() {
                Output::Ask { request, .. } => self.send(process, Request::Ask(request)),
                Output::Inspect { number, .. } => {
                    self.send(process, Request::Inspect { number, asked_at: self.now });
                }
                Output::Watch { number, .. } => {
                    self.processes[process].watch = number;
                    self.send(process, Request::Watch { number });
                }
                Output::Reconnect { .. } => self.deliver(process, Input::Reconnected),
                Output::Register { .. } => self.deliver(process, Input::Registered(true)),
                Output::Report { events, .. } => events.iter().for_each(|event| self.react(process, event)),
                Output::WakeAt(wake) => {
                    if let Some(wake) = wake.filter(|wake| wake.at < self.processes[process].wakes) {
                        self.processes[process].wakes = wake.at;
                        self.queue.put(wake.at.max(self.now), Event::Wake(process));
                    }
                    break;
                }
                Output::Entered(_)
                | Output::Refused(..)
                | Output::Campaigning(..)
                | Output::Closed(_)
                | Output::NotNext { .. }
                | Output::Considered { .. } => {}
            }
        }
        self.processes[process].session = Some(session);
    }

    fn react(&mut self, process: usize, event: &Reported) {
        let place = &mut self.processes[process];
        match event {
            Reported::Won(_) => place.leads = true,
            Reported::Lost { .. } => place.leads = false,
            Reported::LeaderChanged(Some(_)) => {}
            _ => return,
        }
        if !std::mem::replace(&mut place.is_settled, true) {
            self.settled += 1;
        }
    }

    fn send(&mut self, process: usize, request: Request) {
        let at = self.now + self.dice.micros(100, 1_500);
        self.queue.put(at, Event::Arrive(process, request));
    }

    fn deliver(&mut self, process: usize, input: Input) {
        let at = (self.now + self.dice.micros(100, 1_500)).max(self.processes[process].receives);
        self.processes[process].receives = at;
        self.queue.put(at, Event::Deliver(process, Box::new(input)));
    }

    fn serve(&mut self, process: usize, request: Request) {
        let span = self.now.since(START).as_nanos() / SPAN.as_nanos();
        self.span = if self.span.0 == span { (span, self.span.1 + 1) } else { (span, 1) };
        self.demand.busiest = self.demand.busiest.max(self.span.1);
        let election = self.processes[process].election;
        match request {
            Request::Ask(campaign::Request::Write(write)) => self.write(process, &write),
            Request::Ask(campaign::Request::Read(read)) => {
                self.demand.reads += 1;
                let entry = self.elections[election].bucket.entry();
                self.deliver(process, Input::read(CANDIDATE, read, Ok(entry)));
            }
            Request::Inspect { number, asked_at } => {
                self.demand.inspections += 1;
                let bucket = &self.elections[election].bucket;
                let result = Ok(StoreInfo {
                    asked_at,
                    incarnation: bucket.incarnation,
                    age: Some(self.now.since(bucket.made)),
                    never_used: bucket.never_used,
                    max_age: Some(LEASE),
                    newest: Some(Revision(self.sequence)),
                });
                self.deliver(process, Input::Inspected { number, result });
            }
            Request::Watch { number } => {
                self.demand.watches += 1;
                let Election { watchers, bucket, .. } = &mut self.elections[election];
                if !watchers.contains(&process) {
                    watchers.push(process);
                }
                let entry = bucket.entry();
                self.deliver(process, Input::Watching { number });
                if entry != Entry::Vacant {
                    self.show(process, entry);
                }
                self.deliver(process, Input::WatchedAll { number, of: Scope::All });
            }
        }
    }

    fn write(&mut self, process: usize, write: &Write) {
        let election = self.processes[process].election;
        let bucket = &self.elections[election].bucket;
        let outcome = if bucket.compare(write.expect) {
            self.demand.writes += 1;
            let write_id = WriteId { nonce: nonce(process), attempt: write.attempt };
            self.put(election, |bucket, now| bucket.apply(write, write_id, true, now, now));
            Outcome::Applied { revision: self.elections[election].bucket.revision(), incarnation: None }
        } else {
            self.demand.refused += 1;
            Outcome::Refused { current: bucket.revision() }
        };
        self.deliver(process, Input::wrote(CANDIDATE, write.attempt, outcome));
    }

    /// Changes an election's key, and shows the change to the election's watchers.
    fn put(&mut self, election: usize, change: impl FnOnce(&mut Bucket, Instant)) {
        let Election { bucket, watchers, .. } = &mut self.elections[election];
        // The keys of a bucket share its revisions.
        bucket.sequence = self.sequence;
        change(bucket, self.now);
        self.sequence = bucket.sequence;
        let (entry, revision, watchers) = (bucket.entry(), bucket.revision(), watchers.clone());
        if matches!(entry, Entry::Live(_)) {
            let late = self.dice.micros(0, GRANULARITY.as_micros() as u64);
            self.queue.put(self.now + LEASE + late, Event::Expire { election, revision });
        }
        for watcher in watchers {
            self.show(watcher, entry.clone());
        }
    }

    fn show(&mut self, process: usize, shown: Entry) {
        self.demand.sent += 1;
        let place = &self.processes[process];
        let (number, election) = (place.watch, self.elections[place.election].name.clone());
        self.deliver(process, Input::Watched { number, election, shown });
    }
}

/// The nonce of a process's candidate.
fn nonce(process: usize) -> Nonce {
    Nonce(0x1000 + process as u128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_rest_a_leader_renews_and_asks_for_the_state_three_times_a_lease_and_each_candidate_is_sent_that() {
        let fleet = Fleet::run(100, Elections::One, 1).unwrap();
        let Demand { writes, refused, reads, inspections, watches, sent, .. } = fleet.rest;
        assert_eq!((writes, inspections, sent), (9, 9, 900), "{fleet:?}");
        assert_eq!((refused, reads, watches), (0, 0, 0), "{fleet:?}");
    }

    #[test]
    fn processes_with_an_election_each_cost_what_one_costs_times_their_number() {
        let fleet = Fleet::run(100, Elections::Each, 1).unwrap();
        let Demand { writes, inspections, sent, .. } = fleet.rest;
        assert_eq!((writes, inspections, sent), (900, 900, 900), "{fleet:?}");
        assert_eq!(fleet.fail_overs, []);
    }

    #[test]
    fn after_the_first_crash_fewer_try_to_lead_at_once() {
        let fleet = Fleet::run(1_000, Elections::One, 1).unwrap();
        let tries: Vec<_> = fleet.fail_overs.iter().map(|fail_over| fail_over.demand.refused).collect();
        // At first all candidates acquire at once, because none knows of another. Later they acquire over a span that
        // grows with each race that they lose.
        assert_eq!(tries[0], 998);
        assert!(tries[1] < 500 && tries[2..].iter().all(|tries| *tries < 300), "{tries:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let run = || Fleet::run(50, Elections::One, 7);
        assert_eq!(run(), run());
    }
}

//! One process with many elections that does not get what it needs: little of its processor, or a slow store.
//!
//! Every input and every request costs the process some processor time, and the store some of its own; what comes
//! meanwhile waits. So work that leads to nothing, such as a second write because the first was slow, makes everything
//! later, and a session that has enough of such work never recovers.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::campaign::{self, Answer, Event as Reported};
use incumbent_core::record::{Attempt, Entry, Kind, Nonce, WriteId};
use incumbent_core::session::{CampaignId, Enter, Input, Output, Scope, Session};
use incumbent_core::store::{Capabilities, Outcome, StoreInfo, Write};
use incumbent_core::{Instant, Revision};

use crate::clock::START;
use crate::dice::Dice;
use crate::nats::{Bucket, Put};
use crate::plan::BUCKET;
use crate::queue::Queue;
use crate::setting::Setting;

/// The processor time of an input, and of a request: a session at rest needs about a fifth of a processor.
const WORK: Duration = Duration::from_micros(100);
/// The time that the store takes for a request.
const SERVICE: Duration = Duration::from_micros(10);
/// The time by which the store removes a record late.
const GRANULARITY: Duration = Duration::from_millis(350);
/// The longest time until all lead, at first and after the trouble.
const LIMIT: Duration = Duration::from_secs(120);
/// The time for which they are observed once all lead again.
const AFTER: Duration = Duration::from_secs(30);
/// The leaders are counted each such span.
const SPAN: Duration = Duration::from_millis(50);

/// A process in trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overload {
    /// The elections, in which it has the only candidates.
    pub elections: usize,
    /// The lease of each.
    pub lease: Duration,
    /// The time of the trouble.
    pub lasts: Duration,
    /// The part of a processor that the process gets meanwhile, in percent.
    pub share: u32,
    /// The store takes so many times as long meanwhile.
    pub slower: u32,
}

/// The course of a trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// The fewest elections that it led at a time.
    pub fewest: usize,
    /// The elections that it led when the trouble was over.
    pub led_at_end: usize,
    /// The time from then until it led all.
    pub back_after: Duration,
    /// Terms that ended during the trouble.
    pub lost: usize,
    /// Terms that ended in the half minute after it led all again.
    pub lost_later: usize,
    /// Terms that ended though a renewal proved their lease, in all.
    pub early: usize,
    /// Connections that were asked for, in all.
    pub reconnects: usize,
    /// The requests to the store during the trouble.
    pub requests: u64,
}

impl Overload {
    /// Runs it.
    ///
    /// # Errors
    /// With a description, where not all elections are led before the trouble, or two minutes after it.
    pub fn run(self, seed: u64) -> Result<Course, String> {
        let mut world = World::new(self, seed);
        world.until_all_lead()?;
        // Renewals are spread by then.
        world.run_for(self.lease * 2);
        (world.lost, world.requests) = (0, 0);
        (world.share, world.service) = (self.share, SERVICE * self.slower);
        let fewest = world.run_for(self.lasts);
        (world.share, world.service) = (100, SERVICE);
        let (ended, led_at_end, lost, requests) = (world.now, world.led(), world.lost, world.requests);
        world.until_all_lead()?;
        let back_after = world.now.since(ended);
        world.lost = 0;
        world.run_for(AFTER);
        let World { lost: lost_later, early, reconnects, .. } = world;
        Ok(Course { fewest, led_at_end, back_after, lost, lost_later, early, reconnects, requests })
    }
}

enum Event {
    /// The process may handle something.
    Run,
    Arrive {
        connection: u64,
        request: Request,
    },
    Deliver {
        connection: u64,
        input: Box<Input>,
    },
    Expire {
        election: usize,
        revision: Revision,
    },
}

enum Request {
    Ask(CampaignId, campaign::Request),
    Inspect { number: u64, asked_at: Instant },
    Watch { number: u64 },
}

struct World {
    now: Instant,
    queue: Queue<Event>,
    dice: Dice,
    session: Session,
    /// The answers that arrived and are not handled.
    inbox: VecDeque<Input>,
    /// What the watch showed and is not handled.
    shown: VecDeque<Input>,
    /// The process works until then.
    busy_until: Instant,
    wakes: Option<Instant>,
    /// It handles a timer next, where one is due: after each input, as the driver does.
    ticks: bool,
    /// The part of a processor that it gets, in percent.
    share: u32,
    /// The store serves others until then.
    serves_until: Instant,
    service: Duration,
    buckets: Vec<Bucket>,
    /// The deadline of each election's term.
    deadlines: Vec<Option<Instant>>,
    sequence: u64,
    connection: u64,
    /// The latest message of the store is under way until then: none overtakes another.
    receives: Instant,
    watch: Option<u64>,
    /// The writes of each election's candidate that were sent since the last that was applied, and when.
    sent: Vec<VecDeque<(Attempt, Instant)>>,
    /// The time at which each election's newest write that is known to be applied was sent.
    proven: Vec<Instant>,
    /// The time at which the newest inspection that was answered was asked for.
    inspected: Instant,
    lost: usize,
    early: usize,
    reconnects: usize,
    requests: u64,
}

impl World {
    fn new(Overload { elections, lease, .. }: Overload, seed: u64) -> Self {
        let store = Capabilities { granularity: GRANULARITY, ..BUCKET };
        let mut world = Self {
            now: START,
            queue: Queue::new(),
            dice: Dice::new(seed, 0),
            session: Session::new(store),
            inbox: VecDeque::new(),
            shown: VecDeque::new(),
            busy_until: START,
            wakes: None,
            ticks: true,
            share: 100,
            serves_until: START,
            service: SERVICE,
            buckets: (0..elections).map(|_| Bucket::new(START, START, 0, true)).collect(),
            deadlines: vec![None; elections],
            sequence: 0,
            connection: 0,
            receives: START,
            watch: None,
            sent: vec![VecDeque::new(); elections],
            proven: vec![START; elections],
            inspected: START,
            lost: 0,
            early: 0,
            reconnects: 0,
            requests: 0,
        };
        for election in 0..elections {
            let settings = Setting::plain(lease).settings(format!("p{election}"), Duration::ZERO);
            let seed = world.dice.number();
            let (id, nonce) = (election as CampaignId, nonce(election));
            let election = name(election).into();
            let enter = Enter { id, election, settings, nonce, seed, fail_fast: false };
            world.inbox.push_back(Input::Enter(Box::new(enter)));
        }
        world.queue.put(START, Event::Run);
        world
    }

    fn led(&self) -> usize {
        self.deadlines.iter().flatten().filter(|deadline| self.now < **deadline).count()
    }

    fn until_all_lead(&mut self) -> Result<(), String> {
        let limit = self.now + LIMIT;
        while self.led() < self.deadlines.len() {
            if self.now >= limit {
                return Err(format!("{} of {} lead after {LIMIT:?}", self.led(), self.deadlines.len()));
            }
            self.run_for(SPAN);
        }
        Ok(())
    }

    /// Runs for a time, and returns the fewest elections that were led at a time.
    fn run_for(&mut self, time: Duration) -> usize {
        let end = self.now + time;
        let mut fewest = self.led();
        while self.now < end {
            let next = end.min(self.now + SPAN);
            while self.step(next) {}
            self.now = next;
            fewest = fewest.min(self.led());
        }
        fewest
    }

    /// Does what comes next, unless that is after `end`. Returns whether there was something.
    fn step(&mut self, end: Instant) -> bool {
        let Some((at, event)) = self.queue.take() else { return false };
        if at > end {
            self.queue.put(at, event);
            return false;
        }
        self.now = at;
        match event {
            Event::Run => self.work(),
            // What was under way on a former connection is lost.
            Event::Arrive { connection, .. } | Event::Deliver { connection, .. }
                if connection != self.connection => {}
            Event::Arrive { request, .. } => self.serve(request),
            Event::Deliver { input, .. } => {
                match *input {
                    Input::Watched { .. } | Input::WatchedAll { .. } => self.shown.push_back(*input),
                    input => self.inbox.push_back(input),
                }
                self.queue.put(self.now.max(self.busy_until), Event::Run);
            }
            Event::Expire { election, revision } => {
                if self.buckets[election].revision() == revision {
                    self.put(election, |bucket, now| bucket.put(&Put::bare(Kind::Expired), now, now));
                }
            }
        }
        true
    }

    /// The process handles one input, where it has time.
    fn work(&mut self) {
        if self.now < self.busy_until {
            return;
        }
        let is_due = self.wakes.is_some_and(|wakes| wakes <= self.now);
        let next = if is_due && self.ticks { None } else { self.next_input() };
        let Some(input) = next.or(is_due.then_some(Input::Tick)) else { return };
        self.ticks = !matches!(input, Input::Tick);
        let requests = self.handle(input);
        self.busy_until = self.now + WORK * (1 + requests) * 100 / self.share;
        let is_idle = self.inbox.is_empty() && self.shown.is_empty();
        let next = if is_idle { self.wakes } else { Some(self.busy_until) };
        if let Some(next) = next {
            self.queue.put(next.max(self.busy_until), Event::Run);
        }
    }

    /// The next thing that arrived: answers and what the watch shows take turns, as in the driver.
    fn next_input(&mut self) -> Option<Input> {
        let (mut first, mut second) = (&mut self.inbox, &mut self.shown);
        if self.dice.percent(50) {
            (first, second) = (second, first);
        }
        first.pop_front().or_else(|| second.pop_front())
    }

    /// Hands an input to the session and carries out its outputs. Returns the number of requests.
    fn handle(&mut self, input: Input) -> u32 {
        let mut requests = 0;
        // Each input answers an output of this session, so none is misuse.
        self.session.handle(self.now, input.clone()).unwrap_or_else(|misuse| unreachable!("{misuse}"));
        loop {
            match self.session.poll() {
                Output::Ask { id, request, .. } => {
                    requests += 1;
                    if let campaign::Request::Write(write) = &request {
                        self.sent[id as usize].push_back((write.attempt, self.now));
                    }
                    self.send(requests, Request::Ask(id, request));
                }
                Output::Inspect { number, .. } => {
                    requests += 1;
                    self.send(requests, Request::Inspect { number, asked_at: self.now });
                }
                Output::Watch { number, .. } => {
                    self.shown.clear();
                    self.send(0, Request::Watch { number });
                }
                Output::Reconnect { .. } => self.reconnect(),
                Output::Register { .. } => self.deliver(Input::Registered(true)),
                Output::Report { id, lease, events, .. } => {
                    self.deadlines[id as usize] = lease.map(|lease| lease.deadline);
                    let lost = events.iter().filter(|event| matches!(event, Reported::Lost { .. })).count();
                    self.lost += lost;
                    self.early += if self.is_proven(id) { lost } else { 0 };
                }
                Output::WakeAt(wake) => {
                    self.wakes = wake.map(|wake| wake.at);
                    // An answer that comes when a term's deadline has passed does not keep it.
                    self.learn(&input);
                    return requests;
                }
                Output::Entered(_)
                | Output::Refused(..)
                | Output::Campaigning(..)
                | Output::Closed(_)
                | Output::NotNext { .. }
                | Output::Considered { .. } => {}
            }
        }
    }

    /// What an input proves of the leases, which a term may lead on.
    fn learn(&mut self, input: &Input) {
        match input {
            Input::Answered { id, answer: Answer::Wrote { attempt, outcome: Outcome::Applied { .. } } } => {
                let election = *id as usize;
                while let Some((sent, at)) = self.sent[election].pop_front_if(|(sent, _)| *sent <= *attempt) {
                    if sent == *attempt {
                        self.proven[election] = at;
                    }
                }
            }
            Input::Inspected { result: Ok(info), .. } => self.inspected = self.inspected.max(info.asked_at),
            _ => {}
        }
    }

    /// Whether the lease of this candidate is proven, by its newest write that was answered and the inspection that was asked for
    /// with it.
    fn is_proven(&self, id: CampaignId) -> bool {
        let Some(campaign) = self.session.campaign(id) else { return false };
        let (lease, proven) = (campaign.lease_time(), self.proven[id as usize]);
        // One that was asked for so shortly before will do.
        let asked = proven.before(lease / 60);
        self.inspected >= asked && self.now < (asked + lease).before(campaign.margin())
    }

    /// All that is under way is lost, and a new watch shows every record.
    fn reconnect(&mut self) {
        self.reconnects += 1;
        self.connection += 1;
        if let Some(number) = self.watch.take() {
            self.deliver(Input::WatchEnded { number });
        }
        self.deliver(Input::Reconnected);
    }

    /// A request leaves when the process has made it, after those before it.
    fn send(&mut self, place: u32, request: Request) {
        self.requests += 1;
        let made = self.now + WORK * place * 100 / self.share;
        let at = made + self.dice.micros(100, 500);
        self.queue.put(at, Event::Arrive { connection: self.connection, request });
    }

    fn deliver(&mut self, input: Input) {
        let at = (self.now.max(self.serves_until) + self.dice.micros(100, 500)).max(self.receives);
        self.receives = at;
        self.queue.put(at, Event::Deliver { connection: self.connection, input: Box::new(input) });
    }

    fn serve(&mut self, request: Request) {
        self.serves_until = self.serves_until.max(self.now) + self.service;
        match request {
            Request::Ask(id, campaign::Request::Write(write)) => self.write(id, &write),
            Request::Ask(id, campaign::Request::Read(read)) => {
                let entry = self.buckets[id as usize].entry();
                self.deliver(Input::read(id, read, Ok(entry)));
            }
            Request::Inspect { number, asked_at } => {
                let bucket = &self.buckets[0];
                let result = Ok(StoreInfo {
                    asked_at,
                    incarnation: bucket.incarnation,
                    age: Some(self.now.since(bucket.made)),
                    never_used: bucket.never_used,
                    max_age: None,
                    newest: Some(Revision(self.sequence)),
                });
                self.deliver(Input::Inspected { number, result });
            }
            Request::Watch { number } => {
                self.watch = Some(number);
                self.deliver(Input::Watching { number });
                for election in 0..self.buckets.len() {
                    let entry = self.buckets[election].entry();
                    if entry != Entry::Vacant {
                        self.show(election, entry);
                    }
                }
                self.deliver(Input::WatchedAll { number, of: Scope::All });
            }
        }
    }

    fn write(&mut self, id: CampaignId, write: &Write) {
        let election = id as usize;
        let bucket = &self.buckets[election];
        let outcome = if bucket.compare(write.expect) {
            let write_id = WriteId { nonce: nonce(election), attempt: write.attempt };
            self.put(election, |bucket, now| bucket.apply(write, write_id, true, now, now));
            Outcome::Applied { revision: self.buckets[election].revision(), incarnation: None }
        } else {
            Outcome::Refused { current: bucket.revision() }
        };
        self.deliver(Input::wrote(id, write.attempt, outcome));
    }

    /// Changes an election's key, and shows that to the watch.
    fn put(&mut self, election: usize, change: impl FnOnce(&mut Bucket, Instant)) {
        let applied = self.now.max(self.serves_until);
        let bucket = &mut self.buckets[election];
        // The keys of a bucket share its revisions.
        bucket.sequence = self.sequence;
        change(bucket, applied);
        self.sequence = bucket.sequence;
        let (entry, revision) = (bucket.entry(), bucket.revision());
        let lease = bucket.message.as_ref().and_then(|message| message.ttl);
        if let (Entry::Live(_), Some(lease)) = (&entry, lease) {
            let late = self.dice.micros(0, GRANULARITY.as_micros() as u64);
            self.queue.put(applied + lease + late, Event::Expire { election, revision });
        }
        self.show(election, entry);
    }

    fn show(&mut self, election: usize, shown: Entry) {
        let Some(number) = self.watch else { return };
        self.deliver(Input::Watched { number, election: name(election), shown });
    }
}

fn name(election: usize) -> String {
    format!("election-{election}")
}

/// The nonce of an election's candidate.
fn nonce(election: usize) -> Nonce {
    Nonce(0x1000 + election as u128)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELECTIONS: usize = 1_000;

    const PLAIN: Overload = Overload {
        elections: ELECTIONS,
        lease: Duration::from_secs(6),
        lasts: Duration::from_secs(40),
        share: 100,
        slower: 1,
    };

    /// Terms that end at once have their records in the way of the next for a lease.
    const BACK: Duration = Duration::from_secs(8);

    /// The troubles in which not all can be renewed in time.
    const TOO_LITTLE: [Overload; 3] =
        [Overload { share: 5, ..PLAIN }, Overload { share: 3, ..PLAIN }, Overload { slower: 800, ..PLAIN }];

    fn courses(overload: Overload) -> Vec<Course> {
        let courses: Vec<_> = (1..=2).map(|seed| overload.run(seed).unwrap()).collect();
        assert!(courses.iter().all(|course| course.early == 0), "{overload:?}: {courses:?}");
        courses
    }

    /// The elections that a session leads at least: those that it can renew in a third of a lease. With fewer leaders there is
    /// time when no renewal waits, and then it acquires.
    ///
    /// A renewal is four pieces of work for the process, that of a timer, a request, an answer and a message of the watch; and
    /// one request for the store.
    fn at_least(Overload { lease, share, slower, .. }: Overload) -> usize {
        let work = (WORK * 4 * 100 / share).max(SERVICE * slower);
        (lease / 3).div_duration_f64(work) as usize
    }

    fn keeps_all(overload: Overload) {
        let courses = courses(overload);
        let kept = |course: &Course| (course.fewest, course.lost, course.reconnects) == (ELECTIONS, 0, 0);
        assert!(courses.iter().all(kept), "{overload:?}: {courses:?}");
    }

    #[test]
    fn with_a_tenth_of_a_processor_all_stay_led_and_no_connection_is_asked_for() {
        [30, 20, 10].into_iter().for_each(|share| keeps_all(Overload { share, ..PLAIN }));
    }

    #[test]
    fn on_a_store_that_is_slower_than_they_renew_all_stay_led() {
        [200, 400].into_iter().for_each(|slower| keeps_all(Overload { slower, ..PLAIN }));
    }

    #[test]
    fn with_less_as_many_stay_led_as_there_is_time_to_renew() {
        for overload in TOO_LITTLE {
            let courses = courses(overload);
            let kept = |course: &Course| course.fewest >= at_least(overload);
            assert!(courses.iter().all(kept), "{overload:?}, {}: {courses:?}", at_least(overload));
        }
    }

    #[test]
    fn for_however_long_there_is_too_little_time_no_more_are_lost() {
        for overload in TOO_LITTLE {
            let long = Overload { lasts: Duration::from_secs(340), ..overload };
            let course = long.run(1).unwrap();
            // None is lost twice.
            let kept = course.fewest >= at_least(overload) && course.lost <= ELECTIONS - course.fewest;
            assert!(kept && course.early == 0, "{long:?}: {course:?}");
        }
    }

    #[test]
    fn what_was_lost_for_want_of_time_is_led_again_soon_after_and_nothing_more_is_lost() {
        for overload in TOO_LITTLE {
            let courses = courses(overload);
            let recovered = |course: &Course| course.back_after <= BACK && course.lost_later == 0;
            assert!(courses.iter().all(recovered), "{overload:?}: {courses:?}");
        }
    }
}

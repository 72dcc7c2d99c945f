//! One process with many elections that lacks resources because it gets little processor time, or because the store is
//! slow.
//!
//! Every input and every request costs the process some processor time, and the store some time of its own. Whatever
//! arrives meanwhile has to wait. Work that leads to nothing, such as a second write because the first was slow,
//! therefore delays everything else, and a session with enough of such work never recovers.

mod bucket;
mod queue;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::Event as Reported;
use incumbent_core::candidacy::{Candidacy, Rule};
use incumbent_core::record::Nonce;
use incumbent_core::session::{self, CampaignId, Enter, Output, Session};
use incumbent_core::store::StoreInfo;

use crate::Store as Kind;
use crate::clock::START;
use crate::dice::Dice;
use crate::queue::Queue;
use crate::setting::Setting;

/// The processor time of an input or a request. A session at rest needs about a fifth of a processor.
const WORK: Duration = Duration::from_micros(100);
/// The time that the store needs for a request.
const SERVICE: Duration = Duration::from_micros(10);
/// The longest time until the process leads all elections, at first and after the trouble.
const LIMIT: Duration = Duration::from_secs(120);
/// The time for which the elections are observed once the process leads all of them again.
const AFTER: Duration = Duration::from_secs(30);
/// The interval at which the leaders are counted.
const SPAN: Duration = Duration::from_millis(50);

/// A process that lacks resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overload {
    /// The number of elections. The process has the only candidate in each of them.
    pub elections: usize,
    /// The lease of each.
    pub lease: Duration,
    /// The length of the trouble.
    pub lasts: Duration,
    /// The share of a processor that the process gets during the trouble, in percent.
    pub share: u32,
    /// By what factor the store is slower during the trouble.
    pub slower: u32,
}

/// The course of a trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// The smallest number of elections that the process led at any time.
    pub fewest: usize,
    /// The number of elections that the process led when the trouble was over.
    pub led_at_end: usize,
    /// The time from the end of the trouble until the process led all elections.
    pub back_after: Duration,
    /// The number of terms that ended during the trouble.
    pub lost: usize,
    /// The number of terms that ended in the half minute after the process led all elections again.
    pub lost_later: usize,
    /// The number of terms of the whole run that ended although a renewal proved their lease.
    pub early: usize,
    /// Connections asked for, in all.
    pub reconnects: usize,
    /// The number of requests to the store during the trouble.
    pub requests: u64,
}

impl Overload {
    /// Runs the overload on a store.
    ///
    /// # Errors
    ///
    /// Returns a description if the process does not lead all elections before the trouble, or within two minutes after
    /// it. Also returns one for Kafka, where the elections of one process share nothing.
    pub fn run(self, on: Kind, seed: u64) -> Result<Course, String> {
        match on {
            Kind::Nats => self.run_on::<bucket::Buckets>(seed),
            Kind::Etcd => self.run_on::<queue::Queues>(seed),
            Kind::Kafka => Err(String::from("on Kafka, the elections of one process share no connection")),
        }
    }

    fn run_on<S: Store>(self, seed: u64) -> Result<Course, String> {
        let mut world = World::<S>::new(self, seed);
        world.until_all_lead()?;
        // By then renewals are spread.
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

type Input<S> = session::Input<<<S as Store>::Rule as Rule>::Answer, <<S as Store>::Rule as Rule>::Shown>;

/// A store with a number of elections.
trait Store: Sized {
    type Rule: Rule;
    /// Something that ends after a time.
    type Expiry;

    fn new(elections: usize) -> Self;
    fn properties() -> <Self::Rule as Rule>::Store;
    fn info(world: &World<Self>, asked_at: Instant) -> StoreInfo;
    /// Sends a campaign's request, unless the process itself can answer it.
    fn sends(world: &mut World<Self>, id: CampaignId, request: &<Self::Rule as Rule>::Request) -> bool;
    /// Handles a request that arrives and was sent at a given time.
    fn serve(world: &mut World<Self>, id: CampaignId, request: <Self::Rule as Rule>::Request, sent: Instant);
    fn expire(world: &mut World<Self>, expiry: Self::Expiry);
    /// Shows every existing record to a new watch.
    fn show_all(world: &mut World<Self>, number: u64);
    /// Notes what an input proves about the leases of the terms.
    fn learn(&mut self, input: &Input<Self>);
    /// Whether the lease of a candidate is proven.
    fn is_proven(&self, campaign: &Candidacy<Self::Rule>, id: CampaignId, now: Instant) -> bool;
}

enum Event<S: Store> {
    /// The process may handle something.
    Run,
    Arrive {
        connection: u64,
        sent: Instant,
        request: Request<S>,
    },
    Deliver {
        connection: u64,
        input: Box<Input<S>>,
    },
    Expire(S::Expiry),
}

enum Request<S: Store> {
    Ask(CampaignId, <S::Rule as Rule>::Request),
    Inspect { number: u64, asked_at: Instant },
    Watch { number: u64 },
}

struct World<S: Store> {
    store: S,
    now: Instant,
    queue: Queue<Event<S>>,
    dice: Dice,
    session: Session<S::Rule>,
    /// Answers that have arrived and are not yet handled.
    inbox: VecDeque<Input<S>>,
    /// Watch events that are not yet handled.
    shown: VecDeque<Input<S>>,
    /// The instant until which the process is busy.
    busy_until: Instant,
    wakes: Option<Instant>,
    /// Whether the process handles a timer next, if one is due. It does so after each input, as the driver does.
    ticks: bool,
    /// The share of a processor that the process gets, in percent.
    share: u32,
    /// The instant until which the store handles other requests.
    serves_until: Instant,
    service: Duration,
    /// The deadline of each election's term.
    deadlines: Vec<Option<Instant>>,
    connection: u64,
    /// The instant until which the store's latest message is in flight. Later messages do not overtake it.
    receives: Instant,
    watch: Option<u64>,
    lost: usize,
    early: usize,
    reconnects: usize,
    requests: u64,
}

impl<S: Store> World<S> {
    fn new(Overload { elections, lease, .. }: Overload, seed: u64) -> Self {
        let mut world = Self {
            store: S::new(elections),
            now: START,
            queue: Queue::new(),
            dice: Dice::new(seed, 0),
            session: Session::new(S::properties()),
            inbox: VecDeque::new(),
            shown: VecDeque::new(),
            busy_until: START,
            wakes: None,
            ticks: true,
            share: 100,
            serves_until: START,
            service: SERVICE,
            deadlines: vec![None; elections],
            connection: 0,
            receives: START,
            watch: None,
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
            world.inbox.push_back(session::Input::Enter(Box::new(enter)));
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

    /// Runs for a time, and returns the smallest number of elections led at any time.
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

    /// Handles the next event, unless it comes after `end`. Returns whether there was one.
    fn step(&mut self, end: Instant) -> bool {
        let Some((at, event)) = self.queue.take() else { return false };
        if at > end {
            self.queue.put(at, event);
            return false;
        }
        self.now = at;
        match event {
            Event::Run => self.work(),
            // Messages in flight on a former connection are lost.
            Event::Arrive { connection, .. } | Event::Deliver { connection, .. }
                if connection != self.connection => {}
            Event::Arrive { request, sent, .. } => self.serve(request, sent),
            Event::Deliver { input, .. } => {
                match *input {
                    session::Input::Watched { .. } | session::Input::WatchedAll { .. } => {
                        self.shown.push_back(*input);
                    }
                    input => self.inbox.push_back(input),
                }
                self.queue.put(self.now.max(self.busy_until), Event::Run);
            }
            Event::Expire(expiry) => S::expire(self, expiry),
        }
        true
    }

    /// Lets the process handle one input, if it has time.
    fn work(&mut self) {
        if self.now < self.busy_until {
            return;
        }
        let is_due = self.wakes.is_some_and(|wakes| wakes <= self.now);
        let next = if is_due && self.ticks { None } else { self.next_input() };
        let Some(input) = next.or(is_due.then_some(session::Input::Tick)) else { return };
        self.ticks = !matches!(input, session::Input::Tick);
        let requests = self.handle(input);
        self.busy_until = self.now + WORK * (1 + requests) * 100 / self.share;
        let is_idle = self.inbox.is_empty() && self.shown.is_empty();
        let next = if is_idle { self.wakes } else { Some(self.busy_until) };
        if let Some(next) = next {
            self.queue.put(next.max(self.busy_until), Event::Run);
        }
    }

    /// Returns the next input that arrived. Answers and watch events alternate, as in the driver.
    fn next_input(&mut self) -> Option<Input<S>> {
        let (mut first, mut second) = (&mut self.inbox, &mut self.shown);
        if self.dice.percent(50) {
            (first, second) = (second, first);
        }
        first.pop_front().or_else(|| second.pop_front())
    }

    /// Gives an input to the session and carries out its outputs. Returns the number of requests.
    fn handle(&mut self, input: Input<S>) -> u32 {
        let mut requests = 0;
        // Each input answers an output of this session, so none of them is misuse.
        self.session.handle(self.now, input.clone()).unwrap_or_else(|misuse| unreachable!("{misuse}"));
        loop {
            match self.session.poll() {
                Output::Ask { id, request, .. } => {
                    if S::sends(self, id, &request) {
                        requests += 1;
                        self.send(requests, Request::Ask(id, request));
                    }
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
                Output::Register { .. } => self.deliver(session::Input::Registered(true)),
                Output::Report { id, lease, events, .. } => {
                    self.deadlines[id as usize] = lease.map(|lease| lease.deadline);
                    let lost = events.iter().filter(|event| matches!(event, Reported::Lost { .. })).count();
                    self.lost += lost;
                    let proven =
                        self.session.campaign(id).is_some_and(|one| self.store.is_proven(one, id, self.now));
                    self.early += if proven { lost } else { 0 };
                }
                Output::WakeAt(wake) => {
                    self.wakes = wake.map(|wake| wake.at);
                    // An answer that arrives after a term's deadline does not keep the term.
                    self.store.learn(&input);
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

    /// Loses everything in flight, and begins a watch that shows every record.
    fn reconnect(&mut self) {
        self.reconnects += 1;
        self.connection += 1;
        if let Some(number) = self.watch.take() {
            self.deliver(session::Input::WatchEnded { number });
        }
        self.deliver(session::Input::Reconnected);
    }

    /// Sends a request when the process has made it, after earlier requests.
    fn send(&mut self, place: u32, request: Request<S>) {
        self.requests += 1;
        let made = self.now + WORK * place * 100 / self.share;
        let at = made + self.dice.micros(100, 500);
        self.queue.put(at, Event::Arrive { connection: self.connection, sent: self.now, request });
    }

    fn deliver(&mut self, input: Input<S>) {
        let at = self.answers_at();
        self.deliver_at(at, input);
    }

    /// Returns when an answer arrives that leaves the store now. No answer overtakes another.
    fn answers_at(&mut self) -> Instant {
        let at = (self.now.max(self.serves_until) + self.dice.micros(100, 500)).max(self.receives);
        self.receives = at;
        at
    }

    fn deliver_at(&mut self, at: Instant, input: Input<S>) {
        self.queue.put(at, Event::Deliver { connection: self.connection, input: Box::new(input) });
    }

    fn serve(&mut self, request: Request<S>, sent: Instant) {
        self.serves_until = self.serves_until.max(self.now) + self.service;
        match request {
            Request::Ask(id, request) => S::serve(self, id, request, sent),
            Request::Inspect { number, asked_at } => {
                let result = Ok(S::info(self, asked_at));
                self.deliver(session::Input::Inspected { number, result });
            }
            Request::Watch { number } => {
                self.watch = Some(number);
                self.deliver(session::Input::Watching { number });
                S::show_all(self, number);
            }
        }
    }

    fn show(&mut self, election: usize, shown: <S::Rule as Rule>::Shown) {
        let Some(number) = self.watch else { return };
        self.deliver(session::Input::Watched { number, election: name(election), shown });
    }
}

fn name(election: usize) -> String {
    format!("election-{election}")
}

/// Returns the nonce of an election's candidate.
fn nonce(election: usize) -> Nonce {
    Nonce(0x1000 + election as u128)
}

//! Hosts that err, lie and stall. Whatever they do, no trap, and no second term beside or below the first.

use oorandom::Rand64;
use wasmtime::component::{Component, HasSelf, Linker, Resource, ResourceAny, ResourceTable};
use wasmtime::{Config, Engine, Store};

use crate::bindings::Campaigner;
use crate::bindings::exports::incumbent::election::elections::Error;
use crate::bindings::incumbent::election::events::Event;
use crate::bindings::incumbent::election::records::{Kind, Message, Put};
use crate::bindings::incumbent::election::settings::{BackOff, Candidacy, Preset, WinDelay};
use crate::bindings::incumbent::election::stores::{Applied, Capabilities, Facts, Outcome};
use crate::bindings::incumbent::election::types::Fault;
use crate::bindings::incumbent::election::{clock, events, kv, random, records, settings, stores, types};
use crate::support::{Nothing, bytes};

const SECOND: u64 = 1_000_000_000;

/// A host with one key, which it keeps more or less.
struct Hostile {
    rng: Rand64,
    now: u64,
    /// Whether it counts suspension.
    fit: bool,
    /// How often out of 100 it lies or errs.
    malice: u64,
    sequence: u64,
    key: Option<Message>,
    /// What it was asked to put, answered late.
    forgotten: Option<Put>,
    table: ResourceTable,
}

impl Hostile {
    fn new(seed: u64, malice: u64) -> Self {
        Self {
            rng: Rand64::new(seed.into()),
            now: 3_600 * SECOND,
            fit: true,
            malice,
            sequence: 0,
            key: None,
            forgotten: None,
            table: ResourceTable::new(),
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.rng.rand_range(0..limit)
    }

    fn is_evil(&mut self) -> bool {
        self.below(100) < self.malice
    }

    fn odd(&mut self) -> u64 {
        match self.below(4) {
            0 => u64::MAX,
            1 => 0,
            2 => self.sequence + self.below(5),
            _ => self.rng.rand_u64(),
        }
    }

    fn fault(&mut self) -> Fault {
        match self.below(4) {
            0 => Fault::Unreachable("gone".into()),
            1 => Fault::Denied("no".into()),
            2 => Fault::Broken("full".into()),
            _ => Fault::Other("?".into()),
        }
    }

    /// A call takes its time, sometimes more than it was given.
    fn takes(&mut self, limit: u64) {
        let spent = match self.below(20) {
            0 => limit,
            1 if self.is_evil() => limit.saturating_mul(20),
            _ => self.below(2_000_000),
        };
        self.now = self.now.saturating_add(spent);
    }

    fn put(&mut self, kind: Kind, value: Vec<u8>, headers: Vec<(String, String)>) -> u64 {
        self.sequence += 1;
        self.key = Some(Message { revision: self.sequence, kind, value, headers });
        self.sequence
    }

    fn write(
        &mut self,
        expect: u64,
        put: Option<Put>,
        headers: Vec<(String, String)>,
        limit: u64,
    ) -> Outcome {
        self.takes(limit);
        if self.is_evil() {
            return match self.below(8) {
                0 => Outcome::Applied(Applied { revision: self.odd(), incarnation: Some(self.odd()) }),
                1 => Outcome::Applied(Applied { revision: self.odd(), incarnation: None }),
                2 => Outcome::Refused(self.odd()),
                3 => Outcome::Busy,
                4 => Outcome::NotSent,
                5 => Outcome::Failed(self.fault()),
                _ => {
                    // Applied later, or never.
                    self.forgotten = put;
                    Outcome::Unknown
                }
            };
        }
        let current = self.key.as_ref().map_or(0, |message| message.revision);
        if current != expect {
            return Outcome::Refused(current);
        }
        let revision = match put {
            Some(put) => self.put(Kind::Live, put.value.into_bytes(), put.headers),
            None => self.put(Kind::Tombstone, Vec::new(), headers),
        };
        Outcome::Applied(Applied { revision, incarnation: None })
    }

    /// What is under the key, or was, or never was.
    fn seen(&mut self) -> Option<Message> {
        if let Some(late) = self.forgotten.take_if(|_| self.rng.rand_range(0..2) == 0) {
            self.put(Kind::Live, late.value.into_bytes(), late.headers);
        }
        let mut message = self.key.clone();
        if self.is_evil() {
            message = message.or_else(|| {
                Some(Message { revision: 0, kind: Kind::Live, value: vec![0xff], headers: Vec::new() })
            });
            if let Some(message) = &mut message {
                message.revision = self.odd();
                message.kind = [Kind::Live, Kind::Tombstone, Kind::Expired][self.below(3) as usize];
            }
            return message.filter(|_| self.below(4) > 0);
        }
        message
    }
}

impl types::Host for Hostile {}
impl records::Host for Hostile {}
impl stores::Host for Hostile {}
impl settings::Host for Hostile {}
impl events::Host for Hostile {}

impl clock::Host for Hostile {
    fn now(&mut self) -> u64 {
        if self.is_evil() { self.now / 2 } else { self.now }
    }

    fn counts_suspension(&mut self) -> bool {
        self.fit
    }
}

impl random::Host for Hostile {
    fn random_u64(&mut self) -> u64 {
        self.rng.rand_u64()
    }
}

impl kv::Host for Hostile {
    fn open(&mut self, _bucket: String) -> Result<Resource<Nothing>, Fault> {
        Ok(self.table.push(Nothing).unwrap())
    }
}

impl kv::HostBucket for Hostile {
    fn capabilities(&mut self, _: Resource<Nothing>) -> Capabilities {
        Capabilities {
            own_lease: true,
            lease_step: 0,
            shortest: 0,
            longest: u64::MAX,
            granularity: 0,
            expiry_pushed: self.malice.is_multiple_of(2),
            incarnation_acked: false,
            fail_over: 0,
        }
    }

    fn check(&mut self, _: Resource<Nothing>, _: String, _: String) -> Result<(), Fault> {
        Ok(())
    }

    fn inspect(&mut self, _: Resource<Nothing>, limit: u64) -> Result<Facts, Fault> {
        self.takes(limit);
        let (evil, incarnation) = (self.is_evil(), 7);
        if evil && self.below(2) == 0 {
            return Err(self.fault());
        }
        let wrong = |host: &mut Self, right: u64| if evil && host.below(8) == 0 { host.odd() } else { right };
        Ok(Facts {
            incarnation: wrong(self, incarnation),
            age: Some(wrong(self, 1_000 * SECOND)),
            never_used: evil,
            max_age: evil.then(|| self.odd()),
            newest: Some(wrong(self, self.sequence)),
        })
    }

    fn read(&mut self, _: Resource<Nothing>, _: String, limit: u64) -> Result<Option<Message>, Fault> {
        self.takes(limit);
        if self.is_evil() { Err(self.fault()) } else { Ok(self.seen()) }
    }

    fn create(&mut self, _: Resource<Nothing>, _: String, put: Put, limit: u64) -> Outcome {
        self.write(0, Some(put), Vec::new(), limit)
    }

    fn update(&mut self, _: Resource<Nothing>, _: String, expect: u64, put: Put, limit: u64) -> Outcome {
        self.write(expect, Some(put), Vec::new(), limit)
    }

    fn delete(
        &mut self,
        _: Resource<Nothing>,
        _: String,
        expect: u64,
        headers: Vec<(String, String)>,
        limit: u64,
    ) -> Outcome {
        self.write(expect, None, headers, limit)
    }

    fn reconnect(&mut self, _: Resource<Nothing>, limit: u64) -> Result<(), Fault> {
        self.takes(limit);
        if self.is_evil() { Err(self.fault()) } else { Ok(()) }
    }

    fn watch(
        &mut self,
        _: Resource<Nothing>,
        _: String,
        limit: u64,
    ) -> Result<Option<Resource<Nothing>>, Fault> {
        self.takes(limit);
        if self.is_evil() { Err(self.fault()) } else { Ok(Some(self.table.push(Nothing).unwrap())) }
    }

    fn drop(&mut self, bucket: Resource<Nothing>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl kv::HostWatch for Hostile {
    fn poll(&mut self, _: Resource<Nothing>, _: u64) -> Result<Vec<Option<Message>>, Fault> {
        if self.is_evil() && self.below(4) == 0 {
            return Err(self.fault());
        }
        let told = if self.is_evil() { self.below(4) } else { 0 };
        Ok((0..told).map(|_| self.seen()).collect())
    }

    fn drop(&mut self, watch: Resource<Nothing>) -> wasmtime::Result<()> {
        self.table.delete(watch)?;
        Ok(())
    }
}

struct Guest {
    store: Store<Hostile>,
    world: Campaigner,
    election: ResourceAny,
}

fn compiled() -> (Engine, Component) {
    let engine = Engine::new(&Config::new()).unwrap();
    let component = Component::new(&engine, bytes()).unwrap();
    (engine, component)
}

fn candidacy() -> Candidacy {
    Candidacy {
        name: "a".into(),
        preset: Preset::Fast,
        lease: None,
        skew: None,
        drift_ppm: None,
        slack: None,
        win_delay: WinDelay::Automatic,
        splay: Some(0),
        drain: Some(SECOND),
        interval: None,
        back_off: BackOff::Standard,
        metadata: Vec::new(),
    }
}

impl Guest {
    fn campaign((engine, component): &(Engine, Component), host: Hostile) -> Result<Self, Error> {
        let mut linker = Linker::new(engine);
        Campaigner::add_to_linker::<_, HasSelf<Hostile>>(&mut linker, |host| host).unwrap();
        let mut store = Store::new(engine, host);
        let world = Campaigner::instantiate(&mut store, component, &linker).unwrap();
        let elections = world.incumbent_election_elections().election();
        let made = elections.call_campaign(&mut store, "elections", "jobs", &candidacy()).unwrap();
        made.map(|election| Self { store, world, election })
    }

    /// A step, and what it tells; its wake-up.
    fn step(&mut self) -> (Option<u64>, Vec<Event>) {
        let elections = self.world.incumbent_election_elections().election();
        let turn = elections.call_step(&mut self.store, self.election, 0).unwrap();
        (turn.wake_at, turn.events)
    }

    fn is_leader(&mut self) -> bool {
        let elections = self.world.incumbent_election_elections().election();
        elections.call_is_leader(&mut self.store, self.election).unwrap()
    }

    /// Steps until it leads.
    fn win(&mut self) {
        for _ in 0..10_000 {
            let (wake, events) = self.step();
            if events.iter().any(|event| matches!(event, Event::Won(_))) {
                return;
            }
            let now = self.store.data().now;
            self.store.data_mut().now = now.max(wake.unwrap());
        }
        panic!("it never leads");
    }
}

#[test]
fn a_clock_that_may_stand_still_in_a_suspension_is_refused_with_the_remedy() {
    let host = Hostile { fit: false, ..Hostile::new(1, 0) };
    let Err(Error::Refused(refused)) = Guest::campaign(&compiled(), host) else {
        panic!("it campaigns without a fit clock")
    };
    assert_eq!(refused.setting, "clock");
    assert!(refused.remedy.contains("CLOCK_BOOTTIME"), "{}", refused.remedy);
}

#[test]
fn the_first_answer_after_a_stall_longer_than_the_lease_is_that_it_does_not_lead() {
    let mut guest = Guest::campaign(&compiled(), Hostile::new(1, 0)).unwrap();
    guest.win();
    assert!(guest.is_leader());
    guest.store.data_mut().now += 2 * SECOND;
    assert!(!guest.is_leader(), "before any step");
    let (_, events) = guest.step();
    assert!(matches!(events.first(), Some(Event::Lost(_))), "{events:?}");
}

#[test]
fn a_clock_that_goes_back_after_a_deadline_gives_no_leadership_back() {
    let mut guest = Guest::campaign(&compiled(), Hostile::new(1, 0)).unwrap();
    guest.win();
    let before = guest.store.data().now;
    guest.store.data_mut().now += 2 * SECOND;
    assert!(!guest.is_leader());
    guest.store.data_mut().now = before;
    assert!(!guest.is_leader());
}

#[test]
fn the_end_of_a_term_is_told_before_the_seat_is_given_back() {
    let mut guest = Guest::campaign(&compiled(), Hostile::new(1, 0)).unwrap();
    guest.win();
    let elections = guest.world.incumbent_election_elections().election();
    elections.call_close(&mut guest.store, guest.election).unwrap();
    elections.call_drained(&mut guest.store, guest.election).unwrap();
    assert!(!guest.is_leader());
    let (wake, events) = guest.step();
    assert!(events.iter().any(|event| matches!(event, Event::Lost(_))), "{events:?}");
    let kind = |guest: &Guest| guest.store.data().key.as_ref().map(|message| message.kind);
    assert_eq!(kind(&guest), Some(Kind::Live), "whoever hears of it comes first");
    assert!(wake.unwrap() <= guest.store.data().now, "the next step is due at once");
    guest.step();
    assert_eq!(kind(&guest), Some(Kind::Tombstone));
}

#[test]
fn a_hostile_host_makes_no_trap_and_no_second_term() {
    let compiled = compiled();
    let mut terms = 0;
    for seed in 0..120 {
        let malice = [2, 5, 11, 30, 60][seed as usize % 5];
        // A host that errs at the very beginning is told so, and that is that.
        let Ok(mut guest) = Guest::campaign(&compiled, Hostile::new(seed, malice)) else { continue };
        let mut held = None;
        let mut last = (0, 0);
        for turn in 0..1_500 {
            let (wake, events) = guest.step();
            for event in events {
                match event {
                    Event::Won(term) => {
                        let token = (term.token.incarnation, term.token.sequence);
                        assert!(held.is_none(), "seed {seed}, turn {turn}: a second term");
                        assert!(token > last, "seed {seed}, turn {turn}: {token:?} after {last:?}");
                        (held, last) = (Some(token), token);
                        terms += 1;
                    }
                    Event::Lost(lost) => {
                        let token = (lost.term.token.incarnation, lost.term.token.sequence);
                        assert_eq!(held.take(), Some(token), "seed {seed}, turn {turn}");
                    }
                    _ => {}
                }
            }
            assert!(held.is_some() || !guest.is_leader(), "seed {seed}, turn {turn}: it leads untold");
            let Some(wake) = wake else { break };
            let host = guest.store.data_mut();
            // Now and then it sleeps for too long, or too short.
            host.now = match host.below(50) {
                0 => host.now.saturating_add(5 * SECOND),
                1..10 => host.now + 1_000_000,
                _ => host.now.max(wake.min(host.now.saturating_add(SECOND))),
            };
            let elections = guest.world.incumbent_election_elections().election();
            match guest.store.data_mut().below(400) {
                0 => elections.call_resign(&mut guest.store, guest.election).unwrap(),
                1 => elections.call_drained(&mut guest.store, guest.election).unwrap(),
                2 => elections.call_handler_failed(&mut guest.store, guest.election).unwrap(),
                3 => elections.call_health(&mut guest.store, guest.election, false).unwrap(),
                4..14 => elections.call_health(&mut guest.store, guest.election, true).unwrap(),
                _ => {}
            }
        }
    }
    assert!(terms > 100, "only {terms} terms were won on the way");
}

//! A host that fails, lies and stalls, drawn from a seed.

use std::collections::VecDeque;

use incumbent_wasmtime::Limits;
use oorandom::Rand64;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime::{StoreLimits, StoreLimitsBuilder};

use crate::bindings::incumbent::election::kv::Change;
use crate::bindings::incumbent::election::records::{Kind, Message, Put};
use crate::bindings::incumbent::election::stores::{Applied, Capabilities, Outcome, StoreInfo};
use crate::bindings::incumbent::election::types::Fault;
use crate::bindings::incumbent::election::{clock, events, kv, random, records, settings, stores, types};
use crate::support::Nothing;

pub(crate) const SECOND: u64 = 1_000_000_000;

/// The number of calls of a kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) reads: u32,
    pub(crate) creates: u32,
}

/// A host with one key, which it stores unreliably.
pub(crate) struct Hostile {
    rng: Rand64,
    pub(crate) now: u64,
    /// True if its clock counts suspension.
    pub(crate) fit: bool,
    /// The percentage of calls in which it lies or fails.
    malice: u64,
    pub(crate) sequence: u64,
    pub(crate) key: Option<Message>,
    /// All former messages of the key.
    past: Vec<Message>,
    /// True if it reports the revision that a write met instead of the expected one.
    pub(crate) names_revisions: bool,
    /// True if it offers a watch.
    pub(crate) watches: bool,
    /// The answer to as many of the next polls of a watch.
    pub(crate) changes: Option<(u32, Change)>,
    /// The memory that the component may have: a guest's limit by default.
    pub(crate) memory: StoreLimits,
    pub(crate) asked: Asked,
    /// The answers to the next writes, which change nothing.
    pub(crate) answers: VecDeque<Outcome>,
    /// The random numbers of each campaign; `None`: drawn from its seed.
    pub(crate) random: Option<[u64; 3]>,
    /// The number of random numbers that were drawn.
    drawn: usize,
    /// A put that was answered late.
    forgotten: Option<Put>,
    table: ResourceTable,
}

impl Hostile {
    pub(crate) fn new(seed: u64, malice: u64) -> Self {
        Self {
            rng: Rand64::new(seed.into()),
            now: 3_600 * SECOND,
            fit: true,
            malice,
            sequence: 0,
            key: None,
            past: Vec::new(),
            names_revisions: true,
            watches: true,
            changes: None,
            memory: StoreLimitsBuilder::new().memory_size(Limits::default().memory).build(),
            asked: Asked::default(),
            answers: VecDeque::new(),
            random: None,
            drawn: 0,
            forgotten: None,
            table: ResourceTable::new(),
        }
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
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

    /// Advances the clock for a call, sometimes beyond its limit.
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
        self.past.extend(self.key.replace(whole(self.sequence, kind, value, headers)));
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
                2 => Outcome::Refused([Some(self.odd()), None][self.below(2) as usize]),
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
        if let Some(answer) = self.answers.pop_front() {
            return answer;
        }
        let current = self.key.as_ref().map_or(0, |message| message.revision);
        if current != expect {
            return Outcome::Refused(self.names_revisions.then_some(current));
        }
        let revision = match put {
            Some(put) => self.put(Kind::Live, put.value.into_bytes(), put.headers),
            None => self.put(Kind::Tombstone, Vec::new(), headers),
        };
        Outcome::Applied(Applied { revision, incarnation: None })
    }

    /// Returns a present, former or invented message of the key.
    fn observed(&mut self) -> Option<Message> {
        if let Some(late) = self.forgotten.take_if(|_| self.rng.rand_range(0..2) == 0) {
            self.put(Kind::Live, late.value.into_bytes(), late.headers);
        }
        let mut message = self.key.clone();
        if self.is_evil() && !self.past.is_empty() {
            // An answer that was delayed, or from a server that lags.
            let place = self.below(self.past.len() as u64);
            return self.past.get(place as usize).cloned();
        }
        if self.is_evil() {
            message = message.or_else(|| Some(whole(0, Kind::Live, vec![0xff], Vec::new())));
            if let Some(message) = &mut message {
                message.revision = self.odd();
                message.kind = [Kind::Live, Kind::Tombstone, Kind::Expired][self.below(3) as usize];
            }
            return message.filter(|_| self.below(4) > 0);
        }
        message
    }
}

fn whole(revision: u64, kind: Kind, value: Vec<u8>, headers: Vec<(String, String)>) -> Message {
    Message { revision, kind, value, headers, oversize: None }
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
        self.drawn += 1;
        match self.random {
            Some(numbers) => numbers[(self.drawn - 1) % numbers.len()],
            None => self.rng.rand_u64(),
        }
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

    fn inspect(&mut self, _: Resource<Nothing>, limit: u64) -> Result<StoreInfo, Fault> {
        self.takes(limit);
        let (evil, incarnation) = (self.is_evil(), 7);
        if evil && self.below(2) == 0 {
            return Err(self.fault());
        }
        let wrong = |host: &mut Self, right: u64| if evil && host.below(8) == 0 { host.odd() } else { right };
        Ok(StoreInfo {
            incarnation: wrong(self, incarnation),
            age: Some(wrong(self, 1_000 * SECOND)),
            never_used: evil,
            max_age: evil.then(|| self.odd()),
            newest: Some(wrong(self, self.sequence)),
        })
    }

    fn read(&mut self, _: Resource<Nothing>, _: String, limit: u64) -> Result<Option<Message>, Fault> {
        self.takes(limit);
        self.asked.reads += 1;
        if self.is_evil() { Err(self.fault()) } else { Ok(self.observed()) }
    }

    fn create(&mut self, _: Resource<Nothing>, _: String, put: Put, limit: u64) -> Outcome {
        self.asked.creates += 1;
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
        if self.is_evil() {
            return Err(self.fault());
        }
        Ok(self.watches.then(|| self.table.push(Nothing).unwrap()))
    }

    fn drop(&mut self, bucket: Resource<Nothing>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl kv::HostWatch for Hostile {
    fn poll(&mut self, _: Resource<Nothing>, _: u64) -> Result<Change, Fault> {
        if self.is_evil() && self.below(4) == 0 {
            return Err(self.fault());
        }
        if let Some((left, change)) = self.changes.as_mut().filter(|(left, _)| *left > 0) {
            *left -= 1;
            return Ok(change.clone());
        }
        if !self.is_evil() {
            return Ok(Change::None);
        }
        Ok(self.observed().map_or(Change::Vacant, Change::Message))
    }

    fn drop(&mut self, watch: Resource<Nothing>) -> wasmtime::Result<()> {
        self.table.delete(watch)?;
        Ok(())
    }
}

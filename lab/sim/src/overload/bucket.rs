//! A bucket with one key per election.

use std::collections::VecDeque;
use std::time::Duration;

use incumbent_core::campaign::{Answer, Campaign, KeyLease, Request};
use incumbent_core::record::{Attempt, Entry, Kind, WriteId};
use incumbent_core::session::{CampaignId, Input, Scope};
use incumbent_core::store::{Capabilities, Outcome, StoreInfo, Write};
use incumbent_core::{Instant, Revision};

use super::{Event, Store, World, nonce};
use crate::clock::START;
use crate::nats::{Bucket, Put};
use crate::plan::BUCKET;

/// The longest time by which the store removes a record too late.
const GRANULARITY: Duration = Duration::from_millis(350);

/// One bucket for each election. All of them share their revisions.
pub(super) struct Buckets {
    buckets: Vec<Bucket>,
    sequence: u64,
    /// The writes that each election's candidate sent since its last applied one, and when it sent each of them.
    sent: Vec<VecDeque<(Attempt, Instant)>>,
    /// For each election, when the newest write that is known to be applied was sent.
    proven: Vec<Instant>,
    /// When the newest inspection that was answered was requested.
    inspected: Instant,
}

/// The record with this revision expires.
pub(super) struct Expiry {
    election: usize,
    revision: Revision,
}

impl Store for Buckets {
    type Rule = KeyLease;
    type Expiry = Expiry;

    fn new(elections: usize) -> Self {
        Self {
            buckets: (0..elections).map(|_| Bucket::new(START, START, 0, true)).collect(),
            sequence: 0,
            sent: vec![VecDeque::new(); elections],
            proven: vec![START; elections],
            inspected: START,
        }
    }

    fn properties() -> Capabilities {
        Capabilities { granularity: GRANULARITY, ..BUCKET }
    }

    fn info(world: &World<Self>, asked_at: Instant) -> StoreInfo {
        let bucket = &world.store.buckets[0];
        StoreInfo {
            asked_at,
            incarnation: bucket.incarnation,
            age: Some(world.now.since(bucket.made)),
            never_used: bucket.never_used,
            max_age: None,
            newest: Some(Revision(world.store.sequence)),
        }
    }

    fn sends(world: &mut World<Self>, id: CampaignId, request: &Request) -> bool {
        if let Request::Write(write) = request {
            world.store.sent[id as usize].push_back((write.attempt, world.now));
        }
        true
    }

    fn serve(world: &mut World<Self>, id: CampaignId, request: Request, _: Instant) {
        match request {
            Request::Write(write) => world.write(id, &write),
            Request::Read(read) => {
                let entry = world.store.buckets[id as usize].entry();
                world.deliver(Input::read(id, read, Ok(entry)));
            }
        }
    }

    fn expire(world: &mut World<Self>, Expiry { election, revision }: Expiry) {
        if world.store.buckets[election].revision() == revision {
            world.put(election, |bucket, now| bucket.put(&Put::bare(Kind::Expired), now, now));
        }
    }

    fn show_all(world: &mut World<Self>, number: u64) {
        for election in 0..world.store.buckets.len() {
            let entry = world.store.buckets[election].entry();
            if entry != Entry::Vacant {
                world.show(election, entry);
            }
        }
        world.deliver(Input::WatchedAll { number, of: Scope::All });
    }

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

    /// Whether the newest answered write and the inspection requested with it prove the lease.
    fn is_proven(&self, campaign: &Campaign, id: CampaignId, now: Instant) -> bool {
        let (lease, proven) = (campaign.lease_time(), self.proven[id as usize]);
        // An inspection requested this short a time before the write is sufficient.
        let asked = proven.before(lease / 60);
        self.inspected >= asked && now < (asked + lease).before(campaign.margin())
    }
}

impl World<Buckets> {
    fn write(&mut self, id: CampaignId, write: &Write) {
        let election = id as usize;
        let bucket = &self.store.buckets[election];
        let outcome = if bucket.compare(write.expect) {
            let write_id = WriteId { nonce: nonce(election), attempt: write.attempt };
            self.put(election, |bucket, now| bucket.apply(write, write_id, true, now, now));
            Outcome::Applied { revision: self.store.buckets[election].revision(), incarnation: None }
        } else {
            Outcome::Refused { current: bucket.revision() }
        };
        self.deliver(Input::wrote(id, write.attempt, outcome));
    }

    /// Changes the key of an election, and shows the change to the watch.
    fn put(&mut self, election: usize, change: impl FnOnce(&mut Bucket, Instant)) {
        let applied = self.now.max(self.serves_until);
        let bucket = &mut self.store.buckets[election];
        // All keys of a bucket share its revisions.
        bucket.sequence = self.store.sequence;
        change(bucket, applied);
        self.store.sequence = bucket.sequence;
        let (entry, revision) = (bucket.entry(), bucket.revision());
        let lease = bucket.message.as_ref().and_then(|message| message.ttl);
        if let (Entry::Live(_), Some(lease)) = (&entry, lease) {
            let late = self.dice.micros(0, GRANULARITY.as_micros() as u64);
            self.queue.put(applied + lease + late, Event::Expire(Expiry { election, revision }));
        }
        self.show(election, entry);
    }
}

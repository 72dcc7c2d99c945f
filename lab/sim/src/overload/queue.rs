//! An etcd with one queue per election.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::campaign::ReadId;
use incumbent_core::queue::{
    self, Answer, Campaign, Change, Failure, KeptAlive, LeaseId, Request, Server, Write,
};
use incumbent_core::session::{CampaignId, Input};
use incumbent_core::store::StoreInfo;

use super::{Event, Store, World, nonce};
use crate::clock::START;
use crate::etcd::{Author, Content, Lease};

/// The raft term of the store's first leader.
const TERM: u64 = 2;
/// The longest time by which the store removes a lease too late.
const LATE: Duration = Duration::from_millis(500);

/// The keys of each election. All of them share their revisions and the companions' lease.
pub(super) struct Queues {
    contents: Vec<Content>,
    revision: u64,
    /// The companions' lease as the process knows it, and the number of the next one.
    companions: Option<LeaseId>,
    next_companions: u64,
    /// When each lease expires, and its time to live.
    leases: BTreeMap<LeaseId, (Instant, Duration)>,
    /// For the candidate of each election, the lease of its place, and when the last answered keep-alives of that lease
    /// and of the companion's lease were sent.
    kept: Vec<(LeaseId, Instant, Instant)>,
    /// The unanswered reads of each candidate, each with the time that an answer to it proves.
    reads: Vec<VecDeque<(ReadId, Instant)>>,
    /// For each election, the instant from which the lease of the newest proof counts.
    proven: Vec<Instant>,
}

impl Store for Queues {
    type Rule = queue::Queue;
    type Expiry = (usize, LeaseId);

    fn new(elections: usize) -> Self {
        let content = || {
            let mut content = Content::new();
            content.born(START, true);
            content
        };
        Self {
            contents: (0..elections).map(|_| content()).collect(),
            revision: 2,
            companions: None,
            next_companions: 1,
            leases: BTreeMap::new(),
            kept: vec![(LeaseId(0), START, START); elections],
            reads: vec![VecDeque::new(); elections],
            proven: vec![START; elections],
        }
    }

    fn properties() -> Server {
        Server { shortest: Some(Duration::from_secs(2)) }
    }

    fn info(world: &World<Self>, asked_at: Instant) -> StoreInfo {
        let birth = world.store.contents[0].birth;
        let (incarnation, made) = birth.map(|birth| (birth.incarnation, birth.made)).unwrap_or_default();
        StoreInfo {
            asked_at,
            incarnation,
            age: Some(world.now.since(made)),
            never_used: true,
            max_age: None,
            newest: None,
        }
    }

    /// The process knows the companions' lease once it has been granted.
    fn sends(world: &mut World<Self>, id: CampaignId, request: &Request) -> bool {
        match request {
            Request::Share { gone, .. } => {
                if let Some(lease) = world.store.companions.filter(|lease| Some(*lease) != *gone) {
                    let answer = Answer::Shared { result: Ok(lease) };
                    world.deliver_at(world.now, Input::Answered { id, answer });
                    return false;
                }
            }
            Request::Read { read, .. } => {
                let (_, place, companion) = world.store.kept[id as usize];
                world.store.reads[id as usize].push_back((*read, place.min(companion)));
            }
            Request::KeepAlive { leases } => world.store.kept[id as usize].0 = leases.place,
            _ => {}
        }
        true
    }

    fn serve(world: &mut World<Self>, id: CampaignId, request: Request, sent_at: Instant) {
        let election = id as usize;
        let arrives = world.answers_at();
        let answer = match request {
            Request::Grant { lease, ttl } => {
                world.grant(election, lease, ttl);
                Answer::Granted { lease, result: Ok(ttl) }
            }
            Request::Share { gone, ttl } => {
                let lease = world.store.companions.filter(|lease| Some(*lease) != gone);
                let lease = lease.unwrap_or_else(|| world.share(ttl));
                Answer::Shared { result: Ok(lease) }
            }
            Request::KeepAlive { leases } => {
                for lease in leases.iter() {
                    let result = Ok(world.keep_alive(lease));
                    let answer = Answer::KeptAlive { lease, sent_at, result };
                    world.deliver_at(arrives, Input::Answered { id, answer });
                }
                return;
            }
            Request::Read { read, own, whole } => {
                let content = &mut world.store.contents[election];
                content.revision = world.store.revision;
                let result = Ok(Box::new(content.read(own, whole, TERM)));
                // The driver reports that a read was not answered within its limit.
                let limit = world.session.campaign(id).map_or(Duration::MAX, Campaign::attempt_limit);
                if arrives > sent_at + limit {
                    let answer = Answer::Read { read, sent_at, result: Err(Failure::Unanswered) };
                    world.deliver_at(world.now.max(sent_at + limit), Input::Answered { id, answer });
                }
                Answer::Read { read, sent_at, result }
            }
            Request::Write(write) => return world.write(id, &write, arrives),
            Request::Revoke { lease } => {
                world.remove(election, lease);
                Answer::Revoked { lease, result: Ok(()) }
            }
        };
        world.deliver_at(arrives, Input::Answered { id, answer });
    }

    fn expire(world: &mut World<Self>, (election, lease): (usize, LeaseId)) {
        match world.store.leases.get(&lease) {
            Some((until, _)) if *until > world.now => world.expires(election, lease),
            Some(_) if lease.raft_term() == TERM => {
                (0..world.store.contents.len()).for_each(|one| world.remove(one, lease));
            }
            Some(_) => world.remove(election, lease),
            None => {}
        }
    }

    fn show_all(_: &mut World<Self>, _: u64) {}

    fn learn(&mut self, input: &Input<Answer, Change>) {
        let Input::Answered { id, answer } = input else { return };
        let election = *id as usize;
        match answer {
            Answer::KeptAlive { lease, sent_at, result: Ok(kept) } if !kept.ttl.is_zero() => {
                let (place, of_place, of_companion) = &mut self.kept[election];
                let newest = if lease == place { of_place } else { of_companion };
                *newest = (*newest).max(*sent_at);
            }
            Answer::Read { read, result: Ok(snapshot), .. } => {
                while let Some((sent, since)) = self.reads[election].pop_front_if(|(sent, _)| *sent <= *read)
                {
                    if sent == *read && snapshot.place.is_some() && snapshot.companion.is_some() {
                        self.proven[election] = since;
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether a read that showed both keys, and the keep-alives answered before it, prove the lease.
    fn is_proven(&self, campaign: &Campaign, id: CampaignId, now: Instant) -> bool {
        now < (self.proven[id as usize] + campaign.lease_time()).before(campaign.margin())
    }
}

impl World<Queues> {
    fn applied(&self) -> Instant {
        self.now.max(self.serves_until)
    }

    fn grant(&mut self, election: usize, lease: LeaseId, ttl: Duration) {
        self.store.contents[election].leases.insert(lease, Lease { ttl, raft_term: TERM });
        let until = self.applied() + ttl;
        if self.store.leases.insert(lease, (until, ttl)).is_none() {
            self.expires(election, lease);
        }
    }

    /// Replaces the companions' lease in all elections.
    fn share(&mut self, ttl: Duration) -> LeaseId {
        let lease = LeaseId::of_companions(TERM, self.store.next_companions);
        (self.store.companions, self.store.next_companions) = (Some(lease), self.store.next_companions + 1);
        (0..self.store.contents.len()).for_each(|election| self.grant(election, lease, ttl));
        lease
    }

    /// Checks whether a lease has expired.
    fn expires(&mut self, election: usize, lease: LeaseId) {
        let Some((until, _)) = self.store.leases.get(&lease) else { return };
        let at = *until + self.dice.micros(1, LATE.as_micros() as u64);
        self.queue.put(at, Event::Expire((election, lease)));
    }

    fn keep_alive(&mut self, lease: LeaseId) -> KeptAlive {
        let applied = self.applied();
        let ttl = self.store.leases.get_mut(&lease).map_or(Duration::ZERO, |(until, ttl)| {
            *until = applied + *ttl;
            *ttl
        });
        KeptAlive { ttl, raft_term: TERM }
    }

    fn write(&mut self, id: CampaignId, write: &Write, arrives: Instant) {
        let election = id as usize;
        let lease_time = self.session.campaign(id).map_or(Duration::ZERO, Campaign::lease_time);
        let author =
            Author { name: format!("p{election}"), nonce: nonce(election), lease_time, successor: None };
        let content = &mut self.store.contents[election];
        content.revision = self.store.revision;
        let (outcome, change) = content.write(write, &author);
        self.store.revision = content.revision;
        let answer = Answer::Wrote { attempt: write.attempt, outcome };
        self.deliver_at(arrives, Input::Answered { id, answer });
        self.changed(election, change);
    }

    fn remove(&mut self, election: usize, lease: LeaseId) {
        self.store.leases.remove(&lease);
        let content = &mut self.store.contents[election];
        content.revision = self.store.revision;
        let [change, _] = content.revoke(lease);
        self.store.revision = content.revision;
        self.changed(election, change);
    }

    fn changed(&mut self, election: usize, change: Change) {
        if change != Change::default() {
            self.show(election, change);
        }
    }
}

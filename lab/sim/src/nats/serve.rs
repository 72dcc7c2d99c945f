//! The store at work: requests, commits, expiry, and elections among its servers.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::record::{Entry, Kind as Message, WriteId};
use incumbent_core::session::Input;
use incumbent_core::store::{Action, Fault, FaultKind, Outcome, StoreInfo, Write};
use incumbent_core::{Incarnation, Instant, Revision};

use super::cluster::{Bucket, Put, Route};
use super::process::{Incoming, Request};
use super::{Event, Proposal, Remaking, World};
use crate::kind::Kind;
use crate::observation::Observation;
use crate::plan::{DRIFT, GRANULARITY};
use crate::promise::Excuse;
use crate::world::CANDIDATE;

/// The time for which an isolated server keeps answering. A test measured 11 s.
const STALE: Duration = Duration::from_secs(11);

/// The longest time for which an answer may be in flight.
const LATEST: Duration = Duration::from_millis(12_010);

impl World {
    /// Serves a request that arrived at a server.
    pub(super) fn serve(&mut self, node: usize, process: u64, server: usize, request: Request, copy: bool) {
        // The fate of a second copy proves nothing about the first, so no answer states that the write was not applied.
        if copy && matches!(request, Request::Write(_)) {
            if let Route::Leader(leader) = self.store.cluster.route(server) {
                self.serve_as_leader(node, process, server, leader, request, copy);
            }
            return;
        }
        match self.store.cluster.route(server) {
            Route::Leader(_) if self.is_on(Kind::Unsent) && self.dice.percent(40) => {
                self.reject(node, process, request)
            }
            Route::Leader(leader) => self.serve_as_leader(node, process, server, leader, request, copy),
            Route::Stale(server) => self.serve_stale(node, process, server, request),
            Route::Leaderless if self.dice.percent(50) => self.reject(node, process, request),
            Route::Leaderless | Route::Silence => {}
        }
    }

    /// Answers a request that no server accepts.
    fn reject(&mut self, node: usize, process: u64, request: Request) {
        let fault = || Fault { kind: FaultKind::Unreachable, detail: "no responders".into() };
        let input = match request {
            Request::Write(write) => Input::wrote(CANDIDATE, write.attempt, Outcome::NotSent),
            Request::Read(read) => Input::read(CANDIDATE, read, Err(fault())),
            Request::Inspect { number, .. } => Input::Inspected { number, result: Err(fault()) },
            Request::Watch { .. } => return,
        };
        self.answer(node, process, Incoming::Input(input));
    }

    fn serve_as_leader(
        &mut self,
        node: usize,
        process: u64,
        server: usize,
        leader: usize,
        request: Request,
        copy: bool,
    ) {
        if let Some(denial) = self.nodes[node].denial(&request) {
            if let Some(input) = denial {
                self.answer(node, process, Incoming::Input(input));
            }
            return;
        }
        let gone = self.store.cluster.gone;
        let fault = || Fault { kind: FaultKind::Broken, detail: "there is no such bucket".into() };
        let input = match request {
            Request::Write(write) => return self.take_write(node, process, server, write, copy),
            Request::Read(read) if gone => Input::read(CANDIDATE, read, Err(fault())),
            Request::Inspect { number, .. } if gone => Input::Inspected { number, result: Err(fault()) },
            Request::Read(read) => Input::read(CANDIDATE, read, Ok(self.store.cluster.bucket.entry())),
            Request::Inspect { number, asked_at } => {
                let wall = self.store.cluster.wall(leader, self.now);
                Input::Inspected {
                    number,
                    result: Ok(self.store_info(&self.store.cluster.bucket, asked_at, wall)),
                }
            }
            Request::Watch { number } => {
                if !gone {
                    self.begin_watch(node, process, server, number);
                }
                return;
            }
        };
        self.answer(node, process, Incoming::Input(input));
    }

    fn begin_watch(&mut self, node: usize, process: u64, server: usize, number: u64) {
        let watch = &self.nodes[node].watch;
        // A number belongs to one watch on one incarnation, even if its request arrived twice.
        if !self.is_present(node, process) || watch.number != number || watch.on.is_some() || watch.over {
            return;
        }
        let incarnation = self.store.cluster.bucket.incarnation;
        let mut entry = self.store.cluster.bucket.entry();
        if self.plan.shows_all && self.is_on(Kind::SilentWatch) && self.nodes[node].dice.percent(30) {
            // A lagging replica serves the watch, and shows an absent key.
            entry = Entry::Vacant;
        }
        self.nodes[node].watch.on = Some((incarnation, server));
        if self.nodes[node].cut_in == 0 && !self.is_lost(node) {
            let at = self.watch_latency(node);
            self.deliver_at(at, node, process, Incoming::WatchReady { number, incarnation, entry });
        }
    }

    fn store_info(&self, bucket: &Bucket, asked_at: Instant, wall: Instant) -> StoreInfo {
        StoreInfo {
            asked_at,
            incarnation: bucket.incarnation,
            age: Some(wall.since(bucket.made_wall)),
            never_used: bucket.never_used,
            max_age: Some(self.store.cluster.max_age),
            newest: Some(Revision(bucket.sequence)),
        }
    }

    fn take_write(&mut self, node: usize, process: u64, server: usize, write: Write, copy: bool) {
        let failed = |kind, detail: &str| Outcome::Failed(Fault { kind, detail: detail.into() });
        let outcome = if copy {
            // The answer to a second copy of a write proves nothing.
            Outcome::Unknown
        } else if self.store.cluster.gone {
            failed(FaultKind::Broken, "there is no such bucket")
        } else if self.nodes[node].denied > 0 {
            failed(FaultKind::Denied, "no permission to publish")
        } else if self.is_on(Kind::Full) && !matches!(write.action, Action::Release { .. }) {
            failed(FaultKind::Broken, "the bucket is full")
        } else if self.store.in_flight.is_some() {
            Outcome::Busy
        } else if !self.store.cluster.bucket.compare(write.expect) {
            Outcome::Refused { current: self.store.cluster.bucket.revision() }
        } else {
            return self.propose(node, process, server, write);
        };
        self.answer(node, process, Incoming::Input(Input::wrote(CANDIDATE, write.attempt, outcome)));
    }

    fn propose(&mut self, node: usize, process: u64, server: usize, write: Write) {
        self.store.proposals += 1;
        let number = self.store.proposals;
        let incarnation = self.store.cluster.bucket.incarnation;
        let (stalled, survives) = (false, false);
        self.store.in_flight =
            Some(Proposal { number, node, process, server, write, incarnation, stalled, survives });
        let slow = self.is_on(Kind::SlowCommit) && self.dice.percent(40);
        let wait = if slow { self.dice.millis(1, 8_000) } else { self.dice.micros(50, 800) };
        self.after(wait, Event::Commit(number));
    }

    /// Commits a write on which the servers agree.
    pub(super) fn commit(&mut self, number: u64) {
        let ready = |proposal: &mut Proposal| proposal.number == number && !proposal.stalled;
        let Some(proposal) = self.store.in_flight.take_if(ready) else { return };
        let outcome = self.carry_out(&proposal);
        let Proposal { node, process, server, write, .. } = proposal;
        // Only a client connected to a healthy server gets the answer.
        if let Some(outcome) = outcome.filter(|_| self.store.cluster.is_up(server)) {
            self.answer(node, process, Incoming::Input(Input::wrote(CANDIDATE, write.attempt, outcome)));
        }
    }

    /// Applies a write on which the servers agreed. Returns `None` if the write's bucket is gone.
    pub(super) fn carry_out(&mut self, proposal: &Proposal) -> Option<Outcome> {
        let bucket = &self.store.cluster.bucket;
        if bucket.incarnation != proposal.incarnation || self.store.cluster.gone {
            return None;
        }
        if !bucket.compare(proposal.write.expect) {
            return Some(Outcome::Refused { current: bucket.revision() });
        }
        // When one server of three removes the old message, it may remove the new one as well. Tests showed this after
        // an old `DEL` and after an expired record, but never after a `PURGE`.
        let overdue = self.store.cluster.expires_at(self.now).is_some_and(|at| at <= self.now);
        let erasable = match bucket.entry() {
            Entry::Live(_) => overdue,
            Entry::Deleted { .. } => true,
            Entry::Vacant | Entry::Released(_) | Entry::Expired { .. } => false,
        };
        let wall = self.store.cluster.leaders_wall(self.now);
        let nonce = self.nonce_of(&proposal.write)?;
        self.others_write();
        if let Some(node) = self.nodes.iter().position(|node| node.nonce == nonce) {
            self.promises.wrote(self.now, node);
        }
        let attempt = proposal.write.attempt;
        let write_id = WriteId { nonce, attempt };
        self.store.cluster.bucket.apply(&proposal.write, write_id, self.plan.own_lease, self.now, wall);
        let (incarnation, revision) =
            (self.store.cluster.bucket.incarnation, self.store.cluster.bucket.revision());
        self.observe(&Observation::Applied { nonce, attempt, incarnation, revision });
        self.key_changed();
        if erasable
            && self.plan.markers
            && self.plan.replicas == 3
            && self.is_on(Kind::Erase)
            && self.dice.percent(60)
        {
            let wait = self.dice.millis(0, 300);
            self.after(wait, Event::Erase(incarnation, revision));
        }
        Some(Outcome::Applied { revision, incarnation: self.plan.acked.then_some(incarnation) })
    }

    /// Returns the nonce of a write's sender, taken from the write itself because the sender may be gone by now.
    fn nonce_of(&self, write: &Write) -> Option<incumbent_core::record::Nonce> {
        let headers = match &write.action {
            Action::Acquire(put) | Action::Renew(put) => &put.headers,
            Action::Release { headers } => headers,
        };
        let text = &headers.iter().find(|(name, _)| name == incumbent_core::record::NONCE)?.1;
        text.parse::<WriteId>().ok().map(|write_id| write_id.nonce)
    }

    /// Lets an isolated server that was the leader answer from its old state. It can commit nothing.
    fn serve_stale(&mut self, node: usize, process: u64, server: usize, request: Request) {
        let old_incarnation = self.is_on(Kind::OldIncarnation);
        let (now, present) = (self.now, self.store.cluster.bucket.incarnation);
        let wall = self.store.cluster.wall(server, now);
        let Some(isolated) = &mut self.store.cluster.servers[server].isolated else { return };
        let over = isolated.knew.incarnation != present;
        // While the server is cut off, it answers that a write is in flight.
        let busy = isolated.stuck && matches!(request, Request::Write(_));
        if now > isolated.since + STALE && !busy || over && !old_incarnation {
            return;
        }
        if over && self.nodes[node].misled.replace(now + LATEST).is_none() {
            self.promises.mislead(node);
        }
        let input = match request {
            Request::Write(write) => {
                let current = isolated.knew.revision();
                let outcome = if isolated.stuck {
                    Outcome::Busy
                } else if !isolated.knew.compare(write.expect) {
                    Outcome::Refused { current }
                } else {
                    isolated.stuck = true;
                    return;
                };
                Input::wrote(CANDIDATE, write.attempt, outcome)
            }
            Request::Read(read) => Input::read(CANDIDATE, read, Ok(isolated.knew.entry())),
            Request::Inspect { number, asked_at } => {
                let knew = isolated.knew.clone();
                Input::Inspected { number, result: Ok(self.store_info(&knew, asked_at, wall)) }
            }
            Request::Watch { .. } => return,
        };
        self.answer(node, process, Incoming::Input(input));
    }

    /// Arranges a check of the key's message for the time at which it should be too old.
    pub(super) fn expire_later(&mut self) {
        if let Some(at) = self.store.cluster.expires_at(self.now) {
            let (incarnation, revision) =
                (self.store.cluster.bucket.incarnation, self.store.cluster.bucket.revision());
            let late = self.dice.micros(0, GRANULARITY.as_micros() as u64);
            self.put(at + late, Event::Expire(incarnation, revision));
        }
    }

    /// Removes the message with a revision if it is too old.
    pub(super) fn expire(&mut self, incarnation: Incarnation, revision: Revision) {
        let bucket = &self.store.cluster.bucket;
        let same = bucket.incarnation == incarnation && bucket.revision() == revision;
        let due = self.store.cluster.expires_at(self.now).is_some_and(|at| at <= self.now);
        if !same || !due || self.store.in_flight.as_ref().is_some_and(|proposal| proposal.stalled) {
            return;
        }
        let marked = self.plan.markers && matches!(bucket.entry(), Entry::Live(_));
        self.remove_message(marked);
    }

    /// Lets the server's own marker erase a write.
    pub(super) fn erase(&mut self, incarnation: Incarnation, revision: Revision) {
        let bucket = &self.store.cluster.bucket;
        if bucket.incarnation == incarnation
            && bucket.revision() == revision
            && self.store.cluster.leader.is_some()
        {
            self.note(|trace| write!(trace, "store: a marker erases @{}", revision.0));
            // The marker looks like that of an expiry, and hides a recent deletion.
            let unaware = self.unaware();
            self.promises.vanished(self.now, unaware.into_iter());
            self.put_marker();
        }
    }

    /// Removes the key's message, with a marker or without a trace.
    pub(super) fn remove_message(&mut self, marked: bool) {
        self.check_removal();
        if marked {
            self.put_marker();
        } else {
            self.store.cluster.bucket.message = None;
            self.key_changed();
        }
    }

    fn put_marker(&mut self) {
        let wall = self.store.cluster.leaders_wall(self.now);
        self.others_write();
        self.store.cluster.bucket.put(&Put::bare(Message::Expired), self.now, wall);
        self.key_changed();
    }

    /// Checks whether a candidate could still count on the removed record.
    fn check_removal(&mut self) {
        let Some(message) = &self.store.cluster.bucket.message else { return };
        let lease = message.ttl.unwrap_or(self.plan.lease);
        // The servers' clocks may differ, and may run fast.
        let allowed = self.plan.skew + lease * DRIFT as u32 / 1_000_000;
        let counted_on =
            !matches!(message.entry, Entry::Expired { .. }) && self.now.since(message.at) + allowed < lease;
        if counted_on {
            let unaware = self.unaware();
            self.promises.vanished(self.now, unaware.into_iter());
        }
    }

    /// Returns the candidates that have not received the newest revision.
    fn unaware(&self) -> Vec<usize> {
        let newest = (self.store.cluster.bucket.incarnation, self.store.cluster.bucket.revision());
        let unaware =
            |node: &usize| self.nodes[*node].campaign().is_some() && self.nodes[*node].seen != newest;
        (0..self.nodes.len()).filter(unaware).collect()
    }

    /// Writes other keys of the bucket, if the plan has such writes.
    pub(super) fn others_write(&mut self) {
        if self.plan.other_keys > 0 && self.dice.percent(self.plan.other_keys) {
            self.store.cluster.bucket.sequence += 1 + self.dice.below(5);
        }
    }

    /// Whether every candidate has received the newest revision.
    pub(super) fn all_saw_it(&self) -> bool {
        let newest = (self.store.cluster.bucket.incarnation, self.store.cluster.bucket.revision());
        self.nodes.iter().all(|node| node.campaign().is_none() || node.seen == newest)
    }

    /// Ends the leadership of the stream's leader.
    pub(super) fn depose(&mut self) {
        let Some(leader) = self.store.cluster.leader else { return };
        if self.store.cluster.is_up(leader) && self.store.cluster.has_quorum() {
            return;
        }
        self.store.cluster.leader = None;
        let survives = self.dice.percent(50);
        if let Some(proposal) = &mut self.store.in_flight {
            proposal.stalled = true;
            proposal.survives = survives;
        }
        // In tests this took 5 to 7 s.
        let wait = self.dice.millis(5_000, 7_000);
        self.elect_after(wait);
    }

    pub(super) fn elect_after(&mut self, wait: Duration) {
        self.store.cluster.election += 1;
        self.after(wait, Event::Elect(self.store.cluster.election));
    }

    /// Elects a leader among the healthy servers, if these are the majority.
    pub(super) fn elect(&mut self, number: u64) {
        if number != self.store.cluster.election
            || self.store.cluster.leader.is_some()
            || !self.store.cluster.has_quorum()
        {
            return;
        }
        let well: Vec<_> = (0..self.store.cluster.servers.len())
            .filter(|server| self.store.cluster.is_up(*server))
            .collect();
        let leader = self.dice.pick(&well);
        self.note(|trace| write!(trace, "store: server {leader} leads"));
        self.store.cluster.leader = Some(leader);
        if let Some(proposal) = self.store.in_flight.take_if(|proposal| proposal.stalled)
            && proposal.survives
        {
            self.note(|trace| write!(trace, "store: commits late {:?}", proposal.write.attempt));
            self.carry_out(&proposal);
        }
        self.expire_later();
    }

    /// Recreates the bucket, whose sequence writes to other keys have already raised to `sequence`.
    pub(super) fn remake(&mut self, remaking: Remaking) {
        if !self.store.cluster.gone {
            return;
        }
        let wall = self.store.cluster.leaders_wall(self.now);
        let Remaking { sequence, never_used, max_age } = remaking;
        // The server's clock is behind, so the new incarnation is not later than the last one or than that of a
        // promised token.
        let before = wall.as_nanos() <= self.store.cluster.bucket.incarnation.0;
        if before || self.promises.largest().is_some_and(|token| wall.as_nanos() <= token.incarnation.0) {
            self.promises.began_before(self.now);
        } else {
            self.promises.began_after(self.now);
        }
        if self.store.cluster.spread() > self.plan.skew || self.is_on(Kind::ClockStep) {
            self.promises.waive(self.now, self.plan.lease * 2, Excuse::ServerClocks);
        }
        if let Some(lower) = max_age.filter(|_| self.is_on(Kind::RecreateLower)) {
            self.store.cluster.max_age = lower;
        }
        if never_used || self.store.cluster.max_age < self.plan.max_age {
            // Candidates that knew the old bucket know the lease of its leader and its maximum age.
            let knew_less = |node: &usize| {
                let node = &self.nodes[*node];
                node.campaign().is_some() && node.oldest < self.plan.max_age
            };
            let unaware: Vec<_> = (0..self.nodes.len()).filter(knew_less).collect();
            self.promises.vanished(self.now, unaware.into_iter());
        }
        self.store.cluster.gone = false;
        self.store.cluster.bucket = Bucket::new(self.now, wall, sequence, never_used);
        self.store.history.clear();
        self.note(|trace| write!(trace, "store: made again, at sequence {sequence}"));
        let max_age = self.store.cluster.max_age;
        self.observe(&Observation::Remade { max_age });
        self.key_changed();
    }
}

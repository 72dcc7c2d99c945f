//! How the members serve requests and keep-alives, and how the network carries them.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::queue::{Answer, Change, Failure, LeaseId, Outcome, Write};
use incumbent_core::record::Nonce;
use incumbent_core::session::Input;
use incumbent_core::store::{Fault, FaultKind, StoreInfo};

use super::cluster::LATE;
use super::content::{Author, Birth};
use super::process::{Incoming, KeepAlive, Request, asked_by};
use super::{Event, World};
use crate::kind::Kind;
use crate::observation::Observation;
use crate::world::{CANDIDATE, is_of_second, nonce_of};

/// The longest time for which a member without a leader holds a keep-alive back (measured: 7 s).
const HELD: Duration = Duration::from_secs(7);

/// The time within which the client's pings reveal that a connection is gone.
const PINGED: Duration = Duration::from_secs(9);

/// The nonce of the campaign that made the request with this number, even if its process has ended.
fn author(process: u64, number: u64) -> Nonce {
    nonce_of(Nonce(0x1000 + u128::from(process)), asked_by(number))
}

impl World {
    // ---- the network ----

    /// Sends a candidate's request to its member.
    pub(super) fn send(&mut self, node: usize, number: u64, request: Request) {
        if self.nodes[node].cut_out > 0 || self.is_lost(node) {
            return;
        }
        let (process, member) = (self.nodes[node].process, self.nodes[node].member);
        let latency = self.latency(node);
        let slow = false;
        self.after(latency, Event::Request { node, process, member, number, request, slow });
    }

    /// Sends a message to a candidate.
    fn reply(&mut self, node: usize, process: u64, incoming: Incoming) {
        if self.nodes[node].cut_in > 0 || self.is_lost(node) {
            return;
        }
        let latency = self.latency(node);
        self.deliver_after(latency, node, process, incoming);
    }

    fn answer(&mut self, node: usize, process: u64, number: u64, answer: Answer) {
        self.reply(node, process, Incoming::Answer { number, answer });
    }

    /// Sends a change of an election to the ready watches, sometimes in two messages.
    pub(super) fn publish(&mut self, election: &'static str, change: &Change) {
        for node in 0..self.nodes.len() {
            let Some(member) = self.nodes[node].watch.on else { continue };
            let reached =
                self.nodes[node].alive && self.store.cluster.is_up(member) && self.nodes[node].cut_in == 0;
            if !reached {
                // A connection that is cut loses its watch, and a ping reveals the loss to its client.
                self.nodes[node].watch.on = None;
                let (process, number) = (self.nodes[node].process, self.nodes[node].watch.number);
                self.deliver_at(self.now + PINGED, node, process, Incoming::WatchEnded { number });
                continue;
            }
            if self.is_on(Kind::SilentWatch) && self.nodes[node].dice.percent(50) {
                continue;
            }
            let (process, number) = (self.nodes[node].process, self.nodes[node].watch.number);
            let most = self.plan.lease.as_millis() as u64;
            if self.nodes[node].slow > 0 || self.is_on(Kind::Lag) && self.nodes[node].dice.percent(50) {
                let late = self.nodes[node].dice.millis(1, most);
                let watch = &mut self.nodes[node].watch;
                watch.last = watch.last.max(self.now + late);
            }
            if self.is_on(Kind::Compact) && self.nodes[node].dice.percent(30) || self.is_lost(node) {
                let at = self.watch_latency(node);
                let incoming = Incoming::WatchEnded { number };
                self.nodes[node].watch.on = None;
                self.deliver_at(at, node, process, incoming);
                continue;
            }
            let split = !change.removed_places.is_empty()
                && !change.removed_companions.is_empty()
                && self.nodes[node].dice.percent(10);
            let parts = match split {
                true => vec![
                    Change { removed_companions: Vec::new(), ..change.clone() },
                    Change { removed_places: Vec::new(), ..change.clone() },
                ],
                false => vec![change.clone()],
            };
            for change in parts {
                let at = self.watch_latency(node);
                let incoming = Incoming::Watched { number, election, change };
                self.deliver_at(at, node, process, incoming);
            }
        }
    }

    /// When the next message of a watch arrives, which is no earlier than the last one.
    fn watch_latency(&mut self, node: usize) -> Instant {
        let latency = self.latency(node);
        let watch = &mut self.nodes[node].watch;
        watch.last = watch.last.max(self.now + latency);
        watch.last
    }

    // ---- requests ----

    pub(super) fn serve(
        &mut self,
        node: usize,
        process: u64,
        member: usize,
        number: u64,
        request: Request,
        slow: bool,
    ) {
        if self.is_on(Kind::SlowCommit) && !slow {
            let wait = self.nodes[node].dice.millis(1, 8_000);
            let request = Event::Request { node, process, member, number, request, slow: true };
            return self.after(wait, request);
        }
        if self.store.cluster.members[member].stopped > 0 {
            // It waits in the socket.
            let wait = self.nodes[node].dice.millis(200, 400);
            let request = Event::Request { node, process, member, number, request, slow: true };
            return self.after(wait, request);
        }
        if self.store.cluster.leader.is_none() || !self.store.cluster.is_up(member) {
            let nonce = author(process, number);
            if let Request::Write(write) = &request
                && process == self.nodes[node].process
                && self.nodes[node].dice.percent(30)
            {
                // The write is in the log of the next leader.
                let wait = self.nodes[node].dice.millis(500, 4_000);
                self.after(wait, Event::Late { node, nonce, write: write.clone() });
            }
            return self.fail(node, process, number, &request, Failure::Unknown);
        }
        let lacks = self.nodes[node].lacks.filter(|_| process == self.nodes[node].process);
        // A lost permission concerns only the first election. Without a permission in the second election, the
        // companion there could not leave the lease that it shares with the companion in the first.
        let lacks = lacks.filter(|lacks| lacks.is_cut() || asked_by(number) == CANDIDATE);
        if let Some(failure) = lacks.and_then(|lacks| lacks.failed(&request)) {
            if let Some(failure) = failure {
                self.fail(node, process, number, &request, failure);
            }
            return;
        }
        if self.is_on(Kind::Unsent) {
            return self.fail(node, process, number, &request, Failure::NotSent);
        }
        if self.is_on(Kind::TokenExpiry) && self.nodes[node].dice.percent(40) {
            return self.fail(node, process, number, &request, Failure::NotSent);
        }
        // In every second process the role loses only its permission to read.
        let reads_alone = process.is_multiple_of(2);
        if self.nodes[node].denied > 0
            && (!reads_alone || matches!(request, Request::Read { .. }))
            && self.is_denied_of(process, number, &request)
        {
            let denied = Fault { kind: FaultKind::Denied, detail: "permission denied".into() };
            return self.fail(node, process, number, &request, Failure::Fault(denied));
        }
        let puts = match &request {
            Request::Grant { .. } | Request::Share { .. } => true,
            Request::Write(write) => {
                use incumbent_core::queue::Action;
                !matches!(write.action, Action::Leave { .. } | Action::LeaveCompanion { .. })
            }
            _ => false,
        };
        if puts && self.is_on(Kind::Full) {
            let full = Fault { kind: FaultKind::Broken, detail: "database space exceeded".into() };
            return self.fail(node, process, number, &request, Failure::Fault(full));
        }
        self.serve_present(node, process, member, number, request);
    }

    /// Whether a process that lost its permission is denied this request. If there are two elections, it may have lost
    /// the permission for only one of them.
    fn is_denied_of(&self, process: u64, number: u64, request: &Request) -> bool {
        let of_an_election = matches!(request, Request::Read { .. } | Request::Write(_));
        match process % 3 {
            _ if !self.plan.second => true,
            0 => of_an_election && asked_by(number) == CANDIDATE,
            1 => of_an_election && asked_by(number) != CANDIDATE,
            _ => true,
        }
    }

    fn fail(&mut self, node: usize, process: u64, number: u64, request: &Request, failure: Failure) {
        if let Some(answer) = request.failed(failure) {
            return self.answer(node, process, number, answer);
        }
        let fault = Fault { kind: FaultKind::Unreachable, detail: "no leader".into() };
        let input = match request {
            Request::Inspect { number, .. } => Input::Inspected { number: *number, result: Err(fault) },
            Request::Watch { number } => Input::WatchEnded { number: *number },
            _ => return,
        };
        self.reply(node, process, Incoming::Input(input));
    }

    fn serve_present(&mut self, node: usize, process: u64, member: usize, number: u64, request: Request) {
        match request {
            Request::Grant { lease, ttl } | Request::Share { lease, ttl } => {
                let result = match self.store.cluster.grant(self.now, lease, ttl) {
                    Some(at) => {
                        self.expire_after(lease, at);
                        Ok(())
                    }
                    None => Err(Failure::LeaseExists),
                };
                let answer = match request {
                    Request::Share { .. } => Answer::Shared { result: result.map(|()| lease) },
                    _ => Answer::Granted { lease, result: result.map(|()| ttl) },
                };
                self.changed(&Change::default());
                self.answer(node, process, number, answer);
            }
            Request::Read { read, own, whole, sent_at } => {
                let raft_term = self.store.cluster.raft_term;
                let id = asked_by(number);
                let second = id != CANDIDATE;
                let snapshot = self.store.cluster.content.of(second, |keys| keys.read(own, whole, raft_term));
                self.observe_by(id, &Observation::Read { node, snapshot: &snapshot });
                self.answer(
                    node,
                    process,
                    number,
                    Answer::Read { read, sent_at, result: Ok(Box::new(snapshot)) },
                );
            }
            Request::Write(write) => {
                let outcome = self.write(node, author(process, number), &write);
                self.answer(node, process, number, Answer::Wrote { attempt: write.attempt, outcome });
            }
            Request::Revoke { lease } => {
                let known = self.store.cluster.content.leases.contains_key(&lease);
                self.revoke(lease);
                let result = if known { Ok(()) } else { Err(Failure::LeaseGone) };
                self.answer(node, process, number, Answer::Revoked { lease, result });
            }
            Request::Inspect { number, asked_at } => {
                // An operator's statement is about the first store, not about one that was wiped later.
                let never_used = self.plan.never_used && !self.store.wiped;
                let raft_term = self.store.cluster.members[member].applied;
                let Birth { incarnation, never_used, .. } =
                    self.store.cluster.content.born(self.now, never_used);
                let result = Ok(StoreInfo {
                    asked_at,
                    incarnation,
                    age: None,
                    never_used,
                    max_age: None,
                    newest: None,
                });
                let input = Input::Inspected { number, result };
                self.reply(node, process, Incoming::Inspected { raft_term, input });
            }
            Request::Watch { number } => {
                let watch = &mut self.nodes[node].watch;
                if watch.number != number || watch.over {
                    return;
                }
                watch.on = Some(member);
                let at = self.watch_latency(node);
                if self.nodes[node].cut_in == 0 {
                    let incoming = Incoming::WatchReady { number };
                    self.deliver_at(at, node, process, incoming);
                }
            }
        }
    }

    /// Applies a transaction of the campaign with this nonce.
    pub(super) fn write(&mut self, node: usize, nonce: Nonce, write: &Write) -> Outcome {
        let name = format!("c{node}");
        let lease_time = self.plan.settings[node].lease;
        let author = Author { name, nonce, lease_time, successor: None };
        let second = is_of_second(nonce);
        let (outcome, change) = self.store.cluster.content.of(second, |keys| keys.write(write, &author));
        self.note(|trace| write!(trace, "store: {write:?} of c{node}: {outcome:?}"));
        if let Outcome::Applied { revision } = outcome {
            let attempt = write.attempt;
            let incarnation =
                self.store.cluster.content.birth.map(|birth| birth.incarnation).unwrap_or_default();
            if second || nonce == self.nodes[node].nonce {
                self.promises.wrote(self.now, node);
            }
            let id = CANDIDATE + u64::from(second);
            self.observe_by(id, &Observation::Applied { nonce, attempt, incarnation, revision });
            match second {
                true => self.second_changed(&change),
                false => self.changed(&change),
            }
        }
        outcome
    }

    // ---- leases ----

    pub(super) fn revoke(&mut self, lease: LeaseId) {
        let [first, second] = self.store.cluster.revoke(lease);
        self.changed(&first);
        self.second_changed(&second);
    }

    pub(super) fn expire_after(&mut self, lease: LeaseId, at: Instant) {
        let late = self.dice.millis(0, LATE.as_millis() as u64);
        self.put(at + late, Event::Expire(lease));
    }

    /// Revokes a lease that has run out.
    pub(super) fn expire(&mut self, lease: LeaseId) {
        // If the store has a new leader, the lease began again and runs out later.
        let Some(at) = self.store.cluster.expires(lease) else { return };
        if at > self.now {
            return self.expire_after(lease, at);
        }
        self.note(|trace| write!(trace, "store: lease {lease} has run out"));
        self.revoke(lease);
    }

    pub(super) fn keep_alive_arrives(&mut self, node: usize, stream: u64, keep: KeepAlive) {
        let place = &mut self.nodes[node].stream;
        if place.number != stream || place.broken {
            // The answer reaches no candidate, but the lease is extended.
            if self.store.cluster.leader.is_some() {
                self.extend(node, keep);
            }
            return;
        }
        place.held.push_back(keep);
        if self.nodes[node].stream.held.len() == 1 {
            self.work_off(node);
        }
    }

    /// Answers the keep-alives of a stream in order, until one is held back.
    fn work_off(&mut self, node: usize) {
        while let Some(keep) = self.nodes[node].stream.held.front().copied() {
            let Some(result) = self.keep_alive(node, keep) else {
                let (process, stream) = (self.nodes[node].process, self.nodes[node].stream.number);
                let number = keep.number;
                return self.after(HELD, Event::Release { node, process, stream, number });
            };
            self.nodes[node].stream.held.pop_front();
            self.kept_alive(node, keep, result);
        }
    }

    /// Answers the keep-alive that a member holds back. The answer is unknown, or it comes from the former leader of
    /// the store to which the member had forwarded the keep-alive.
    pub(super) fn release(&mut self, node: usize, former: Option<usize>) {
        let Some(keep) = self.nodes[node].stream.held.pop_front() else { return };
        let through = self.store.cluster.members[self.nodes[node].stream.member].applied;
        let former = former.and_then(|member| self.store.cluster.members[member].former.as_ref());
        let answer = former.and_then(|former| former.keep_alive(self.now, keep.lease, Some(through)));
        self.kept_alive(node, keep, answer.ok_or(Failure::Unknown));
        self.work_off(node);
    }

    /// A member's answer to a keep-alive; `None` if the member holds it back.
    fn keep_alive(
        &mut self,
        node: usize,
        keep: KeepAlive,
    ) -> Option<Result<incumbent_core::queue::KeptAlive, Failure>> {
        let at = self.nodes[node].stream.member;
        let member = &self.store.cluster.members[at];
        if member.down > 0 {
            self.nodes[node].stream.broken = true;
            return None;
        }
        if member.stopped > 0 {
            return None;
        }
        if let Some(former) = member.former.as_ref().filter(|former| former.until > self.now) {
            return Some(former.keep_alive(self.now, keep.lease, None).ok_or(Failure::Unknown));
        }
        if self.store.cluster.leader.is_none() || member.isolated > 0 {
            return None;
        }
        if self.is_on(Kind::TokenExpiry) && self.nodes[node].dice.percent(20) {
            return Some(Err(Failure::NotSent));
        }
        let raft_term = member.applied;
        let ttl = self.extend(node, keep).unwrap_or_default();
        Some(Ok(incumbent_core::queue::KeptAlive { ttl, raft_term }))
    }

    /// The leader extends a lease.
    fn extend(&mut self, node: usize, keep: KeepAlive) -> Option<Duration> {
        let ttl = self.store.cluster.keep_alive(self.now, keep.lease)?;
        self.observe_all(&Observation::Kept { node, lease: keep.lease, sent_at: keep.sent_at });
        Some(ttl)
    }
}

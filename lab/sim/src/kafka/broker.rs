//! The brokers: appends, fetches, inspections, and what the network does to messages.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::induction::{Answer, Failure, Operation, Publish, Shown, Topic, TopicId};
use incumbent_core::record::{Attempt, Header, Nonce};
use incumbent_core::session::Input;
use incumbent_core::store::{Fault, FaultKind, StoreInfo};
use incumbent_core::{Incarnation, Revision};

use super::group::{MemberId, Reply};
use super::process::{Incoming, Reader};
use super::{Event, Request, Who, World};
use crate::clock::START;
use crate::kind::Kind;
use crate::observation::Observation;
use crate::world::CANDIDATE;

/// The world's time of day at the beginning of a run.
const DAY: Duration = Duration::from_secs(1_700_000_000);

/// The interval at which a producer that cannot reach the partition's leader tries again.
const AGAIN: Duration = Duration::from_millis(200);

impl World {
    // ---- the network ----

    /// Whether a candidate's records and fetches reach the partition's leader.
    fn reaches_log(&self, node: usize) -> bool {
        let place = &self.nodes[node];
        place.cut_out + place.cut_log == 0 && self.store.log.down == 0
    }

    fn hears_log(&self, node: usize) -> bool {
        let place = &self.nodes[node];
        place.cut_in + place.cut_log == 0
    }

    /// The time of day by a candidate's wall clock.
    pub(super) fn time_of_day(&self, node: usize) -> Duration {
        (DAY + self.now.since(START) + self.nodes[node].wall).saturating_sub(Duration::from_secs(1))
    }

    // ---- records ----

    /// Passes a record to a candidate's producer. The record reaches the partition's leader after the earlier ones, or
    /// never.
    pub(super) fn publish(&mut self, node: usize, publish: Publish, limit: Duration) {
        let process = self.nodes[node].process;
        let mut latency = self.latency(node);
        if self.is_on(Kind::SlowCommit) {
            latency += self.nodes[node].dice.millis(1, 8_000);
        }
        // A lost message is sent again.
        if self.is_lost(node) {
            latency += self.nodes[node].dice.millis(100, 1_000);
        }
        let place = &mut self.nodes[node];
        place.unanswered.insert(publish.attempt);
        place.sent = place.sent.max(self.now + latency);
        let (at, producer) = (place.sent, place.producer);
        let answer = Answer::Published { attempt: publish.attempt, result: Err(Failure::Unknown) };
        let incoming = Incoming::Input(Input::Answered { id: CANDIDATE, answer });
        self.deliver_after(limit, node, process, incoming);
        let until = self.now + limit;
        self.put(at, Event::Append { node, process, producer, publish: Box::new(publish), until });
    }

    /// Replaces the candidate's producer by a new one.
    pub(super) fn replace_producer(&mut self, node: usize) {
        let now = self.now;
        let place = &mut self.nodes[node];
        (place.producer, place.sent) = (place.producer + 1, now);
        for (publish, _) in std::mem::take(&mut self.nodes[node].outbox) {
            self.append_late(node, Box::new(publish));
        }
    }

    /// Lets a record that a replaced producer has sent be appended later, or not. Its append is not reported.
    pub(super) fn append_late(&mut self, node: usize, publish: Box<Publish>) {
        let longest = self.plan.lease.as_millis() as u64 * 2;
        if self.nodes[node].dice.percent(70) {
            let wait = self.nodes[node].dice.millis(1, longest);
            let nonce = self.nodes[node].nonce;
            self.after(wait, Event::Late { node, nonce, publish });
        }
    }

    /// Lets a producer deliver the records that it kept, in order.
    pub(super) fn flush(&mut self, node: usize) {
        let process = self.nodes[node].process;
        while let Some((publish, until)) = self.nodes[node].outbox.pop_front() {
            if self.now > until {
                continue;
            }
            if !self.reaches_log(node) || self.nodes[node].is_stopped(self.now) && self.dice.percent(50) {
                self.nodes[node].outbox.push_front((publish, until));
                return self.after(AGAIN, Event::Flush { node, process });
            }
            let lacks = self.nodes[node].lacks;
            if lacks.appends && lacks.answers {
                // The client gives up on the record.
                continue;
            }
            let refusal = match (self.is_on(Kind::Unsent), self.nodes[node].denied > 0 || lacks.appends) {
                (true, _) => Some("NOT_ENOUGH_REPLICAS"),
                (_, true) => Some("TOPIC_AUTHORIZATION_FAILED"),
                _ => None,
            };
            let attempt = publish.attempt;
            let result = match refusal {
                Some(name) => Err(Failure::of(Operation::Publish, name, "refused")),
                None => Ok(self.append(node, self.nodes[node].nonce, &publish)),
            };
            // If the answer is lost, the producer sends the record again, and the record's number shows that it is
            // already in the log.
            let mut latency = self.latency(node);
            if self.is_lost(node) {
                latency += self.nodes[node].dice.millis(100, 2_000);
            }
            if self.hears_log(node) {
                let answer = Answer::Published { attempt, result };
                let incoming = Incoming::Input(Input::Answered { id: CANDIDATE, answer });
                self.deliver_after(latency, node, process, incoming);
            }
        }
    }

    /// Appends a record of a campaign.
    pub(super) fn append(&mut self, node: usize, nonce: Nonce, publish: &Publish) -> Revision {
        let value = publish.value(self.time_of_day(node));
        let revision = self.append_value(&value, &publish.headers);
        if nonce == self.nodes[node].nonce {
            self.promises.wrote(self.now, node);
        }
        let (attempt, kind) = (publish.attempt, publish.kind);
        self.note(|trace| write!(trace, "log: {} {kind:?} {} of c{node}", revision.0, attempt.0));
        let incarnation = Incarnation(0);
        self.observe(&Observation::Applied { nonce, attempt, incarnation, revision });
        revision
    }

    /// Appends a record, and lets every reader fetch it.
    pub(super) fn append_value(&mut self, value: &str, headers: &[Header]) -> Revision {
        let revision = self.store.log.append(self.now, value, headers);
        self.promises.reached(self.now, revision.0);
        for node in 0..self.nodes.len() {
            self.fetch_soon(node);
        }
        self.peers_read();
        revision
    }

    // ---- the reader ----

    pub(super) fn fetch_soon(&mut self, node: usize) {
        let place = &mut self.nodes[node];
        if place.alive && place.reader.on && !place.reader.fetching && !place.reader.dead {
            place.reader.fetching = true;
            let process = place.process;
            self.put(self.now, Event::Fetch { node, process });
        }
    }

    /// Replaces a candidate's reader by another client that reads the topic from its beginning.
    fn replace_reader(&mut self, node: usize) {
        let named = self.nodes[node].reader.named;
        let last = self.nodes[node].reader.last;
        let fetching = self.nodes[node].reader.fetching;
        self.nodes[node].reader = Reader { on: true, named, last, fetching, ..Reader::default() };
        self.note(|trace| write!(trace, "c{node}: another reader"));
        self.show(node, Shown::Gap);
        self.fetch_soon(node);
    }

    /// Notes which topic an inspection named. If that is another topic, the reader is replaced.
    pub(super) fn topic_named(&mut self, node: usize, id: Option<TopicId>) {
        let before = self.nodes[node].reader.named;
        self.nodes[node].reader.named = id.or(before);
        if before.is_some() && id.is_some() && before != id {
            self.replace_reader(node);
        }
    }

    /// Notes that a record of the candidate was appended. If the reader has delivered none of its records for a lease,
    /// the reader is replaced.
    pub(super) fn own_appended(&mut self, node: usize) {
        let (now, lease) = (self.now, self.plan.lease);
        let since = *self.nodes[node].reader.unread_since.get_or_insert(now);
        if now.since(since) > lease {
            self.replace_reader(node);
        }
    }

    pub(super) fn fetch(&mut self, node: usize) {
        if self.nodes[node].reader.dead {
            self.nodes[node].reader.fetching = false;
            return;
        }
        let process = self.nodes[node].process;
        let silent = self.is_on(Kind::SilentWatch) && self.nodes[node].dice.percent(50);
        let slow = self.nodes[node].slow > 0 && self.nodes[node].dice.percent(70);
        let refused = self.nodes[node].lacks.reads;
        if !self.reaches_log(node) || !self.hears_log(node) || silent || slow || refused {
            let wait = self.nodes[node].dice.millis(100, 600);
            return self.after(wait, Event::Fetch { node, process });
        }
        self.nodes[node].reader.fetching = false;
        let reader = self.nodes[node].reader;
        let is_another = reader.topic != Some(self.store.log.topic);
        // A reader may continue in another topic that also has its offset, without noticing.
        let notices =
            is_another && (reader.position > self.store.log.next() || self.nodes[node].dice.percent(50));
        if notices && reader.topic.is_some() || reader.position < self.store.log.base() {
            self.show(node, Shown::Gap);
            self.nodes[node].reader.position = self.store.log.base();
        }
        let from = self.nodes[node].reader.position;
        self.nodes[node].reader.topic = Some(self.store.log.topic);
        self.nodes[node].reader.position = self.store.log.next();
        let records: Vec<_> = self.store.log.from(from).cloned().collect();
        for record in records {
            self.show(node, Shown::Record(record));
        }
    }

    /// The reader delivers, in order.
    fn show(&mut self, node: usize, shown: Shown) {
        let latency = self.latency(node);
        let place = &mut self.nodes[node];
        place.reader.last = place.reader.last.max(self.now + latency);
        let (process, at) = (place.process, place.reader.last);
        self.deliver_at(at, node, process, Incoming::Shown(shown));
    }

    // ---- inspections ----

    /// Any reachable broker answers.
    fn is_answered(&mut self, node: usize) -> bool {
        let place = &self.nodes[node];
        let cut = place.cut_out + place.cut_in > 0;
        !cut && !self.is_lost(node) && !self.is_on(Kind::Unsent)
    }

    pub(super) fn inspect_topic(&mut self, node: usize, limit: Duration) {
        let asked_at = self.nodes[node].clock.at(self.now);
        let (process, time_of_day) = (self.nodes[node].process, self.time_of_day(node));
        let (latency, result) = match self.is_answered(node) {
            true if self.nodes[node].lacks.inspections => match self.nodes[node].lacks.answers {
                true => (limit, Err(unreachable())),
                false => (self.latency(node), Err(denied())),
            },
            true => {
                let mut id = self.plan.group.has_ids.then_some(self.store.log.topic);
                if self.is_on(Kind::StaleTopic) && self.nodes[node].dice.percent(30) {
                    id = id.map(|id| TopicId(id.0.max(2) - 1));
                }
                (self.latency(node), Ok(Topic { asked_at, id, time_of_day }))
            }
            false => (limit, Err(unreachable())),
        };
        let answer = Answer::Inspected(result);
        let incoming = Incoming::Input(Input::Answered { id: CANDIDATE, answer });
        self.deliver_after(latency, node, process, incoming);
    }

    /// Asks the coordinator for the number of members, through a separate client, for a candidate that is not a member.
    pub(super) fn count_members(&mut self, node: usize, limit: Duration) {
        let process = self.nodes[node].process;
        let cut = self.nodes[node].cut_group > 0 || self.store.group.away > 0;
        let (latency, result) = match self.is_answered(node) && !cut {
            true => (self.latency(node), Ok(self.store.group.count())),
            false => (limit, Err(unreachable())),
        };
        let incoming = Incoming::Input(Input::Answered { id: CANDIDATE, answer: Answer::Members(result) });
        self.deliver_after(latency, node, process, incoming);
    }

    pub(super) fn inspect_store(&mut self, node: usize, number: u64, limit: Duration) {
        let asked_at = self.nodes[node].clock.at(self.now);
        let process = self.nodes[node].process;
        let (incarnation, age, max_age, newest) = (Incarnation(0), None, None, None);
        let info = StoreInfo { asked_at, incarnation, age, never_used: false, max_age, newest };
        let (latency, result) = match self.is_answered(node) {
            true => (self.latency(node), Ok(info)),
            false => (limit, Err(unreachable())),
        };
        let incoming = Incoming::Input(Input::Inspected { number, result });
        self.deliver_after(latency, node, process, incoming);
    }

    // ---- the coordinator ----

    /// Handles a request that arrives at the coordinator.
    pub(super) fn ask_group(&mut self, from: Who, request: Request) {
        match request {
            Request::Commit { member, generation, attempt, metadata } => {
                return self.commit_arrives(from, member, generation, attempt, metadata);
            }
            _ if self.store.group.away > 0 => return,
            Request::Committed { number } => return self.committed_is_asked(from, number),
            _ => {}
        }
        let now = self.now;
        if !matches!(request, Request::Beat { .. }) {
            self.note(|trace| write!(trace, "group: {request:?} of {from:?}"));
        }
        let replies = match request {
            Request::Join { .. } if self.store.group.closed > 0 => return,
            Request::Join { member, holds } => {
                let known = member.is_some_and(|id| self.store.group.has(id));
                let (id, replies) = self.store.group.join(now, from, member, holds);
                if !known && self.store.group.has(id) {
                    self.after(self.plan.group.session, Event::Session(id));
                    self.learn_id(from, id);
                }
                replies
            }
            Request::Beat { member, generation, holds } => {
                self.store.group.beat(now, from, member, generation, holds)
            }
            Request::Leave { member } => self.store.group.remove(member),
            Request::Commit { .. } | Request::Committed { .. } => return,
        };
        self.reply_all(replies);
    }

    /// Gives a client the member id that the coordinator's answer to its first join names. The client then joins again
    /// with that id.
    fn learn_id(&mut self, from: Who, id: MemberId) {
        match from {
            Who::Candidate { node, process, client, life } if self.is_present(node, process) => {
                let place = &mut self.nodes[node].client;
                if (place.number, place.life) == (client, life) && place.member.is_none() {
                    place.member = Some(id);
                }
            }
            Who::Candidate { .. } => {}
            Who::Peer { peer, session } => self.peer_joins_as(peer, session, id),
        }
    }

    /// Answers a client that asks for the metadata of the committed offset.
    fn committed_is_asked(&mut self, from: Who, number: u64) {
        let Who::Candidate { node, process, .. } = from else { return };
        let unheard = self.nodes[node].cut_in + self.nodes[node].cut_group > 0;
        if !self.is_present(node, process) || unheard || self.is_lost(node) {
            return;
        }
        let result = match self.nodes[node].denied > 0 || self.nodes[node].lacks.commits {
            true => Err(Failure::of(Operation::Commit, "GROUP_AUTHORIZATION_FAILED", "refused")),
            false => Ok(self.store.group.committed.as_deref().unwrap_or_default().to_owned()),
        };
        self.note(|trace| write!(trace, "group: committed for c{node}: {result:?}"));
        let latency = self.latency(node);
        let answer = Answer::CommittedToken { number, result };
        let incoming = Incoming::Input(Input::Answered { id: CANDIDATE, answer });
        self.deliver_after(latency, node, process, incoming);
    }

    fn commit_arrives(
        &mut self,
        from: Who,
        member: Option<MemberId>,
        generation: i32,
        attempt: Attempt,
        metadata: Arc<str>,
    ) {
        let Who::Candidate { node, process, client, .. } = from else { return };
        let result = match self.store.group.away > 0 {
            true => Err("NOT_COORDINATOR"),
            false if self.nodes[node].denied > 0 || self.nodes[node].lacks.commits => {
                Err("GROUP_AUTHORIZATION_FAILED")
            }
            false => self.store.group.commit(self.now, member, generation, &metadata),
        };
        self.note(|trace| write!(trace, "group: commit {} of c{node}: {result:?}", attempt.0));
        if result == Ok(true) {
            let nonce = Nonce(0x1000 + u128::from(process));
            self.observe(&Observation::Committed { nonce, attempt });
        }
        if !self.is_present(node, process) {
            return;
        }
        let unheard = self.nodes[node].cut_in + self.nodes[node].cut_group > 0 || self.is_lost(node);
        if unheard || result == Err("NOT_COORDINATOR") && self.dice.percent(50) {
            // The client resends the commit on its own, under the membership that it has then.
            let wait = self.dice.millis(500, 3_000);
            return self.after(wait, Event::Commit { node, process, client, attempt, metadata });
        }
        let latency = self.latency(node);
        let result = result.map(|_| ());
        let incoming = Incoming::CommitResult { client, attempt, result };
        self.deliver_after(latency, node, process, incoming);
    }

    /// Removes a member that was silent for its session timeout.
    pub(super) fn session(&mut self, member: MemberId) {
        let Some(ends) = self.store.group.session_ends(self.now, member) else { return };
        if ends > self.now || self.store.group.away > 0 {
            let at = ends.max(self.now + Duration::from_millis(500));
            return self.put(at, Event::Session(member));
        }
        self.note(|trace| write!(trace, "group: the session of m{member} is over"));
        let replies = self.store.group.remove(member);
        self.reply_all(replies);
    }

    /// Sends a reply of the coordinator.
    pub(super) fn reply(&mut self, node: usize, process: u64, client: u64, life: u64, reply: Reply) {
        let unheard = self.nodes[node].cut_in + self.nodes[node].cut_group > 0;
        if !self.is_present(node, process) || unheard || self.is_lost(node) {
            return;
        }
        let latency = self.latency(node);
        let at = &mut self.nodes[node].client.answered;
        *at = (*at).max(self.now + latency);
        let at = *at;
        let incoming = Incoming::Group { client, life, reply };
        self.deliver_at(at, node, process, incoming);
    }
}

fn denied() -> Fault {
    Fault { kind: FaultKind::Denied, detail: "TOPIC_AUTHORIZATION_FAILED".into() }
}

fn unreachable() -> Fault {
    Fault { kind: FaultKind::Unreachable, detail: "no answer".into() }
}

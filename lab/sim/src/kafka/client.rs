//! A member's client, modelled on librdkafka: its requests to the coordinator, and its reports when polled.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use incumbent_core::induction::{self, Answer, Failure, Loss, Membership, Operation};
use incumbent_core::record::Attempt;
use incumbent_core::session;

use super::group::Reply;
use super::process::{Client, Incoming};
use super::{Event, Request, Who, World};
use crate::plan::{Assigning, Plan};
use crate::world::CANDIDATE;

/// The range of times, in milliseconds, after which a client that could not leave is closed anyway.
const CLOSES: (u64, u64) = (5_000, 20_000);

/// The generation of a client that is not a member. In the newer protocol it is zero.
const fn none(assigning: Assigning) -> i32 {
    match assigning {
        Assigning::Consumer => 0,
        Assigning::Eager | Assigning::Cooperative => -1,
    }
}

/// `max.poll.interval.ms` of a candidate with this drain time.
pub(super) fn longest_poll(plan: &Plan, drain: Duration) -> Duration {
    (drain + plan.group.session + Duration::from_secs(10)).max(Duration::from_secs(30))
}

impl World {
    fn client(&mut self, node: usize) -> &mut Client {
        &mut self.nodes[node].client
    }

    /// Makes a new client, which joins the group.
    pub(super) fn join(&mut self, node: usize) {
        let (now, process) = (self.now, self.nodes[node].process);
        let number = self.nodes[node].client.number + 1;
        // The previous client's pending reports are lost with it.
        self.nodes[node].unpolled.clear();
        *self.client(node) = Client { open: true, joining: true, ..Client::new(number, now) };
        self.ask_to_join(node);
        self.after(self.plan.group.beat(), Event::Beat { node, process, client: number });
    }

    fn ask_to_join(&mut self, node: usize) {
        let client = self.client(node);
        client.joining = true;
        let request = Request::Join { member: client.member, holds: client.owns };
        self.send_to_group(node, request);
    }

    /// Sends a request to the coordinator, in order. If the request is lost, it is repeated with the next heartbeat.
    fn send_to_group(&mut self, node: usize, request: Request) {
        let place = &self.nodes[node];
        if place.cut_out + place.cut_group > 0 || self.is_lost(node) {
            return;
        }
        let latency = self.latency(node);
        let (now, process) = (self.now, self.nodes[node].process);
        let client = self.client(node);
        client.sent = client.sent.max(now + latency);
        let (at, number, life) = (client.sent, client.number, client.life);
        let from = Who::Candidate { node, process, client: number, life };
        self.put(at, Event::ToGroup { from, request });
    }

    /// Sends a heartbeat, which is due, and makes the client's own checks.
    pub(super) fn beat(&mut self, node: usize) {
        let process = self.nodes[node].process;
        let Client { number, open, .. } = self.nodes[node].client;
        if !open {
            return;
        }
        let wait = self.plan.group.beat() + self.nodes[node].dice.micros(0, 2_000);
        self.after(wait, Event::Beat { node, process, client: number });
        if !self.nodes[node].is_stopped(self.now) {
            self.check(node);
            self.speak(node);
        }
    }

    /// Ends the membership of a client that was not polled for too long, or got no answer from the coordinator for its
    /// session timeout.
    pub(super) fn check(&mut self, node: usize) {
        let client = &self.nodes[node].client;
        if !client.open || client.member.is_none() || client.joining {
            return;
        }
        let unpolled = self.nodes[node].held > 0
            && self.now.since(self.nodes[node].held_since)
                > longest_poll(&self.plan, self.plan.settings[node].drain);
        let classic = self.plan.group.assigning != Assigning::Consumer;
        let unheard = classic && self.now.since(client.heard) > self.plan.group.session;
        if unpolled && let Some(member) = client.member {
            self.send_to_group(node, Request::Leave { member });
        }
        if unpolled || unheard {
            self.lose(node);
        }
    }

    fn speak(&mut self, node: usize) {
        let client = self.nodes[node].client.clone();
        match client.member {
            // Before it joins, a client waits until a revocation is answered and a loss is reported.
            _ if client.joining && (client.revoking || client.reports > 0) => {}
            _ if client.joining => self.ask_to_join(node),
            Some(member) => {
                let Client { generation, owns: holds, .. } = client;
                self.send_to_group(node, Request::Beat { member, generation, holds });
            }
            None => self.ask_to_join(node),
        }
    }

    /// Notes that the client has learned that it is not a member.
    fn lose(&mut self, node: usize) {
        let assigning = self.plan.group.assigning;
        let client = self.client(node);
        client.life += 1;
        client.generation = none(assigning);
        client.joining = true;
        if assigning != Assigning::Consumer {
            client.member = None;
        }
        let owned = std::mem::take(&mut client.owns);
        // While a revocation is pending, the client reports no loss (measured).
        if owned && !client.revoking {
            self.report(node, Answer::GroupLost(Loss::Rejoins));
        }
    }

    /// Handles a reply of the coordinator.
    pub(super) fn hear(&mut self, node: usize, number: u64, life: u64, reply: Reply) {
        let (now, assigning) = (self.now, self.plan.group.assigning);
        let client = self.client(node);
        if client.number != number || client.life != life || !client.open {
            return;
        }
        client.heard = now;
        match reply {
            Reply::Beat => {}
            Reply::Rebalance if client.revoking || client.joining => {}
            Reply::Rebalance if assigning == Assigning::Eager && client.owns => {
                client.revoking = true;
                self.report(node, Answer::Revoked);
            }
            Reply::Rebalance => self.ask_to_join(node),
            // The client is not waiting for this reply, so it ignores it.
            Reply::Assigned { .. } if assigning != Assigning::Consumer && !client.joining => {}
            Reply::Assigned { member, generation, owns } => {
                (client.member, client.generation) = (Some(member), generation);
                if client.revoking {
                    return;
                }
                client.joining = false;
                match (client.owns, owns) {
                    (false, true) => {
                        client.owns = true;
                        let member = format!("m{member}");
                        self.report(node, Answer::Assigned { member });
                        self.hold_if_wanted(node);
                    }
                    (true, false) => {
                        client.revoking = true;
                        self.report(node, Answer::Revoked);
                    }
                    (true, true) | (false, false) => {}
                }
            }
            Reply::Unknown => self.lose(node),
            Reply::Illegal => {
                let member = client.member;
                self.lose(node);
                self.client(node).member = member;
            }
            Reply::Fenced => {
                (client.open, client.owns, client.revoking) = (false, false, false);
                client.generation = none(assigning);
                self.die(node, "FENCED_INSTANCE_ID");
            }
        }
    }

    /// An error kills the client.
    pub(super) fn die(&mut self, node: usize, name: &str) {
        self.client(node).open = false;
        if let Some(answer) = induction::polled(name, true, "another has its static id") {
            self.report(node, answer);
        }
    }

    /// Makes the next poll report `answer`. The report does not wait for messages that the coordinator still has to
    /// send.
    fn report(&mut self, node: usize, answer: Answer) {
        self.note(|trace| write!(trace, "c{node}: its client has {answer:?}"));
        let (process, client) = (self.nodes[node].process, self.nodes[node].client.number);
        let wait = self.nodes[node].dice.micros(10, 300);
        let place = &mut self.nodes[node].client;
        place.reports += 1;
        place.reported = place.reported.max(self.now + wait);
        let at = place.reported;
        let incoming = Incoming::Polled { client, answer };
        self.deliver_at(at, node, process, incoming);
    }

    // ---- requests of the campaign ----

    /// The revocation is answered.
    pub(super) fn answer_revocation(&mut self, node: usize) {
        let assigning = self.plan.group.assigning;
        let client = self.client(node);
        (client.owns, client.revoking) = (false, false);
        if !client.open {
            return;
        }
        match client.member {
            Some(member) if assigning == Assigning::Consumer && !client.joining => {
                let generation = client.generation;
                self.send_to_group(node, Request::Beat { member, generation, holds: false });
            }
            _ => self.ask_to_join(node),
        }
    }

    /// Leaves the group and closes the client.
    pub(super) fn leave(&mut self, node: usize) {
        let process = self.nodes[node].process;
        let place = &self.nodes[node];
        let reachable = place.cut_out + place.cut_in + place.cut_group == 0 && self.store.group.away == 0;
        let (member, open) = (place.client.member, place.client.open);
        if let Some(member) = member.filter(|_| open) {
            self.send_to_group(node, Request::Leave { member });
        }
        let client = self.client(node);
        (client.open, client.owns, client.revoking) = (false, false, false);
        self.nodes[node].unpolled.clear();
        let wait = match reachable {
            true => self.nodes[node].dice.millis(1, 30),
            false => self.nodes[node].dice.millis(CLOSES.0, CLOSES.1),
        };
        let incoming = Incoming::Input(session::Input::Answered { id: CANDIDATE, answer: Answer::Left });
        self.deliver_after(wait, node, process, incoming);
    }

    /// Sends a commit, as the member that the client now is.
    pub(super) fn send_commit(&mut self, node: usize, number: u64, attempt: Attempt, metadata: Arc<str>) {
        let process = self.nodes[node].process;
        let client = &self.nodes[node].client;
        if client.number != number || !client.open {
            let result = Err("_DESTROY");
            let incoming = Incoming::CommitResult { client: number, attempt, result };
            return self.deliver_after(Duration::ZERO, node, process, incoming);
        }
        let stopped = self.nodes[node].is_stopped(self.now);
        let unreachable = self.nodes[node].cut_out + self.nodes[node].cut_group > 0;
        if unreachable || stopped || self.is_lost(node) {
            let wait = self.nodes[node].dice.millis(100, 1_500);
            return self.after(wait, Event::Commit { node, process, client: number, attempt, metadata });
        }
        let Client { member, generation, .. } = self.nodes[node].client;
        self.send_to_group(node, Request::Commit { member, generation, attempt, metadata });
    }

    /// Asks for the metadata of the committed offset. If the question is lost, the campaign asks again.
    pub(super) fn ask_committed(&mut self, node: usize, number: u64) {
        if self.nodes[node].client.open {
            self.send_to_group(node, Request::Committed { number });
        }
    }

    /// The answer to a commit, with the membership that the client reports when asked now.
    pub(super) fn committed(&mut self, attempt: Attempt, node: usize, result: Result<(), &str>) -> Answer {
        let client = &self.nodes[node].client;
        let result = match result {
            Ok(()) => {
                let member = client.member.map_or_else(String::new, |member| format!("m{member}"));
                // A pending revocation leaves the assignment as it is.
                let owns = client.owns || client.revoking;
                Ok(Membership { member, generation: client.generation, owns })
            }
            Err(name) => Err(Failure::of(Operation::Commit, name, "refused")),
        };
        Answer::Committed { attempt, result }
    }
}

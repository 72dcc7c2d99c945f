//! A session on an etcd: the messages that it receives, and its requests.

use std::fmt::Write as _;
use std::time::Duration;

use incumbent_core::queue::{self, Answer, Failure, KeptAlive, LeaseId};
use incumbent_core::session::{CampaignId, Input, Output};
use incumbent_core::store::{Fault, FaultKind};

use super::process::{Incoming, KeepAlive, Request, Stream, Watch, asked_by, number_of};
use super::{Etcd, Event, World};
use crate::world::OutputOf;

impl World {
    /// Gives a message to a process.
    pub(super) fn handle_message(&mut self, node: usize, incoming: Incoming) {
        let watch = &mut self.nodes[node].watch;
        match incoming {
            Incoming::Connected => {
                // The watch and the stream of keep-alives ended with their connection.
                let number = watch.number;
                watch.end();
                let member = self.nodes[node].member;
                self.nodes[node].stream = Stream::new(self.nodes[node].stream.number + 1, member);
                self.handle(node, Input::WatchEnded { number });
                self.handle(node, Input::Reconnected);
            }
            Incoming::WatchReady { number } if watch.number == number && !watch.ready && !watch.over => {
                watch.ready = true;
                self.handle(node, Input::Watching { number });
            }
            Incoming::Watched { number, election, change } if watch.number == number && watch.ready => {
                self.handle(node, Input::Watched { number, election: election.into(), shown: change });
            }
            Incoming::WatchEnded { number } if watch.number == number && !watch.over => {
                watch.end();
                self.handle(node, Input::WatchEnded { number });
            }
            Incoming::WatchReady { .. } | Incoming::Watched { .. } | Incoming::WatchEnded { .. } => {}
            Incoming::Input(input) => self.handle(node, input),
            Incoming::Inspected { raft_term, input } => {
                self.nodes[node].raft_term = raft_term;
                self.handle(node, input);
            }
            Incoming::KeptAlive { stream, number, answer } => {
                if self.nodes[node].stream.number == stream {
                    self.deliver(node, Incoming::Answer { number, answer });
                }
            }
            Incoming::Answer { number, answer } => {
                let open = &mut self.nodes[node].open;
                // A read that has outlasted its limit is reported as unanswered, and its answer still counts.
                let is_open = match &answer {
                    Answer::Read { result: Err(Failure::Unanswered), .. } => open.contains(&number),
                    _ => open.remove(&number),
                };
                if is_open {
                    let place = &mut self.nodes[node];
                    match &answer {
                        Answer::Shared { result } => place.shared = result.as_ref().ok().copied(),
                        Answer::Read { result: Ok(snapshot), .. } => place.raft_term = snapshot.raft_term,
                        Answer::KeptAlive { result: Ok(kept), .. } => place.raft_term = kept.raft_term,
                        _ => {}
                    }
                    self.handle(node, Input::Answered { id: asked_by(number), answer });
                }
            }
        }
    }

    /// Connects a candidate's client to the next member, or tries again.
    pub(super) fn connect(&mut self, node: usize) {
        let process = self.nodes[node].process;
        let reachable = self.nodes[node].cut_out == 0 && self.nodes[node].cut_in == 0;
        match self.store.cluster.next_member(self.nodes[node].member).filter(|_| reachable) {
            Some(member) => {
                self.nodes[node].member = member;
                self.deliver(node, Incoming::Connected);
            }
            None => {
                let wait = self.nodes[node].dice.millis(300, 700);
                self.after(wait, Event::Connect { node, process });
            }
        }
    }

    pub(super) fn serve_output(&mut self, node: usize, output: OutputOf<Etcd>) {
        let process = self.nodes[node].process;
        match output {
            Output::Ask { id, request, limit } => self.ask(node, id, request, limit),
            Output::Inspect { number, limit } => {
                let asked_at = self.nodes[node].clock.at(self.now);
                self.send(node, 0, Request::Inspect { number, asked_at });
                let fault = Fault { kind: FaultKind::Unreachable, detail: "no answer".into() };
                let incoming = Incoming::Input(Input::Inspected { number, result: Err(fault) });
                self.deliver_after(limit, node, process, incoming);
            }
            Output::Watch { number, limit } => {
                self.nodes[node].watch = Watch::new(number);
                self.send(node, 0, Request::Watch { number });
                self.after(limit, Event::WatchAgain { node, process, number });
            }
            Output::Reconnect { .. } => {
                let wait = self.nodes[node].dice.millis(1, 60);
                self.after(wait, Event::Connect { node, process });
            }
            Output::NotNext { successor, before, .. } => {
                self.note(|trace| write!(trace, "c{node}: {successor} is not next, {before:?}"));
            }
            _ => {}
        }
    }

    /// Sends a request, and answers it as unknown if no answer comes in time.
    fn ask(&mut self, node: usize, id: CampaignId, request: queue::Request, limit: Duration) {
        let request = match request {
            queue::Request::KeepAlive { leases } => {
                for lease in leases.iter() {
                    self.send_keep_alive(node, id, lease, limit);
                }
                return;
            }
            queue::Request::Share { gone, ttl } => match self.nodes[node].shared {
                Some(lease) if Some(lease) != gone => {
                    let number = self.number(node, id);
                    let answer = Answer::Shared { result: Ok(lease) };
                    let process = self.nodes[node].process;
                    let incoming = Incoming::Answer { number, answer };
                    return self.deliver_after(Duration::ZERO, node, process, incoming);
                }
                _ => {
                    let place = &mut self.nodes[node];
                    place.shared = None;
                    // A lagging member may show an earlier term than that of the grant, but no member shows a later
                    // one.
                    let lease = LeaseId::of_companions(place.raft_term, place.dice.number());
                    Request::Share { lease, ttl }
                }
            },
            queue::Request::Grant { lease, ttl } => Request::Grant { lease, ttl },
            queue::Request::Read { read, own, whole } => {
                let sent_at = self.nodes[node].clock.at(self.now);
                Request::Read { read, own, whole, sent_at }
            }
            queue::Request::Write(write) => Request::Write(write),
            queue::Request::Revoke { lease } => Request::Revoke { lease },
        };
        let number = self.number(node, id);
        if let Some(answer) = request.failed(Failure::Unanswered) {
            self.give_up_after(node, number, answer, limit);
        }
        self.send(node, number, request);
    }

    fn number(&mut self, node: usize, id: CampaignId) -> u64 {
        self.store.requests += 1;
        let number = number_of(self.store.requests, id);
        self.nodes[node].open.insert(number);
        number
    }

    fn give_up_after(&mut self, node: usize, number: u64, answer: Answer, limit: Duration) {
        let process = self.nodes[node].process;
        let incoming = Incoming::Answer { number, answer };
        self.deliver_after(limit, node, process, incoming);
    }

    fn send_keep_alive(&mut self, node: usize, id: CampaignId, lease: LeaseId, limit: Duration) {
        let number = self.number(node, id);
        let sent_at = self.nodes[node].clock.at(self.now);
        let failed = Answer::KeptAlive { lease, sent_at, result: Err(Failure::Unknown) };
        self.give_up_after(node, number, failed, limit);
        let lost = self.nodes[node].cut_out > 0 || self.is_lost(node);
        let latency = self.latency(node);
        let place = &mut self.nodes[node];
        // A stream sends lost messages again, in order, or it ends; so no message overtakes another. Here it ends.
        place.stream.broken |= lost;
        if place.stream.broken {
            return;
        }
        place.stream.sent = place.stream.sent.max(self.now + latency);
        let (process, stream, at) = (place.process, place.stream.number, place.stream.sent);
        let keep = KeepAlive { number, lease, sent_at };
        self.put(at, Event::KeepAlive { node, process, stream, keep });
    }

    /// Sends the answer to a keep-alive.
    pub(super) fn kept_alive(&mut self, node: usize, keep: KeepAlive, result: Result<KeptAlive, Failure>) {
        let lost = self.nodes[node].cut_in > 0 || self.is_lost(node);
        let latency = self.latency(node);
        let place = &mut self.nodes[node];
        place.stream.broken |= lost;
        if place.stream.broken {
            return;
        }
        place.stream.answered = place.stream.answered.max(self.now + latency);
        let (process, stream, at) = (place.process, place.stream.number, place.stream.answered);
        let KeepAlive { number, lease, sent_at } = keep;
        let answer = Answer::KeptAlive { lease, sent_at, result };
        let incoming = Incoming::KeptAlive { stream, number, answer };
        self.deliver_at(at, node, process, incoming);
    }
}

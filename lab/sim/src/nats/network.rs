//! The network between candidates and servers, in which messages are lost, delayed or duplicated.

use incumbent_core::Instant;
use incumbent_core::record::Entry;

use super::process::{Incoming, Request};
use super::{Event, World};
use crate::kind::Kind;

impl World {
    /// Sends a candidate's request to its server.
    pub(super) fn send(&mut self, node: usize, request: Request) {
        if self.nodes[node].cut_out > 0 {
            if self.nodes[node].queueing > 0 {
                self.nodes[node].outbox.push(request);
            }
            return;
        }
        let (process, server) = (self.nodes[node].process, self.nodes[node].server);
        if self.is_on(Kind::Duplication) && self.nodes[node].dice.percent(20) {
            let latency = self.latency(node);
            self.after(
                latency,
                Event::Request { node, process, server, request: request.clone(), copy: true },
            );
        }
        if !self.is_lost(node) {
            let latency = self.latency(node);
            self.after(latency, Event::Request { node, process, server, request, copy: false });
        }
    }

    /// Sends the requests that a client queued while it was cut off.
    pub(super) fn flush(&mut self, node: usize) {
        for request in std::mem::take(&mut self.nodes[node].outbox) {
            self.send(node, request);
        }
    }

    /// Sends a message to a candidate.
    pub(super) fn answer(&mut self, node: usize, process: u64, incoming: Incoming) {
        if self.nodes[node].cut_in > 0 || self.is_lost(node) {
            return;
        }
        if self.is_on(Kind::Duplication) && self.nodes[node].dice.percent(20) {
            let latency = self.latency(node);
            self.deliver_after(latency, node, process, incoming.clone());
        }
        let latency = self.latency(node);
        self.deliver_after(latency, node, process, incoming);
    }

    /// Sends the present entry of the key to the watches that are ready.
    pub(super) fn publish(&mut self, entry: &Entry) {
        for node in 0..self.nodes.len() {
            self.publish_to(node, entry);
        }
    }

    pub(super) fn publish_to(&mut self, node: usize, entry: &Entry) {
        let Some((incarnation, server)) = self.nodes[node].watch.on else { return };
        let is_reached = self.nodes[node].alive
            && !self.nodes[node].lacks.is_some_and(|lacks| lacks.watch)
            && incarnation == self.store.cluster.bucket.incarnation
            && self.store.cluster.is_up(server)
            && self.nodes[node].cut_in == 0;
        if !is_reached
            || self.is_lost(node)
            || self.is_on(Kind::SilentWatch) && self.nodes[node].dice.percent(50)
        {
            return;
        }
        let (process, number) = (self.nodes[node].process, self.nodes[node].watch.number);
        if self.nodes[node].slow > 0 {
            if self.nodes[node].dice.percent(30) {
                // The next message reveals the gap. At the latest, that message is a heartbeat.
                let wait = self.nodes[node].dice.millis(1, 5_000);
                return self.deliver_after(wait, node, process, Incoming::Gap { number });
            }
            let held = self.nodes[node].dice.millis(1, self.plan.lease.as_millis() as u64);
            let watch = &mut self.nodes[node].watch;
            watch.last = watch.last.max(self.now + held);
        }
        let at = self.watch_latency(node);
        let incoming = Incoming::Watched { number, incarnation, entry: entry.clone() };
        self.deliver_at(at, node, process, incoming);
    }

    /// Returns when the next message of a watch arrives, which is no earlier than the last message.
    pub(super) fn watch_latency(&mut self, node: usize) -> Instant {
        let latency = self.latency(node);
        let watch = &mut self.nodes[node].watch;
        watch.last = watch.last.max(self.now + latency);
        watch.last
    }
}

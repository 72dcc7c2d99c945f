//! The network between candidates and servers: messages are lost, late or doubled.

use std::time::Duration;

use incumbent_core::Instant;
use incumbent_core::record::Entry;

use super::node::{Ask, Hears};
use super::{Event, World};
use crate::kind::Kind;

impl World {
    /// Sends a candidate's request to its server.
    pub(super) fn send(&mut self, node: usize, ask: Ask) {
        if self.nodes[node].mute > 0 {
            if self.nodes[node].queueing > 0 {
                self.nodes[node].outbox.push(ask);
            }
            return;
        }
        let (process, server) = (self.nodes[node].process, self.nodes[node].server);
        if self.is_on(Kind::Duplication) && self.nodes[node].dice.percent(20) {
            let latency = self.latency(node);
            self.after(latency, Event::Ask { node, process, server, ask: ask.clone(), copy: true });
        }
        if !self.is_lost(node) {
            let latency = self.latency(node);
            self.after(latency, Event::Ask { node, process, server, ask, copy: false });
        }
    }

    /// Sends the requests that a client queued while it was cut off.
    pub(super) fn flush(&mut self, node: usize) {
        for ask in std::mem::take(&mut self.nodes[node].outbox) {
            self.send(node, ask);
        }
    }

    /// Sends a message to a candidate.
    pub(super) fn answer(&mut self, node: usize, process: u64, hears: Hears) {
        if self.nodes[node].deaf > 0 || self.is_lost(node) {
            return;
        }
        if self.is_on(Kind::Duplication) && self.nodes[node].dice.percent(20) {
            let latency = self.latency(node);
            self.after(latency, Event::Hear { node, process, hears: hears.clone() });
        }
        let latency = self.latency(node);
        self.after(latency, Event::Hear { node, process, hears });
    }

    /// Sends the present entry of the key to the watches that are ready.
    pub(super) fn publish(&mut self, entry: &Entry) {
        for node in 0..self.nodes.len() {
            self.publish_to(node, entry);
        }
    }

    pub(super) fn publish_to(&mut self, node: usize, entry: &Entry) {
        let Some((life, server)) = self.nodes[node].watch.on else { return };
        let hears_of_it = self.nodes[node].alive
            && life == self.cluster.bucket.incarnation
            && self.cluster.is_up(server)
            && self.nodes[node].deaf == 0;
        if !hears_of_it
            || self.is_lost(node)
            || self.is_on(Kind::DeafWatch) && self.nodes[node].dice.percent(50)
        {
            return;
        }
        let (process, number) = (self.nodes[node].process, self.nodes[node].watch.number);
        if self.nodes[node].slow > 0 {
            if self.nodes[node].dice.percent(30) {
                // The next message shows a gap, a heartbeat at the latest.
                let wait = self.nodes[node].dice.millis(1, 5_000);
                return self.after(wait, Event::Hear { node, process, hears: Hears::Gap { number } });
            }
            let held = self.nodes[node].dice.millis(1, self.plan.lease.as_millis() as u64);
            let watch = &mut self.nodes[node].watch;
            watch.last = watch.last.max(self.now + held);
        }
        let at = self.watch_latency(node);
        let hears = Hears::Watched { number, life, entry: entry.clone() };
        self.queue.put(at, Event::Hear { node, process, hears });
    }

    /// The arrival of the next message of a watch: no earlier than the last.
    pub(super) fn watch_latency(&mut self, node: usize) -> Instant {
        let latency = self.latency(node);
        let watch = &mut self.nodes[node].watch;
        watch.last = watch.last.max(self.now + latency);
        watch.last
    }

    pub(super) fn is_lost(&mut self, node: usize) -> bool {
        self.is_on(Kind::Loss) && self.nodes[node].dice.percent(15)
    }

    pub(super) fn latency(&mut self, node: usize) -> Duration {
        if self.is_on(Kind::Delay) && self.nodes[node].dice.percent(15) {
            self.nodes[node].dice.millis(1, 12_000)
        } else {
            self.nodes[node].dice.micros(100, 3_000)
        }
    }
}

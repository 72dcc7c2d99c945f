//! The calm after the storm: every fault ends, and somebody must lead before long.

use std::fmt::Write as _;
use std::time::Duration;

use super::{Event, World};
use crate::moment::Moment;

impl World {
    /// Ends every fault.
    pub(super) fn become_calm(&mut self) {
        let places: Vec<_> = self.plan.script.iter().map(|fault| fault.place).collect();
        for place in places {
            self.relent(place);
        }
        self.calm = true;
        self.cluster.max_age = self.plan.max_age;
        self.note(|trace| write!(trace, "calm"));
        for node in 0..self.nodes.len() {
            if self.nodes[node].is_stopped(self.now) {
                self.nodes[node].stopped_until = self.now;
                self.resume(node);
            }
            if !self.nodes[node].alive {
                self.born(node, Duration::from_millis(100));
            }
        }
        if self.cluster.leader.is_none() {
            self.elect_after(Duration::from_secs(1));
        }
        self.repair();
        self.expire_later();
        self.see(&Moment::Calm);
    }

    /// An operator makes sure that a larger token than any told is possible again.
    fn repair(&mut self) {
        let largest = self.promises.largest();
        let bucket = &mut self.cluster.bucket;
        if let Some(token) = largest.filter(|token| bucket.incarnation < token.incarnation) {
            self.cluster.gone = true;
            let wait = Duration::from_nanos(token.incarnation.0.saturating_sub(self.now.as_nanos()));
            return self.after(wait + Duration::from_secs(3), Event::Remake(0));
        }
        if !self.promises.ever_went_back() {
            return;
        }
        // What others wrote to the bucket meanwhile; more than any candidate has seen, though it was never told.
        let told = largest.map_or(0, |token| token.sequence.0);
        bucket.sequence = bucket.sequence.max(told) + 1_000;
    }
}

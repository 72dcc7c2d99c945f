//! What did not work, and when it is tried again.

use alloc::string::String;

use super::timers::Timer;
use super::{Campaign, Stage, backoff};
use crate::store::{Fault, FaultKind};

/// After so many failures in a row another server is asked.
const PATIENCE: u32 = 3;

impl Campaign {
    /// Something came back from the store as it should.
    pub(super) fn recovered(&mut self) {
        self.failures = 0;
        self.told.fault = None;
    }

    /// Something did not work; it is tried again after a while.
    pub(super) fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
        match &self.stage {
            Stage::Seated(_) | Stage::Releasing(_) => {
                let wait = backoff::standard(self.failures, &mut self.rng);
                self.timers.set(Timer::Retry, self.now + wait);
            }
            Stage::Candidate => {
                // The user's back-off must not keep a record of ours in everybody's way.
                let in_the_way = self.ledger.may_hold() || self.own_record_seen().is_some();
                let wait = if in_the_way {
                    backoff::standard(self.failures, &mut self.rng)
                } else {
                    self.rules.backoff.wait(self.failures, &mut self.rng)
                };
                self.not_before = self.now + wait;
                self.plan();
            }
            Stage::Idle | Stage::Splaying | Stage::Closed => {}
        }
    }

    /// The store is there and does nothing for us at present. That is soon over, unless it is one server
    /// that was cut off from the others: its writes stay in flight for ever, or find nobody to take them.
    pub(super) fn hindered(&mut self) {
        self.failed();
        if self.failures >= PATIENCE {
            self.reconnect();
        }
    }

    /// Something got no answer. Once is an accident; twice is told.
    pub(super) fn unanswered(&mut self) {
        if self.failures > 0 {
            let detail = String::from("the store does not answer; check that it is up and can be reached");
            self.fault(Fault { kind: FaultKind::Unreachable, detail });
        }
        self.hindered();
    }
}

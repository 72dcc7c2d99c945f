//! Failures, and when the campaign tries again.

use alloc::string::String;

use super::timers::Timer;
use super::turns::Wanted;
use super::{KeyLease, Race, backoff};
use crate::candidacy::{Candidacy, Stage};
use crate::store::{Fault, FaultKind};

/// After this many failures in a row another connection is worth trying: an isolated server may fail every time.
const FAILURES_BEFORE_RECONNECT: u32 = 3;

impl Candidacy<KeyLease> {
    /// Notes that the store answered as it should.
    pub(super) fn succeeded(&mut self) {
        self.own.store.operation_succeeded();
        self.reports.is_well();
    }

    /// Notes that an operation failed; the campaign tries again after a back-off.
    pub(super) fn failed(&mut self) {
        self.own.store.operation_failed();
        let failures = self.own.store.failures();
        match &self.stage {
            Stage::Racing(Race::Holder(_)) | Stage::Releasing(_) => {
                let wait = backoff::standard(failures, &mut self.rng);
                self.timers.set(Timer::Retry, self.now + wait);
            }
            Stage::Racing(Race::Candidate) => {
                // The user's back-off must not leave a record of ours blocking other candidates.
                let in_the_way = self.own.attempts.may_hold() || self.own_record_observed().is_some();
                let wait = if in_the_way {
                    backoff::standard(failures, &mut self.rng)
                } else {
                    self.rules.backoff.wait(failures, &mut self.rng)
                };
                self.own.setbacks.wait_until(self.now + wait);
                self.plan();
            }
            Stage::Idle | Stage::Splaying | Stage::Closed => {}
        }
    }

    /// Notes a failure of a store that answers but cannot serve us now. That passes soon, unless the server is
    /// isolated: then writes sent to it stay in flight until it is back, or find no leader.
    pub(super) fn failed_perhaps_isolated(&mut self) {
        self.failed();
        if self.own.store.failures() >= FAILURES_BEFORE_RECONNECT {
            self.reconnect();
        }
    }

    /// An operation got no answer.
    pub(super) fn unanswered(&mut self) {
        self.report_silence();
        self.failed_perhaps_isolated();
    }

    /// Handles an operation that was not answered in time; a late answer still counts. If no operation of its kind was
    /// answered for that long, a new connection may help. Otherwise the store is slow, or it was recreated, which an
    /// inspection shows. To a slow store, a new connection would only add load, because it drops everything in flight.
    pub(super) fn timed_out(&mut self, what: Wanted) {
        if self.is_silent(what) {
            self.reconnect();
        } else {
            self.inspect(self.now);
        }
        self.report_silence();
        self.failed();
    }

    /// Reports that the store does not answer, from the second silence in a row: the first may be an accident.
    fn report_silence(&mut self) {
        if self.own.store.failures() > 0 {
            let detail = String::from("the store does not answer; check that it is up and can be reached");
            self.report_fault(Fault { kind: FaultKind::Unreachable, detail });
        }
    }
}

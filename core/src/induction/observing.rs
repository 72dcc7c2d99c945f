//! What the reader and the inspections deliver, and the reports to the user.

use super::Induction;
use super::io::{Request, Topic};
use super::log::lease_of;
use super::record::{Kind, Record};
use super::timers::Timer;
use crate::campaign::{Leader, Warning};
use crate::candidacy::{Candidacy, Step};
use crate::store::Fault;
use crate::token::Token;
use core::time::Duration;

/// The interval at which an owner reads the topic's id. The group does not inform a classic member that its topic was
/// recreated (measured).
const INSPECT_EVERY: Duration = Duration::from_secs(1);
/// The time after a change of the topic's id in which the id is read only one more time. If brokers disagree about the
/// id, an owner would otherwise read the id, and claim the partition, as fast as they answer.
const DISAGREEING: Duration = Duration::from_millis(100);

impl Candidacy<Induction> {
    // ---- the log ----

    pub(super) fn record(&mut self, record: &Record) {
        let write_id = record.write_id.filter(|write_id| write_id.nonce == self.nonce);
        let own = write_id
            .map(|write_id| write_id.attempt)
            .filter(|attempt| *attempt <= self.own.last_attempt && record.name == self.rules.name);
        if write_id.is_some() && own.is_none() && !core::mem::replace(&mut self.own.reported.twin, true) {
            self.warn(Warning::SameNonce { name: record.name.clone() });
        }
        if !self.own.log.read(record, own.is_some(), self.own.topic.id, self.now) {
            // The record lies below the reading position: the reader started over, or the log lost its end.
            self.gap();
            self.own.log.read(record, own.is_some(), self.own.topic.id, self.now);
        }
        self.observe_leader(record);
        match own {
            Some(attempt) if record.kind == Kind::Claim => self.claim_read(attempt),
            Some(attempt) if record.kind == Kind::Probe => self.probe_read(attempt),
            _ => {}
        }
        self.claim_again_if_passed();
    }

    /// Notes that the reader skipped records or lost its position, and inspects the topic, which may be another one.
    pub(super) fn gap(&mut self) {
        self.own.log.gap(self.now);
        self.inspect();
    }

    /// Reports the leader: the last candidate whose record states that it leads. Of goNELI's members only the owner
    /// writes.
    fn observe_leader(&mut self, record: &Record) {
        let nonce = record.write_id.map(|write_id| write_id.nonce);
        let leads = nonce.is_none() || record.term_info.is_some_and(|claim| claim.led_for.is_some());
        match record.kind {
            Kind::Heartbeat if leads => {
                self.timers.set(Timer::Vacant, self.now + lease_of(record));
                self.report_leader(Some(Leader {
                    name: record.name.clone(),
                    nonce,
                    revision: record.offset,
                    metadata: record.metadata.clone(),
                }));
            }
            Kind::Release { .. } if self.leader().is_some_and(|leader| leader.nonce == nonce) => {
                self.report_leader(None);
            }
            _ => {}
        }
    }

    // ---- the topic ----

    pub(super) fn inspect(&mut self) {
        if let Some(at) = self.own.inspects_from.filter(|at| self.now < *at) {
            return self.timers.set(Timer::Inspect, at);
        }
        self.ask(Request::Inspect);
        if self.owner().is_some() {
            self.timers.set(Timer::Inspect, self.now + INSPECT_EVERY);
        }
    }

    pub(super) fn topic_inspected(&mut self, result: Result<Topic, Fault>) {
        let topic = match result {
            Ok(topic) => topic,
            Err(fault) => {
                self.probed(Step::Inspect, self.now, false);
                if self.own.reported.inspection.replace(fault.kind) != Some(fault.kind) {
                    self.warn(Warning::Store(fault));
                }
                return;
            }
        };
        self.own.reported.inspection = None;
        self.giving_way.succeeded(Step::Inspect, self.now);
        self.probed(Step::Inspect, topic.asked_at, true);
        if topic.asked_at < self.own.topic.asked_at {
            return;
        }
        let known = self.own.topic.id;
        self.own.topic = Topic { id: topic.id.or(known), ..topic };
        match (known, topic.id) {
            (Some(known), Some(id)) if id != known => {
                self.is_another_log();
                self.own.inspects_from = Some(self.now + DISAGREEING);
            }
            (Some(_), Some(_)) => self.confirm_claim(topic.asked_at, true),
            // The records read so far may belong to another topic.
            (None, Some(_)) => self.begin_reading(),
            // Without an id, every win waits for a lease from the assignment.
            (_, None) => self.confirm_claim(topic.asked_at, false),
        }
    }

    pub(super) fn report_reset(&mut self, next: Option<Token>) {
        let seen = self.own.log.largest_token();
        self.warn(Warning::StoreReset { seen, next, barred: false });
    }

    pub(super) fn report_leader(&mut self, leader: Option<Leader>) {
        if leader.is_none() {
            self.timers.stop(Timer::Vacant);
        }
        self.report_known(leader);
    }
}

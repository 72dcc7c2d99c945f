//! The handling of what the watch and the connection deliver, and the reports to the user.

use alloc::string::String;

use super::io::Change;
use super::timers::Timer;
use super::{Queue, Race};
use crate::campaign::{Leader, Reason, Warning};
use crate::candidacy::{Candidacy, Stage};
use crate::store::{Fault, StoreInfo};
use crate::time::Instant;
use crate::token::{Incarnation, Revision};

impl Candidacy<Queue> {
    // ---- the watch ----

    /// Handles a change of the queue. A round is worth its cost if our keys changed, or if no key is known to be ahead
    /// any more.
    pub(super) fn watched(&mut self, change: &Change) {
        let now = self.now;
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        let own = alloc::format!("{}", placed.keys.lease);
        let touches = |keys: &[String]| keys.contains(&own);
        let free = placed.line.change(change, now);
        let front_changed =
            change.rewritten_companions.iter().any(|key| placed.line.is_front(key) && *key != own);
        let matters = free
            || front_changed
            || placed.hand_over.is_some()
            || touches(&change.removed_places)
            || touches(&change.removed_companions);
        if matters {
            self.want_round(change.revision);
        }
    }

    pub(super) fn watch_gap(&mut self) {
        let Stage::Racing(Race::Placed(placed)) = &mut self.stage else { return };
        placed.line.forget();
        self.begin_round();
    }

    // ---- the store ----

    pub(super) fn reconnect(&mut self) {
        if !core::mem::replace(&mut self.own.reconnecting, true) {
            self.ask_connection();
        }
    }

    pub(super) fn reconnected(&mut self) {
        self.own.reconnecting = false;
        self.own.store.reconnected();
        // After more failures than a lost stream explains, no round begins here: only the back-off keeps the load on
        // the store low.
        if self.own.failures <= 1 && !matches!(self.stage, Stage::Racing(Race::Entering(_))) {
            self.own.round.stop();
            self.begin_round();
        }
    }

    pub(super) fn inspect(&mut self) {
        self.timers.set(Timer::Retry, self.now + self.attempt_limit());
        self.ask_inspection(Instant::ZERO);
    }

    pub(super) fn inspected(&mut self, result: Result<StoreInfo, Fault>) {
        match result {
            Ok(info) if info.incarnation != self.own.store.incarnation() => {
                let reported = core::mem::take(&mut self.own.unborn);
                self.is_another(Some(info.incarnation), Revision(0), !reported);
            }
            Ok(_) => self.own.unborn = false,
            Err(fault) => self.report_fault(fault),
        }
        self.plan();
    }

    /// Handles a store that two connections show to be another store, or to have gone back.
    pub(super) fn reset(&mut self, birth: Option<Incarnation>, revision: Revision) {
        let replaced = birth.is_some_and(|birth| birth != self.own.store.incarnation());
        self.own.unborn = birth.is_none();
        self.is_another(birth, revision, true);
        if replaced {
            // The inspection is for the connection's other campaigns, its watch and operators' requests, which still
            // refer to the old store.
            self.ask_inspection(Instant::ZERO);
        }
    }

    /// Whether the candidate stays out, because a store gives no tokens until it has a birth record.
    pub(super) fn is_barred(&self) -> bool {
        !self.own.unborn && self.own.store.is_barred()
    }

    pub(super) fn is_another(&mut self, incarnation: Option<Incarnation>, revision: Revision, is_news: bool) {
        self.own.store.reset(incarnation, revision, self.now);
        // A store that went back may hold companions of ended terms again. They disappear with this lease, which is no
        // longer kept alive.
        self.shared_lease_is_gone();
        self.lose(Reason::StoreReset);
        if is_news {
            self.own.reported.barred = self.is_barred();
            self.report_reset();
        }
    }

    // ---- reports ----

    pub(super) fn report_reset(&mut self) {
        self.own.reported.reset = true;
        let seen = self.own.store.largest_token();
        let next = (!self.own.unborn).then(|| self.own.store.next_token());
        let barred = self.is_barred();
        self.warn(Warning::StoreReset { seen, next, barred });
    }

    pub(super) fn report_leader(&mut self, leader: Option<Leader>) {
        let is_same =
            |one: &Leader, other: &Leader| (one.revision, &one.name) == (other.revision, &other.name);
        let event = self.reports.leader(leader, is_same);
        self.report_if(event);
    }
}

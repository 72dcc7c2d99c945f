//! What the watch and the connection bring, and the reports to the user.

use alloc::string::String;

use super::io::{Change, Output};
use super::timers::Timer;
use super::{Campaign, Stage};
use crate::campaign::{Event, Leader, Reason, Warning};
use crate::store::{Fault, StoreInfo};
use crate::token::{Incarnation, Revision};

impl Campaign {
    // ---- the watch ----

    /// A change of the queue: a round is worth its cost where it touches our keys, or where nothing is known to be ahead
    /// since.
    pub(super) fn watched(&mut self, change: &Change) {
        let now = self.now;
        let Stage::Placed(placed) = &mut self.stage else { return };
        let own = alloc::format!("{}", placed.candidacy.lease);
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
        let Stage::Placed(placed) = &mut self.stage else { return };
        placed.line.forget();
        self.begin_round();
    }

    // ---- the store ----

    pub(super) fn reconnect(&mut self) {
        if !core::mem::replace(&mut self.reconnecting, true) {
            self.outputs.push_back(Output::Reconnect);
        }
    }

    pub(super) fn reconnected(&mut self) {
        self.reconnecting = false;
        self.store.reconnected();
        // One more failure than a lost stream explains: only the back-off keeps the load on the store low.
        if self.failures <= 1 && !matches!(self.stage, Stage::Entering(_)) {
            self.round.stop();
            self.begin_round();
        }
    }

    pub(super) fn inspect(&mut self) {
        self.timers.set(Timer::Retry, self.now + self.attempt_limit());
        self.outputs.push_back(Output::Inspect);
    }

    pub(super) fn inspected(&mut self, result: Result<StoreInfo, Fault>) {
        match result {
            Ok(info) if info.incarnation != self.store.incarnation() => {
                let reported = core::mem::take(&mut self.unborn);
                self.is_another(Some(info.incarnation), Revision(0), !reported);
            }
            Ok(_) => self.unborn = false,
            Err(fault) => self.report_fault(fault),
        }
        self.plan();
    }

    /// Two connections show another store, or one that went back.
    pub(super) fn reset(&mut self, birth: Option<Incarnation>, revision: Revision) {
        let replaced = birth.is_some_and(|birth| birth != self.store.incarnation());
        self.unborn = birth.is_none();
        self.is_another(birth, revision, true);
        if replaced {
            // The other campaigns of the connection, its watch and an operator's requests are for the old store still.
            self.outputs.push_back(Output::Inspect);
        }
    }

    /// Whether the candidate stays out. A store without a birth record gives no tokens before it has one.
    pub(super) fn is_barred(&self) -> bool {
        !self.unborn && self.store.is_barred()
    }

    pub(super) fn is_another(&mut self, incarnation: Option<Incarnation>, revision: Revision, is_news: bool) {
        self.store.reset(incarnation, revision, self.now);
        // A store that went back may hold companions of ended terms again. They go with this lease, which is not kept.
        self.shared_lease_is_gone();
        self.lose(Reason::StoreReset);
        if is_news {
            self.reported.barred = self.is_barred();
            self.report_reset();
        }
    }

    // ---- reports ----

    /// A campaign that is closed says nothing more, though it may still remove what it left behind.
    pub(super) fn report(&mut self, event: Event) {
        if matches!(self.stage, Stage::Closed) && !matches!(event, Event::StateChanged(_)) {
            return;
        }
        self.outputs.push_back(Output::Event(event));
    }

    pub(super) fn report_reset(&mut self) {
        self.reported.reset = true;
        let seen = self.store.largest_token();
        let next = (!self.unborn).then(|| self.store.next_token());
        let barred = self.is_barred();
        self.report(Event::Warning(Warning::StoreReset { seen, next, barred }));
    }

    pub(super) fn report_fault(&mut self, fault: Fault) {
        if self.reported.fault != Some(fault.kind) {
            self.reported.fault = Some(fault.kind);
            self.report(Event::Warning(Warning::Store(fault)));
        }
    }

    pub(super) fn report_leader(&mut self, leader: Option<Leader>) {
        let of = |leader: &Leader| (leader.revision, leader.name.clone());
        if self.reported.leader.as_ref().map(of) != leader.as_ref().map(of) {
            self.reported.leader.clone_from(&leader);
            self.report(Event::LeaderChanged(leader));
        }
    }
}

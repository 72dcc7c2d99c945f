//! What there is to tell, and what was told already.

use super::Campaign;
use super::event::{Event, Leader, State, Warning};
use super::io::Output;
use crate::record::{Entry, Nonce, Record};
use crate::store::{Fault, FaultKind};
use crate::token::Revision;

/// What was told, so that it is not told again.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) state: State,
    pub(super) fault: Option<FaultKind>,
    pub(super) inspection: Option<FaultKind>,
    pub(super) short_lease: bool,
    pub(super) markers: bool,
    pub(super) not_expiring: Option<Revision>,
    /// Another campaign of our name: its nonce, a revision of it, and whether it was told.
    pub(super) namesake: Option<(Nonce, Revision, bool)>,
    /// Another process with our nonce.
    pub(super) twin: bool,
    /// What lies under the key is longer than a candidate's record.
    pub(super) oversize: bool,
}

impl Campaign {
    /// Tells who leads, and where the campaign stands, where that is news.
    pub(super) fn tell_changes(&mut self) {
        if let Some(entry) = self.sight.entry() {
            let leader = entry.live().map(Leader::of);
            let same = match (&leader, &self.leader) {
                (Some(now), Some(before)) => now.is_same(before),
                (now, before) => now.is_none() && before.is_none(),
            };
            if !same {
                self.leader.clone_from(&leader);
                self.tell(Event::LeaderChanged(leader));
            }
        }
        let state = self.state();
        if state != self.told.state {
            self.told.state = state;
            self.tell(Event::StateChanged(state));
        }
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    pub(super) fn warning(&mut self, warning: Warning) {
        self.tell(Event::Warning(warning));
    }

    /// Tells a fault of the store when it begins.
    pub(super) fn fault(&mut self, fault: Fault) {
        if self.told.fault != Some(fault.kind) {
            self.told.fault = Some(fault.kind);
            self.warning(Warning::Store(fault));
        }
    }

    /// Tells when something begins to lie under the key that is longer than a candidate's record.
    pub(super) fn notice_size(&mut self, entry: &Entry) {
        let oversize = entry.live().and_then(|record| Some((record.revision, record.oversize?)));
        let is_news = !core::mem::replace(&mut self.told.oversize, oversize.is_some());
        if let Some((revision, bytes)) = oversize.filter(|_| is_news) {
            self.warning(Warning::NotARecord { revision, bytes });
        }
    }

    /// What a foreign record says about those who share the election.
    pub(super) fn notice_others(&mut self, record: &Record) {
        if self.is_ours(record) {
            return;
        }
        self.notice_token(record);
        if record.stamp.is_some_and(|stamp| stamp.nonce == self.nonce) {
            if !self.told.twin {
                self.told.twin = true;
                self.warning(Warning::SameNonce { name: record.candidate.clone() });
            }
            return;
        }
        if record.oversize.is_some() {
            return;
        }
        let Some(stamp) = record.stamp else {
            // A bare value: the Go library's, or an operator's.
            if self.rules.store.expiry_pushed && !self.told.markers {
                self.told.markers = true;
                self.warning(Warning::MarkersMislead);
            }
            return;
        };
        if record.candidate != self.rules.name {
            return;
        }
        // One record may be left over from a candidate that restarted; a second one is alive.
        match self.told.namesake {
            Some((nonce, _, true)) if nonce == stamp.nonce => {}
            Some((nonce, revision, false)) if nonce == stamp.nonce => {
                if record.revision > revision {
                    self.told.namesake = Some((nonce, revision, true));
                    self.warning(Warning::SameName { nonce });
                }
            }
            _ => self.told.namesake = Some((stamp.nonce, record.revision, false)),
        }
    }

    /// Tells when a record is still there although it should have expired a whole lease ago.
    pub(super) fn check_expiry(&mut self, revision: Revision) {
        let unchanged = self.now.since(self.sight.since());
        let lease = self.sight.lives(self.lease);
        let overdue = unchanged > lease.saturating_mul(2).saturating_add(self.rules.store.granularity);
        if overdue && self.seat().is_none() && self.told.not_expiring != Some(revision) {
            self.told.not_expiring = Some(revision);
            self.warning(Warning::NotExpiring { revision, unchanged });
        }
    }
}

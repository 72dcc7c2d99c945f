//! The reports to the user. No report is repeated.

use alloc::boxed::Box;

use super::KeyLease;
use super::event::{Leader, Warning};
use crate::candidacy::Candidacy;
use crate::record::{Entry, Nonce, Record};
use crate::store::FaultKind;
use crate::token::Revision;

/// The last report of each kind, so that none is repeated.
#[derive(Clone, Debug)]
pub(super) struct Reported {
    pub(super) inspection: Option<FaultKind>,
    pub(super) short_lease: bool,
    /// The store was reset.
    pub(super) reset: bool,
    markers: bool,
    not_expiring: Option<Revision>,
    /// Another campaign with our name: its nonce, one of its revisions, and whether it was reported.
    same_name: Option<Box<(Nonce, Revision, bool)>>,
    /// Another process with our nonce.
    twin: bool,
    /// The entry under the key is longer than a candidate's record.
    oversize: bool,
}

impl Reported {
    /// Nothing was reported yet, and being idle needs no report.
    pub(super) fn nothing() -> Self {
        Self {
            inspection: None,
            short_lease: false,
            reset: false,
            markers: false,
            not_expiring: None,
            same_name: None,
            twin: false,
            oversize: false,
        }
    }
}

impl Candidacy<KeyLease> {
    /// Reports another leader.
    pub(super) fn report_leader(&mut self) {
        let Some(entry) = self.own.key.entry() else { return };
        let live = entry.live();
        let same = match (live, self.reports.known_leader()) {
            (Some(now), Some(before)) => before.wrote(now),
            (now, before) => now.is_none() && before.is_none(),
        };
        if !same {
            let leader = live.map(Leader::of);
            let event = self.reports.leader(leader, |_, _| false);
            self.report_if(event);
        }
    }

    /// Warns when the key starts to hold an entry that is too long for a candidate's record.
    pub(super) fn check_size(&mut self, entry: &Entry) {
        let oversize = entry.live().and_then(|record| Some((record.revision, record.oversize?)));
        let is_news = !core::mem::replace(&mut self.own.reported.oversize, oversize.is_some());
        if let Some((revision, bytes)) = oversize.filter(|_| is_news) {
            self.warn(Warning::NotARecord { revision, bytes });
        }
    }

    /// Warns of foreign records that reveal a mistake in the election's set-up.
    pub(super) fn check_others(&mut self, record: &Record) {
        if self.is_ours(record) {
            return;
        }
        if record.write_id.is_some_and(|write_id| write_id.nonce == self.nonce) {
            if !self.own.reported.twin {
                self.own.reported.twin = true;
                self.warn(Warning::SameNonce { name: record.candidate.clone() });
            }
            return;
        }
        if record.oversize.is_some() {
            return;
        }
        let Some(write_id) = record.write_id else {
            // The record is a bare value, written by the Go library or by an operator.
            if self.rules.own.store.expiry_pushed && !self.own.reported.markers {
                self.own.reported.markers = true;
                self.warn(Warning::MarkersMislead);
            }
            return;
        };
        if record.candidate != self.rules.name {
            return;
        }
        // A single record may be left over from a candidate that restarted; a second record shows that the other
        // candidate is alive.
        match self.own.reported.same_name.as_deref().copied() {
            Some((nonce, _, true)) if nonce == write_id.nonce => {}
            Some((nonce, revision, false)) if nonce == write_id.nonce => {
                if record.revision > revision {
                    self.own.reported.same_name = Some(Box::new((nonce, revision, true)));
                    self.warn(Warning::SameName { nonce });
                }
            }
            _ => self.own.reported.same_name = Some(Box::new((write_id.nonce, record.revision, false))),
        }
    }

    /// Warns if a record still exists a whole lease after it should have expired.
    pub(super) fn check_expiry(&mut self, revision: Revision) {
        let unchanged = self.now.since(self.own.key.first_observed());
        let lease = self.own.key.entry_lease(self.lease);
        let overdue = unchanged > lease.saturating_mul(2).saturating_add(self.rules.own.store.granularity);
        if overdue && self.holder().is_none() && self.own.reported.not_expiring != Some(revision) {
            self.own.reported.not_expiring = Some(revision);
            self.warn(Warning::NotExpiring { revision, unchanged });
        }
    }
}

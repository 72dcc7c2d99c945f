//! Warnings: places without a candidate, another candidate with our name, leases that are cut short.

use alloc::format;
use alloc::string::String;

use super::Queue;
use super::io::{Place, Snapshot};
use super::line;
use super::settings::EXPIRED;
use crate::campaign::Warning;
use crate::candidacy::Candidacy;
use crate::record::Nonce;
use crate::store::{Fault, FaultKind};
use crate::time::Instant;
use crate::token::Revision;

/// Another campaign with this candidate's name. Until its lease has run out, its place may be left over from a process
/// of ours that ended. If the place still exists after that, or was created again, the other campaign is alive.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Namesake {
    nonce: Nonce,
    created: Revision,
    alive_at: Instant,
    reported: bool,
}

impl Namesake {
    /// Whether the next read of the whole queue will show if the other campaign is alive.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.reported && now >= self.alive_at
    }
}

impl Candidacy<Queue> {
    /// Warns of places without a candidate, a single time for each. Never advises deleting a key of another prefix,
    /// because two of that prefix's candidates could then lead.
    pub(super) fn check_places(&mut self, snapshot: &Snapshot) {
        if let Some(overlap) = &snapshot.overlap {
            let first = snapshot.places.first().map_or(Revision(0), |place| place.created);
            return self.warn_once(first, overlap.clone());
        }
        let warn = |kind: &str, place: &Place| {
            format!("{kind} (key {:?}, value {:?}, revision {})", place.key, place.name, place.created.0)
        };
        let own = self.placed().map_or(Revision(0), |placed| placed.keys.revision);
        let others = || snapshot.places.iter().filter(move |place| place.created != own);
        if let Some(place) = others().find(|place| place.lease.is_none()) {
            let text = warn(
                "a place has no lease and stays until it is deleted; delete it (incumbent evict)",
                place,
            );
            self.warn_once(place.created, text);
        } else if let Some(place) = others().find(|place| place.key.contains('/')) {
            let text = warn(
                "another election's name begins with this election's, so that election's keys count as places here; rename one of the elections",
                place,
            );
            self.warn_once(place.created, text);
        }
    }

    fn warn_once(&mut self, created: Revision, detail: String) {
        if self.own.reported.place != Some(created) {
            self.own.reported.place = Some(created);
            let fault = Fault { kind: FaultKind::Broken, detail };
            self.warn(Warning::Store(fault));
        }
    }

    /// Warns of another candidate of ours with our name. Foreign candidates have no nonce that would show whether they
    /// are other candidates.
    pub(super) fn check_namesake(&mut self, snapshot: &Snapshot, whole: bool) {
        let of_our_name = snapshot.places.iter().filter(|place| place.name == self.rules.name);
        let found = of_our_name.filter_map(|place| line::companion(snapshot, place)).find_map(|companion| {
            let nonce = companion.nonce.filter(|nonce| *nonce != self.nonce)?;
            Some((nonce, companion.created, companion.lease_time))
        });
        match (found, &mut self.own.namesake) {
            (Some((nonce, created, _)), Some(known)) if known.nonce == nonce => {
                let alive = created > known.created || self.now >= known.alive_at;
                if alive && !core::mem::replace(&mut known.reported, true) {
                    self.warn(Warning::SameName { nonce });
                }
            }
            (Some((nonce, created, lease)), known) => {
                let alive_at = self.now + lease.max(self.lease) + EXPIRED;
                *known = Some(Namesake { nonce, created, alive_at, reported: false });
            }
            (None, Some(Namesake { reported: false, .. })) if whole => self.own.namesake = None,
            (None, _) => {}
        }
    }

    pub(super) fn report_short_ttl(&mut self, ttl: core::time::Duration) {
        if core::mem::replace(&mut self.own.reported.short_ttl, true) {
            return;
        }
        let detail = format!(
            "a lease of {:?} is kept for only {ttl:?}, so the deadline is earlier; \
             connect to the servers directly, not to a proxy that answers for them",
            self.lease
        );
        self.warn(Warning::Store(Fault { kind: FaultKind::Broken, detail }));
    }
}

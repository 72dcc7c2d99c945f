//! What a broken campaign does that a sound one never would, where that takes more than a condition.

use super::ledger::Purpose;
use super::sight::Wait;
use super::{Campaign, Stage};
use crate::record::Entry;
use crate::store::Expect;
use crate::time::Instant;
use crate::token::Revision;

impl Campaign {
    /// Whether a told term is coming to its end by the leader's own will.
    pub(super) fn leaves(&self) -> bool {
        self.seat().is_some_and(|seat| seat.leaving.is_some())
    }

    /// Takes the newest write for applied, if it was meant for this.
    pub(super) fn take_as_applied(&mut self, purpose: Purpose) {
        let Some(sent) = self.ledger.newest().filter(|sent| sent.open && sent.purpose == purpose) else {
            return;
        };
        match self.seat() {
            Some(seat) => {
                let revision = seat.revision;
                self.extend(revision, &sent);
            }
            None if purpose == Purpose::Acquire && matches!(self.stage, Stage::Candidate) => {
                self.take_seat(&sent, Revision(self.life.mark().0 + 1));
            }
            None => {}
        }
    }

    /// Makes a holder, or a leader, of whoever sees a record of its own.
    pub(super) fn win_by_sight(&mut self, entry: &Entry) {
        let Some(record) = entry.live() else { return };
        let sent = self.sent_as(record);
        if let Some(sent) = sent
            && matches!(self.stage, Stage::Candidate)
        {
            self.take_seat(&sent, record.revision);
        }
    }

    /// Counts the lease from now where a record of our own is seen.
    pub(super) fn extend_by_sight(&mut self, entry: &Entry) {
        let now = self.now;
        if entry.live().is_some_and(|record| self.is_ours(record))
            && let Some(seat) = self.seat_mut()
        {
            seat.proven = now;
        }
    }

    /// Takes whatever is at `revision` for our own.
    pub(super) fn move_to(&mut self, revision: Revision) {
        if let Some(seat) = self.seat_mut() {
            seat.revision = seat.revision.max(revision);
            self.renew();
        }
    }

    /// Releases the seat and keeps the term.
    pub(super) fn release_the_seat(&mut self) {
        if let Some(seat) = self.seat().filter(|_| !self.ledger.is_awaiting()) {
            let expect = Expect::Revision(seat.revision);
            self.write(Purpose::Release, expect, Wait::default(), Instant::NEVER, None);
        }
    }
}

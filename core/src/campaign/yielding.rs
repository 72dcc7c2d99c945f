//! Giving way: what a campaign reports to the [shared rule](crate::candidacy::GivingWay), and how it obeys that rule.
//!
//! The claim is our live record, kept by renewals. The proof is an inspection or a watch that shows that the store was
//! not replaced. Without the proof a holder keeps renewing a lease but must not lead.

use super::forecast::Vacant;
use super::{KeyLease, Race};
use crate::candidacy::{Candidacy, Stage, Step, Tried};
use crate::record::Entry;
use crate::store::Fault;
use crate::time::Instant;

impl Candidacy<KeyLease> {
    /// Reports that a step sent at `sent` failed, or was not answered in time.
    pub(super) fn step_failed(&mut self, step: Step, sent: Instant, fault: Option<&Fault>) {
        let claims = self.holder().is_some() || self.own_record_observed().is_some();
        if !claims {
            return self.giving_way.probed(step, sent, false, self.now);
        }
        self.giving_way.failed(step, Tried::at(sent), self.lease, self.now);
        if let Some(fault) = fault {
            self.giving_way.answered_with(fault, self.now);
        }
    }

    /// Reports that a step sent at `sent` succeeded.
    pub(super) fn step_succeeded(&mut self, step: Step, sent: Instant) {
        self.giving_way.probed(step, sent, true, self.now);
        self.giving_way.succeeded(step, self.now);
    }

    /// Reports that an answer showed our record in the store.
    pub(super) fn claim_kept(&mut self) {
        self.giving_way.kept(self.lease, self.now);
    }

    /// Notes that the store was shown to have the known incarnation. This proves the claim of a leader, and of a holder
    /// that has to wait before it may lead. If no wait is owed, only the win proves the claim.
    pub(super) fn shown_the_same(&mut self) {
        let Some(holder) = self.holder() else { return };
        let lasts = self.lease_end(holder.proven.min(self.own.store.verified_at())) > self.now;
        let owed = holder.wait.until.max(self.own.store.trusted_at()) > self.now;
        if lasts && (self.term.is_some() || owed) {
            self.giving_way.proved(self.now);
        }
    }

    /// Gives way when due, and drops a claim that has ended.
    pub(super) fn settle_claim(&mut self) {
        let orphan =
            matches!(self.stage, Stage::Racing(Race::Candidate)) && self.own_record_observed().is_some();
        if self.giving_way.gives_way(self.lease) && self.term.is_none() && (orphan || self.holder().is_some())
        {
            self.giving_way.withdraws(self.now);
            return if orphan { self.remove_orphan() } else { self.give_up(None, false) };
        }
        let may_claim = matches!(self.stage, Stage::Racing(Race::Holder(_)) | Stage::Releasing(_))
            || self.own_record_observed().is_some()
            || self.own.attempts.may_hold();
        if !may_claim {
            self.giving_way.claim_ended(self.now);
        }
    }

    /// Notes whether others claim the election, as the observed entry shows.
    pub(super) fn observe_claims(&mut self) {
        let claimed = match self.own.key.entry() {
            None => return,
            Some(Entry::Live(record)) if self.is_ours(record) => return,
            Some(entry) => entry.live().is_some(),
        };
        let worst = Vacant::at_most(&self.rules, self.longest_lease()).worst();
        self.giving_way.others_claim(claimed, worst, self.now);
    }

    /// Repeats, for a candidate that rests, the steps that failed, and checks who else claims the election.
    pub(super) fn probe(&mut self) {
        let steps = self.giving_way.probe(self.lease, self.now);
        if steps.contains(Step::Inspect) {
            self.inspect(self.now);
        }
        self.read();
        self.plan();
    }
}

//! Tokens only grow: what a candidate does whose next token would not be above every token observed.
//!
//! A store that was restored, or lost what it had acknowledged, numbers its revisions from an earlier one on. A term won
//! there would have a token that was given before. Where few numbers are missing, the candidate uses them up: it
//! acquires, reports nothing, and releases, until the next token is larger. To other candidates such a record is like any
//! record of a holder whose win is not reported yet. Where many are missing, the candidate stays out until the store has
//! given them, or an operator accepts that tokens start again.

use super::KeyLease;
use super::backoff::FIRST;
use super::event::Warning;
use crate::candidacy::Candidacy;
use crate::record::Entry;
use crate::token::{Revision, Token};

/// The largest number of acquires that use up a gap: as many as an election writes in the two minutes for which a
/// NATS server leaves its writes unsynced by default, at a renewal every third of a second. More is no power cut.
const SMALL_GAP: u64 = 2 * 60 * 3;

impl Candidacy<KeyLease> {
    /// Observes the largest token that may have been given before this entry was written, however old the entry is: a stale
    /// one may still be about a token that was given.
    ///
    /// A renewal states the token of its term, so that the loss of renewals bars no candidate. A record without a token
    /// may be the one that won its term. A token above the record's own revision is the token of no term. A removal states
    /// no token, and its term may never have been seen: every term before it has a smaller token.
    pub(super) fn observe_token_in(&mut self, entry: &Entry) {
        let incarnation = self.own.store.incarnation();
        let at = |sequence: Revision| Token { incarnation, sequence };
        let token = match entry {
            Entry::Live(record) if !self.is_ours(record) => {
                let own = at(record.revision);
                record.term_info.map_or(own, |term_info| term_info.token.min(own))
            }
            Entry::Released(release) => {
                at(release.revision).min(Token { incarnation: release.incarnation, ..at(release.revision) })
            }
            Entry::Deleted { revision, .. } | Entry::Expired { revision } => at(*revision),
            Entry::Live(_) | Entry::Vacant => return,
        };
        self.own.store.observe_token(token);
    }

    /// Whether a term with this token must not be reported.
    pub(super) fn is_too_small(&self, token: Token) -> bool {
        self.own.store.largest_token().is_some_and(|largest| token <= largest)
    }

    /// Whether the next write would have a token that is not above every token observed.
    pub(super) fn is_barred(&self) -> bool {
        self.own.store.missing_revisions() != Some(0)
    }

    /// Whether it is barred, and does nothing about it by itself.
    pub(super) fn stays_out(&self) -> bool {
        let small = |missing: u64| missing <= SMALL_GAP;
        self.is_barred()
            && !(self.own.store.missing_revisions().is_some_and(small)
                && self.own.setbacks.tokens_used_up() < SMALL_GAP)
    }

    /// Gives up a win with this token without a report, because the token is not above every token observed.
    pub(super) fn give_up_small_token(&mut self, token: Token) {
        self.used_up();
        self.own.store.assigned(token.sequence);
        if self.stays_out() {
            self.report_reset();
        }
        self.give_up(None, false);
    }

    /// An acquire was applied that leads to no term. Several candidates may do so at a time, each after the other's release.
    pub(super) fn used_up(&mut self) {
        self.own.setbacks.token_used_up();
        self.own.setbacks.wait_at_least_until(self.now + FIRST);
    }

    /// Warns that the store is another one, and says whether that keeps this candidate out.
    pub(super) fn report_reset(&mut self) {
        let (seen, next) = (self.own.store.largest_token(), Some(self.own.store.next_token()));
        let barred = self.stays_out();
        self.own.reported.reset = true;
        self.warn(Warning::StoreReset { seen, next, barred });
    }

    /// An operator accepts that tokens start again. Only where they keep this candidate out: a request that comes late, or
    /// twice, is about no other reset.
    pub(super) fn accept(&mut self) {
        if self.is_barred() {
            self.own.store.forget_tokens();
            self.own.setbacks.forget_used_up_tokens();
        }
        self.plan();
    }
}

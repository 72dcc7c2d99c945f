//! The rule that tokens only grow: how a candidate behaves if its next token would not exceed every observed token.
//!
//! A store that was restored, or that lost acknowledged writes, reuses revision numbers. A term won there could repeat
//! a token. If few numbers are missing, the candidate uses them up: it acquires, reports nothing, and releases, until
//! the next token is larger. To other candidates its record looks like that of any holder whose win is not reported
//! yet. If many are missing, the candidate stays out until the store has passed them, or until an operator accepts that
//! tokens start again.

use super::KeyLease;
use super::backoff::FIRST;
use super::event::Warning;
use crate::candidacy::Candidacy;
use crate::record::Entry;
use crate::token::{Revision, Token};

/// The largest gap that acquires use up: as many writes as an election makes in two minutes at three renewals a second.
/// A NATS server syncs its writes every two minutes by default, so a power cut cannot explain a larger gap.
const SMALL_GAP: u64 = 2 * 60 * 3;

impl Candidacy<KeyLease> {
    /// Observes the largest token that some term may have had before this entry was written. A stale entry counts too,
    /// because its token may have been used all the same.
    ///
    /// A renewal states the token of its term, so the loss of renewals bars no candidate. A record without a token may
    /// be the acquire that won its term. A token above the record's own revision belongs to no term. A release or
    /// deletion states no token, and this candidate may never have seen the term that it ended, but the token of every
    /// earlier term is smaller than the removal's revision.
    pub(super) fn observe_token_in(&mut self, entry: &Entry) {
        let incarnation = self.own.store.incarnation();
        let at = |sequence: Revision| Token { incarnation, sequence };
        let token = match entry {
            Entry::Live(record) if !self.is_ours(record) => {
                let own = at(record.revision);
                record.term_info.map_or(own, |term_info| term_info.token.min(own))
            }
            Entry::Released(release) => {
                Token { incarnation: incarnation.min(release.incarnation), sequence: release.revision }
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

    /// Whether the next write's token would not be above every token observed.
    pub(super) fn is_barred(&self) -> bool {
        self.own.store.missing_revisions() != Some(0)
    }

    /// Whether this candidate is barred and can only wait.
    pub(super) fn stays_out(&self) -> bool {
        let small = |missing: u64| missing <= SMALL_GAP;
        self.is_barred()
            && !(self.own.store.missing_revisions().is_some_and(small)
                && self.own.setbacks.tokens_used_up() < SMALL_GAP)
    }

    /// Gives up a win without reporting it, because its token does not exceed every observed token.
    pub(super) fn give_up_small_token(&mut self, token: Token) {
        self.used_up();
        self.own.store.assigned(token.sequence);
        if self.stays_out() {
            self.report_reset();
        }
        self.give_up(None, false);
    }

    /// Counts an acquire that was applied but leads to no term. Several candidates may take turns at this, each after
    /// another's release.
    pub(super) fn used_up(&mut self) {
        self.own.setbacks.token_used_up();
        self.own.setbacks.wait_at_least_until(self.now + FIRST);
    }

    /// Warns that the store was reset, and states whether the reset keeps this candidate out.
    pub(super) fn report_reset(&mut self) {
        let (seen, next) = (self.own.store.largest_token(), Some(self.own.store.next_token()));
        let barred = self.stays_out();
        self.own.reported.reset = true;
        self.warn(Warning::StoreReset { seen, next, barred });
    }

    /// Accepts for an operator that tokens start again. Ignored unless tokens keep this candidate out, because a late
    /// or repeated request must not apply to another reset.
    pub(super) fn accept(&mut self) {
        if self.is_barred() {
            self.own.store.forget_tokens();
            self.own.setbacks.forget_used_up_tokens();
        }
        self.plan();
    }
}

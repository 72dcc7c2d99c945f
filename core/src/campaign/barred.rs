//! Tokens only grow: what a candidate does whose next token would not be above every token seen.
//!
//! A store that was restored, or lost what it had acknowledged, numbers its revisions from an earlier one on. A term won
//! there would have a token that was given before. Where few numbers are missing, the candidate uses them up: it
//! acquires, reports nothing, and releases, until the next token is larger. To everyone else such a record is what any
//! record is whose holder has not been told. Where many are missing, it stays out until the store has given them, or an
//! operator accepts that tokens start again.

use super::Campaign;
use super::backoff::FIRST;
use super::event::Warning;
use crate::record::Record;
use crate::token::Token;

/// How many numbers are used up, and by how many acquires at most: what an election writes in the two minutes for which a
/// NATS server leaves its writes unsynced by default, at a renewal every third of a second. More is no power cut.
const SMALL_GAP: u64 = 2 * 60 * 3;

impl Campaign {
    /// Notes the token that a foreign record may be about.
    ///
    /// A renewal says the token of its term, so that losing renewals bars no candidate. A record that says none may be
    /// the one that won its term. A token above the record's own revision is no term's.
    pub(super) fn notice_token(&mut self, record: &Record) {
        let own = Token { incarnation: self.life.incarnation(), sequence: record.revision };
        let said = record.claim.map_or(own, |claim| claim.token);
        self.life.saw_token(said.min(own));
    }

    /// Whether a term with this token must not be reported.
    pub(super) fn is_small(&self, token: Token) -> bool {
        self.life.largest_token().is_some_and(|seen| token <= seen)
    }

    /// Whether the next write would have a token that is not above every token seen.
    pub(super) fn is_barred(&self) -> bool {
        self.life.missing() != Some(0)
    }

    /// Whether it is barred, and does nothing about it by itself.
    pub(super) fn stays_out(&self) -> bool {
        let small = |missing: u64| missing <= SMALL_GAP;
        self.is_barred() && !(self.life.missing().is_some_and(small) && self.burnt < SMALL_GAP)
    }

    /// A win with this token, which is not above every token seen, is not told: the seat goes back.
    pub(super) fn burn(&mut self, token: Token) {
        self.used_up();
        self.life.gave(token.sequence);
        if self.stays_out() {
            self.tell_reset();
        }
        self.give_back(None, false);
    }

    /// An acquire was applied of which no term comes. Several candidates may do so at a time, each upon the other's release.
    pub(super) fn used_up(&mut self) {
        self.burnt += 1;
        self.not_before = self.not_before.max(self.now + FIRST);
    }

    /// Tells that the store is another one, and whether that keeps this candidate out.
    pub(super) fn tell_reset(&mut self) {
        let (seen, next) = (self.life.largest_token(), Some(self.life.next_token()));
        let barred = self.stays_out();
        self.warning(Warning::StoreReset { seen, next, barred });
    }

    /// An operator accepts that tokens start again. Only where they keep this candidate out: a request that comes late, or
    /// twice, is about no other reset.
    pub(super) fn accept(&mut self) {
        if self.is_barred() {
            self.life.forget_tokens();
            self.burnt = 0;
        }
        self.plan();
    }
}

//! What is promised at present, where an assumption of the design does not hold.
//!
//! Some faults are survived by candidates that were watching without a gap: a record that vanishes before its
//! time, a store that goes back. For a while after such a fault, the promise depends on whether everybody had
//! seen what vanished, and on whether anybody comes anew.

use std::time::Duration;

use incumbent_core::{Instant, Token};

use crate::kind::Promise;
use crate::plan::Plan;

#[derive(Debug)]
pub(crate) struct Promises {
    /// Two may believe that they lead, in the whole run.
    tokens_only: bool,
    /// Not even tokens are promised, in the whole run.
    nothing: bool,
    /// Two may believe that they lead, before this.
    waived: Instant,
    /// Whoever comes anew before this was not watching.
    fragile: Instant,
    /// The store went back in this run: tokens are in order as long as everybody remembers.
    tokens_fragile: bool,
    tokens_waived: bool,
    /// Somebody came after the newest token was told, and may know nothing of it.
    newcomers: bool,
    largest: Option<Token>,
}

impl Promises {
    pub(crate) fn new(plan: &Plan) -> Self {
        let drawn = |promise| plan.script.iter().any(|fault| fault.kind.promise() == promise);
        let nothing = drawn(Promise::Nothing);
        Self {
            tokens_only: nothing || drawn(Promise::Tokens),
            nothing,
            waived: Instant::ZERO,
            fragile: Instant::ZERO,
            tokens_fragile: false,
            tokens_waived: false,
            newcomers: true,
            largest: None,
        }
    }

    /// Whether at most one may lead.
    pub(crate) fn one_leader(&self, now: Instant) -> bool {
        !self.tokens_only && now >= self.waived
    }

    /// Whether tokens must be in order.
    pub(crate) fn tokens(&self) -> bool {
        !self.nothing && !self.tokens_waived
    }

    /// Whether the clocks of candidates keep to their setting.
    pub(crate) fn clocks(&self) -> bool {
        !self.tokens_only
    }

    /// Something vanished before its time, of which a leader may not know for `span`.
    pub(crate) fn vanished(&mut self, now: Instant, span: Duration, all_saw_it: bool) {
        let until = now + span;
        // After the store went back, what was seen may be of the time that is undone.
        if all_saw_it && !self.tokens_fragile {
            self.fragile = self.fragile.max(until);
        } else {
            self.waived = self.waived.max(until);
        }
    }

    /// The store went back, or began a life that does not come after the last one.
    pub(crate) fn went_back(&mut self, now: Instant, span: Duration, all_saw_it: bool) {
        self.vanished(now, span, all_saw_it);
        self.tokens_fragile = true;
        self.tokens_waived |= !all_saw_it || self.newcomers;
    }

    /// Somebody comes who has seen nothing yet.
    pub(crate) fn newcomer(&mut self, now: Instant) {
        if now < self.fragile {
            self.waived = self.waived.max(self.fragile);
        }
        self.tokens_waived |= self.tokens_fragile;
        self.newcomers = true;
    }

    /// A term was told.
    pub(crate) fn told(&mut self, token: Token) {
        self.largest = self.largest.max(Some(token));
        self.newcomers = false;
    }

    /// Whether the store ever went back in this run.
    pub(crate) fn ever_went_back(&self) -> bool {
        self.tokens_fragile
    }

    /// The largest token told.
    pub(crate) fn largest(&self) -> Option<Token> {
        self.largest
    }
}

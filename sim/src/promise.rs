//! The promises of the moment, where an assumption of the design does not hold.
//!
//! A fault that breaks an assumption is excused for a time and for the candidates concerned, not for a run: a clock
//! beyond its setting excuses the candidate that reads it, until the leases that count on it are over; a record that
//! vanished before its time excuses the candidates that had not seen it. The writes of an excused candidate pass its
//! error on, so the next candidate to acquire is excused as long. Two that lead at once are a violation unless one of
//! them is excused.

use std::time::Duration;

use incumbent_core::{Incarnation, Instant, Revision, Token};

use crate::plan::Plan;

#[derive(Debug)]
pub(crate) struct Promises {
    /// The longest time for which a leader counts on old knowledge.
    span: Duration,
    /// The longest age of a message under way, or one held by a stopped process.
    echo: Duration,
    /// Before this, any two may believe that they lead.
    waived: Instant,
    /// For each candidate: the number of faults that falsify its knowledge, and the time until it may lead beside another
    /// one.
    falsified: Vec<u32>,
    excused: Vec<Instant>,
    /// Before this, a candidate that acquires is excused: an excused candidate wrote the last entry.
    passed_on: Instant,
    /// A candidate that begins before this was not watching.
    fragile: Instant,
    /// The store went back, and gives revisions for the second time.
    regression: Option<Regression>,
    /// The store went back in this run: tokens are in order as long as all candidates remember.
    tokens_fragile: bool,
    tokens_waived: bool,
    /// A candidate came after the newest token was reported, and may not know it.
    newcomers: bool,
    largest: Option<Token>,
    /// Before this, a foreign candidate may lead beside one of ours.
    foreign: Instant,
}

/// The last doubtful revision, and its incarnation of the store.
#[derive(Clone, Copy, Debug)]
struct Regression {
    incarnation: Incarnation,
    highest: u64,
}

impl Promises {
    pub(crate) fn new(plan: &Plan) -> Self {
        let count = plan.choice.candidates;
        // A clock may be slow by a hundredth, and the store late.
        let span = plan.lease * 102 / 100 + Duration::from_secs(1);
        Self {
            span,
            // A process is stopped for two leases and a half at most, a message is late by twelve seconds.
            echo: plan.lease * 5 / 2 + Duration::from_secs(12) + span,
            waived: Instant::ZERO,
            falsified: vec![0; count],
            excused: vec![Instant::ZERO; count],
            passed_on: Instant::ZERO,
            fragile: Instant::ZERO,
            regression: None,
            tokens_fragile: false,
            tokens_waived: false,
            newcomers: true,
            largest: None,
            foreign: Instant::ZERO,
        }
    }

    /// Whether at most one of the candidates that are not excused may lead.
    pub(crate) fn one_leader(&self, now: Instant) -> bool {
        now >= self.waived
    }

    /// Whether this candidate may lead beside another one.
    pub(crate) fn excuses(&self, now: Instant, node: usize) -> bool {
        self.falsified[node] > 0 || now < self.excused[node]
    }

    /// Whether at most one of all candidates may lead.
    pub(crate) fn excuses_none(&self, now: Instant) -> bool {
        self.one_leader(now) && (0..self.excused.len()).all(|node| !self.excuses(now, node))
    }

    /// Notes that a place was removed while its owner may lead: the next one that follows Go's rules does not wait.
    pub(crate) fn place_removed(&mut self, now: Instant) {
        self.foreign = self.foreign.max(now + self.span);
    }

    /// Whether a foreign candidate may lead beside one of ours.
    pub(crate) fn foreign_may_overlap(&self, now: Instant) -> bool {
        now < self.foreign || !self.excuses_none(now)
    }

    /// Whether tokens must be in order.
    pub(crate) fn tokens(&self) -> bool {
        !self.tokens_waived
    }

    /// Marks a candidate's knowledge as false as long as a fault lasts.
    pub(crate) fn falsify(&mut self, node: usize) {
        self.falsified[node] += 1;
    }

    /// Ends such a fault; leases from its time last a lease longer.
    pub(crate) fn rectify(&mut self, now: Instant, node: usize) {
        self.falsified[node] = self.falsified[node].saturating_sub(1);
        self.excused[node] = self.excused[node].max(now + self.span);
    }

    /// Notes that a write of a candidate was applied.
    pub(crate) fn wrote(&mut self, now: Instant, node: usize) {
        if now < self.passed_on {
            self.excused[node] = self.excused[node].max(self.passed_on);
        }
        if self.excuses(now, node) {
            let until = if self.falsified[node] > 0 { Instant::NEVER } else { self.excused[node] };
            self.passed_on = self.passed_on.max(until.min(now + self.span));
        }
    }

    /// Notes a fault after which any candidate may be wrong for a while.
    pub(crate) fn waive(&mut self, now: Instant, span: Duration) {
        self.waived = self.waived.max(now + span);
    }

    /// Notes an entry that vanished before its time. A leader may not know of it for as long as it counts on the entry.
    pub(crate) fn vanished(&mut self, now: Instant, unaware: impl Iterator<Item = usize>) {
        let until = now + self.span;
        // After the store went back, observations may be of the time that is undone.
        if self.regression.is_some() {
            self.waived = self.waived.max(until);
        }
        for node in unaware {
            self.excused[node] = self.excused[node].max(until);
        }
        self.fragile = self.fragile.max(until);
    }

    /// The store went back, and gives the revisions up to `highest` again. A candidate that saw only one of two entries
    /// with the same revision cannot distinguish them: it may write over the present one, as its own or as a tombstone.
    /// So this lasts until the key is beyond it.
    pub(crate) fn went_back(&mut self, incarnation: Incarnation, highest: u64, all_saw_it: bool) {
        let before = self.regression.filter(|regression| regression.incarnation == incarnation);
        self.regression = Some(Regression {
            incarnation,
            highest: highest.max(before.map_or(0, |regression| regression.highest)),
        });
        self.tokens_fragile = true;
        self.tokens_waived |= !all_saw_it || self.newcomers;
        self.waived = Instant::NEVER;
    }

    /// The store began an incarnation that does not come after the last one.
    pub(crate) fn began_before(&mut self, now: Instant) {
        self.waive(now, self.echo * 2);
        self.tokens_fragile = true;
        self.tokens_waived = true;
    }

    /// Notes the present entry of the key, and the present sequence.
    pub(crate) fn holds(
        &mut self,
        now: Instant,
        incarnation: Incarnation,
        sequence: u64,
        revision: Revision,
    ) {
        let Some(regression) = self.regression else { return };
        let beyond = revision.0 == 0 || revision.0 > regression.highest;
        if incarnation != regression.incarnation || sequence >= regression.highest && beyond {
            self.regression = None;
            let until = now + self.echo;
            self.waived = self.waived.min(until);
            self.fragile = self.fragile.min(until);
        }
    }

    /// Notes a candidate that has observed nothing yet.
    pub(crate) fn newcomer(&mut self, now: Instant, node: usize) {
        if now < self.fragile {
            self.excused[node] = self.excused[node].max(self.fragile);
        }
        self.tokens_waived |= self.tokens_fragile;
        self.newcomers = true;
    }

    /// Promises not even the order of tokens any more: a server answered from a former incarnation, or an operator
    /// accepted that tokens start again.
    pub(crate) fn waive_tokens(&mut self) {
        self.tokens_waived = true;
    }

    /// Notes that a term was reported.
    pub(crate) fn term_reported(&mut self, token: Token) {
        self.largest = self.largest.max(Some(token));
        self.newcomers = false;
    }

    /// Whether the store ever went back in this run.
    pub(crate) fn ever_went_back(&self) -> bool {
        self.tokens_fragile
    }

    /// The largest token reported.
    pub(crate) fn largest(&self) -> Option<Token> {
        self.largest
    }
}

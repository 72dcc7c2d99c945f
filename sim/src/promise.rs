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

macro_rules! excuses {
    ($($excuse:ident $name:literal $says:literal,)*) => {
        /// The reason why less is promised for a while.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Excuse {
            $(#[doc = $says] $excuse,)*
        }

        impl Excuse {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$excuse,)*];

            /// The name, for machines.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$excuse => $name,)* }
            }

            /// The description, in a sentence.
            pub const fn says(self) -> &'static str {
                match self { $(Self::$excuse => $says,)* }
            }
        }
    };
}

excuses! {
    Clock "clock" "The candidate's clock is beyond its setting, or was so a lease ago.",
    OldIncarnation "old-incarnation" "A server answered the candidate from a former incarnation of the bucket.",
    Vanished "vanished" "A record vanished before its time, and the candidate had not seen it.",
    Newcomer "newcomer" "The candidate began within a lease after a record had vanished before its time.",
    PassedOn "passed-on" "The candidate wrote after one that was excused.",
    WentBack "went-back" "The store went back, and gives revisions again that candidates have seen.",
    BeganBefore "began-before" "The store was made again with an incarnation that does not come after the last one.",
    ServerClocks "server-clocks" "The servers' clocks disagree beyond the setting, and the store is young.",
    OtherLeases "other-leases" "Places went before their time, and candidates have leases that differ.",
    Restored "restored" "The store was restored from a backup.",
    Foreign "foreign" "A place was removed, and the next foreign candidate does not wait.",
    Tokens "tokens" "Tokens may start again: their order is not checked to the end of the run.",
    Regressed "regressed" "The store went back, and candidates may still act on what it undid: causes of losses, orphans and win delays are not checked.",
}

#[derive(Debug)]
pub(crate) struct Promises {
    /// The longest time for which a leader counts on old knowledge.
    span: Duration,
    /// The longest age of a message under way, or one held by a stopped process.
    echo: Duration,
    /// Before this, any two may believe that they lead.
    waived: (Instant, Excuse),
    /// For each candidate: the number of faults that falsify its knowledge, and the time until it may lead beside another
    /// one.
    falsified: Vec<(u32, Excuse)>,
    excused: Vec<(Instant, Excuse)>,
    /// Before this, a candidate that acquires is excused: an excused candidate wrote the last entry.
    passed_on: Instant,
    /// A candidate that begins before this was not watching.
    fragile: Instant,
    /// The store went back, and gives revisions for the second time.
    regression: Option<Regression>,
    /// The store went back in this run: tokens are in order as long as all candidates remember.
    tokens_fragile: bool,
    tokens_waived: bool,
    /// Before this, the store is not what candidates and oracles saw of it: it went back.
    regressed: Instant,
    began_before: bool,
    /// A server ever answered from a former incarnation.
    misled: bool,
    /// A candidate came after the newest token was reported, and may not know it.
    newcomers: bool,
    largest: Option<Token>,
    /// Before this, a foreign candidate may lead beside one of ours.
    foreign: Instant,
    has_foreign: bool,
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
            waived: (Instant::ZERO, Excuse::ServerClocks),
            falsified: vec![(0, Excuse::Clock); count],
            excused: vec![(Instant::ZERO, Excuse::Clock); count],
            passed_on: Instant::ZERO,
            fragile: Instant::ZERO,
            regression: None,
            tokens_fragile: false,
            tokens_waived: false,
            regressed: Instant::ZERO,
            began_before: false,
            misled: false,
            newcomers: true,
            largest: None,
            foreign: Instant::ZERO,
            has_foreign: plan.choice.peers > 0,
        }
    }

    /// Whether at most one of the candidates that are not excused may lead.
    pub(crate) fn one_leader(&self, now: Instant) -> bool {
        now >= self.waived.0
    }

    /// Whether this candidate may lead beside another one.
    pub(crate) fn excuses(&self, now: Instant, node: usize) -> bool {
        self.falsified[node].0 > 0 || now < self.excused[node].0
    }

    /// Everything that excuses a candidate at a moment.
    pub(crate) fn excuse_of(&self, now: Instant, node: usize) -> impl Iterator<Item = Excuse> {
        let (faults, false_by) = self.falsified[node];
        let (until, excused_by) = self.excused[node];
        let (waived, waived_by) = self.waived;
        let own = if faults > 0 { Some(false_by) } else { (now < until).then_some(excused_by) };
        let all = [
            (now < waived).then_some(waived_by),
            own,
            (self.has_foreign && now < self.foreign).then_some(Excuse::Foreign),
            self.tokens_waived.then_some(Excuse::Tokens),
            self.is_regressed(now).then_some(Excuse::Regressed),
        ];
        all.into_iter().flatten()
    }

    /// Excuses a candidate until then, where it is not excused for longer.
    fn excuse(&mut self, node: usize, until: Instant, by: Excuse) {
        if until > self.excused[node].0 {
            self.excused[node] = (until, by);
        }
    }

    fn waive_until(&mut self, until: Instant, by: Excuse) {
        if until > self.waived.0 {
            self.waived = (until, by);
        }
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
    pub(crate) fn falsify(&mut self, node: usize, by: Excuse) {
        self.falsified[node] = (self.falsified[node].0 + 1, by);
        self.misled |= by == Excuse::OldIncarnation;
    }

    /// Ends such a fault; leases from its time last a lease longer.
    pub(crate) fn rectify(&mut self, now: Instant, node: usize) {
        let (faults, by) = self.falsified[node];
        self.falsified[node].0 = faults.saturating_sub(1);
        self.excuse(node, now + self.span, by);
    }

    /// Notes that a write of a candidate was applied.
    pub(crate) fn wrote(&mut self, now: Instant, node: usize) {
        if now < self.passed_on {
            self.excuse(node, self.passed_on, Excuse::PassedOn);
        }
        if self.excuses(now, node) {
            let until = if self.falsified[node].0 > 0 { Instant::NEVER } else { self.excused[node].0 };
            self.passed_on = self.passed_on.max(until.min(now + self.span));
        }
    }

    /// Notes a fault after which any candidate may be wrong for a while.
    pub(crate) fn waive(&mut self, now: Instant, span: Duration, by: Excuse) {
        self.waive_until(now + span, by);
    }

    /// Notes an entry that vanished before its time. A leader may not know of it for as long as it counts on the entry.
    pub(crate) fn vanished(&mut self, now: Instant, unaware: impl Iterator<Item = usize>) {
        let until = now + self.span;
        // After the store went back, observations may be of the time that is undone.
        if self.regression.is_some() {
            self.waive_until(until, Excuse::WentBack);
        }
        for node in unaware {
            self.excuse(node, until, Excuse::Vanished);
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
        self.waived = (Instant::NEVER, Excuse::WentBack);
        self.regressed = Instant::NEVER;
    }

    /// The store began an incarnation that does not come after the last one.
    pub(crate) fn began_before(&mut self, now: Instant) {
        self.waive(now, self.echo * 2, Excuse::BeganBefore);
        self.tokens_fragile = true;
        self.tokens_waived = true;
        // Revisions of two incarnations stay mixed.
        self.began_before = true;
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
            self.waived.0 = self.waived.0.min(until);
            // What was written meanwhile is over twice a lease later.
            self.regressed = self.regressed.min(until + self.echo);
            self.fragile = self.fragile.min(until);
        }
    }

    /// Notes a candidate that has observed nothing yet.
    pub(crate) fn newcomer(&mut self, now: Instant, node: usize) {
        if now < self.fragile {
            self.excuse(node, self.fragile, Excuse::Newcomer);
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

    /// Whether the store went back, and candidates may still act on what it undid.
    pub(crate) fn is_regressed(&self, now: Instant) -> bool {
        self.began_before || now < self.regressed
    }

    /// Whether a server ever answered from a former incarnation in this run.
    pub(crate) fn ever_misled(&self) -> bool {
        self.misled
    }

    /// The largest token reported.
    pub(crate) fn largest(&self) -> Option<Token> {
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Choice;
    use crate::store::START;

    /// The incarnation of every token here.
    const INCARNATION: Incarnation = Incarnation(1);

    fn promises() -> Promises {
        let mut promises = Promises::new(&Plan::new(&Choice::of_seed(5)));
        // All candidates know of a term.
        promises.term_reported(Token { incarnation: INCARNATION, sequence: Revision(1) });
        promises
    }

    fn excuses(promises: &Promises, now: Instant, node: usize) -> Vec<Excuse> {
        promises.excuse_of(now, node).collect()
    }

    #[test]
    fn a_wrong_clock_excuses_its_candidate_until_the_leases_that_count_on_it_are_over() {
        let mut promises = promises();
        promises.falsify(1, Excuse::Clock);
        let over = START + Duration::from_secs(90);
        assert_eq!(excuses(&promises, over, 1), [Excuse::Clock]);
        assert_eq!(excuses(&promises, over, 0), []);
        promises.rectify(over, 1);
        let until = over + promises.span;
        assert_eq!(excuses(&promises, until.before(Duration::from_nanos(1)), 1), [Excuse::Clock]);
        assert_eq!(excuses(&promises, until, 1), []);
    }

    #[test]
    fn a_candidate_that_writes_after_an_excused_one_is_excused_for_that_reason() {
        let mut promises = promises();
        promises.vanished(START, [0].into_iter());
        promises.wrote(START, 0);
        promises.wrote(START, 1);
        assert_eq!(excuses(&promises, START, 0), [Excuse::Vanished]);
        assert_eq!(excuses(&promises, START, 1), [Excuse::PassedOn]);
        assert_eq!(excuses(&promises, START, 2), []);
    }

    #[test]
    fn a_store_that_went_back_excuses_until_what_was_seen_before_is_over() {
        let mut promises = promises();
        promises.went_back(INCARNATION, 10, true);
        let long_after = START + Duration::from_secs(36_000);
        assert_eq!(excuses(&promises, long_after, 0), [Excuse::WentBack, Excuse::Regressed]);
        promises.holds(long_after, INCARNATION, 11, Revision(11));
        let echo = promises.echo;
        assert_eq!(excuses(&promises, long_after + echo, 0), [Excuse::Regressed]);
        assert_eq!(excuses(&promises, long_after + echo * 2, 0), []);
    }
}

//! What is promised at each moment, if an assumption of the design does not hold.
//!
//! A fault that breaks an assumption excuses the affected candidates for a time, instead of the whole run. A clock that
//! exceeds its setting excuses its candidate until the leases that depend on the clock are over. A record that vanished
//! early excuses the candidates that had not seen it. The writes of an excused candidate pass its error on, so the next
//! candidate to acquire is excused for the same time. Two leaders at once are a violation unless one of them is
//! excused.

use std::time::Duration;

use incumbent_core::{Incarnation, Instant, Revision, Token};

use crate::happened::Happened;
use crate::kind::Kind;
use crate::plan::Plan;

/// The longest time for which a message or a write is in flight after the fault that delays it.
const DELAYED: Duration = Duration::from_secs(12);

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
    Clock "clock" "The candidate's clock exceeds its setting, or did so within the last lease.",
    OldIncarnation "old-incarnation" "A server answered the candidate from a former incarnation of the bucket.",
    Vanished "vanished" "A record vanished early, and the candidate had not seen it.",
    Newcomer "newcomer" "The candidate began within a lease after a record vanished early.",
    PassedOn "passed-on" "The candidate wrote after an excused candidate.",
    WentBack "went-back" "The store went back, and reuses revisions that candidates have seen.",
    BeganBefore "began-before" "The store was recreated with an incarnation that is not later than the last one.",
    ServerClocks "server-clocks" "The servers' clocks differ by more than the setting, and the store is young.",
    OtherLeases "other-leases" "Places vanished early, and candidates have different leases.",
    Restored "restored" "The store was restored from a backup.",
    Foreign "foreign" "A place was removed, and the next foreign candidate does not wait.",
    Delayed "delayed" "A message or a write was delayed shortly before, so orphans are not checked, and a vacancy after the faults may last longer.",
    Tokens "tokens" "Tokens may start again, because not every candidate knows those that the store undid. Only later ones are checked for order.",
    Regressed "regressed" "The store went back, and candidates may still act on what was undone, so causes of losses, orphans and win delays are not checked.",
}

#[derive(Debug)]
pub(crate) struct Promises {
    /// The longest time for which a leader may rely on out-of-date knowledge.
    span: Duration,
    /// The largest age of a message that is in flight or held by a stopped process.
    echo: Duration,
    /// The instant before which any two candidates may believe that they lead, and why.
    waived: (Instant, Excuse),
    /// For each candidate, how many active faults falsify its knowledge, and until when it may lead at the same time as
    /// another.
    falsified: Vec<(u32, Excuse)>,
    excused: Vec<(Instant, Excuse)>,
    /// The instant before which a candidate that acquires is excused, because an excused candidate wrote the last
    /// entry.
    passed_on: Instant,
    /// The instant before which a candidate that begins is excused, because it did not observe an entry that vanished
    /// early.
    fragile: Instant,
    /// The revisions that the store reuses, if it went back.
    regression: Option<Regression>,
    /// The highest sequence of undone tokens, if nothing but the tokens reveals that they were undone.
    undone: Option<u64>,
    /// The highest such sequence so far.
    undone_at_most: u64,
    /// The instant before which tokens are in order only if all candidates remember them, because the store went back.
    tokens_fragile: Instant,
    /// The instant before which the order of tokens is promised only among terms acquired since the store last went
    /// back.
    tokens_waived: Instant,
    /// The number of times that the store began another history of tokens.
    histories: u32,
    /// The instant before which the store differs from what candidates and oracles saw, because it went back.
    regressed: Instant,
    began_before: bool,
    /// For each candidate, the instant until which it may act on an answer from a server of a former incarnation.
    misled: Vec<Instant>,
    /// Whether a candidate that may not know the newest token entered after that token was reported.
    newcomers: bool,
    largest: Option<Token>,
    /// The instant before which a foreign candidate may lead at the same time as one of ours.
    foreign: Instant,
    has_foreign: bool,
    /// The faults that have happened so far.
    pub(crate) happened: Happened,
}

/// The last doubtful revision, and the incarnation that the store had then.
#[derive(Clone, Copy, Debug)]
struct Regression {
    incarnation: Incarnation,
    highest: u64,
}

impl Promises {
    pub(crate) fn new(plan: &Plan) -> Self {
        let count = plan.choice.candidates;
        // A clock may be slow by a hundredth, and the store may be late.
        let span = plan.lease * 102 / 100 + Duration::from_secs(1);
        Self {
            span,
            // A process is stopped for at most two and a half leases, and a message is late by at most twelve seconds.
            echo: plan.lease * 5 / 2 + Duration::from_secs(12) + span,
            waived: (Instant::ZERO, Excuse::ServerClocks),
            falsified: vec![(0, Excuse::Clock); count],
            excused: vec![(Instant::ZERO, Excuse::Clock); count],
            passed_on: Instant::ZERO,
            fragile: Instant::ZERO,
            regression: None,
            undone: None,
            undone_at_most: 0,
            tokens_fragile: Instant::ZERO,
            tokens_waived: Instant::ZERO,
            histories: 0,
            regressed: Instant::ZERO,
            began_before: false,
            misled: vec![Instant::ZERO; count],
            newcomers: true,
            largest: None,
            foreign: Instant::ZERO,
            has_foreign: plan.choice.peers > 0,
            happened: Happened::new(plan),
        }
    }

    /// Whether at most one of the candidates that are not excused may lead.
    pub(crate) fn one_leader(&self, now: Instant) -> bool {
        now >= self.waived.0
    }

    /// Whether a candidate may lead at the same time as another.
    pub(crate) fn excuses(&self, now: Instant, node: usize) -> bool {
        self.falsified[node].0 > 0 || now < self.excused[node].0
    }

    /// Returns everything that excuses a candidate at a moment.
    pub(crate) fn excuse_of(&self, now: Instant, node: usize) -> impl Iterator<Item = Excuse> {
        let (faults, false_by) = self.falsified[node];
        let (until, excused_by) = self.excused[node];
        let (waived, waived_by) = self.waived;
        let own = if faults > 0 { Some(false_by) } else { (now < until).then_some(excused_by) };
        let all = [
            (now < waived).then_some(waived_by),
            own,
            (self.has_foreign && now < self.foreign).then_some(Excuse::Foreign),
            (!self.tokens(now)).then_some(Excuse::Tokens),
            self.is_regressed(now).then_some(Excuse::Regressed),
            self.is_delayed(now).then_some(Excuse::Delayed),
        ];
        all.into_iter().flatten()
    }

    /// Excuses a candidate until an instant, unless it is already excused for longer.
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

    /// Notes that a place was removed while its owner may lead. The next candidate that follows Go's rules does not
    /// wait.
    pub(crate) fn place_removed(&mut self, now: Instant) {
        self.foreign = self.foreign.max(now + self.span);
    }

    /// Whether a foreign candidate may lead at the same time as one of ours.
    pub(crate) fn foreign_may_overlap(&self, now: Instant) -> bool {
        now < self.foreign || !self.excuses_none(now)
    }

    /// Whether tokens must be in order, including those that the store undid.
    pub(crate) fn tokens(&self, now: Instant) -> bool {
        now >= self.tokens_waived
    }

    /// Whether a token of this sequence may belong to a history that was undone.
    pub(crate) fn is_of_two_histories(&self, sequence: u64) -> bool {
        sequence <= self.undone_at_most
    }

    /// Returns the number of times that the store began another history, in which tokens may repeat.
    pub(crate) fn histories(&self) -> u32 {
        self.histories
    }

    /// Notes that a candidate's knowledge is false while a fault lasts.
    pub(crate) fn falsify(&mut self, node: usize, by: Excuse) {
        self.falsified[node] = (self.falsified[node].0 + 1, by);
    }

    /// Notes that a server answers a candidate from a former incarnation.
    pub(crate) fn mislead(&mut self, node: usize) {
        self.falsify(node, Excuse::OldIncarnation);
        self.misled[node] = Instant::NEVER;
    }

    /// Notes that a candidate knows the present incarnation again, and that no answers from a former one are in flight
    /// any more.
    pub(crate) fn undeceive(&mut self, now: Instant, node: usize) {
        self.rectify(now, node);
        self.misled[node] = now + self.span;
    }

    /// Whether a message or a write that a fault delayed may be in flight.
    pub(crate) fn is_delayed(&self, now: Instant) -> bool {
        let lately = |kind| self.happened.lately(kind, now, DELAYED);
        lately(Kind::Delay) || lately(Kind::SlowCommit)
    }

    /// Whether a lease that such a message extended may still last.
    pub(crate) fn is_extended(&self, now: Instant) -> bool {
        self.happened.lately(Kind::Delay, now, DELAYED + self.span)
    }

    /// Whether a candidate may act on the answer of a server from a former incarnation.
    pub(crate) fn is_misled(&self, now: Instant, node: usize) -> bool {
        now < self.misled[node]
    }

    /// Notes the end of a fault that falsified a candidate's knowledge. Leases that began during the fault may last for
    /// up to one lease after it.
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

    /// Notes an entry that vanished early. A leader may not know this while it counts on the entry.
    pub(crate) fn vanished(&mut self, now: Instant, unaware: impl Iterator<Item = usize>) {
        let until = now + self.span;
        // After the store went back, observations may be from the time that was undone.
        if self.regression.is_some() {
            self.waive_until(until, Excuse::WentBack);
        }
        for node in unaware {
            self.excuse(node, until, Excuse::Vanished);
        }
        self.fragile = self.fragile.max(until);
    }

    /// Notes that the store went back, and reuses the revisions up to `highest`.
    ///
    /// A candidate that saw only one of two entries with the same revision cannot tell them apart. It may replace the
    /// present one, and believe that this is its own record or a tombstone. The promise is therefore weaker until the
    /// key's revision is higher.
    pub(crate) fn went_back(&mut self, incarnation: Incarnation, highest: u64, all_saw_it: bool) {
        let before = self.regression.filter(|regression| regression.incarnation == incarnation);
        self.regression = Some(Regression {
            incarnation,
            highest: highest.max(before.map_or(0, |regression| regression.highest)),
        });
        self.tokens_fragile = Instant::NEVER;
        self.histories += 1;
        // What was seen since the store last went back may be from the time that was undone.
        if !all_saw_it || self.newcomers || before.is_some() {
            self.tokens_waived = Instant::NEVER;
        }
        self.waived = (Instant::NEVER, Excuse::WentBack);
        self.regressed = Instant::NEVER;
    }

    /// Notes that the store began an incarnation that is not later than the last one.
    pub(crate) fn began_before(&mut self, now: Instant) {
        self.waive(now, self.echo * 2, Excuse::BeganBefore);
        self.tokens_fragile = Instant::NEVER;
        self.tokens_waived = Instant::NEVER;
        self.histories += 1;
        // Revisions of two incarnations stay mixed until there is an incarnation later than both.
        self.began_before = true;
    }

    /// Notes that the store began an incarnation later than every earlier one, whose tokens are larger as well.
    pub(crate) fn began_after(&mut self, now: Instant) {
        let until = now + self.echo * 2;
        if std::mem::take(&mut self.began_before) {
            self.regressed = self.regressed.max(until);
            (self.tokens_waived, self.tokens_fragile) = (until, until);
        }
        if self.undone.take().is_some() {
            self.tokens_waived = until;
        }
    }

    /// Notes that the store undid what candidates may have seen, and will repeat tokens up to a sequence. An operator
    /// restored an etcd, or recreated a topic without an id.
    pub(crate) fn undid_tokens(&mut self, highest: u64) {
        let before = self.undone.unwrap_or_default();
        self.undone = Some(highest.max(before));
        self.undone_at_most = self.undone_at_most.max(highest);
        self.tokens_waived = Instant::NEVER;
        self.histories += 1;
    }

    /// Notes the sequence of the store, which may be higher than what was undone. Terms acquired meanwhile are reported
    /// soon.
    pub(crate) fn reached(&mut self, now: Instant, sequence: u64) {
        if self.undone.take_if(|highest| *highest < sequence).is_some() {
            self.tokens_waived = now + self.echo * 2;
        }
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
            // Everything that was written meanwhile is over two leases later.
            self.regressed = self.regressed.min(until + self.echo);
            // From now on every token is larger than the undone ones.
            if !self.began_before {
                self.tokens_waived = self.tokens_waived.min(until + self.echo);
                self.tokens_fragile = self.tokens_fragile.min(until + self.echo);
            }
            self.fragile = self.fragile.min(until);
        }
    }

    /// Notes a candidate that has observed nothing yet.
    pub(crate) fn newcomer(&mut self, now: Instant, node: usize) {
        if now < self.fragile {
            self.excuse(node, self.fragile, Excuse::Newcomer);
        }
        if now < self.tokens_fragile {
            self.tokens_waived = self.tokens_waived.max(self.tokens_fragile);
        }
        self.newcomers = true;
    }

    /// Notes that a term was reported.
    pub(crate) fn term_reported(&mut self, token: Token) {
        self.largest = self.largest.max(Some(token));
        self.newcomers = false;
    }

    /// Whether the store went back and candidates may still act on what was undone.
    pub(crate) fn is_regressed(&self, now: Instant) -> bool {
        self.began_before || now < self.regressed
    }

    /// The largest token reported.
    pub(crate) fn largest(&self) -> Option<Token> {
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::START;
    use crate::plan::Choice;

    /// The incarnation of every token in these tests.
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

    #[test]
    fn tokens_are_not_compared_after_a_store_went_back_twice_since_what_was_seen_may_be_undone() {
        let mut promises = promises();
        promises.went_back(INCARNATION, 10, true);
        assert!(promises.tokens(START));
        promises.went_back(INCARNATION, 8, true);
        assert!(!promises.tokens(START));
    }

    #[test]
    fn a_lease_may_last_that_a_delayed_keep_alive_extended_when_it_came() {
        let mut promises = promises();
        promises.happened.begins(Kind::Delay);
        promises.happened.ends(START, Kind::Delay);
        let arrived = START + DELAYED;
        assert!(!promises.is_delayed(arrived) && promises.is_extended(arrived));
        let lasted = arrived + promises.span;
        assert!(
            promises.is_extended(lasted.before(Duration::from_nanos(1))) && !promises.is_extended(lasted)
        );
    }
}

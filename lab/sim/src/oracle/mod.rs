//! The invariants, each in a file with its statement, and rules that break an invariant only by rare accident when they
//! are broken.

mod group_causes;
mod group_leaving;
mod group_proof;
mod i01_one_leader;
mod i02_reported_and_in_time;
mod i03_deadline_from_the_send;
mod i04_above_the_told;
mod i04_tokens_grow;
mod i05_won_and_lost_alternate;
mod i06_one_write_awaited;
mod i07_deletes_are_compared;
mod i08_released_is_over;
mod i09_foreign_above_ours;
mod i09_no_loss_without_cause;
mod i10_orphans_go;
mod i11_only_an_acknowledgement_wins;
mod i12_another_incarnation;
mod i15_a_candidate_leads;
mod i15_orderly_changes;
mod i17_gives_way;

mod known;
mod queue_causes;
mod queue_giving_way;
mod queue_leaving;
mod queue_proof;
mod rule_leaving;
mod rule_times;
mod rule_win_delay;

use std::any::Any;
use std::fmt::{self, Debug};

use incumbent_core::Instant;
use incumbent_core::campaign::KeyLease;
use incumbent_core::candidacy::Rule;
use incumbent_core::{induction, queue};

use crate::clock::START;
use crate::observation::{Observation, Seen, View};
use crate::plan::Plan;
pub(crate) use i15_a_candidate_leads::ACandidateLeads;

/// One invariant.
pub(crate) trait Oracle<R: Rule = KeyLease>: Debug {
    /// Its number and its statement.
    fn states(&self) -> (&'static str, &'static str);

    /// The kinds of events that it has to see: any other event changes nothing that it says later, and breaks nothing.
    fn sees(&self) -> &'static [Seen];

    /// Checks an event. An error explains how the event breaks the invariant.
    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String>;
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The number of the invariant, `I1` to `I17`; the name of a rule; `contract` if a campaign refused an input; or
    /// `panic`.
    pub invariant: &'static str,
    /// Its statement.
    pub states: &'static str,
    /// When the violation happened, in nanoseconds from the beginning of the run.
    pub at: u64,
    /// The observed breach.
    pub says: String,
}

/// Returns the invariant or bound that a machine found broken in itself, if the panic comes from one of its assertions.
pub fn own_check(panic: &(dyn Any + Send)) -> Option<&'static str> {
    let (name, _) = text_of(panic)?.split_once(": ")?;
    ["I2", "I5", "I6", "I7", "I8", "I15", "bound"].into_iter().find(|known| *known == name)
}

fn text_of(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
}

impl Violation {
    fn new((invariant, states): (&'static str, &'static str), at: Instant, says: String) -> Self {
        Self { invariant, states, at: at.since(START).as_nanos() as u64, says }
    }

    pub(crate) fn of_contract(at: Instant, says: String) -> Self {
        Self::new(("contract", "The simulator keeps the contract of the core."), at, says)
    }

    pub(crate) fn of_panic(at: Instant, panic: &(dyn Any + Send)) -> Self {
        let text = text_of(panic).unwrap_or("no message");
        let (name, states) = match own_check(panic) {
            Some(name) => (name, "A machine keeps the rules that it checks in itself."),
            None => ("panic", "Nothing panics."),
        };
        Self::new((name, states), at, text.into())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, states, at, says } = self;
        let (secs, micros) = (at / 1_000_000_000, at / 1_000 % 1_000_000);
        write!(f, "{invariant} at {secs}.{micros:06} s: {says}\n  {invariant}: {states}")
    }
}

/// All invariants together.
pub(crate) struct Checkers<R: Rule = KeyLease> {
    oracles: Vec<Box<dyn Oracle<R>>>,
    /// For each kind of event the oracles that have to see it, one bit each.
    seen_by: [u32; Seen::ALL.len()],
    /// The same oracles, which see all events, if a test compares the two.
    #[cfg(test)]
    seers: Vec<Box<dyn Oracle<R>>>,
    /// Counts the events.
    #[cfg(test)]
    events: u64,
    /// Whether every campaign of this run has a twin.
    pub(crate) compare: bool,
    replay: Replay,
}

impl Checkers {
    pub(crate) fn new(plan: &Plan) -> Self {
        let count = plan.choice.candidates;
        Self::of(plan, || {
            let mut oracles: Vec<Box<dyn Oracle>> = vec![
                Box::new(i01_one_leader::OneLeader::new(count)),
                Box::new(i02_reported_and_in_time::ReportedAndInTime::new(count)),
                Box::new(i03_deadline_from_the_send::DeadlineFromTheSend::new(count)),
                Box::new(i04_tokens_grow::TokensGrow::new(count)),
                Box::new(i04_above_the_told::AboveTheTold::new(count)),
                Box::new(i05_won_and_lost_alternate::Alternate::new(count)),
                Box::new(i06_one_write_awaited::OneAwaited::new(count)),
                Box::new(i07_deletes_are_compared::Compared::new(count)),
                Box::new(i08_released_is_over::ReleasedIsOver::new(count)),
                Box::new(i09_foreign_above_ours::ForeignAboveOurs::new(count)),
                Box::new(i09_no_loss_without_cause::NoLossWithoutCause::new(count)),
                Box::new(i10_orphans_go::OrphansGo::new(count)),
                Box::new(i11_only_an_acknowledgement_wins::Acknowledged::new(count)),
                Box::new(i12_another_incarnation::AnotherIncarnation::new(count)),
                Box::new(ACandidateLeads::new(count)),
                Box::new(i15_orderly_changes::OrderlyChanges::new(count)),
                Box::new(i17_gives_way::GivesWay::within(3, plan)),
                Box::new(rule_times::Renewals::new(count)),
                Box::new(rule_win_delay::WinDelay::new(count)),
                Box::new(rule_leaving::Leaving::new(count)),
                Box::new(rule_times::Requests::new(count)),
            ];
            if plan.choice.peers > 0 {
                oracles.push(Box::new(i01_one_leader::WithGoPeers::new(count, plan.choice.peers)));
            }
            oracles
        })
    }
}

impl Checkers<queue::Queue> {
    pub(crate) fn of_a_queue(plan: &Plan) -> Self {
        let count = plan.choice.candidates;
        Self::of(plan, || {
            let mut oracles: Vec<Box<dyn Oracle<queue::Queue>>> = vec![
                Box::new(i01_one_leader::OneLeader::new(count)),
                Box::new(i02_reported_and_in_time::ReportedAndInTime::new(count)),
                Box::new(queue_proof::FromAProof::new(count)),
                Box::new(i04_tokens_grow::TokensGrow::new(count)),
                Box::new(i05_won_and_lost_alternate::Alternate::new(count)),
                Box::new(queue_causes::NoneWithoutCause::new(count)),
                Box::new(queue_leaving::NothingLeft::new(count)),
                Box::new(queue_giving_way::GivesWay::new(count)),
                Box::new(i17_gives_way::GivesWay::within(3, plan)),
                Box::new(ACandidateLeads::new(count)),
                Box::new(i15_orderly_changes::OrderlyChanges::new(count)),
            ];
            if plan.choice.peers > 0 {
                oracles.push(Box::new(i01_one_leader::WithGoPeers::new(count, plan.choice.peers)));
            }
            oracles
        })
    }
}

impl Checkers<queue::Queue> {
    /// Creates the oracles for a second election on the same sessions.
    pub(crate) fn of_a_second_queue(plan: &Plan) -> Self {
        let count = plan.choice.candidates;
        Self::of(plan, || {
            let oracles: Vec<Box<dyn Oracle<queue::Queue>>> = vec![
                Box::new(i01_one_leader::OneLeader::new(count)),
                Box::new(i02_reported_and_in_time::ReportedAndInTime::new(count)),
                Box::new(queue_proof::FromAProof::new(count)),
                Box::new(i04_tokens_grow::TokensGrow::new(count)),
                Box::new(i05_won_and_lost_alternate::Alternate::new(count)),
                Box::new(queue_giving_way::GivesWay::new(count)),
                Box::new(ACandidateLeads::new(count)),
            ];
            oracles
        })
    }
}

impl Checkers<induction::Induction> {
    /// Creates the oracles for a group. With goNELI in the group no oracle counts leaders, because goNELI has two of
    /// its own and leads at the same time as our candidate.
    pub(crate) fn of_a_group(plan: &Plan) -> Self {
        let count = plan.choice.candidates;
        Self::of(plan, || {
            let oracles: Vec<Box<dyn Oracle<induction::Induction>>> = vec![
                Box::new(i01_one_leader::OneLeader::new(count)),
                Box::new(i02_reported_and_in_time::ReportedAndInTime::new(count)),
                Box::new(group_proof::FromACommit::new(count)),
                Box::new(i04_tokens_grow::TokensGrow::new(count)),
                Box::new(i05_won_and_lost_alternate::Alternate::new(count)),
                Box::new(group_causes::NoneWithoutCause::new(count)),
                Box::new(group_leaving::LostBeforeLeft::new(count)),
                Box::new(ACandidateLeads::new(count)),
                Box::new(i15_orderly_changes::OrderlyChanges::new(count)),
                // A candidate that does not read back its own records leaves after two leases.
                Box::new(i17_gives_way::GivesWay::within(4, plan)),
            ];
            oracles
        })
    }
}

impl<R: Rule> Checkers<R> {
    /// Creates the oracles for what candidates keep under every rule.
    pub(crate) fn of_any_rule(plan: &Plan) -> Self {
        let count = plan.choice.candidates;
        Self::of(plan, || {
            let oracles: Vec<Box<dyn Oracle<R>>> = vec![
                Box::new(i01_one_leader::OneLeader::new(count)),
                Box::new(i02_reported_and_in_time::ReportedAndInTime::new(count)),
                Box::new(i04_tokens_grow::TokensGrow::new(count)),
                Box::new(i05_won_and_lost_alternate::Alternate::new(count)),
                Box::new(ACandidateLeads::new(count)),
            ];
            oracles
        })
    }

    fn of(plan: &Plan, make: impl Fn() -> Vec<Box<dyn Oracle<R>>>) -> Self {
        let oracles = make();
        let mut seen_by = [0; Seen::ALL.len()];
        for (place, oracle) in oracles.iter().enumerate() {
            oracle.sees().iter().for_each(|kind| seen_by[*kind as usize] |= 1 << place);
        }
        Self {
            oracles,
            seen_by,
            #[cfg(test)]
            seers: if tests::COMPARES.get() { make() } else { Vec::new() },
            #[cfg(test)]
            events: 0,
            compare: plan.choice.seed.is_multiple_of(4),
            replay: Replay::new(plan.choice.candidates),
        }
    }

    pub(crate) fn observe(
        &mut self,
        view: &View<'_>,
        observation: &Observation<'_, R>,
    ) -> Result<(), Violation> {
        let mut places = self.seen_by[observation.kind() as usize];
        while places != 0 {
            let oracle = &mut self.oracles[places.trailing_zeros() as usize];
            if let Err(says) = oracle.observe(view, observation) {
                return Err(Violation::new(oracle.states(), view.now, says));
            }
            places &= places - 1;
        }
        #[cfg(test)]
        self.compare_with_seers(view, observation);
        Ok(())
    }

    /// Compares the oracles with others that see all events. What they know is compared after some events only, because
    /// it may be a lot.
    #[cfg(test)]
    fn compare_with_seers(&mut self, view: &View<'_>, observation: &Observation<'_, R>) {
        self.events += 1;
        let compares = self.events.is_multiple_of(31);
        for (oracle, seer) in self.oracles.iter().zip(&mut self.seers) {
            assert_eq!(seer.observe(view, observation), Ok(()), "{seer:?}");
            if compares && oracle.sees().contains(&observation.kind()) {
                assert_eq!(format!("{oracle:?}"), format!("{seer:?}"));
            }
        }
    }

    /// Notes that a process makes a session, whose clock has not been read yet.
    pub(crate) fn begins(&mut self, node: usize) {
        self.replay.begins(node);
    }

    /// Returns the reading of the clock for a twin, which is the latest so far.
    pub(crate) fn latest(&mut self, node: usize, clock: Instant) -> Instant {
        self.replay.latest(node, clock)
    }

    /// Returns the violation if a twin emitted another output.
    pub(crate) fn differs(&self, now: Instant, says: String) -> Violation {
        Violation::new(Replay::STATES, now, says)
    }
}

/// I13 and I14, checked with twins. A second campaign gets the same seed and inputs, and the latest reading of the
/// clock in place of each reading that went back. It must emit the same outputs.
struct Replay {
    latest: Vec<Instant>,
}

impl Replay {
    const STATES: (&'static str, &'static str) = (
        "I13, I14",
        "A reading of the clock that goes back changes nothing, and the same seed and inputs give the same outputs.",
    );

    fn new(count: usize) -> Self {
        Self { latest: vec![Instant::ZERO; count] }
    }

    fn begins(&mut self, node: usize) {
        self.latest[node] = Instant::ZERO;
    }

    fn latest(&mut self, node: usize, clock: Instant) -> Instant {
        self.latest[node] = self.latest[node].max(clock);
        self.latest[node]
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::hunt::{Schedule, Wanted};
    use crate::kind::Store;
    use crate::run;

    thread_local! {
        /// Whether the oracles of a run are compared with others that see all events.
        pub(super) static COMPARES: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn the_kinds_of_events_are_listed_in_the_order_of_their_numbers() {
        for (place, kind) in Seen::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
    }

    #[test]
    fn an_oracle_that_sees_only_the_events_it_asks_for_knows_what_it_would_know_from_all() {
        COMPARES.set(true);
        let wanted = Wanted { seed: 7, stores: Store::ALL.to_vec(), faults: None, peers: None };
        let violations = Schedule::new(&wanted).take(6).filter_map(|choice| run(&choice).violation);
        assert_eq!(violations.collect::<Vec<_>>(), []);
        COMPARES.set(false);
    }
}

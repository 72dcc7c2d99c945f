//! The search for the smallest run that breaks the same invariant, for a person to read.

use std::time::Duration;

use crate::oracle::Violation;
use crate::plan::{Choice, Plan};
use crate::{Outcome, run};

/// Shortens a failing run to as few faults and candidates as still break the same invariant. The shorter run has
/// default settings if these still break the invariant, and no more time with faults than it needs.
///
/// Returns the shorter run and its violation.
pub fn shrink(choice: &Choice, violation: &Violation) -> (Choice, Violation) {
    shrink_by(choice, violation, &run)
}

/// Shortens a failing run, with a given function that makes a run.
pub(crate) fn shrink_by(
    choice: &Choice,
    violation: &Violation,
    run: &dyn Fn(&Choice) -> Outcome,
) -> (Choice, Violation) {
    let invariant = violation.invariant;
    let mut shrinking = Shrinking { run, invariant, best: (choice.clone(), violation.clone()) };
    shrinking.faults();
    shrinking.others();
    shrinking.time();
    shrinking.best
}

struct Shrinking<'a> {
    run: &'a dyn Fn(&Choice) -> Outcome,
    invariant: &'static str,
    best: (Choice, Violation),
}

impl Shrinking<'_> {
    /// Replaces the run by another one if that breaks the same invariant.
    fn takes(&mut self, other: Choice) -> bool {
        let violation = (self.run)(&other).violation.filter(|found| found.invariant == self.invariant);
        let Some(violation) = violation else { return false };
        self.best = (other, violation);
        true
    }

    /// Leaves out faults, at first half of them, then smaller parts, and in the end one by one.
    fn faults(&mut self) {
        let mut kept: Vec<usize> = places(&self.best.0);
        let mut chunk = kept.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            let mut shorter = false;
            while at < kept.len() {
                let mut fewer = kept.clone();
                fewer.drain(at..(at + chunk).min(kept.len()));
                if self.takes(Choice { keep: Some(fewer.clone()), ..self.best.0.clone() }) {
                    kept = fewer;
                    shorter = true;
                } else {
                    at += chunk;
                }
            }
            chunk = match (chunk, shorter) {
                (1, true) => 1,
                (1, false) => 0,
                (chunk, _) => chunk.div_ceil(2),
            };
        }
        self.best.0.keep = Some(kept);
    }

    /// Tries fewer candidates, of both kinds, and default settings. Each of these draws another run, so leaving out
    /// faults is tried again.
    fn others(&mut self) {
        let (ours, theirs) = (self.best.0.candidates, self.best.0.peers);
        for candidates in 1..ours {
            if self.simpler(|choice| Choice { candidates, ..choice }) {
                break;
            }
        }
        for peers in 0..theirs {
            if self.simpler(|choice| Choice { peers, ..choice }) {
                break;
            }
        }
        if !self.best.0.plain {
            self.simpler(|choice| Choice { plain: true, ..choice });
        }
    }

    fn simpler(&mut self, change: impl Fn(Choice) -> Choice) -> bool {
        let whole = Choice { keep: None, ..self.best.0.clone() };
        if self.takes(change(self.best.0.clone())) || self.takes(change(whole)) {
            self.faults();
            return true;
        }
        false
    }

    /// Ends the phase with faults after the last fault, or earlier if the invariant is already broken by then.
    fn time(&mut self) {
        let Plan { faulty, script, .. } = Plan::new(&self.best.0);
        let ends = script.iter().map(|fault| fault.from + fault.lasts).max().unwrap_or_default();
        let broken = Duration::from_nanos(self.best.1.at);
        let mut times = [ends.min(broken), broken, ends];
        times.sort_unstable();
        for time in times {
            // The command takes whole seconds.
            let lasts = Duration::from_secs(time.as_secs() + 1);
            if lasts < faulty && self.takes(Choice { lasts: Some(lasts), ..self.best.0.clone() }) {
                self.best.0.keep = Some(places(&self.best.0));
                return;
            }
        }
    }
}

/// Returns the indices of a run's faults.
fn places(choice: &Choice) -> Vec<usize> {
    Plan::new(choice).script.iter().map(|fault| fault.place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tally;
    use crate::clock::START;
    use crate::kind::Kind;

    /// Makes a run that breaks the contract whenever there are a pause, a cut and at least two candidates.
    fn broken_by_a_pause_and_a_cut(choice: &Choice) -> Outcome {
        let script = Plan::new(choice).script;
        let at = |kind| script.iter().find(|fault| fault.kind == kind).map(|fault| fault.from);
        let at = at(Kind::Pause).zip(at(Kind::Cut)).filter(|_| choice.candidates > 1);
        let violation = at.map(|(one, other)| Violation::of_contract(START + one.max(other), "both".into()));
        Outcome { tally: Tally::default(), violation }
    }

    #[test]
    fn what_remains_is_what_it_takes() {
        let kinds = vec![Kind::Loss, Kind::Pause, Kind::Cut, Kind::Crash];
        let whole = Choice { faults: Some(kinds), ..Choice::of_seed(3) };
        let violation = broken_by_a_pause_and_a_cut(&whole).violation.unwrap();
        let (shrunk, shorter) = shrink_by(&whole, &violation, &broken_by_a_pause_and_a_cut);
        let plan = Plan::new(&shrunk);
        let mut left: Vec<_> = plan.script.iter().map(|fault| fault.kind).collect();
        left.sort_unstable();
        assert_eq!(left, [Kind::Cut, Kind::Pause]);
        assert_eq!((shrunk.candidates, shrunk.plain), (2, true));
        let last = plan.script.iter().map(|fault| fault.from).max().unwrap();
        assert_eq!(shrunk.lasts, Some(Duration::from_secs(last.as_secs() + 1)));
        assert_eq!(shorter.at, last.as_nanos() as u64);
        assert_eq!(broken_by_a_pause_and_a_cut(&shrunk).violation, Some(shorter));
    }

    #[test]
    fn another_invariant_is_another_failure() {
        let fewer = |choice: &Choice| {
            let mut outcome = broken_by_a_pause_and_a_cut(choice);
            if choice.keep.is_some()
                && let Some(violation) = &mut outcome.violation
            {
                violation.invariant = "I1";
            }
            outcome
        };
        let whole = Choice { faults: Some(vec![Kind::Pause, Kind::Cut]), ..Choice::of_seed(3) };
        let violation = fewer(&whole).violation.unwrap();
        let (shrunk, shorter) = shrink_by(&whole, &violation, &fewer);
        assert_eq!(shrunk.keep.as_deref(), Some(places(&whole).as_slice()));
        assert_eq!(shorter.invariant, "contract");
    }

    #[test]
    fn a_run_with_less_time_is_the_same_until_then() {
        let whole = Choice::of_seed(5);
        let short = Choice { lasts: Some(Duration::from_secs(40)), ..whole.clone() };
        let trace = |choice: &Choice| crate::run_traced(choice, true, false).trace;
        let (whole, short) = (trace(&whole), trace(&short));
        let before = |trace: &str| {
            let lines = trace.lines().take_while(|line| line.trim_start().split('.').next() < Some("40"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(short.contains("40.000000 no more faults\n"));
        assert_eq!(before(&short), before(&whole));
    }
}

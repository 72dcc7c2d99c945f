//! Shortens the script of a failing run, so that a person can read what happened.

use crate::oracle::Violation;
use crate::plan::{Choice, Plan};
use crate::run;

/// The same run with as few faults as still break the same invariant, and its violation.
pub fn shrink(choice: &Choice, violation: &Violation) -> (Choice, Violation) {
    let mut kept: Vec<usize> = Plan::new(choice).script.iter().map(|fault| fault.place).collect();
    let mut best = violation.clone();
    let mut chunk = kept.len().div_ceil(2);
    while chunk > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at < kept.len() {
            let mut fewer = kept.clone();
            fewer.drain(at..(at + chunk).min(kept.len()));
            match violates(choice, &fewer, violation.invariant) {
                Some(found) => {
                    (kept, best) = (fewer, found);
                    shorter = true;
                }
                None => at += chunk,
            }
        }
        chunk = match (chunk, shorter) {
            (1, true) => 1,
            (1, false) => 0,
            (chunk, _) => chunk.div_ceil(2),
        };
    }
    (Choice { keep: Some(kept), ..choice.clone() }, best)
}

fn violates(choice: &Choice, keep: &[usize], invariant: &str) -> Option<Violation> {
    let choice = Choice { keep: Some(keep.to_vec()), ..choice.clone() };
    run(&choice).violation.filter(|found| found.invariant == invariant)
}

//! Checks that each fault that should end a term has ended it.

use super::Violation;
use super::excuse::over_at_the_latest;
use super::terms::Term;
use crate::history::{History, Incident};
use crate::log::Election;

pub(super) fn check(history: &History, election: &Election, terms: &[Term]) -> Vec<Violation> {
    let ends = |fault: &&Incident| fault.key == election.key && fault.kind.ends_the_term(election.store);
    let ending = history.faults.iter().filter(ends);
    let mut found = Vec::new();
    for fault in ending {
        let led =
            |term: &&Term| term.proven.is_some_and(|(from, until)| from <= fault.at && fault.at < until);
        let limit = over_at_the_latest(history, election, fault);
        for term in terms.iter().filter(led) {
            if let Some((_, until)) = term.proven.filter(|(_, until)| *until > limit) {
                let what = format!(
                    "{} led {} with {} for {:.3} s after the fault {}, which ends any term",
                    term.who,
                    election.key,
                    term.token,
                    (until - fault.at) as f64 / 1e9,
                    fault.kind
                );
                found.push(Violation { rule: "outcome", what, key: Some(election.key.clone()), at: limit });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::check::sample::{Run, rules};
    use crate::kind::Kind;

    fn after(kind: Kind, led_until: u64) -> Vec<&'static str> {
        let mut run = Run::new();
        run.fault(kind, "k", 10_000, 10_010);
        run.renewing_term("a-1", 1, 1_000, led_until, "EXPIRED");
        run.renewing_term("b-1", 2, led_until, 60_000, "CLOSED");
        run.until(59_000);
        rules(&run.history())
    }

    #[test]
    fn a_term_that_outlives_what_ends_it_is_found() {
        assert_eq!(after(Kind::Delete, 12_000), Vec::<&str>::new());
        assert_eq!(after(Kind::Delete, 20_000), ["outcome"]);
    }

    #[test]
    fn a_term_may_outlive_what_need_not_end_it() {
        assert_eq!(after(Kind::Nap, 20_000), Vec::<&str>::new());
    }
}

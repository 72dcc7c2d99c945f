//! Vacancies, each with its explanation.

use super::Violation;
use super::excuse::{self, Excuse};
use super::terms::Term;
use crate::history::History;
use crate::log::{Election, Nanos};

/// A time in which no candidate led.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vacancy {
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
    /// The explanation of its beginning.
    pub(crate) why: Option<&'static str>,
    /// The first unexplained part of the vacancy.
    pub(crate) unexplained: Option<(Nanos, Nanos)>,
}

/// All vacancies of an election, from the beginning until the candidates were asked to leave.
pub(crate) fn all(history: &History, election: &Election, terms: &[Term]) -> Vec<Vacancy> {
    let excuses = excuse::all(history, election);
    let mut led: Vec<(Nanos, Nanos)> = terms.iter().filter_map(|term| term.proven).collect();
    let foreign = history.foreign.iter().filter(|term| term.key == election.key);
    led.extend(foreign.map(|term| (term.from, term.until)));
    led.sort();
    let mut vacancies = Vec::new();
    let mut since = history.begin;
    for (from, until) in led.into_iter().chain([(history.end, history.end)]) {
        let from = from.min(history.end);
        if from > since {
            vacancies.push(explain(since, from, &excuses));
        }
        since = since.max(until);
    }
    vacancies
}

pub(super) fn check(history: &History, election: &Election, terms: &[Term]) -> Vec<Violation> {
    let violation = |vacancy: Vacancy| {
        let (from, until) = vacancy.unexplained?;
        let seconds = |span: Nanos| span as f64 / 1e9;
        let blame = match vacancy.why {
            Some(why) => format!("{why} explains only the beginning"),
            None => "nothing explains it".into(),
        };
        let what = format!(
            "{} had no leader for {:.3} s, {:.3} s of them without an explanation: {blame}",
            election.key,
            seconds(vacancy.until - vacancy.from),
            seconds(until - from)
        );
        Some(Violation { rule: "vacancy", what, key: Some(election.key.clone()), at: from })
    };
    all(history, election, terms).into_iter().filter_map(violation).collect()
}

fn explain(from: Nanos, until: Nanos, excuses: &[Excuse]) -> Vacancy {
    // Of all excuses that applied when the vacancy began, this takes the latest; a fault takes precedence
    // over its consequences.
    let in_force = excuses.iter().filter(|excuse| excuse.from <= from && excuse.until > from);
    let is_fault = |excuse: &Excuse| ![excuse::START, excuse::OUTAGE, excuse::STALL].contains(&excuse.why);
    let why = in_force.max_by_key(|excuse| (is_fault(excuse), excuse.from)).map(|excuse| excuse.why);
    let mut covered = from;
    while let Some(next) =
        excuses.iter().filter(|e| e.from <= covered && e.until > covered).map(|e| e.until).max()
    {
        covered = next;
    }
    if covered >= until {
        return Vacancy { from, until, why, unexplained: None };
    }
    let next = excuses.iter().map(|excuse| excuse.from).filter(|from| *from > covered).min();
    Vacancy { from, until, why, unexplained: Some((covered, next.unwrap_or(until).min(until))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::sample::{Run, SECOND, rules};
    use crate::kind::Kind;

    /// Makes one candidate lead from 1 s to `from`, and the next from `until` on.
    fn vacant_between(run: &mut Run, from: u64, until: u64) {
        run.renewing_term("a-1", 1, 1_000, from, "EXPIRED");
        run.renewing_term("b-1", 2, until, 200_000, "CLOSED");
        run.until(199_000);
    }

    #[test]
    fn a_vacancy_that_nothing_explains_is_found() {
        let mut run = Run::new();
        vacant_between(&mut run, 30_000, 30_400);
        assert_eq!(rules(&run.history()), ["vacancy"]);
    }

    #[test]
    fn a_vacancy_after_a_fault_of_the_leader_is_explained_for_as_long_as_it_may_take() {
        // With a lease of 1 s, the limit is twice the lease plus 6 s.
        let mut run = Run::new();
        run.fault(Kind::Kill, "a", 29_900, 35_000);
        vacant_between(&mut run, 30_000, 37_800);
        assert_eq!(rules(&run.history()), Vec::<&str>::new());
        let mut run = Run::new();
        run.fault(Kind::Kill, "a", 29_900, 35_000);
        vacant_between(&mut run, 30_000, 38_000);
        assert_eq!(rules(&run.history()), ["vacancy"]);
    }

    #[test]
    fn a_fault_of_a_process_that_has_no_part_in_it_explains_nothing() {
        let mut run = Run::new();
        run.fault(Kind::KillFollower, "b", 25_000, 25_500);
        vacant_between(&mut run, 30_000, 30_400);
        assert_eq!(rules(&run.history()), ["vacancy"]);
    }

    #[test]
    fn a_fault_in_another_election_explains_nothing() {
        let mut run = Run::new();
        run.fault_in("other", Kind::Delete, "other", 29_900, 29_950);
        vacant_between(&mut run, 30_000, 30_400);
        assert_eq!(rules(&run.history()), ["vacancy"]);
    }

    #[test]
    fn a_server_explains_a_vacancy_only_if_the_lease_is_too_short_to_survive_it() {
        let history = |lease_ms| {
            let mut run = Run::new();
            run.lease(lease_ms);
            // The fault comes long after the beginning of the run, which would also explain a vacancy.
            run.fault(Kind::KillStreamLeader, "n1", 99_000, 103_000);
            vacant_between(&mut run, 100_000, 100_400);
            run.history()
        };
        assert_eq!(rules(&history(2_000)), Vec::<&str>::new());
        assert_eq!(rules(&history(30_000)), ["vacancy"]);
    }

    #[test]
    fn a_leader_of_other_software_leaves_no_vacancy_in_its_own_election() {
        let history = |key: &str| {
            let mut run = Run::new();
            run.foreign_term(key, 29_900, 60_500);
            vacant_between(&mut run, 30_000, 60_400);
            run.history()
        };
        assert_eq!(rules(&history("k")), Vec::<&str>::new());
        assert_eq!(rules(&history("other")), ["vacancy"]);
    }

    #[test]
    fn a_store_that_takes_no_writes_explains_it_until_a_while_after() {
        let mut run = Run::new();
        run.outage("bucket", 29_500, 40_000);
        vacant_between(&mut run, 30_000, 47_000);
        assert_eq!(rules(&run.history()), Vec::<&str>::new());
        let mut run = Run::new();
        run.outage("another", 29_500, 40_000);
        vacant_between(&mut run, 30_000, 47_000);
        assert_eq!(rules(&run.history()), ["vacancy"]);
    }

    #[test]
    fn an_election_without_any_leader_is_found_however_few_faults_there_are() {
        let mut run = Run::new();
        run.until(60_000);
        let history = run.history();
        assert_eq!(rules(&history), ["vacancy"]);
        let vacancies = all(&history, &history.elections[0], &[]);
        assert_eq!(vacancies[0].why, Some(excuse::START));
        assert_eq!(vacancies[0].unexplained, Some((8 * SECOND, 60 * SECOND)));
    }

    #[test]
    fn a_short_wait_for_the_processor_explains_nothing_and_a_longer_one_does() {
        let history = |length: u64| {
            let mut run = Run::new();
            run.stall(29_500, 29_500 + length);
            vacant_between(&mut run, 30_000, 30_400);
            run.history()
        };
        assert_eq!(rules(&history(130)), ["vacancy"]);
        assert_eq!(rules(&history(150)), Vec::<&str>::new());
    }
}

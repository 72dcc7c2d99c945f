//! I4.

use std::collections::BTreeSet;

use incumbent_core::candidacy::Rule;
use incumbent_core::record::Nonce;
use incumbent_core::{Revision, Token};

use super::Oracle;
use super::known::ReportedTerm;
use crate::kind::Store;
use crate::observation::{Observation, Seen, View};

/// Checks I4 over the whole run.
///
/// If the store began another history of tokens, as a restored backup does, some candidates may not know the tokens of
/// the earlier history. In that case only the terms acquired in the present history are compared with each other.
#[derive(Debug)]
pub(super) struct TokensGrow {
    largest: Option<Won>,
    /// The number of the current history, what was written in it, and the largest token of a term in it.
    history: u32,
    written: BTreeSet<(u128, Revision)>,
    largest_here: Option<Won>,
    nonces: Vec<Nonce>,
    /// The last token of each process, kept across every change of the store.
    own: Vec<Option<Token>>,
    term: Vec<Option<Token>>,
}

/// A reported term. Terms are ordered by their tokens first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Won {
    token: Token,
    node: usize,
    /// Whether the term may have been led at the same time as another when it was reported.
    excused: bool,
}

impl TokensGrow {
    pub(super) fn new(count: usize) -> Self {
        Self {
            largest: None,
            history: 0,
            written: BTreeSet::new(),
            largest_here: None,
            nonces: vec![Nonce(0); count],
            own: vec![None; count],
            term: vec![None; count],
        }
    }

    fn won(&mut self, view: &View<'_>, node: usize, token: Token) -> Result<(), String> {
        if self.own[node].is_some_and(|own| token <= own) {
            return Err(format!("c{node} won with {token} after its own {:?}", self.own[node]));
        }
        (self.own[node], self.term[node]) = (Some(token), Some(token));
        // A server of a former incarnation answered the candidate, which therefore attributes its win to that
        // incarnation.
        if view.promises.is_misled(view.now, node) {
            return Ok(());
        }
        let is_here = self.written.contains(&(self.nonces[node].0, token.sequence));
        // In an etcd the token is that of the place, which waits in the queue while others lead.
        let is_waived = !view.promises.tokens(view.now)
            || view.plan.choice.store == Store::Etcd && view.promises.is_of_two_histories(token.sequence.0);
        let before = match (!is_waived, is_here) {
            (true, _) => self.largest,
            (false, true) => self.largest_here,
            (false, false) => None,
        };
        // If two candidates may lead at once, the first to acquire may report last. Its token is the smaller one, so
        // resources reject it.
        let is_excused = |node| !view.promises.one_leader(view.now) || view.promises.excuses(view.now, node);
        let excused = is_excused(node);
        let in_order = |before: &Won| !excused && !before.excused && !is_excused(before.node);
        if let Some(Won { token: before, .. }) =
            before.filter(|it| token == it.token || token < it.token && in_order(it))
        {
            return Err(format!("c{node} won with {token} after {before}"));
        }
        let won = Some(Won { token, node, excused });
        self.largest = self.largest.max(won);
        if is_here {
            self.largest_here = self.largest_here.max(won);
        }
        Ok(())
    }
}

impl<R: Rule> Oracle<R> for TokensGrow {
    fn states(&self) -> (&'static str, &'static str) {
        ("I4", "Tokens strictly increase over the terms of an election, and are constant within one.")
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Handled, Seen::Reported, Seen::Applied, Seen::Accepted]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String> {
        if self.history != view.promises.histories() {
            (self.history, self.largest_here) = (view.promises.histories(), None);
            self.written.clear();
        }
        match observation {
            Observation::Begins { node, nonce } => {
                self.nonces[*node] = *nonce;
                (self.own[*node], self.term[*node]) = (None, None);
            }
            // Writes that are never compared need not be recorded.
            Observation::Applied { nonce, revision, .. } if self.history > 0 => {
                self.written.insert((nonce.0, *revision));
            }
            // An operator accepted that the tokens start again.
            Observation::Accepted => {
                self.own.fill(None);
                (self.largest, self.largest_here) = (None, None);
            }
            Observation::Handled { node, lease, .. } => {
                let (Some(lease), Some(token)) = (lease, self.term[*node]) else { return Ok(()) };
                // A term that ends in this same step is reported next.
                if lease.token < token {
                    return Err(format!("the token of c{node} went from {token} to {}", lease.token));
                }
            }
            Observation::Output { node, output, .. } => match output.event().and_then(ReportedTerm::of) {
                Some(ReportedTerm::Won(term)) => return self.won(view, *node, term.token),
                Some(ReportedTerm::Lost(term)) => {
                    if self.term[*node] != Some(term.token) {
                        return Err(format!("c{node} lost {} and had {:?}", term.token, self.term[*node]));
                    }
                    self.term[*node] = None;
                }
                None => {}
            },
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use incumbent_core::campaign::KeyLease;
    use incumbent_core::record::Attempt;
    use incumbent_core::{Incarnation, Instant};

    use super::*;
    use crate::clock::START;
    use crate::plan::{Choice, Plan};
    use crate::promise::Promises;

    const INCARNATION: Incarnation = Incarnation(1);

    fn token(sequence: u64) -> Token {
        Token { incarnation: INCARNATION, sequence: Revision(sequence) }
    }

    struct World {
        plan: Plan,
        promises: Promises,
        oracle: TokensGrow,
        now: Instant,
    }

    fn view<'a>(plan: &'a Plan, promises: &'a Promises, now: Instant) -> View<'a> {
        View { now, plan, promises, incarnation: INCARNATION, made: START, never_used: false }
    }

    impl World {
        fn new() -> Self {
            let plan = Plan::new(&Choice::of_seed(5));
            let (promises, count) = (Promises::new(&plan), plan.choice.candidates);
            let mut world = Self { plan, promises, oracle: TokensGrow::new(count), now: START };
            for node in 0..count {
                let nonce = Nonce(1 + node as u128);
                world.observe(&Observation::Begins { node, nonce });
            }
            world
        }

        fn observe(&mut self, observation: &Observation<'_>) {
            let view = view(&self.plan, &self.promises, self.now);
            Oracle::<KeyLease>::observe(&mut self.oracle, &view, observation).unwrap();
        }

        /// Notes that a candidate's acquire was applied at a sequence.
        fn acquires(&mut self, node: usize, sequence: u64) {
            let (nonce, attempt, revision) = (Nonce(1 + node as u128), Attempt(1), Revision(sequence));
            self.observe(&Observation::Applied { nonce, attempt, incarnation: INCARNATION, revision });
        }

        fn reports(&mut self, node: usize, sequence: u64) -> Result<(), String> {
            let view = view(&self.plan, &self.promises, self.now);
            self.oracle.won(&view, node, token(sequence))
        }

        fn wins(&mut self, node: usize, sequence: u64) -> Result<(), String> {
            self.acquires(node, sequence);
            self.reports(node, sequence)
        }
    }

    #[test]
    fn after_a_restore_that_not_all_know_the_tokens_since_are_compared_with_each_other() {
        let mut world = World::new();
        world.wins(0, 100).unwrap();
        world.promises.undid_tokens(100);
        world.wins(1, 41).unwrap();
        world.wins(2, 52).unwrap();
        let given_again = world.wins(3, 52).unwrap_err();
        assert_eq!(given_again, format!("c3 won with {} after {}", token(52), token(52)));
    }

    #[test]
    fn a_term_that_was_acquired_before_a_restore_and_is_reported_after_it_is_compared_with_none_of_those_since()
     {
        let mut world = World::new();
        world.wins(0, 100).unwrap();
        world.acquires(1, 103);
        world.promises.undid_tokens(103);
        world.wins(2, 52).unwrap();
        world.reports(1, 103).unwrap();
        world.wins(3, 60).unwrap();
    }

    #[test]
    fn when_the_store_is_beyond_what_it_undid_the_order_of_all_tokens_is_checked_again() {
        let mut world = World::new();
        world.wins(0, 100).unwrap();
        world.promises.undid_tokens(100);
        world.wins(1, 41).unwrap();
        world.promises.reached(world.now, 101);
        world.now = world.now + Duration::from_secs(3600);
        world.wins(2, 101).unwrap();
        assert_eq!(world.wins(3, 99), Err(format!("c3 won with {} after {}", token(99), token(101))));
    }

    #[test]
    fn a_candidate_that_a_server_told_of_a_former_incarnation_excuses_no_other() {
        let mut world = World::new();
        world.wins(0, 100).unwrap();
        world.promises.mislead(1);
        world.wins(1, 90).unwrap();
        assert_eq!(world.wins(2, 95), Err(format!("c2 won with {} after {}", token(95), token(100))));
    }

    #[test]
    fn when_an_operator_accepted_that_tokens_start_again_they_grow_from_there() {
        let mut world = World::new();
        world.wins(0, 100).unwrap();
        world.observe(&Observation::Accepted);
        world.wins(1, 7).unwrap();
        assert_eq!(world.wins(2, 6), Err(format!("c2 won with {} after {}", token(6), token(7))));
    }
}

//! A participant of an election.

use incumbent_ffi::Leave;
use napi::bindgen_prelude::Function;
use napi::{Env, Result};
use napi_derive::napi;

use crate::feed::{Feed, event, held_event};
use crate::operation::{Operation, Value};
use crate::term::{Hold, Term};
use crate::value::{Failure, LeaderRow, Outcome, failure, outcome};

/// A participant of an election.
#[napi(js_name = "Candidate")]
pub struct Candidate {
    candidate: incumbent_ffi::Candidate,
}

impl From<incumbent_ffi::Candidate> for Candidate {
    fn from(candidate: incumbent_ffi::Candidate) -> Self {
        Self { candidate }
    }
}

#[napi]
impl Candidate {
    /// Returns a function that reports whether this candidate leads now, by the clock. It is called so often that
    /// finding the candidate behind an object would cost more than the answer.
    #[napi(ts_return_type = "() => boolean")]
    pub fn is_leader<'env>(&self, env: &'env Env) -> Result<Function<'env, (), bool>> {
        let candidate = self.candidate.clone();
        env.create_function_from_closure("isLeader", move |_| Ok(candidate.is_leader()))
    }

    /// The key of the election.
    #[napi(getter)]
    pub fn election(&self) -> &str {
        self.candidate.election()
    }

    /// The candidate's name.
    #[napi(getter)]
    pub fn name(&self) -> &str {
        self.candidate.name()
    }

    /// The state of the campaign.
    #[napi(getter)]
    pub fn state(&self) -> &'static str {
        self.candidate.state().code()
    }

    /// The leader of the election, as far as this candidate has seen.
    #[napi(getter)]
    pub fn leader(&self) -> Option<LeaderRow> {
        self.candidate.leader().map(LeaderRow::from)
    }

    /// The current term; null while this candidate does not lead.
    #[napi(getter)]
    pub fn term(&self) -> Option<Term> {
        self.candidate.term().map(Term::from)
    }

    /// Returns the events from now on, beginning with the current state.
    #[napi]
    pub fn events(&self) -> Outcome<Feed> {
        outcome(self.candidate.events(event).map(Feed::from))
    }

    /// Returns the same events, and holds each term from the moment it is won: `Won` comes with a hold.
    #[napi]
    pub fn holding_events(&self) -> Outcome<Feed> {
        outcome(self.candidate.holding_events(held_event).map(Feed::from))
    }

    /// Answers with the current or the next term, held, or nothing once the campaign is over; if `after` is given, with
    /// the next term after it.
    #[napi]
    pub fn next_term(&self, after: Option<&Term>) -> Operation {
        let next = self.candidate.next_term(after.map(Term::plain));
        Operation::new(next, |hold| hold.map(|hold| Value::C(Hold::from(hold))))
    }

    /// Gives up leadership, and keeps campaigning.
    #[napi]
    pub fn resign(&self, inside: bool) -> Operation {
        Operation::of_nothing(self.candidate.leave(Leave::Resign, inside))
    }

    /// Hands leadership over to the candidate of that name.
    #[napi]
    pub fn hand_over(&self, to: String, inside: bool) -> Operation {
        Operation::of_nothing(self.candidate.leave(Leave::HandOver(&to), inside))
    }

    /// Gives up leadership and ends the campaign.
    #[napi]
    pub fn close(&self, inside: bool) -> Operation {
        Operation::of_nothing(self.candidate.leave(Leave::Close, inside))
    }

    /// Answers when the campaign is over, for any cause.
    #[napi]
    pub fn closed(&self) -> Operation {
        Operation::of_nothing(self.candidate.closed())
    }

    /// Sets whether this candidate is healthy.
    #[napi]
    pub fn set_healthy(&self, is_well: bool) -> Option<Failure> {
        failure(self.candidate.set_healthy(is_well))
    }

    /// Accepts that tokens may start again after the store was reset.
    #[napi]
    pub fn accept_reset(&self) -> Option<Failure> {
        failure(self.candidate.accept_reset())
    }
}

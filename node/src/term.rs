//! A term, and a hold on it.

use napi::bindgen_prelude::{BigInt, Function};
use napi::{Env, Result};
use napi_derive::napi;

use crate::operation::{Operation, Value};

/// An uninterrupted leadership, as a view.
#[napi(js_name = "Term")]
pub struct Term {
    term: incumbent_ffi::Term,
}

/// A hold on a term: a drain waits until it is released.
#[napi(js_name = "Hold")]
pub struct Hold {
    hold: incumbent_ffi::Hold,
}

impl From<incumbent_ffi::Term> for Term {
    fn from(term: incumbent_ffi::Term) -> Self {
        Self { term }
    }
}

impl From<incumbent_ffi::Hold> for Hold {
    fn from(hold: incumbent_ffi::Hold) -> Self {
        Self { hold }
    }
}

impl Term {
    pub(crate) fn plain(&self) -> incumbent_ffi::Term {
        self.term.clone()
    }
}

#[napi]
impl Term {
    /// The fencing token as text of 33 characters.
    #[napi(getter)]
    pub fn token(&self) -> String {
        self.term.token().to_string()
    }

    /// The incarnation of the store in which the term was won.
    #[napi(getter)]
    pub fn incarnation(&self) -> BigInt {
        self.term.token().incarnation.0.into()
    }

    /// The token's place in the order of its incarnation.
    #[napi(getter)]
    pub fn sequence(&self) -> BigInt {
        self.term.token().sequence.0.into()
    }

    /// The key of the election.
    #[napi(getter)]
    pub fn election(&self) -> &str {
        self.term.election()
    }

    /// The milliseconds for which the lease is proven.
    #[napi(getter)]
    pub fn remaining_ms(&self) -> f64 {
        self.term.remaining().as_secs_f64() * 1000.0
    }

    /// The milliseconds that a draining leader still has; null while it is not draining.
    #[napi(getter)]
    pub fn drain_remaining_ms(&self) -> Option<f64> {
        self.term.drain_remaining().map(|left| left.as_secs_f64() * 1000.0)
    }

    /// The reason for which the term ended; null while it lasts.
    #[napi(getter)]
    pub fn reason(&self) -> Option<&'static str> {
        self.term.reason().map(incumbent_ffi::Reason::code)
    }

    /// Returns a function that reports whether the term still lasts, by the clock. As for a candidate's `isLeader`,
    /// finding the term behind an object would cost more than the answer.
    #[napi(ts_return_type = "() => boolean")]
    pub fn is_current<'env>(&self, env: &'env Env) -> Result<Function<'env, (), bool>> {
        let term = self.term.clone();
        env.create_function_from_closure("isCurrent", move |_| Ok(term.is_current()))
    }

    /// Answers when the term is over, with the reason.
    #[napi]
    pub fn ended(&self) -> Operation {
        Operation::new(self.term.ended(), |reason| Some(Value::H(reason.code().into())))
    }

    /// Answers when the leader begins to leave, or the term is over.
    #[napi]
    pub fn draining(&self) -> Operation {
        Operation::of_nothing(self.term.draining())
    }

    /// Holds the term.
    #[napi]
    pub fn hold(&self) -> Hold {
        self.term.hold().into()
    }

    /// Reports that the work of the term is done: a draining term ends now.
    #[napi]
    pub fn drained(&self) {
        self.term.drained();
    }

    /// Ends the term because its work failed.
    #[napi]
    pub fn fail(&self) {
        self.term.fail();
    }
}

#[napi]
impl Hold {
    /// The term that is held.
    #[napi(getter)]
    pub fn term(&self) -> Term {
        self.hold.term().clone().into()
    }

    /// Ends the hold. Releasing it twice is no error.
    #[napi]
    pub fn release(&mut self) {
        self.hold.release();
    }
}

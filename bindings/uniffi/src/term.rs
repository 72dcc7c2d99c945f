//! A term, and a hold on it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::pending::{PendingEnd, PendingReason};
use crate::value::{Failure, Reason};

/// One uninterrupted leadership, as a view: keeping it delays nothing.
#[derive(uniffi::Object, PartialEq)]
#[uniffi::export(Eq, Hash)]
pub struct Term(incumbent_ffi::Term);

impl Eq for Term {}

impl std::hash::Hash for Term {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        let token = self.0.token();
        (token.incarnation.0, token.sequence.0).hash(hasher);
    }
}

impl Term {
    pub(crate) fn of(term: incumbent_ffi::Term) -> Arc<Self> {
        Arc::new(Self(term))
    }

    pub(crate) fn inner(&self) -> incumbent_ffi::Term {
        self.0.clone()
    }
}

/// A fencing token: a later term's is larger, by the incarnation and then by the sequence.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct TokenParts {
    /// The store's incarnation.
    pub incarnation: u64,
    /// The number of the term in it.
    pub sequence: u64,
    /// The token as text of 33 characters, which sorts as tokens do.
    pub text: String,
}

impl From<incumbent_ffi::Token> for TokenParts {
    fn from(token: incumbent_ffi::Token) -> Self {
        Self { incarnation: token.incarnation.0, sequence: token.sequence.0, text: token.to_string() }
    }
}

/// Reads a token from its text.
#[uniffi::export]
pub fn parse_token(text: &str) -> Option<TokenParts> {
    text.parse::<incumbent_ffi::Token>().ok().map(TokenParts::from)
}

#[uniffi::export]
impl Term {
    /// The fencing token.
    pub fn token(&self) -> TokenParts {
        self.0.token().into()
    }

    /// The key of the election.
    pub fn election(&self) -> String {
        self.0.election().to_owned()
    }

    /// The time for which the lease is proven.
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// The time since the candidate learned that it leads.
    pub fn age(&self) -> Duration {
        self.0.age()
    }

    /// The time that a draining leader still has; nothing while it is not draining.
    pub fn drain_remaining(&self) -> Option<Duration> {
        self.0.drain_remaining()
    }

    /// The reason for which the term ended; nothing while it lasts.
    pub fn reason(&self) -> Option<Reason> {
        self.0.reason().map(Reason::from)
    }

    /// True if the term still lasts, by the clock.
    pub fn is_current(&self) -> bool {
        self.0.is_current()
    }

    /// Waits until the term is over.
    pub fn ended(&self) -> Arc<PendingReason> {
        Arc::new(self.0.ended().map(Reason::from).into())
    }

    /// Waits until the leader begins to leave, or the term is over.
    pub fn draining(&self) -> Arc<PendingEnd> {
        Arc::new(self.0.draining().into())
    }

    /// Holds the term, for code that works for it.
    pub fn hold(&self) -> Arc<Hold> {
        Hold::of(self.0.hold())
    }

    /// Reports that the work of the term is done: a draining term ends now.
    pub fn drained(&self) {
        self.0.drained();
    }

    /// Ends the term because its work failed.
    pub fn fail(&self) {
        self.0.fail();
    }
}

/// A hold on a term: a drain waits until it is released.
#[derive(uniffi::Object)]
pub struct Hold {
    hold: Mutex<incumbent_ffi::Hold>,
    term: Arc<Term>,
}

impl Hold {
    pub(crate) fn of(hold: incumbent_ffi::Hold) -> Arc<Self> {
        let term = Term::of(hold.term().clone());
        Arc::new(Self { hold: Mutex::new(hold), term })
    }
}

#[uniffi::export]
impl Hold {
    /// The term that is held.
    pub fn term(&self) -> Arc<Term> {
        Arc::clone(&self.term)
    }

    /// Ends the hold. Releasing it twice is no error.
    pub fn release(&self) {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner).release();
    }

    /// Fails once the hold was released.
    pub fn check(&self) -> Result<(), Failure> {
        Ok(self.hold.lock().unwrap_or_else(PoisonError::into_inner).check()?)
    }
}

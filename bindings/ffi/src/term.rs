//! A term, and a hold on it.

use std::time::Duration;

use incumbent::{Reason, TermView, Token};

use crate::here::Here;
use crate::{Operation, Result};

/// One uninterrupted leadership, as a view. Keeping it delays nothing, however late a garbage collector frees it; code
/// that works for the term [holds](Self::hold) it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub(crate) view: TermView,
}

/// A hold on a term: a drain waits until it is [released](Self::release) or dropped.
#[derive(Debug)]
pub struct Hold {
    held: Here<incumbent::Term>,
    term: Term,
}

impl Term {
    /// The fencing token.
    pub fn token(&self) -> Token {
        self.view.token()
    }

    /// The key of the election.
    pub fn election(&self) -> &str {
        self.view.election()
    }

    /// Whether the term still lasts, by the clock; always false in a forked child.
    pub fn is_current(&self) -> bool {
        self.view.is_current()
    }

    /// The time for which the lease is still proven; zero once the term is over, and in a forked child.
    pub fn remaining(&self) -> Duration {
        self.view.remaining()
    }

    /// The time since the candidate learned that it leads, even when the term is over.
    pub fn age(&self) -> Duration {
        self.view.age()
    }

    /// The time that a draining leader still has to finish its work; `None` while it is not draining.
    pub fn drain_remaining(&self) -> Option<Duration> {
        self.view.drain_remaining()
    }

    /// The reason for which the term ended; `None` while it lasts. A term whose deadline has passed unproven is
    /// `Expired`, even before the event is emitted.
    pub fn reason(&self) -> Option<Reason> {
        self.view.reason().or_else(|| (!self.is_current()).then_some(Reason::Expired))
    }

    /// Answers when the term is over, with the reason. Does not hold the term.
    pub fn ended(&self) -> Operation<Reason> {
        let view = self.view.clone();
        Operation::start(async move { Ok(view.ended().await) })
    }

    /// Answers when the leader begins to leave of its own accord, or the term is over. Does not hold the term.
    pub fn draining(&self) -> Operation<()> {
        let view = self.view.clone();
        Operation::start(async move {
            view.draining().await;
            Ok(())
        })
    }

    /// Holds the term, for code that works for it.
    pub fn hold(&self) -> Hold {
        Hold::of(self.view.hold())
    }

    /// Reports that the work of the term is done, even with other holds: a draining term ends now.
    pub fn drained(&self) {
        self.view.drained();
    }

    /// Ends the term because its work failed.
    pub fn fail(&self) {
        self.view.fail();
    }
}

impl Hold {
    pub(crate) fn of(term: incumbent::Term) -> Self {
        let view = term.view();
        Self { held: Here::new(term), term: Term { view } }
    }

    /// Returns the term that is held.
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// Ends the hold. Releasing it twice is no error.
    pub fn release(&mut self) {
        drop(self.held.release());
    }

    /// Whether it still holds.
    ///
    /// # Errors
    /// `Forked` in a forked child, `Closed` once it was released.
    pub fn check(&self) -> Result<()> {
        self.held.get("hold on the term").map(drop)
    }
}

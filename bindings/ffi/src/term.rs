//! A term, and a hold on it.

use std::time::Duration;

use incumbent::{Reason, TermView, Token};

use crate::here::Here;
use crate::{Operation, Result};

/// One uninterrupted leadership, for who looks on. Keeping it holds up nothing, however long a garbage collector
/// takes; whoever works for the term [holds](Self::hold) it meanwhile.
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

    /// Whether the term is not over now, by the clock; never in a forked child.
    pub fn is_current(&self) -> bool {
        self.view.is_current()
    }

    /// For how long the lease is proven; zero once the term is over, and in a forked child.
    pub fn remaining(&self) -> Duration {
        self.view.remaining()
    }

    /// How long ago the candidate was told that it leads, whether or not the term is over by now.
    pub fn age(&self) -> Duration {
        self.view.age()
    }

    /// How long a draining leader may still take to finish its work; `None` while it is not draining.
    pub fn drain_remaining(&self) -> Option<Duration> {
        self.view.drain_remaining()
    }

    /// Why the term is over; `None` while it is not. One whose deadline has passed unproven is
    /// `Expired`, told or not.
    pub fn reason(&self) -> Option<Reason> {
        self.view.reason().or_else(|| (!self.is_current()).then_some(Reason::Expired))
    }

    /// Answers when the term is over, with the reason. Does not hold it.
    pub fn ended(&self) -> Operation<Reason> {
        let view = self.view.clone();
        Operation::start(async move { Ok(view.ended().await) })
    }

    /// Answers when the leader begins to leave of its own will, or the term is over. Does not hold it.
    pub fn draining(&self) -> Operation<()> {
        let view = self.view.clone();
        Operation::start(async move {
            view.draining().await;
            Ok(())
        })
    }

    /// Holds the term, for who works for it.
    pub fn hold(&self) -> Hold {
        Hold::of(self.view.hold())
    }

    /// Says that the work of the term is done, whoever else holds it: a draining term ends now.
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

    /// The term that is held.
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

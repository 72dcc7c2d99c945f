//! A term, and a hold on it.

use std::ops::Deref;

use incumbent::{Reason, TermView};

use crate::engine::ProcessBound;
use crate::{Operation, Result};

/// One uninterrupted leadership, as a [view](TermView). Keeping it delays nothing, however late a garbage collector
/// frees it; code that works for the term [holds](Self::hold) it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term(TermView);

/// A hold on a term: a drain waits until it is [released](Self::release) or dropped.
#[derive(Debug)]
pub struct Hold {
    held: ProcessBound<incumbent::Term>,
    term: Term,
}

impl Term {
    /// The reason for which the term ended; `None` while it lasts. A term whose deadline has passed unproven is
    /// `Expired`, even before the event is emitted.
    pub fn reason(&self) -> Option<Reason> {
        // Read in this order, because the reason is set before the term stops being current.
        if self.is_current() { None } else { Some(self.0.reason().unwrap_or(Reason::Expired)) }
    }

    /// Answers when the term is over, with the reason. Does not hold the term.
    pub fn ended(&self) -> Operation<Reason> {
        let view = self.0.clone();
        Operation::start(async move { Ok(view.ended().await) })
    }

    /// Answers when the leader begins to leave of its own accord, or the term is over. Does not hold the term.
    pub fn draining(&self) -> Operation<()> {
        let view = self.0.clone();
        Operation::start(async move {
            view.draining().await;
            Ok(())
        })
    }

    /// Holds the term, for code that works for it.
    pub fn hold(&self) -> Hold {
        self.0.hold().into()
    }

    pub(crate) fn view(&self) -> &TermView {
        &self.0
    }
}

impl From<incumbent::Term> for Term {
    fn from(term: incumbent::Term) -> Self {
        Self(term.view())
    }
}

/// The properties of a term are those of its view.
impl Deref for Term {
    type Target = TermView;

    fn deref(&self) -> &TermView {
        &self.0
    }
}

impl From<incumbent::Term> for Hold {
    fn from(term: incumbent::Term) -> Self {
        let view = term.view();
        Self { held: ProcessBound::new(term), term: Term(view) }
    }
}

impl Hold {
    /// Returns the term that is held.
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// Ends the hold. Releasing it twice is no error.
    pub fn release(&mut self) {
        drop(self.held.release());
    }

    /// Returns true if this still holds the term.
    ///
    /// # Errors
    /// `Forked` in a forked child, `Closed` once it was released.
    pub fn check(&self) -> Result<()> {
        self.held.get("hold on the term").map(drop)
    }
}

//! I4.

use incumbent_core::Token;

use super::Oracle;
use super::known::ReportedTerm;
use crate::observation::{Observation, Observed, View};

pub(super) struct TokensGrow {
    largest: Option<Token>,
    /// For each process, across every change of the store.
    own: Vec<Option<Token>>,
    term: Vec<Option<Token>>,
}

impl TokensGrow {
    pub(super) fn new(count: usize) -> Self {
        Self { largest: None, own: vec![None; count], term: vec![None; count] }
    }
}

impl<C: Observed> Oracle<C> for TokensGrow {
    fn states(&self) -> (&'static str, &'static str) {
        ("I4", "Tokens strictly increase over the terms of an election, and are constant within one.")
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_, C>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => (self.own[*node], self.term[*node]) = (None, None),
            // An operator accepted that tokens are given again.
            Observation::Accepted => {
                self.own.fill(None);
                self.largest = None;
            }
            Observation::Handled { node, campaign, .. } => {
                let (Some(lease), Some(token)) = (campaign.lease(), self.term[*node]) else { return Ok(()) };
                // A term that ended in this very step is reported so next.
                if lease.token < token {
                    return Err(format!("the token of c{node} went from {token} to {}", lease.token));
                }
            }
            Observation::Output { node, output, .. } => match C::event(output).and_then(ReportedTerm::of) {
                Some(ReportedTerm::Won(term)) => {
                    let token = term.token;
                    if self.own[*node].is_some_and(|own| token <= own) {
                        return Err(format!("c{node} won with {token} after its own {:?}", self.own[*node]));
                    }
                    // Of two that may lead at once, the first to acquire may report last: its token is
                    // the smaller, and fences it.
                    let in_order = view.promises.excuses_none(view.now);
                    if let Some(largest) = self.largest.filter(|largest| token <= *largest)
                        && view.promises.tokens()
                        && (in_order || token == largest)
                    {
                        return Err(format!("c{node} won with {token} after {largest}"));
                    }
                    self.largest = self.largest.max(Some(token));
                    (self.own[*node], self.term[*node]) = (Some(token), Some(token));
                }
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

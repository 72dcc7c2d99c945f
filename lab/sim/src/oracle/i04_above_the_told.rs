//! I4, judged by what each candidate was shown, whatever the store undid. No exceptions apply.

use incumbent_core::campaign::Input;
use incumbent_core::record::{Entry, Nonce};
use incumbent_core::{Incarnation, Instant, Token};

use super::Oracle;
use super::known::{ReportedTerm, reported_term};
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct AboveTheTold {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    nonce: Option<Nonce>,
    /// The known incarnation, and when the request whose answer showed it was sent.
    incarnation: Option<(Incarnation, Instant)>,
    /// The largest token that the watch of the candidate showed in another candidate's record.
    told: Option<Token>,
}

impl AboveTheTold {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![Node::default(); count] }
    }
}

impl Node {
    fn observe_input(&mut self, input: &Input) {
        match input {
            Input::Inspected(Ok(info))
                if self.incarnation.is_none_or(|(_, asked_at)| asked_at <= info.asked_at) =>
            {
                self.incarnation = Some((info.incarnation, info.asked_at));
            }
            Input::Watched(Entry::Live(record)) => {
                let (Some(stated), Some((incarnation, _))) = (record.term_info, self.incarnation) else {
                    return;
                };
                if record.write_id.map(|write_id| write_id.nonce) == self.nonce {
                    return;
                }
                // The token of a term is never larger than that of the record that states the term.
                let own = Token { incarnation, sequence: record.revision };
                self.told = self.told.max(Some(stated.token.min(own)));
            }
            _ => {}
        }
    }
}

impl Oracle for AboveTheTold {
    fn states(&self) -> (&'static str, &'static str) {
        ("I4", "No win is reported whose token is not above every token that the candidate's watch showed.")
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Input, Seen::Reported, Seen::Accepted]
    }

    fn observe(&mut self, view: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, nonce } => {
                self.nodes[*node] = Node { nonce: Some(*nonce), ..Node::default() };
            }
            // An operator accepted that the tokens start again.
            Observation::Accepted => self.nodes.iter_mut().for_each(|node| node.told = None),
            Observation::Input { node, input, .. } => self.nodes[*node].observe_input(input),
            Observation::Output { node: place, output, .. } => {
                let Some(ReportedTerm::Won(term)) = reported_term(output) else { return Ok(()) };
                let told = self.nodes[*place].told.filter(|told| term.token <= *told);
                if let Some(told) = told.filter(|_| !view.promises.is_misled(view.now, *place)) {
                    return Err(format!("c{place} won with {}, but its watch had shown {told}", term.token));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

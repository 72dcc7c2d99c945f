//! I8.

use incumbent_core::Token;
use incumbent_core::campaign::{Output, Request};
use incumbent_core::store::Action;

use super::Oracle;
use super::known::{ReportedTerm, reported_term};
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct ReleasedIsOver {
    /// The last reported token of each candidate, and the last token whose release was sent.
    nodes: Vec<(Option<Token>, Option<Token>)>,
    /// Whether each candidate has reported a term that is not yet lost.
    reported: Vec<bool>,
}

impl ReleasedIsOver {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![(None, None); count], reported: vec![false; count] }
    }
}

impl Oracle for ReleasedIsOver {
    fn states(&self) -> (&'static str, &'static str) {
        ("I8", "A term is lost before its release is sent, and never leads again.")
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Handled, Seen::Asked, Seen::Reported, Seen::Accepted]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => {
                (self.nodes[*node], self.reported[*node]) = ((None, None), false)
            }
            // An operator accepted that the tokens start again.
            Observation::Accepted => self.nodes.iter_mut().for_each(|(_, released)| *released = None),
            Observation::Output { node, campaign, output, .. } => {
                let (last, released) = &mut self.nodes[*node];
                match reported_term(output) {
                    Some(ReportedTerm::Won(term)) => (*last, self.reported[*node]) = (Some(term.token), true),
                    Some(ReportedTerm::Lost(_)) => self.reported[*node] = false,
                    None => {}
                }
                if let Output::Ask(Request::Write(write)) = output
                    && matches!(write.action, Action::Release { .. })
                {
                    if let Some(lease) = campaign.lease() {
                        return Err(format!("c{node} releases its lease but still holds {lease:?}"));
                    }
                    if self.reported[*node] {
                        return Err(format!("c{node} releases its lease before its loss is reported"));
                    }
                    *released = *last;
                }
            }
            Observation::Handled { node, lease, .. } => {
                let released = self.nodes[*node].1;
                if let Some(lease) = lease
                    && released.is_some_and(|released| lease.token <= released)
                {
                    return Err(format!("c{node} leads again with {}, which it released", lease.token));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

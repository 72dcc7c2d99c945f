//! I8.

use incumbent_core::Token;
use incumbent_core::campaign::Output;
use incumbent_core::store::Action;

use super::Oracle;
use super::known::{Told, told};
use crate::moment::{Moment, View};

pub(super) struct ReleasedIsOver {
    /// The last token reported, and the last whose release was sent.
    nodes: Vec<(Option<Token>, Option<Token>)>,
    /// Whether a term is reported and not yet lost.
    told: Vec<bool>,
}

impl ReleasedIsOver {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![(None, None); count], told: vec![false; count] }
    }
}

impl Oracle for ReleasedIsOver {
    fn states(&self) -> (&'static str, &'static str) {
        ("I8", "A term is lost before its release is sent, and never leads again.")
    }

    fn see(&mut self, _: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begins { node, .. } => (self.nodes[*node], self.told[*node]) = ((None, None), false),
            // An operator accepted that tokens are given again.
            Moment::Accepted => self.nodes.iter_mut().for_each(|(_, released)| *released = None),
            Moment::Says { node, campaign, output, .. } => {
                let (last, released) = &mut self.nodes[*node];
                match told(output) {
                    Some(Told::Won(term)) => (*last, self.told[*node]) = (Some(term.token), true),
                    Some(Told::Lost(_)) => self.told[*node] = false,
                    None => {}
                }
                if let Output::Write(write) = output
                    && matches!(write.action, Action::Release { .. })
                {
                    if let Some(lease) = campaign.lease() {
                        return Err(format!("c{node} releases the seat and holds {lease:?}"));
                    }
                    if self.told[*node] {
                        return Err(format!("c{node} releases the seat before it is told that it lost it"));
                    }
                    *released = *last;
                }
            }
            Moment::Stands { node, campaign, .. } => {
                let released = self.nodes[*node].1;
                if let Some(lease) = campaign.lease()
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

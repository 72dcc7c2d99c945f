//! I8.

use incumbent_core::Token;
use incumbent_core::campaign::Output;
use incumbent_core::store::Action;

use super::Oracle;
use super::known::{Told, told};
use crate::moment::{Moment, View};

pub(super) struct ReleasedIsOver {
    /// The last token told, and the last whose release was sent.
    nodes: Vec<(Option<Token>, Option<Token>)>,
}

impl ReleasedIsOver {
    pub(super) fn new(count: usize) -> Self {
        Self { nodes: vec![(None, None); count] }
    }
}

impl Oracle for ReleasedIsOver {
    fn states(&self) -> (&'static str, &'static str) {
        ("I8", "A term never leads again once its release has been sent.")
    }

    fn see(&mut self, _: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begins { node, .. } => self.nodes[*node] = (None, None),
            Moment::Says { node, campaign, output, .. } => {
                let (last, released) = &mut self.nodes[*node];
                if let Some(Told::Won(term)) = told(output) {
                    *last = Some(term.token);
                }
                if let Output::Write(write) = output
                    && matches!(write.action, Action::Release { .. })
                {
                    if let Some(lease) = campaign.lease() {
                        return Err(format!("c{node} releases the seat and holds {lease:?}"));
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

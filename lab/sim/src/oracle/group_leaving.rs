//! I8 over a consumer group, and the order in which an owner that leaves must act.

use incumbent_core::campaign::{Event, Reason, State};
use incumbent_core::induction::{self, Input, Kind, Output, Request};

use super::Oracle;
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct LostBeforeLeft {
    /// Whether the work of each candidate's term is over.
    working: Vec<bool>,
}

impl LostBeforeLeft {
    pub(super) fn new(count: usize) -> Self {
        Self { working: vec![false; count] }
    }
}

impl Oracle<induction::Induction> for LostBeforeLeft {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I8, leaving",
            "The loss is reported before a release is published, a revocation answered or the group left; a release only when the \
             work has ended; a closed candidate publishes nothing.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Input, Seen::Asked, Seen::Reported]
    }

    fn observe(
        &mut self,
        _: &View<'_>,
        observation: &Observation<'_, induction::Induction>,
    ) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => self.working[*node] = false,
            Observation::Input { node, input: Input::Drained, .. } => self.working[*node] = false,
            Observation::Output { node, campaign, output } => {
                match output.event() {
                    Some(Event::Won(_)) => self.working[*node] = true,
                    // For these reasons the work must stop at once, and no release follows.
                    Some(Event::Lost { reason: Reason::Expired | Reason::StoreReset, .. }) => {
                        self.working[*node] = false;
                    }
                    _ => {}
                }
                let release = matches!(output, Output::Ask(Request::Publish(publish)) if matches!(publish.kind, Kind::Release { .. }));
                let goes = release || matches!(output, Output::Ask(Request::Yield | Request::Leave));
                if goes && campaign.lease().is_some() {
                    return Err(format!("c{node} leads and says {output:?}"));
                }
                if release && self.working[*node] {
                    return Err(format!("c{node} releases while its work is still running"));
                }
                if matches!(output, Output::Ask(Request::Publish(_))) && campaign.state() == State::Closed {
                    return Err(format!("c{node} is closed but emits {output:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

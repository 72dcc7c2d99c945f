//! I2.

use incumbent_core::Token;
use incumbent_core::campaign::State;
use incumbent_core::candidacy::{Output, Rule};

use super::Oracle;
use super::known::ReportedTerm;
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct ReportedAndInTime {
    reported: Vec<Option<Token>>,
}

impl ReportedAndInTime {
    pub(super) fn new(count: usize) -> Self {
        Self { reported: vec![None; count] }
    }
}

impl<R: Rule> Oracle<R> for ReportedAndInTime {
    fn states(&self) -> (&'static str, &'static str) {
        ("I2", "is_leader implies a reported term that has not ended, and a clock before its deadline.")
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Ends, Seen::Handled, Seen::Reported, Seen::Drained]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } | Observation::Ends { node } => self.reported[*node] = None,
            Observation::Handled { node, clock, campaign, .. } => {
                let lease = campaign.lease();
                let leads = campaign.is_leader(*clock);
                if leads != lease.is_some_and(|lease| *clock < lease.deadline) {
                    return Err(format!("c{node} answers {leads} at {clock:?} with {lease:?}"));
                }
                if leads != matches!(campaign.state(), State::Leading | State::Draining) && leads {
                    return Err(format!("c{node} leads and is {:?}", campaign.state()));
                }
            }
            Observation::Output { node, campaign, output, .. } => {
                match output.event().and_then(ReportedTerm::of) {
                    Some(ReportedTerm::Won(term)) => self.reported[*node] = Some(term.token),
                    Some(ReportedTerm::Lost(_)) => self.reported[*node] = None,
                    None => {}
                }
                // Once all outputs have been emitted, the leader has reported its win.
                let drained = matches!(output, Output::WakeAt(_));
                let lease = campaign.lease().map(|lease| lease.token);
                if drained && lease != self.reported[*node] {
                    return Err(format!("c{node} reported {:?} and holds {lease:?}", self.reported[*node]));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

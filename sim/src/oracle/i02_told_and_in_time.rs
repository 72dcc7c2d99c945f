//! I2.

use incumbent_core::Token;
use incumbent_core::campaign::State;

use super::Oracle;
use super::known::{Told, told};
use crate::moment::{Moment, View};

pub(super) struct ToldAndInTime {
    told: Vec<Option<Token>>,
}

impl ToldAndInTime {
    pub(super) fn new(count: usize) -> Self {
        Self { told: vec![None; count] }
    }
}

impl Oracle for ToldAndInTime {
    fn states(&self) -> (&'static str, &'static str) {
        ("I2", "is_leader implies a told, unended term and a clock before its deadline.")
    }

    fn see(&mut self, _: &View<'_>, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begins { node, .. } | Moment::Ends { node } => self.told[*node] = None,
            Moment::Stands { node, clock, campaign, .. } => {
                let lease = campaign.lease();
                let leads = campaign.is_leader(*clock);
                if leads != lease.is_some_and(|lease| *clock < lease.deadline) {
                    return Err(format!("c{node} answers {leads} at {clock:?} with {lease:?}"));
                }
                if leads != matches!(campaign.state(), State::Leading | State::Draining) && leads {
                    return Err(format!("c{node} leads and is {:?}", campaign.state()));
                }
            }
            Moment::Says { node, campaign, output, .. } => {
                match told(output) {
                    Some(Told::Won(term)) => self.told[*node] = Some(term.token),
                    Some(Told::Lost(_)) => self.told[*node] = None,
                    None => {}
                }
                // Once all outputs are out, the leader has reported its win.
                let drained = matches!(output, incumbent_core::campaign::Output::WakeAt(_));
                let lease = campaign.lease().map(|lease| lease.token);
                if drained && lease != self.told[*node] {
                    return Err(format!("c{node} was told {:?} and holds {lease:?}", self.told[*node]));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

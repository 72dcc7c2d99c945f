//! I5.

use incumbent_core::campaign::{Event, State};
use incumbent_core::candidacy::{Output, Rule};

use super::Oracle;
use crate::observation::{Observation, Seen, View};

#[derive(Debug)]
pub(super) struct Alternate {
    leads: Vec<bool>,
    closed: Vec<bool>,
}

impl Alternate {
    pub(super) fn new(count: usize) -> Self {
        Self { leads: vec![false; count], closed: vec![false; count] }
    }

    fn event(&mut self, node: usize, event: &Event) -> Result<(), String> {
        if self.closed[node] {
            return Err(format!("c{node} is closed but reports {event:?}"));
        }
        let leads = &mut self.leads[node];
        match event {
            Event::Won(_) if *leads => return Err(format!("c{node} won twice")),
            Event::Won(_) => *leads = true,
            Event::Draining { .. } if !*leads => {
                return Err(format!("c{node} drains but does not lead"));
            }
            Event::Lost { .. } if !*leads => {
                return Err(format!("c{node} reports the loss of a term that it did not win"));
            }
            Event::Lost { .. } => *leads = false,
            Event::StateChanged(State::Closed) if *leads => {
                return Err(format!("c{node} closed without losing its term"));
            }
            Event::StateChanged(State::Closed) => self.closed[node] = true,
            _ => {}
        }
        Ok(())
    }
}

impl<R: Rule> Oracle<R> for Alternate {
    fn states(&self) -> (&'static str, &'static str) {
        (
            "I5",
            "Won and Lost alternate. Each Won gets exactly one Lost, also on close, and when its deadline passes.",
        )
    }

    fn sees(&self) -> &'static [Seen] {
        &[Seen::Begins, Seen::Reported, Seen::Drained]
    }

    fn observe(&mut self, _: &View<'_>, observation: &Observation<'_, R>) -> Result<(), String> {
        match observation {
            Observation::Begins { node, .. } => (self.leads[*node], self.closed[*node]) = (false, false),
            Observation::Output { node, campaign, output } => {
                if let Some(event) = output.event() {
                    self.event(*node, event)?;
                }
                if let Output::WakeAt(wake) = output
                    && let Some(lease) = campaign.lease()
                    && wake.is_none_or(|wake| wake.at > lease.deadline)
                {
                    return Err(format!(
                        "c{node} has no wake-up at the end of its term: {lease:?}, {wake:?}"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

//! Waiting until a candidate has settled.

use incumbent::{Candidate, Event, State};

/// Waits until the candidate either waits for a leader or leads.
pub(crate) async fn settles(candidate: &Candidate) {
    let mut events = candidate.events();
    loop {
        let is_settled = match candidate.state() {
            State::Leading => true,
            State::Waiting => candidate.leader().is_some(),
            _ => false,
        };
        if is_settled {
            return;
        }
        while !matches!(events.next().await, Some(Event::StateChanged(_) | Event::LeaderChanged(_))) {}
    }
}

//! What every candidate reports only once: its state, the leader that it knows, and the faults of its store.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::campaign::{Event, Leader, State, Warning};
use crate::store::{Fault, FaultKind};

/// The number of faults that are reported until the store answers as it should. Without a limit, a store whose texts
/// keep changing could be reported without end.
const MAX_FAULTS: usize = 8;

/// The latest reports of a candidate.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    state: State,
    leader: Option<Leader>,
    /// The faults reported since the store last answered as it should.
    faults: Option<Box<Faults>>,
}

/// The faults are kept in a box, because most candidates have none.
#[derive(Clone, Debug, Default)]
struct Faults(Vec<Fault>);

/// Nothing was reported yet, and being idle needs no report.
impl Default for Reports {
    fn default() -> Self {
        Self { state: State::Idle, leader: None, faults: None }
    }
}

impl Reports {
    /// Reports a change of state.
    pub(crate) fn state(&mut self, state: State) -> Option<Event> {
        let is_news = core::mem::replace(&mut self.state, state) != state;
        is_news.then_some(Event::StateChanged(state))
    }

    /// Reports another leader; `is_same` compares two leaders.
    pub(crate) fn leader(
        &mut self,
        leader: Option<Leader>,
        is_same: impl Fn(&Leader, &Leader) -> bool,
    ) -> Option<Event> {
        let same = match (&self.leader, &leader) {
            (Some(before), Some(now)) => is_same(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        (!same).then(|| {
            self.leader.clone_from(&leader);
            Event::LeaderChanged(leader)
        })
    }

    /// The leader that was reported last.
    pub(crate) fn known_leader(&self) -> Option<&Leader> {
        self.leader.as_ref()
    }

    /// Reports a fault once. If the store is unreachable, only the first report counts, whatever the message.
    pub(crate) fn fault(&mut self, fault: Fault) -> Option<Event> {
        let is_same = |reported: &Fault| {
            let is_outage = fault.kind == FaultKind::Unreachable;
            reported.kind == fault.kind && (is_outage || reported.detail == fault.detail)
        };
        let Faults(faults) = &mut **self.faults.get_or_insert_default();
        if faults.len() >= MAX_FAULTS || faults.iter().any(is_same) {
            return None;
        }
        faults.push(fault.clone());
        Some(Event::Warning(Warning::Store(fault)))
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.faults.as_ref().is_none_or(|faults| faults.0.len() <= MAX_FAULTS)
    }

    /// Notes that the store answered as it should, so that any later fault counts as a new one.
    pub(crate) fn is_well(&mut self) {
        self.faults = None;
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn fault(kind: FaultKind, detail: &str) -> Fault {
        Fault { kind, detail: detail.to_string() }
    }

    #[test]
    fn a_fault_is_reported_once_by_kind_and_text_until_the_store_is_well() {
        let mut reports = Reports::default();
        let (full, denied) = (fault(FaultKind::Broken, "full"), fault(FaultKind::Denied, "full"));
        let said = |fault: &Fault| Some(Event::Warning(Warning::Store(fault.clone())));
        assert_eq!(reports.fault(full.clone()), said(&full));
        assert_eq!(reports.fault(full.clone()), None);
        assert_eq!(reports.fault(denied.clone()), said(&denied));
        reports.is_well();
        assert_eq!(reports.fault(full.clone()), said(&full));
    }

    #[test]
    fn a_store_that_cannot_be_reached_is_reported_once_whatever_is_said_of_it() {
        let mut reports = Reports::default();
        assert!(reports.fault(fault(FaultKind::Unreachable, "no answer")).is_some());
        assert_eq!(reports.fault(fault(FaultKind::Unreachable, "no route")), None);
    }

    #[test]
    fn no_more_than_eight_faults_are_reported_before_the_store_is_well() {
        let mut reports = Reports::default();
        let texts = (0..20).map(|number| number.to_string());
        let reported = texts.filter(|text| reports.fault(fault(FaultKind::Broken, text)).is_some());
        assert_eq!(reported.count(), 8);
    }

    #[test]
    fn a_state_is_reported_when_it_is_another_and_idle_is_no_news() {
        let mut reports = Reports::default();
        assert_eq!(reports.state(State::Idle), None);
        assert_eq!(reports.state(State::Waiting), Some(Event::StateChanged(State::Waiting)));
        assert_eq!(reports.state(State::Waiting), None);
    }
}

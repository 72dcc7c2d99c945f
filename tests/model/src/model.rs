//! The world as a model that `stateright` explores.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use stateright::{Model, Property as Checked};

use crate::action::{Action, enabled};
use crate::property::{Property, vacancy};
use crate::state::State;
use crate::step::step;
use crate::world::{Budget, Start, World};

/// A world, and the findings about it that are no property.
#[derive(Clone, Debug)]
pub(crate) struct Small {
    pub(crate) world: World,
    pub(crate) found: Arc<Found>,
}

/// The maxima of the exploration.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Terms reported in one run.
    pub(crate) terms: AtomicU32,
    /// Seconds without a leader when there are no further faults.
    pub(crate) vacancy: AtomicU32,
}

impl Small {
    pub(crate) fn new(world: &World) -> Self {
        Self { world: world.clone(), found: Arc::default() }
    }

    /// The state in which the world begins.
    fn begin(&self) -> State {
        let world = &self.world;
        let mut state = State::empty(world);
        if world.start == Start::Empty {
            return state;
        }
        (state.left, state.fault_free) = (Budget { start: 3, ..Budget::NONE }, true);
        for place in 0..world.candidates {
            state = step(world, &state, Action::Start(place), None);
            // All actions before time passes.
            loop {
                let mut actions = Vec::new();
                enabled(world, &state, &mut actions);
                actions.retain(|action| !matches!(action, Action::Start(_) | Action::Pass(_)));
                let Some(action) = actions.first() else { break };
                state = step(world, &state, *action, None);
            }
        }
        State { left: world.budget, fault_free: false, passed: true, terms: 0, ..state }
    }

    fn a_candidate_leads(&self, state: &State) -> bool {
        if !state.passed || state.broken.is_some() {
            return true;
        }
        let vacancy = vacancy(&self.world, state);
        self.found.vacancy.fetch_max(*vacancy.as_ref().unwrap_or(&0), Ordering::Relaxed);
        self.found.terms.fetch_max(state.terms.into(), Ordering::Relaxed);
        vacancy.is_ok()
    }
}

/// A property that the steps check.
macro_rules! checked {
    ($($property:ident),*) => {
        vec![$(Checked::always(Property::$property.name(), |_, state: &State| {
            state.broken.as_ref().is_none_or(|broken| broken.property != Property::$property)
        })),*]
    };
}

impl Model for Small {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.begin()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        enabled(&self.world, state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        Some(step(&self.world, state, action, None))
    }

    fn properties(&self) -> Vec<Checked<Self>> {
        let mut properties = checked![I1, I2, I3, I4, I5, I7, I8, I9, I11, I12, Keeps, Contract];
        properties.push(Checked::always(Property::I15.name(), Self::a_candidate_leads));
        properties
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::liveness;

    fn quiet() -> Small {
        Small::new(&crate::worlds::worlds().remove(0))
    }

    #[test]
    fn a_led_world_begins_with_the_first_candidate_leading_and_observed_by_the_rest() {
        let model = quiet();
        let state = model.begin();
        assert_eq!(state.leaders(&model.world).collect::<Vec<_>>(), [0]);
        let names = state.nodes.iter().map(|node| {
            let leader = node.campaign.as_ref().and_then(|campaign| campaign.leader());
            leader.map(|leader| leader.name.clone())
        });
        assert!(names.into_iter().all(|name| name.as_deref() == Some("a")));
        assert!(state.net.is_empty());
    }

    #[test]
    fn a_state_without_faults_never_runs_out_of_actions() {
        let model = quiet();
        let mut state = liveness::without_faults(&model.world, &model.begin());
        for _ in 0..1000 {
            assert!(liveness::advance(&model.world, &mut state));
            assert!(state.broken.is_none(), "{:?}", state.broken);
        }
        assert!(state.now > model.world.horizon);
    }
}

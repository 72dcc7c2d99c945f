//! Explores a world to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use stateright::{Checker, HasDiscoveries, Model, Property as Checked};

use crate::action::enabled;
use crate::path;
use crate::property::Property;
use crate::state::State;
use crate::step::{begin, step};
use crate::store::{ActionOf, Store};
use crate::world::World;

/// The findings about a world.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The number of states reached, counting repetitions.
    pub states: u64,
    /// The number of different states reached.
    pub unique: u64,
    /// The longest chain of actions.
    pub depth: u64,
    /// The largest number of terms reported in one run, if a world counts them.
    pub terms: u64,
    /// The longest time without a leader, in seconds, from any state without further faults, if a world checks this
    /// time.
    pub vacancy: u64,
    /// The first property found to be broken, which ends the exploration.
    pub violation: Option<Violation>,
}

/// A broken property, and the path to the state in which it is broken.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The property.
    pub property: Property,
    /// The path, one line per action.
    pub path: String,
    /// Whether the core panicked. If so, the path is unknown.
    pub panicked: bool,
}

/// Explores a world to its end, or to the first broken property.
///
/// Takes one processor core and, per million states, a few seconds and a gigabyte. The same world gives the same
/// findings.
pub fn check<S: Store>(world: &World<S>) -> Findings {
    S::explore(world, None)
}

/// Explores a world up to `most` states. This is for rules that are broken on purpose, because a world may never end
/// with them.
pub fn check_up_to<S: Store>(world: &World<S>, most: usize) -> Findings {
    S::explore(world, Some(most))
}

/// Explores a world, up to `most` states.
pub(crate) fn explore<S: Store>(world: &World<S>, most: Option<usize>) -> Findings {
    let model = Small { world: world.clone(), found: Arc::default() };
    let found = model.found.clone();
    let mut builder = model.checker().finish_when(HasDiscoveries::AnyFailures);
    if let Some(most) = most {
        builder = builder.target_state_count(most);
    }
    let mut checker = builder.spawn_bfs();
    let panicked = checker.handles().into_iter().any(|thread| thread.join().is_err());
    let violation = match checker.discoveries().into_values().next() {
        Some(path) => {
            let (property, path) = path::render(world, path);
            Some(Violation { property, path, panicked: false })
        }
        None if panicked => {
            let path = String::from("the core panicked; its message is on standard error\n");
            Some(Violation { property: Property::Contract, path, panicked: true })
        }
        None => None,
    };
    Findings {
        states: checker.state_count() as u64,
        unique: checker.unique_state_count() as u64,
        depth: checker.max_depth() as u64,
        terms: found.terms.load(Ordering::Relaxed).into(),
        vacancy: found.vacancy.load(Ordering::Relaxed).into(),
        violation,
    }
}

/// A world as a model for `stateright` to explore, and the findings other than broken properties.
struct Small<S: Store> {
    world: World<S>,
    found: Arc<Found>,
}

/// The maxima of the exploration.
#[derive(Debug, Default)]
struct Found {
    terms: AtomicU32,
    vacancy: AtomicU32,
}

impl<S: Store> Small<S> {
    /// All properties are a single one for `stateright`, so that the exploration ends with the first state in which any
    /// is broken.
    fn holds(&self, state: &State<S>) -> bool {
        if state.broken.is_some() {
            return false;
        }
        let vacancy = S::vacancy(&self.world, state);
        self.found.vacancy.fetch_max(*vacancy.as_ref().unwrap_or(&0), Ordering::Relaxed);
        self.found.terms.fetch_max(state.store.terms().into(), Ordering::Relaxed);
        vacancy.is_ok()
    }
}

impl<S: Store> Model for Small<S> {
    type State = State<S>;
    type Action = ActionOf<S>;

    fn init_states(&self) -> Vec<State<S>> {
        vec![begin(&self.world)]
    }

    fn actions(&self, state: &State<S>, actions: &mut Vec<ActionOf<S>>) {
        enabled(&self.world, state, actions);
    }

    fn next_state(&self, state: &State<S>, action: ActionOf<S>) -> Option<State<S>> {
        Some(step(&self.world, state, action, None))
    }

    fn properties(&self) -> Vec<Checked<Self>> {
        vec![Checked::always("all", Self::holds)]
    }
}

//! The rule of a place in a queue, in small worlds that are explored to the end.
//!
//! Two or three candidates of ours share an election in a store like etcd: leases that expire by themselves and late, a
//! stale leader of the store that answers keep-alives, answers that are lost, transactions that are applied late, processes
//! that are stopped, clocks that drift, a foreign candidate, and an operator who deletes a place, revokes the lease that it
//! shows, or asks for a hand over. A lease is three ticks of the store's clock, with a margin only where clocks drift.
//! [`Part`] takes one part of the rule away, from the outside; then two candidates lead.

mod action;
mod state;
mod step;
mod store;
mod world;

use std::sync::Arc;

use stateright::{Checker, HasDiscoveries, Model, Property as Checked};

pub use world::{Part, QueueWorld, queue_worlds};

use action::{Action, enabled};
use state::State;
use step::step;

/// The properties, by their names.
const PROPERTIES: [&str; 5] = ["I1", "I4", "I5", "I17", "contract"];

/// The findings in a world.
#[derive(Clone, Debug)]
pub struct QueueFindings {
    /// The number of different states.
    pub unique: u64,
    /// The largest number of actions one after another.
    pub depth: u64,
    /// The property that does not hold, with the actions that lead to it.
    pub violation: Option<(&'static str, String)>,
}

#[derive(Clone, Debug)]
struct Small(Arc<QueueWorld>);

impl Model for Small {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![step::begin(&self.0)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        enabled(state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        Some(step(&self.0, state, action, &mut Vec::new()))
    }

    fn properties(&self) -> Vec<Checked<Self>> {
        macro_rules! judged {
            ($($name:literal),*) => {
                vec![$(Checked::always($name, |_, state: &State| {
                    state.broken.as_ref().is_none_or(|(property, _)| *property != $name)
                })),*]
            };
        }
        judged!["I1", "I4", "I5", "I17", "contract"]
    }
}

/// Explores a world to its end, to the first property that does not hold, or to so many states.
pub fn check_queue(world: &QueueWorld, most: Option<usize>) -> QueueFindings {
    let model = Small(Arc::new(world.clone()));
    let mut builder = model.checker().finish_when(HasDiscoveries::AnyFailures);
    if let Some(most) = most {
        builder = builder.target_state_count(most);
    }
    let mut checker = builder.spawn_bfs();
    let panicked = checker.handles().into_iter().any(|thread| thread.join().is_err());
    let discovery = checker.discoveries().into_iter().min_by_key(|(_, path)| path.clone().into_vec().len());
    let violation = match discovery {
        Some((name, path)) => {
            let property = PROPERTIES.into_iter().find(|property| *property == name).unwrap_or("contract");
            Some((property, tell(world, path.into_actions())))
        }
        None if panicked => Some(("contract", "the core panicked; its message is on standard error".into())),
        None => None,
    };
    QueueFindings {
        unique: checker.unique_state_count() as u64,
        depth: checker.max_depth() as u64,
        violation,
    }
}

/// What happened, a line for each thing.
fn tell(world: &QueueWorld, actions: Vec<Action>) -> String {
    let mut state = step::begin(world);
    let mut lines = Vec::new();
    for action in actions {
        lines.push(format!("{:>3}  {action:?}", state.now));
        let mut log = Vec::new();
        state = step(world, &state, action, &mut log);
        lines.extend(log.into_iter().map(|line| format!("       {line}")));
    }
    if let Some((property, says)) = &state.broken {
        lines.push(format!("     {property}: {says}"));
    }
    lines.join("\n") + "\n"
}

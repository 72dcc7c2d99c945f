//! Induction over a consumer group, in small worlds that are explored.
//!
//! Two candidates of ours share a group. Its coordinator assigns, revokes and removes at any moment: a session or a
//! rebalance timeout, an operator, and a second process with the same static id all come to the same, a member that is
//! none any more and does not know it. Records are appended also where a removed member writes them, and late; commits are checked against
//! the membership that the client has when they arrive, and a group without members accepts those of a client that is
//! none. A lease is three ticks of the clock, with no margin. [`InductionPart`] takes one part of the rule away, from the
//! outside; then two candidates lead.

mod action;
mod script;
mod state;
mod step;
mod world;

use std::sync::Arc;

use stateright::{Checker, HasDiscoveries, Model, Property as Checked};

pub use script::late_release;
pub use world::{InductionPart, InductionWorld, induction_worlds};

use crate::queue::QueueFindings;
use action::{Action, enabled};
use state::State;
use step::step;

/// The properties, by their names.
const PROPERTIES: [&str; 7] = ["I1", "I3", "I4", "I5", "I8", "I12", "contract"];

#[derive(Clone, Debug)]
struct Small(Arc<InductionWorld>);

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
        judged!["I1", "I3", "I4", "I5", "I8", "I12", "contract"]
    }
}

/// Explores a world to its end, to the first property that does not hold, or to so many states.
pub fn check_induction(world: &InductionWorld, most: Option<usize>) -> QueueFindings {
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
            Some((property, path_in_words(world, path.into_actions())))
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

/// A line for each action, and for what the candidates took and asked for.
fn path_in_words(world: &InductionWorld, actions: Vec<Action>) -> String {
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

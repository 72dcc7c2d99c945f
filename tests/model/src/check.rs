//! Explores a world to its end.

use std::sync::atomic::Ordering;

use stateright::{Checker, HasDiscoveries, Model};

use crate::model::Small;
use crate::path;
use crate::property::Property;
use crate::world::World;

/// The findings in a world.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The number of states reached, repeated ones included.
    pub states: u64,
    /// The number of different states.
    pub unique: u64,
    /// The largest number of actions one after another.
    pub depth: u64,
    /// The most terms reported in one run.
    pub terms: u64,
    /// The longest time without a leader, in seconds, from any state without further faults.
    pub vacancy: u64,
    /// The first property found that does not hold. The exploration ends with it.
    pub violation: Option<Violation>,
}

/// A property that does not hold, and the path to the state.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The property.
    pub property: Property,
    /// The path, a line for each action.
    pub path: String,
    /// The core panicked, and the path is not known.
    pub panicked: bool,
}

/// Explores a world to its end, or to the first property that does not hold.
///
/// Takes a core and, for a million states, a few seconds and a gigabyte. The same world gives the same findings.
pub fn check(world: &World) -> Findings {
    explore(world, None)
}

/// The same, up to `most` states: for rules that are broken on purpose, with which a world may have no end in sight.
pub fn check_up_to(world: &World, most: usize) -> Findings {
    explore(world, Some(most))
}

fn explore(world: &World, most: Option<usize>) -> Findings {
    let model = Small::new(world);
    let found = model.found.clone();
    let mut builder = model.checker().finish_when(HasDiscoveries::AnyFailures);
    if let Some(most) = most {
        builder = builder.target_state_count(most);
    }
    let mut checker = builder.spawn_bfs();
    let panicked = checker.handles().into_iter().any(|thread| thread.join().is_err());
    let discovery = checker.discoveries().into_iter().min_by_key(|(_, path)| path.clone().into_vec().len());
    let violation = match discovery {
        Some((name, path)) => {
            let property = Property::ALL.into_iter().find(|property| property.name() == name);
            let property = property.unwrap_or(Property::Contract);
            Some(Violation { property, path: path::render(world, property, path), panicked: false })
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

//! Helpers for the tests of all worlds.

use incumbent_model::{Property, Store, World, check, check_up_to};

/// The world of this name.
pub(crate) fn named<S: Store>(worlds: Vec<World<S>>, name: &str) -> World<S> {
    worlds.into_iter().find(|world| world.name() == name).unwrap_or_else(|| panic!("no world {name}"))
}

/// Explores a world to its end, and checks that every property holds.
pub(crate) fn holds<S: Store>(world: &World<S>) {
    let found = check(world);
    println!("{}: {} states, depth {}", world.name(), found.unique, found.depth);
    if let Some(violation) = found.violation {
        panic!("{:?} does not hold in {}\n{}", violation.property, world.name(), violation.path);
    }
}

/// Checks that the world breaks the expected property, and that the printed path shows how.
pub(crate) fn breaks<S: Store>(world: &World<S>, expected: Property) {
    let found = check_up_to(world, 3_000_000);
    println!("{} states", found.unique);
    match found.violation {
        Some(violation) if violation.property == expected => println!("{}", violation.path),
        other => panic!("{other:?}"),
    }
}

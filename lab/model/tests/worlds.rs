//! The tests of the worlds.

use std::collections::BTreeSet;

use incumbent_model::{Property, check, worlds};

#[test]
fn every_world_has_a_name_of_its_own_and_says_what_bounds_it() {
    let worlds = worlds();
    let names: BTreeSet<_> = worlds.iter().map(|world| world.name()).collect();
    assert_eq!(names.len(), worlds.len());
    for world in &worlds {
        assert!(world.bounds().contains("candidates") && !world.about().is_empty(), "{}", world.name());
    }
}

#[test]
fn a_world_is_the_same_each_time_it_is_explored() {
    let Some(world) = worlds().into_iter().find(|world| world.name() == "delete unseen") else {
        unreachable!("there is such a world")
    };
    let (one, other) = (check(&world), check(&world));
    assert!(one.violation.is_none());
    assert_eq!((one.states, one.unique, one.depth), (other.states, other.unique, other.depth));
}

#[test]
fn every_property_has_a_name_of_its_own() {
    assert_eq!(
        Property::ALL.map(Property::name).into_iter().collect::<BTreeSet<_>>().len(),
        Property::ALL.len()
    );
}

#[test]
fn the_documentation_names_every_world_with_its_bounds() {
    let page = include_str!("../../../docs/internals/model.md");
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), worlds().len());
    for (row, world) in rows.iter().zip(worlds()) {
        let begins = format!("| `{}` | {} | {} |", world.name(), world.about(), world.bounds());
        assert!(row.starts_with(&begins), "{row}\nis not\n{begins}");
    }
}

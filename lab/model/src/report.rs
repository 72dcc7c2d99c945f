//! The findings, as lines of a table or of JSON.

use std::time::Duration;

use incumbent_model::{Findings, Key, Property, World};
use serde_json::json;

/// The head of the table.
pub(crate) fn head() -> String {
    let row = row("world", "states", "unique", "depth", "terms", "vacant", "time");
    format!("{row}  bounds")
}

/// One world's line.
pub(crate) fn line(world: &World<Key>, found: &Findings, took: Duration) -> String {
    let row = row(
        world.name(),
        &found.states.to_string(),
        &found.unique.to_string(),
        &found.depth.to_string(),
        &found.terms.to_string(),
        &format!("{} s", found.vacancy),
        &format!("{:.1} s", took.as_secs_f64()),
    );
    let mut text = format!("{row}  {}", world.bounds());
    if let Some(violation) = &found.violation {
        text += &format!("\n{} does not hold:\n{}", violation.property.name(), violation.path);
    }
    text
}

fn row(
    world: &str,
    states: &str,
    unique: &str,
    depth: &str,
    terms: &str,
    vacant: &str,
    time: &str,
) -> String {
    format!("{world:<13} {states:>10} {unique:>10} {depth:>6} {terms:>6} {vacant:>7} {time:>8}")
}

/// One world's line for machines.
pub(crate) fn json(world: &World<Key>, found: &Findings, took: Duration) -> String {
    let violation = found.violation.as_ref().map(|violation| {
        json!({
            "property": violation.property.name(),
            "states": violation.property.states(),
            "path": violation.path,
        })
    });
    // The exploration ends with the first broken property, so nothing is known about other properties.
    let checked = World::<Key>::properties().iter().copied().map(Property::name);
    let held: Vec<_> = if violation.is_none() { checked.collect() } else { Vec::new() };
    json!({
        "world": world.name(),
        "bounds": world.bounds(),
        "states": found.states,
        "unique": found.unique,
        "depth": found.depth,
        "terms": found.terms,
        "vacancy_secs": found.vacancy,
        "secs": took.as_secs_f64(),
        "held": held,
        "violation": violation,
    })
    .to_string()
}

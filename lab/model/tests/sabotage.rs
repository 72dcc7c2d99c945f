//! The checker can fail: if an assumption is broken, it reports the broken promise and the path.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic; it says why")]

use incumbent_model::{Key, Property, Violation, World, check, worlds};

fn world(name: &str) -> World<Key> {
    worlds().into_iter().find(|world| world.name() == name).unwrap_or_else(|| panic!("no world {name}"))
}

fn violation(world: &World<Key>) -> Violation {
    check(world).violation.unwrap_or_else(|| panic!("{} holds", world.name()))
}

#[test]
fn a_record_that_vanishes_a_second_too_early_makes_two_leaders() {
    let found = violation(&world("pause").expiring_early(2));
    assert_eq!(found.property, Property::I1);
    let told = found.path.lines().filter(|line| line.contains("b reports WON")).count();
    assert_eq!(told, 1, "{}", found.path);
    assert!(found.path.contains("a and b lead at once"), "{}", found.path);
}

#[test]
fn a_record_that_vanishes_as_early_as_the_settings_allow_makes_none() {
    assert!(check(&world("quiet").expiring_early(1)).violation.is_none());
    assert!(check(&world("loss").expiring_early(1)).violation.is_none());
}

#[test]
fn a_clock_slower_than_the_setting_makes_two_leaders() {
    // The margin allows for the drift of two clocks. In this world the second clock, the server's, does not drift.
    let found = violation(&world("pause").with_a_slow_clock(24_000));
    assert_eq!(found.property, Property::I1);
    assert!(found.path.contains("lead at once"), "{}", found.path);
}

#[test]
fn what_a_watch_showed_before_the_campaign_began_and_that_is_forgotten_makes_two_leaders() {
    let found = violation(&world("shown early").forgetting_what_was_shown_early());
    assert_eq!(found.property, Property::I1);
    assert!(found.path.contains("AN OPERATOR PURGES the key"), "{}", found.path);
    assert!(found.path.contains("a and b lead at once"), "{}", found.path);
}

#[test]
fn without_any_time_to_fail_over_no_candidate_leads_in_time() {
    let found = violation(&world("delete").in_a_hurry());
    assert_eq!(found.property, Property::I15);
    assert!(found.path.contains("AN OPERATOR DELETES the key"), "{}", found.path);
}

#[test]
fn a_path_says_what_happened_a_line_each_with_its_time() {
    let found = violation(&world("pause").expiring_early(2));
    for line in found.path.lines().filter(|line| !line.trim_start().starts_with("I1")) {
        let (time, _) = line.split_once(" s  ").unwrap_or_else(|| panic!("{line:?} has no time"));
        assert!(time.trim().parse::<u32>().is_ok(), "{line:?}");
    }
}

//! Clocks that are unfit, stop for too long, or go back; and random numbers that repeat.

use super::guest::{Guest, compiled};
use super::host::{Hostile, SECOND};
use crate::bindings::exports::incumbent::election::elections::Error;
use crate::wit::events::{Event, WarningKind};

/// Two candidates of one instance, the second with this name, on an honest store and one clock, with the same random
/// numbers. Steps both until a lease and a half have passed; returns the events of the second.
fn both_on_one_clock(second: &str) -> Vec<Event> {
    let mut host = Hostile::new(1, 0);
    host.random = Some([11, 22, 33]);
    let began = host.now;
    let mut guest = Guest::campaign(&compiled(), host).unwrap();
    // Like the clock of a cloned machine.
    guest.store.data_mut().now = began;
    let candidates = [guest.election, guest.another(second)];
    let (mut reported, mut led) = (Vec::new(), 0);
    while guest.store.data().now < began + 2 * SECOND {
        guest.store.data_mut().now += SECOND / 100;
        for (place, candidate) in candidates.into_iter().enumerate() {
            let (_, events) = guest.step_of(candidate);
            if place == 1 {
                reported.extend(events);
            }
        }
        let leaders = candidates.map(|candidate| guest.is_leader_of(candidate));
        assert_ne!(
            leaders,
            [true, true],
            "both lead, {} ms after they began",
            (guest.store.data().now - began) / 1_000_000
        );
        led += u32::from(leaders[0]);
    }
    assert!(led > 50, "the first leads");
    reported
}

#[test]
fn a_host_whose_random_numbers_are_zero_or_equal_is_refused() {
    let compiled = compiled();
    for random in [[0, 0, 0], [7, 7, 7], [7, 0, 8], [7, 8, 7]] {
        let mut host = Hostile::new(1, 0);
        host.random = Some(random);
        let Err(Error::Refused(refused)) = Guest::campaign(&compiled, host) else {
            panic!("it campaigns with {random:?}")
        };
        assert_eq!(refused.setting, "random");
        assert!(refused.remedy.contains("operating system"), "{}", refused.remedy);
    }
}

#[test]
fn two_names_with_the_same_random_numbers_never_lead_at_once() {
    let events = both_on_one_clock("b");
    assert!(
        events.iter().any(|event| matches!(event, Event::LeaderChanged(Some(leader)) if leader.name == "a"))
    );
}

#[test]
fn two_candidates_alike_in_everything_never_lead_at_once_and_it_is_reported() {
    let events = both_on_one_clock("a");
    let is_reported = events.iter().any(|event| {
        matches!(event, Event::Warning(warning) if matches!(&warning.kind, WarningKind::SameNonce(name) if name == "a"))
    });
    assert!(is_reported, "{events:?}");
}

#[test]
fn a_clock_that_may_stand_still_in_a_suspension_is_refused_with_the_remedy() {
    let mut host = Hostile::new(1, 0);
    host.fit = false;
    let Err(Error::Refused(refused)) = Guest::campaign(&compiled(), host) else {
        panic!("it campaigns without a fit clock")
    };
    assert_eq!(refused.setting, "clock");
    assert!(refused.remedy.contains("CLOCK_BOOTTIME"), "{}", refused.remedy);
}

#[test]
fn the_first_answer_after_a_stall_longer_than_the_lease_is_that_it_does_not_lead() {
    let mut guest = Guest::campaign(&compiled(), Hostile::new(1, 0)).unwrap();
    guest.win();
    assert!(guest.is_leader());
    guest.store.data_mut().now += 2 * SECOND;
    assert!(!guest.is_leader(), "before any step");
    let (_, events) = guest.step();
    assert!(matches!(events.first(), Some(Event::Lost(_))), "{events:?}");
}

#[test]
fn a_clock_that_goes_back_after_a_deadline_gives_no_leadership_back() {
    let mut guest = Guest::campaign(&compiled(), Hostile::new(1, 0)).unwrap();
    guest.win();
    let before = guest.store.data().now;
    guest.store.data_mut().now += 2 * SECOND;
    assert!(!guest.is_leader());
    guest.store.data_mut().now = before;
    assert!(!guest.is_leader());
}

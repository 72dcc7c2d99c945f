//! Clocks that are unfit, stand still for too long, or go back.

use super::guest::{Guest, compiled};
use super::host::{Hostile, SECOND};
use crate::bindings::exports::incumbent::election::elections::Error;
use crate::wit::events::Event;

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

//! The order of events.

use super::guest::{Guest, compiled};
use super::host::Hostile;
use crate::bindings::incumbent::election::events::Event;
use crate::bindings::incumbent::election::records::Kind;

#[test]
fn the_end_of_a_term_is_told_before_the_seat_is_given_back() {
    let mut guest = Guest::campaign(&compiled(), Hostile::new(1, 0)).unwrap();
    guest.win();
    let elections = guest.world.incumbent_election_elections().candidate();
    elections.call_close(&mut guest.store, guest.election).unwrap();
    elections.call_drained(&mut guest.store, guest.election).unwrap();
    assert!(!guest.is_leader());
    let (wake, events) = guest.step();
    assert!(events.iter().any(|event| matches!(event, Event::Lost(_))), "{events:?}");
    let kind = |guest: &Guest| guest.store.data().key.as_ref().map(|message| message.kind);
    assert_eq!(kind(&guest), Some(Kind::Live), "whoever hears of it comes first");
    assert!(wake.unwrap() <= guest.store.data().now, "the next step is due at once");
    guest.step();
    assert_eq!(kind(&guest), Some(Kind::Tombstone));
}

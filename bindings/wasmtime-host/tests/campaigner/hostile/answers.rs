//! Answers that are impossible, or that belong to another request.

use super::guest::{Guest, compiled};
use super::host::Hostile;
use crate::bindings::incumbent::election::events::{Event, Reason};
use crate::bindings::incumbent::election::stores::{Applied, Outcome};
use crate::bindings::incumbent::election::types::Fault;

/// The newest revision before the campaign begins.
const SEEN: u64 = 10;

fn applied(revision: u64) -> Outcome {
    Outcome::Applied(Applied { revision, incarnation: None })
}

fn leader() -> Guest {
    let mut host = Hostile::new(1, 0);
    host.sequence = SEEN;
    let mut guest = Guest::campaign(&compiled(), host).unwrap();
    guest.win();
    guest
}

/// Answers writes with `answers`, and goes on until the end of the next term.
fn lost_after(guest: &mut Guest, answers: impl IntoIterator<Item = Outcome>) -> Reason {
    guest.store.data_mut().answers.extend(answers);
    for _ in 0..1_000 {
        let (wake, events) = guest.step();
        for event in events {
            if let Event::Lost(lost) = event {
                assert!(!guest.is_leader());
                return lost.reason;
            }
        }
        let now = guest.store.data().now;
        guest.store.data_mut().now = now.max(wake.unwrap());
    }
    panic!("it leads for ever")
}

#[test]
fn an_acknowledgement_that_goes_back_ends_the_term() {
    let mut guest = leader();
    // The revision of the acquire was above it.
    assert_eq!(lost_after(&mut guest, [applied(SEEN - 1)]), Reason::StoreReset);
}

#[test]
fn a_renewal_that_is_never_answered_is_lost_at_its_deadline() {
    let mut guest = leader();
    assert_eq!(lost_after(&mut guest, (0..1_000).map(|_| Outcome::Unknown)), Reason::Expired);
}

#[test]
fn errors_for_longer_than_a_lease_end_the_term_and_nothing_else() {
    for fault in [Fault::Denied("no".into()), Fault::Broken("full".into()), Fault::Other("?".into())] {
        let mut guest = leader();
        let answers = (0..1_000).map(|_| Outcome::Failed(fault.clone()));
        assert_eq!(lost_after(&mut guest, answers), Reason::Expired);
    }
}

#[test]
fn the_largest_revision_there_is_ends_the_term_when_the_store_says_otherwise() {
    let mut guest = leader();
    let reason = lost_after(&mut guest, [applied(u64::MAX)]);
    assert!(matches!(reason, Reason::Expired | Reason::StoreReset), "{reason:?}");
}

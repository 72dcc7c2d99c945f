//! Answers that are impossible, that belong to another request, or that are longer than a candidate's record; and the
//! order of events and calls.

use wasmtime::Engine;
use wasmtime::component::Component;

use super::guest::{Guest, compiled};
use super::host::{Asked, Hostile, SECOND};
use crate::bindings::incumbent::election::kv::Change;
use crate::wit::events::{Event, Reason, WarningKind};
use crate::wit::records::{Kind, Message};
use crate::wit::stores::{Applied, Outcome};
use crate::wit::types::Fault;

/// The newest revision before the campaign begins.
const NEWEST: u64 = 10;

fn applied(revision: u64) -> Outcome {
    Outcome::Applied(Applied { revision, incarnation: None })
}

fn leader() -> Guest {
    let mut host = Hostile::new(1, 0);
    host.sequence = NEWEST;
    let mut guest = Guest::campaign(&compiled(), host).unwrap();
    guest.win();
    guest
}

/// Answers writes with `answers`, and steps until the next term ends.
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
    panic!("its term does not end")
}

#[test]
fn an_acknowledgement_that_goes_back_ends_the_term() {
    let mut guest = leader();
    // The revision of the acquire was larger.
    assert_eq!(lost_after(&mut guest, [applied(NEWEST - 1)]), Reason::StoreReset);
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

#[test]
fn the_end_of_a_term_is_reported_before_the_lease_is_released() {
    let mut guest = Guest::campaign(&compiled(), Hostile::new(1, 0)).unwrap();
    guest.win();
    let elections = guest.world.incumbent_election_elections().candidate();
    elections.call_close(&mut guest.store, guest.election).unwrap();
    elections.call_drained(&mut guest.store, guest.election).unwrap();
    assert!(!guest.is_leader());
    let (wake, events) = guest.step();
    assert!(events.iter().any(|event| matches!(event, Event::Lost(_))), "{events:?}");
    let kind = |guest: &Guest| guest.store.data().key.as_ref().map(|message| message.kind);
    assert_eq!(kind(&guest), Some(Kind::Live), "the user learns of it first");
    assert!(wake.unwrap() <= guest.store.data().now, "the next step is due at once");
    guest.step();
    assert_eq!(kind(&guest), Some(Kind::Tombstone));
}

fn live(value: Vec<u8>, headers: Vec<(String, String)>, oversize: Option<u64>) -> Message {
    Message { revision: 1, kind: Kind::Live, value, headers, oversize }
}

/// Returns the events for a key with this message, before and after its deletion.
fn events_of(compiled: &(Engine, Component), message: Message) -> Vec<Event> {
    let mut host = Hostile::new(1, 0);
    (host.sequence, host.key) = (1, Some(message));
    let mut guest = Guest::campaign(compiled, host).unwrap();
    let mut reported = Vec::new();
    for _ in 0..200 {
        let (wake, events) = guest.step();
        reported.extend(events);
        let data = guest.store.data_mut();
        data.now = data.now.max(wake.unwrap().min(data.now + SECOND));
        assert!(!guest.is_leader(), "over a live record");
    }
    guest.store.data_mut().key = None;
    guest.win();
    reported
}

fn bytes_of(events: &[Event]) -> Vec<u64> {
    let bytes = |event: &Event| match event {
        Event::Warning(warning) => match &warning.kind {
            WarningKind::NotARecord(what) => Some(what.bytes),
            _ => None,
        },
        _ => None,
    };
    events.iter().filter_map(bytes).collect()
}

#[test]
fn a_message_that_the_host_leaves_out_is_reported_with_its_size_and_waited_for() {
    let events = events_of(&compiled(), live(Vec::new(), Vec::new(), Some(6_000_000)));
    assert_eq!(bytes_of(&events), [6_000_000]);
    let named = |event: &Event| matches!(event, Event::LeaderChanged(Some(leader)) if leader.name == "(not a candidate's name: 6000000 bytes)");
    assert!(events.iter().any(named), "{events:?}");
}

#[test]
fn a_message_that_a_host_should_have_left_out_is_reported_with_its_size_and_waited_for() {
    let compiled = compiled();
    assert_eq!(bytes_of(&events_of(&compiled, live(vec![b'x'; 300_000], Vec::new(), None))), [300_000]);
    let headers = (0..5_000).map(|n| (format!("Incumbent-Meta-{n:04}"), "12345".to_owned())).collect();
    assert_eq!(bytes_of(&events_of(&compiled, live(b"x".to_vec(), headers, None))), [5_000 * (19 + 5) + 1]);
}

/// The longest message that a host may pass in.
fn longest() -> Message {
    let headers = (0..8_192).map(|_| (String::new(), String::new())).collect();
    live(vec![b'x'; 65_536], headers, None)
}

#[test]
fn answers_of_the_longest_allowed_length_trap_no_component() {
    let compiled = compiled();
    for change in [Change::Vacant, Change::Message(longest())] {
        let mut host = Hostile::new(1, 0);
        (host.sequence, host.key) = (1, Some(longest()));
        let mut guest = Guest::campaign(&compiled, host).unwrap();
        // The guest begins its watch within these steps.
        for _ in 0..10 {
            guest.step();
        }
        // In sum more than the component's memory.
        guest.store.data_mut().changes = Some((100, change));
        for _ in 0..4 {
            guest.step();
            assert!(!guest.is_leader(), "over a live record");
        }
        assert_eq!(guest.store.data().changes.as_ref().map(|(left, _)| *left), Some(0));
    }
}

#[test]
fn a_message_of_too_many_headers_is_reported_with_its_size_and_waited_for() {
    let headers = |count| (0..count).map(|_| ("n".to_owned(), String::new())).collect();
    let compiled = compiled();
    assert_eq!(bytes_of(&events_of(&compiled, live(b"x".to_vec(), headers(8_193), None))), [8_194]);
    assert_eq!(bytes_of(&events_of(&compiled, live(b"x".to_vec(), headers(8_192), None))), [0u64; 0]);
}

#[test]
fn a_candidate_learns_the_leader_from_a_host_that_reports_no_revisions_and_has_no_watch() {
    let mut host = Hostile::new(1, 0);
    (host.names_revisions, host.watches) = (false, false);
    let mut guest = Guest::campaign(&compiled(), host).unwrap();
    while guest.store.data().asked.reads == 0 {
        let (wake, _) = guest.step();
        let data = guest.store.data_mut();
        data.now = data.now.max(wake.unwrap());
    }
    // Another candidate is faster.
    let data = guest.store.data_mut();
    (data.sequence, data.key) = (1, Some(live(b"other".to_vec(), Vec::new(), None)));
    let until = data.now + 2 * SECOND;
    let leader = loop {
        let (wake, events) = guest.step();
        let leader = events.into_iter().find_map(|event| match event {
            Event::LeaderChanged(leader) => leader,
            _ => None,
        });
        if let Some(leader) = leader {
            break leader;
        }
        let data = guest.store.data_mut();
        data.now = data.now.max(wake.unwrap());
        assert!(data.now < until, "it never learns the leader: {:?}", data.asked);
    };
    assert_eq!(leader.name, "other");
    assert_eq!(guest.store.data().asked, Asked { reads: 2, creates: 1 });
}

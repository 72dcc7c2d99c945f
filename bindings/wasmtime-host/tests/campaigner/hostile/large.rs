//! Values that are longer than a candidate's record.

use wasmtime::Engine;
use wasmtime::component::Component;

use super::guest::{Guest, compiled};
use super::host::{Hostile, SECOND};
use crate::wit::events::{Event, WarningKind};
use crate::wit::records::{Kind, Message};

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

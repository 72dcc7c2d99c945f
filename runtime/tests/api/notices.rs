//! User code that may block or panic, such as log subscribers and listeners, costs no term.

use std::sync::{Arc, Condvar, Mutex};

use incumbent::{Candidate, Store};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{LEASE, options, soon, until};

/// A gate that blocks threads until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    open: bool,
    held: usize,
}

impl Gate {
    /// Blocks the calling thread while the gate is shut.
    fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.held += 1;
        while !state.open {
            state = changed.wait(state).unwrap();
        }
    }

    fn is_holding(&self) -> bool {
        self.0.0.lock().unwrap().held > 0
    }

    fn open(&self) {
        let (state, changed) = &*self.0;
        state.lock().unwrap().open = true;
        changed.notify_all();
    }
}

impl Subscriber for Gate {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("incumbent")
    }

    fn event(&self, _: &Event<'_>) {
        self.pass();
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Waits until the leader's present term has been renewed for the length of a lease, while the gate blocks a thread.
async fn leads_on_beside(gate: &Gate, candidate: &Candidate) {
    let term = soon(candidate.next_term()).await.unwrap();
    until(|| gate.is_holding()).await;
    let goal = term.deadline() + LEASE;
    until(|| term.deadline() > goal).await;
    assert!(term.is_current());
    assert_eq!(candidate.term(), Some(term));
}

#[tokio::test]
async fn a_log_subscriber_that_blocks_for_longer_than_a_lease_costs_no_term() {
    let gate = Gate::default();
    let default = tracing::subscriber::set_default(gate.clone());
    let store = Store::open("memory:").await.unwrap();
    drop(default);
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    leads_on_beside(&gate, &candidate).await;
    gate.open();
    soon(store.close()).await.unwrap();
}

#[tokio::test]
async fn a_listener_of_writes_that_blocks_for_longer_than_a_lease_costs_no_term() {
    let gate = Gate::default();
    let held_up = gate.clone();
    let store = Store::builder().on_write(move |_| held_up.pass()).open("memory:").await.unwrap();
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    leads_on_beside(&gate, &candidate).await;
    gate.open();
    soon(store.close()).await.unwrap();
}

#[tokio::test]
async fn a_listener_of_writes_that_panics_costs_no_term() {
    let gate = Gate::default();
    let reported = gate.clone();
    gate.open();
    let listener = move |_: &incumbent::WriteEvent<'_>| {
        reported.pass();
        panic!("on purpose");
    };
    let store = Store::builder().on_write(listener).open("memory:").await.unwrap();
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    leads_on_beside(&gate, &candidate).await;
    soon(store.close()).await.unwrap();
}

#[tokio::test]
async fn a_store_is_closed_beside_a_log_subscriber_that_blocks() {
    let gate = Gate::default();
    let default = tracing::subscriber::set_default(gate.clone());
    let store = Store::open("memory:").await.unwrap();
    drop(default);
    let candidate = store.campaign("jobs", options("a")).await.unwrap();
    drop(soon(candidate.next_term()).await.unwrap());
    until(|| gate.is_holding()).await;
    soon(store.close()).await.unwrap();
    gate.open();
}

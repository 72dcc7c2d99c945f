//! A library that is unloaded while its process continues, and loaded again. One test only: it ends the engine of the process.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::sync::mpsc;
use std::time::Duration;

use incumbent_ffi::settings::{Dialect, Value, campaign, opening};
use incumbent_ffi::{Operation, Store, engine, log, retire};

const LIMIT: Duration = Duration::from_secs(60);

/// Waits for the answer as a language does, by a wake.
fn answer<T: Send + 'static>(operation: &Operation<T>) -> T {
    let (sender, woken) = mpsc::channel();
    if operation.ready().wake(Box::new(move || sender.send(()).unwrap())) {
        woken.recv_timeout(LIMIT).unwrap();
    }
    operation.take().unwrap().unwrap()
}

fn open() -> Store {
    answer(&Store::open(opening("memory:", Vec::new(), Dialect::PYTHON).unwrap()))
}

#[test]
fn a_store_opens_after_an_engine_has_retired_as_before() {
    let settings = || campaign(vec![("splay".to_owned(), Value::Number(0.0))], Dialect::PYTHON).unwrap();
    for _ in 0..2 {
        let store = open();
        assert!(log::keep().unwrap(), "the records of each engine want a thread of their own");
        let candidate = answer(&store.campaign("jobs".into(), settings()));
        assert!(answer(&candidate.next_term(None)).is_some());
        retire(LIMIT);
        assert!(!engine::is_running() && !candidate.is_leader());
        assert_eq!(log::take(), []);
    }
}

//! A clean shutdown before the process ends. One test only: a shutdown is final.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::time::{Duration, Instant};

use incumbent_ffi::settings::{Dialect, Value, campaign, opening};
use incumbent_ffi::{Reason, Store, engine, shut_down};

#[test]
fn a_process_that_ends_releases_its_keys_at_once_though_terms_are_held() {
    assert!(!engine::is_running());
    shut_down(Duration::from_secs(10));
    assert!(!engine::is_running(), "nothing was opened, so there was nothing to make");

    let dialect = Dialect::PYTHON;
    let opened = Store::open(opening("memory:", Vec::new(), dialect).unwrap());
    assert!(opened.ready().wait(Some(Duration::from_secs(60))));
    let store = opened.take().unwrap().unwrap();
    let settings =
        vec![("splay".to_owned(), Value::Number(0.0)), ("drain".to_owned(), Value::Number(3600.0))];
    let campaigned = store.campaign("jobs".into(), campaign(settings, dialect).unwrap());
    assert!(campaigned.ready().wait(Some(Duration::from_secs(60))));
    let candidate = campaigned.take().unwrap().unwrap();
    let won = candidate.next_term(None);
    assert!(won.ready().wait(Some(Duration::from_secs(60))));
    let hold = won.take().unwrap().unwrap().unwrap();

    let begun = Instant::now();
    shut_down(Duration::from_secs(60));
    assert_eq!(hold.term().reason(), Some(Reason::Closed));
    assert!(begun.elapsed() < Duration::from_secs(50), "it waited for the drain");
}

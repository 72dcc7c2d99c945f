//! Tests the accepted settings, and the errors for all others.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::time::Duration;

use incumbent_ffi::settings::{
    CAMPAIGN, Campaign, Dialect, LoopWatch, Value, campaign, init, loop_watch, opening,
};
use incumbent_ffi::{ErrorKind, Result};

const PYTHON: Dialect = Dialect::PYTHON;

fn read(settings: &[(&str, Value)]) -> Result<Campaign> {
    campaign(settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(), PYTHON)
}

fn refused(name: &str, value: Value) -> String {
    let error = read(&[(name, value)]).unwrap_err();
    assert_eq!(error.code, ErrorKind::InvalidSetting);
    error.message(PYTHON)
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn a_length_of_time_is_a_number_a_time_or_a_text() {
    for two in [Value::Number(2.0), Value::Time(Duration::from_secs(2)), text("2s"), text("2000ms")] {
        let shown = format!("{:?}", read(&[("lease", two)]).unwrap());
        assert!(shown.contains("lease: Some(2s)"), "{shown}");
    }
}

#[test]
fn a_bare_number_counts_what_the_language_counts() {
    let read = campaign(vec![("drain".into(), Value::Number(1500.0))], Dialect::NODE).unwrap();
    assert!(format!("{read:?}").contains("drain: 1.5s"), "{read:?}");
}

#[test]
fn a_value_that_is_no_length_of_time_is_refused_with_what_is() {
    let accepted =
        "must be a number of seconds or a timedelta, not negative; or a string such as \"10s\" or \"500ms\"";
    for (value, shown) in [
        (Value::Number(-1.0), "-1"),
        (Value::Number(f64::NAN), "NaN"),
        (Value::Number(1e300), "1000"),
        (text("soon"), "\"soon\""),
        (Value::Flag(true), "true"),
        (Value::List(Vec::new()), "a list"),
        (Value::Other("<object>".into()), "<object>"),
    ] {
        let message = refused("lease", value);
        assert!(message.starts_with(&format!("lease is {shown}")), "{message}");
        assert!(message.ends_with(accepted), "{message}");
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_one_that_was_meant() {
    let message = refused("leese", Value::Number(1.0));
    assert!(
        message.starts_with("a campaign has no setting \"leese\": did you mean lease? choose one of name, ")
    );
    let message = refused("colour", text("red"));
    assert!(message.starts_with("a campaign has no setting \"colour\": choose one of name, "), "{message}");
}

#[test]
fn nothing_means_the_default() {
    let defaults = format!("{:?}", read(&[]).unwrap());
    let nothing: Vec<_> = CAMPAIGN.iter().map(|name| (*name, Value::Nothing)).collect();
    assert_eq!(format!("{:?}", read(&nothing).unwrap()), defaults);
}

#[test]
fn words_and_numbers_are_read() {
    let read = read(&[
        ("preset", text("fast")),
        ("win_delay", text("cautious")),
        ("drift_ppm", Value::Number(20_000.0)),
        ("metadata", Value::Map(vec![("address".into(), text("10.0.0.7"))])),
    ]);
    let shown = format!("{:?}", read.unwrap());
    for part in ["Fast", "Cautious", "drift_ppm: 20000", "(\"address\", \"10.0.0.7\")"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_with_the_right_one() {
    for (name, value, message) in [
        ("name", Value::Number(7.0), "name is 7, and must be a string"),
        (
            "preset",
            text("slow"),
            "preset is \"slow\", and must be \"standard\", \"fast\" or \"go_compatible\"",
        ),
        ("drift_ppm", Value::Number(1.5), "drift_ppm is 1.5, and must be a whole number, not negative"),
        ("metadata", text("x"), "metadata is \"x\", and must be a map of strings"),
        (
            "metadata",
            Value::Map(vec![("port".into(), Value::Number(1.0))]),
            "metadata[\"port\"] is 1, and must be a string",
        ),
        ("backoff", Value::List(Vec::new()), "backoff is an empty list, and must have at least one wait"),
    ] {
        assert_eq!(refused(name, value), message);
    }
    let message = refused("win_delay", text("later"));
    assert!(
        message.starts_with("win_delay is \"later\", and must be \"automatic\", \"cautious\", or a number")
    );
}

#[test]
fn an_event_loop_may_hang_for_a_lease_for_a_given_time_or_for_any_time() {
    let read = |value| loop_watch(value, PYTHON).unwrap();
    assert_eq!([Value::Nothing, Value::Flag(true)].map(read), [LoopWatch::Lease; 2]);
    assert_eq!(read(Value::Flag(false)), LoopWatch::Off);
    let limit = LoopWatch::Limit(Duration::from_millis(100));
    assert_eq!([Value::Number(0.1), text("100ms")].map(read), [limit; 2]);
    let error = loop_watch(Value::Number(0.05), PYTHON).unwrap_err();
    assert_eq!(error.code, ErrorKind::InvalidSetting);
    assert_eq!(
        error.message(PYTHON),
        "watch_loop is 0.05, and must be true for the lease, false for off, or at least 100 ms: a number of \
         seconds or a timedelta, not negative; or a string such as \"10s\" or \"500ms\""
    );
}

#[test]
fn every_parameter_of_a_url_is_a_setting_too() {
    let limit = vec![("connect_timeout".to_owned(), Value::Number(1.5))];
    opening("etcd://a,b/app", limit, PYTHON).unwrap().check().unwrap();
    let map = vec![("poll".to_owned(), Value::Number(0.005)), ("create".to_owned(), Value::Flag(false))];
    assert!(opening("sqlite:e.db", map, PYTHON).is_ok());
    let error = opening("sqlite:e.db", vec![("pol".into(), Value::Number(1.0))], PYTHON).unwrap_err();
    assert_eq!(
        error.message(PYTHON),
        "a sqlite: store has no setting \"pol\": did you mean poll? choose one of create, poll, fuse, fail_fast, \
         expected_lease"
    );
    let error = opening("sqlite:e.db", vec![("poll".into(), Value::Number(0.0005))], PYTHON).unwrap_err();
    assert_eq!(error.message(PYTHON), "poll is 500µs, and must be a whole number of milliseconds");
}

#[test]
fn an_opening_does_not_show_what_the_url_holds() {
    let map = vec![("token".to_owned(), text("hunter2"))];
    let opening = opening("nats://ada:hunter2@localhost/B", map, PYTHON).unwrap();
    assert!(!format!("{opening:?}").contains("hunter2"));
}

#[test]
fn a_preparation_takes_its_own_settings_and_those_of_the_store() {
    let given = |settings: &[(&str, Value)]| {
        settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Vec<_>>()
    };
    let read = |url, settings: &[(&str, Value)]| init(url, given(settings), PYTHON);
    let all = [
        ("lease", Value::Number(5.0)),
        ("replicas", Value::Number(3.0)),
        ("max_bytes", Value::Number(1e6)),
        ("own_leases", Value::Flag(true)),
        ("new", Value::Flag(true)),
        ("creds", text("app.creds")),
    ];
    let shown = format!("{:?}", read("nats://h/B", &all).unwrap());
    for part in [
        "lease: Some(5s)",
        "replicas: Some(3)",
        "max_bytes: Some(1000000)",
        "own_leases: true",
        "never_used: true",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for (name, value, message) in [
        ("replicas", Value::Number(1.5), "replicas is 1.5, and must be a whole number"),
        ("update", text("yes"), "update is \"yes\", and must be true or false"),
        ("creds", text("x"), "the preparation of a sqlite: store has no setting \"creds\""),
    ] {
        let error = read("sqlite:e.db", &[(name, value)]).unwrap_err();
        assert_eq!(error.code, ErrorKind::InvalidSetting);
        assert!(error.to_string().starts_with(message), "{error}");
    }
}

#[test]
fn a_message_repeats_no_long_value_as_a_whole() {
    let message = refused("lease", text(&"x".repeat(100_000)));
    assert!(message.len() < 400 && message.contains("… (100000 bytes)"), "{message}");
}

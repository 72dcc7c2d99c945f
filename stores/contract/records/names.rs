//! Keys and names are checked before anything is sent.

use incumbent::ErrorKind;

use super::Fixture;

pub(crate) async fn ordinary_keys_and_names_are_accepted(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    for text in ["jobs", "jobs.nightly", "Jobs_2-b", "a"] {
        store.check_key(text).unwrap();
        store.check_name(text).unwrap();
    }
}

pub(crate) async fn keys_the_store_cannot_hold_are_refused(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    let long = "x".repeat(100_000);
    for key in ["", "a\nb", "a\0b", "a\n", " a", "a ", &long] {
        let error = store.check_key(key).expect_err(key);
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{error}");
    }
}

pub(crate) async fn names_the_store_cannot_hold_are_refused(fixture: &impl Fixture) {
    let store = fixture.connect().await;
    for name in ["", "a\nb", "a\0b", " a", "a "] {
        let error = store.check_name(name).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{error}");
    }
}

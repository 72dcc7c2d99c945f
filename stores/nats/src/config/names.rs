//! The keys, candidate names and buckets that NATS can hold.

use incumbent_store::{Error, ErrorKind, Result};

/// The longest key, in bytes. A server refuses protocol lines above 4 KiB by default
/// (`max_control_line`), and one line holds the bucket, the key and a reply subject.
const LONGEST_KEY: usize = 1024;
/// The longest candidate name, in bytes. A name is a record's value and, in a hand-over, a header.
const LONGEST_NAME: usize = 1024;

/// The rules of NATS key-value keys (its ADR-8): `A-Z a-z 0-9 - / _ = .`, tokens between dots not empty,
/// and nothing that begins with `_kv`.
pub(crate) fn check_key(key: &str) -> Result<()> {
    let refused = |why: &str| {
        let message = format!(
            "the key {key:?} cannot be stored by NATS: {why}; use letters, digits and any of - / _ = . \
             in 1 to {LONGEST_KEY} bytes"
        );
        Err(Error::new(ErrorKind::InvalidName, message))
    };
    if key.is_empty() {
        return refused("it is empty");
    }
    if key.len() > LONGEST_KEY {
        return refused("it is too long");
    }
    if let Some(c) = key.chars().find(|c| !(c.is_ascii_alphanumeric() || "-/_=.".contains(*c))) {
        return refused(&format!("it contains {c:?}"));
    }
    if key.split('.').any(str::is_empty) {
        return refused("it begins or ends with a dot, or has two in a row");
    }
    if key.starts_with("_kv") {
        return refused("names that begin with _kv are reserved");
    }
    Ok(())
}

/// The rules for a header's value, which a candidate's name must obey: servers trim surrounding white space, and a line
/// end terminates the value.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let refused = |why: &str| {
        let message = format!(
            "the candidate name {name:?} cannot be stored by NATS: {why}; use 1 to {LONGEST_NAME} bytes \
             of text without control characters or surrounding white space"
        );
        Err(Error::new(ErrorKind::InvalidName, message))
    };
    if name.is_empty() {
        return refused("it is empty");
    }
    if name.len() > LONGEST_NAME {
        return refused("it is too long");
    }
    if let Some(c) = name.chars().find(|c| c.is_control()) {
        return refused(&format!("it contains {c:?}"));
    }
    if name.trim() != name {
        return refused("white space around it would be lost");
    }
    Ok(())
}

/// The rules of NATS bucket names: `A-Z a-z 0-9 _ -`.
pub(crate) fn check_bucket(bucket: &str) -> Result<()> {
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !bucket.is_empty() && bucket.chars().all(valid) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidName,
        format!("{bucket:?} cannot be a NATS bucket's name; use letters, digits, _ and -"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_nats_can_hold_are_accepted() {
        for key in ["leader", "a.b.c", "jobs/nightly=1", "A-Z_09", "_k"] {
            assert!(check_key(key).is_ok(), "{key}");
        }
    }

    #[test]
    fn keys_that_nats_cannot_hold_are_refused_with_the_reason() {
        for (key, why) in [
            ("", "it is empty"),
            ("a b", "it contains ' '"),
            ("a.*", "it contains '*'"),
            (">", "it contains '>'"),
            ("a\r\nb", "it contains '\\r'"),
            ("schlüssel", "it contains 'ü'"),
            (".a", "it begins or ends with a dot"),
            ("a.", "it begins or ends with a dot"),
            ("a..b", "two in a row"),
            ("_kv.x", "reserved"),
            (&"k".repeat(1025), "it is too long"),
        ] {
            let error = check_key(key).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidName);
            assert!(error.message().contains(why), "{key:?}: {error}");
        }
    }

    #[test]
    fn any_printable_name_is_accepted() {
        for name in ["worker-7", "Zürich 2", "名前", "a:b"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn names_that_a_header_would_change_are_refused() {
        for name in ["", " a", "a ", "a\nb", "a\rb", "a\0b", &"n".repeat(1025)] {
            assert_eq!(check_name(name).unwrap_err().kind(), ErrorKind::InvalidName, "{name:?}");
        }
    }

    #[test]
    fn bucket_names_are_letters_digits_dashes_and_underscores() {
        assert!(check_bucket("Elections-2_x").is_ok());
        for bucket in ["", "a.b", "a b", "a/b", "é"] {
            assert_eq!(check_bucket(bucket).unwrap_err().kind(), ErrorKind::InvalidName, "{bucket:?}");
        }
    }
}

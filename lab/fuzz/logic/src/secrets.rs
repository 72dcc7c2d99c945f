//! URLs, lists of servers, and contexts as the `nats` tool stores them: any text is allowed, and no password is ever
//! shown.
//!
//! No output depends on a secret: the same input with two secrets must look the same.

use std::error::Error as _;
use std::fmt::Debug;

use incumbent::store::StoreSettings;
use incumbent::store::nats::NatsSettings;
use incumbent::{Error, ErrorKind, Result, fuzzing};

/// The fuzz target: a text in which a byte of value 1 represents a secret.
///
/// # Panics
/// If a secret is shown, or an error is of another kind than a URL's.
pub fn url(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let of_url = |text: &str| {
        let result = text.parse::<StoreSettings>();
        check_kind(result.as_ref().err().map(Error::kind));
        seen(&result)
    };
    let of_list = |text: &str| {
        let result = NatsSettings::new(text, "b");
        check_kind(result.as_ref().err().map(Error::kind));
        seen(&result)
    };
    if is_hidden_in_url(text) {
        check(text, of_url);
    } else {
        of_url(text);
    }
    if is_in_user_info(text) {
        check(text, of_list);
    } else {
        of_list(text);
    }
}

fn check_kind(kind: Option<ErrorKind>) {
    // A URL may name a context, and none exists here.
    let known = [ErrorKind::InvalidUrl, ErrorKind::InvalidName, ErrorKind::Authentication];
    assert!(kind.is_none_or(|kind| known.contains(&kind)), "{kind:?}");
}

/// Returns true if the only slot is where a server's URL has a password or a token.
fn is_hidden_in_url(text: &str) -> bool {
    let shown_as_they_are = ["sqlite:", "memory:"].iter().any(|scheme| text.starts_with(scheme));
    !shown_as_they_are && (is_in_user_info(text) || is_token(text))
}

/// Returns true if the slot is the value of the parameter `token`.
fn is_token(text: &str) -> bool {
    let Some((before, _)) = around(text) else { return false };
    let Some((place, query)) = before.split_once('?') else { return false };
    query.rsplit('&').next() == Some("token=") && !place.contains('#')
}

/// The beginnings of fields with secrets.
const HIDDEN: [&str; 4] = ["\"password\":\"", "\"token\":\"", "\"user_jwt\":\"", "\"user_seed\":\""];
const URL: &str = "\"url\":\"";

/// The fuzz target: a file in which a byte of value 1 represents a secret.
///
/// # Panics
/// If a secret is shown.
pub fn context(bytes: &[u8]) {
    let show = |bytes: &[u8]| seen(&fuzzing::context(bytes));
    match std::str::from_utf8(bytes) {
        Ok(text) if is_hidden_in_context(text) => check(text, |text| show(text.as_bytes())),
        _ => drop(show(bytes)),
    }
}

/// Returns true if the only slot is in the text of a secret field, or in a URL's password.
fn is_hidden_in_context(text: &str) -> bool {
    let Some((before, after)) = around(text) else { return false };
    let Some(quote) = before.rfind('"') else { return false };
    let (field, start) = before.split_at(quote + 1);
    let end = after.split('"').next().unwrap_or_default();
    if start.contains('\\') || end.contains('\\') {
        return false;
    }
    let is_secret = HIDDEN.iter().any(|name| field.ends_with(name));
    is_secret || (field.ends_with(URL) && is_in_user_info(&format!("{start}{SLOT}{end}")))
}

/// The place of a secret in an input. No URL and no JSON text can contain it.
const SLOT: char = '\u{1}';

/// Pairs of secrets that differ only in their text; the last pair would be valid ports.
const PAIRS: [[&str; 2]; 3] = [["hunter2", "s3cret9"], ["pa55%2Fword", "letm%2Fein7"], ["4815", "1623"]];

/// Checks that the output for an input is the same with every secret.
fn check(input: &str, show: impl Fn(&str) -> String) {
    for [one, other] in PAIRS {
        let shown = [one, other].map(|secret| show(&input.replace(SLOT, secret)));
        assert_eq!(shown[0], shown[1], "the secret of {input:?} is shown");
    }
}

/// All visible forms of a result.
fn seen<T: Debug>(result: &Result<T>) -> String {
    let mut text = format!("{result:?} {result:#?}");
    if let Err(error) = result {
        check_error(error);
        text.push_str(&error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(&format!(" {cause} {cause:?}"));
            source = cause.source();
        }
    }
    text
}

/// Checks that an error explains what is wrong.
fn check_error(error: &Error) {
    assert!(!error.message().is_empty(), "{error:?}");
}

/// The text before and after the slot, if there is exactly one.
fn around(text: &str) -> Option<(&str, &str)> {
    text.split_once(SLOT).filter(|(_, after)| !after.contains(SLOT))
}

/// Returns true if the only slot in this list of servers is in a password or a token: before an `@`, and not in a name
/// or another part that is shown.
fn is_in_user_info(list: &str) -> bool {
    let Some((before, after)) = around(list) else { return false };
    let Some((after, _)) = after.rsplit_once('@') else { return false };
    let schemes = ["nats://", "tls://", "wss://", "ws://"];
    let before = schemes.iter().fold(before.to_string(), |text, scheme| text.replace(scheme, ""));
    let item = before.rsplit(',').next().unwrap_or_default();
    let is_name = !item.contains(':') && after.contains(':');
    !before.contains(['/', '?', '#', '=']) && !after.contains([',', '=']) && !is_name
}

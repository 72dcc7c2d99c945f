//! No output depends on a secret: the same input with two secrets must look the same.

use std::error::Error as _;
use std::fmt::Debug;

use incumbent::{Error, Result};

/// The place of a secret in an input. No URL and no JSON text can contain it.
pub(crate) const SLOT: char = '\u{1}';

/// Pairs of secrets that differ only in their text; the last would be valid as a port.
const PAIRS: [[&str; 2]; 3] = [["hunter2", "s3cret9"], ["pa55%2Fword", "letm%2Fein7"], ["4815", "1623"]];

/// Checks that the output for an input is the same with every secret.
pub(crate) fn check(input: &str, show: impl Fn(&str) -> String) {
    for [one, other] in PAIRS {
        let shown = [one, other].map(|secret| show(&input.replace(SLOT, secret)));
        assert_eq!(shown[0], shown[1], "the secret of {input:?} is shown");
    }
}

/// All visible forms of a result.
pub(crate) fn seen<T: Debug>(result: &Result<T>) -> String {
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

/// The text before and after the slot, where there is exactly one.
pub(crate) fn around(text: &str) -> Option<(&str, &str)> {
    text.split_once(SLOT).filter(|(_, after)| !after.contains(SLOT))
}

/// Whether the only slot is, in this list of servers, in a password or a token: before an `@`, and not
/// in a name, nor in a part that is shown.
pub(crate) fn is_in_user_info(list: &str) -> bool {
    let Some((before, after)) = around(list) else { return false };
    let Some((after, _)) = after.rsplit_once('@') else { return false };
    let schemes = ["nats://", "tls://", "wss://", "ws://"];
    let before = schemes.iter().fold(before.to_string(), |text, scheme| text.replace(scheme, ""));
    let item = before.rsplit(',').next().unwrap_or_default();
    let is_name = !item.contains(':') && after.contains(':');
    !before.contains(['/', '?', '#', '=']) && !after.contains([',', '=']) && !is_name
}

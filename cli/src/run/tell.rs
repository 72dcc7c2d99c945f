//! Messages for a person.

use serde_json::json;

use crate::stderr;

/// Writes a message for a person.
pub(super) fn say(as_json: bool, message: &str) {
    if as_json {
        stderr::tell(json!({ "event": "warning", "message": message }));
    } else {
        stderr::tell(format_args!("incumbent: {message}"));
    }
}

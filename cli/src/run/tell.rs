//! What a person should read.

use serde_json::json;

use crate::stderr;

/// Says something that a person should read.
pub(super) fn say(as_json: bool, message: &str) {
    if as_json {
        stderr::tell(json!({ "event": "warning", "message": message }));
    } else {
        stderr::tell(format_args!("incumbent: {message}"));
    }
}

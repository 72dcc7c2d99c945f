//! What a person should read, or another program.

use serde_json::{Value, json};

use super::Elector;
use crate::stderr;

impl Elector {
    /// Something that a person should read.
    pub(super) fn warn(&self, message: &str) {
        say(self.as_json, message);
    }

    pub(super) fn tell(&self, event: Value) {
        if self.as_json {
            stderr::tell(event);
        } else {
            tracing::info!(target: "incumbent::run", "{event}");
        }
    }
}

/// Says something that a person should read.
pub(super) fn say(as_json: bool, message: &str) {
    if as_json {
        stderr::tell(json!({ "event": "trouble", "message": message }));
    } else {
        stderr::tell(format_args!("incumbent: {message}"));
    }
}

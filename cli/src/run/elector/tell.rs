//! What a person should read, or another program.

use std::io::Write;

use serde_json::{Value, json};

use super::Elector;

impl Elector {
    /// Something that a person should read.
    pub(super) fn warn(&self, message: &str) {
        say(self.as_json, message);
    }

    pub(super) fn tell(&self, event: Value) {
        if self.as_json {
            let _ = writeln!(std::io::stderr().lock(), "{event}");
        } else {
            tracing::info!("{event}");
        }
    }
}

/// Says something that a person should read.
pub(super) fn say(as_json: bool, message: &str) {
    // Nobody may be reading any more; that is no reason to end.
    let mut stderr = std::io::stderr().lock();
    let _ = if as_json {
        writeln!(stderr, "{}", json!({ "event": "trouble", "message": message }))
    } else {
        writeln!(stderr, "incumbent: {message}")
    };
}

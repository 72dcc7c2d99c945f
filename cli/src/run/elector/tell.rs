//! Messages for a person, or for another program.

use serde_json::Value;

use super::Elector;
use crate::run::tell::say;
use crate::stderr;

impl Elector {
    /// Writes a warning.
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

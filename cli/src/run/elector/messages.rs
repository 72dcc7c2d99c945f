//! Messages for a person, or for another program.

use serde_json::Value;

use super::Elector;
use crate::stderr;
use crate::stderr::warn;

impl Elector {
    /// Writes a warning.
    pub(super) fn warn(&self, message: &str) {
        warn(self.as_json, message);
    }

    pub(super) fn emit(&self, event: Value) {
        if self.as_json {
            stderr::report(event);
        } else {
            tracing::info!(target: "incumbent::run", "{event}");
        }
    }
}

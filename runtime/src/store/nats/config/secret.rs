//! A text that is never displayed.

use std::fmt;

/// A password or token. `Debug` hides it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::store::nats) struct Secret(String);

impl Secret {
    pub(in crate::store::nats) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, to be sent to the server only.
    pub(in crate::store::nats) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

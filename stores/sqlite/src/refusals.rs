//! What SQLite alone refuses of settings, and why: from `schema.toml`.

use std::time::Duration;

use incumbent_core::campaign::InvalidSettings;
use incumbent_core::text::Text;

// generated: refusals
/// Refuses a poll interval that is too short or too long.
pub(crate) fn poll(poll: Duration, least: Duration, most: Duration) -> InvalidSettings {
    InvalidSettings {
        setting: "poll",
        value: format!("{poll:?}"),
        limit: Text::from(format!("between {least:?} and {most:?}")),
        remedy: Text::from("each poll reads the file; a tenth of the lease is often enough"),
    }
}

/// Refuses the statement that a file is new, if the file has been written to.
pub(crate) fn not_new(count: u64) -> Text {
    Text::from(format!("it has been written to {count} times, so it is not new; leave `")).and(Text::setting("new")).and("` out")
}

/// Refuses a path that is not a file's.
pub(crate) fn no_file(path: &str) -> Text {
    Text::from(format!("{path} does not name a file; write sqlite:elections.db"))
}

// end of refusals

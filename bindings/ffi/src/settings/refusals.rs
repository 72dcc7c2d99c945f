//! The refusals of settings that a language passes, with their texts: from `bindings/schema/refusals.toml`.

use incumbent::text::Text;

// generated: refusals
/// Refuses an unknown setting.
pub(crate) fn unknown(what: &str, given: &str, known: Text) -> Text {
    Text::from(format!("{what} has no setting {given:?}: ")).and(known)
}

/// Refuses a setting that is given twice.
pub(crate) fn given_twice(name: &'static str) -> Text {
    Text::setting(name).and(" is given twice; give it once")
}

/// Refuses a value that is not a string.
pub(crate) fn no_text(name: &'static str, value: &str) -> Text {
    Text::setting(name).and(format!(" is {value}, and must be a string"))
}

/// Refuses a value that is neither true nor false.
pub(crate) fn no_flag(name: &'static str, value: &str) -> Text {
    Text::setting(name).and(format!(" is {value}, and must be true or false"))
}

/// Refuses a value that is not a duration.
pub(crate) fn no_length(name: &'static str, value: &str, lengths: &str) -> Text {
    Text::setting(name).and(format!(" is {value}, and must be {lengths}, not negative; or a string such as \"10s\" or \"500ms\""))
}

/// Refuses a value that is not a whole number.
pub(crate) fn no_whole(name: &'static str, value: &str) -> Text {
    Text::setting(name).and(format!(" is {value}, and must be a whole number, not negative"))
}

/// Refuses a duration that no URL can hold.
pub(crate) fn part_of_millisecond(name: &'static str, value: &str) -> Text {
    Text::setting(name).and(format!(" is {value}, and must be a whole number of milliseconds"))
}

/// Refuses a preset that does not exist.
pub(crate) fn no_preset(value: &str) -> Text {
    Text::setting("preset").and(format!(" is {value}, and must be \"standard\", \"fast\" or \"go_compatible\""))
}

/// Refuses an invalid win delay.
pub(crate) fn no_win_delay(value: &str, lengths: &str) -> Text {
    Text::setting("win_delay").and(format!(" is {value}, and must be \"automatic\", \"cautious\", or {lengths}, not negative; or a string such as \"10s\" or \"500ms\""))
}

/// Refuses an empty list of waits.
pub(crate) fn no_waits() -> Text {
    Text::setting("backoff").and(" is an empty list, and must have at least one wait")
}

/// Refuses metadata that is not a map.
pub(crate) fn no_map(value: &str) -> Text {
    Text::setting("metadata").and(format!(" is {value}, and must be a map of strings"))
}

/// Refuses metadata that is not a string.
pub(crate) fn no_text_in_map(key: &str, value: &str) -> Text {
    Text::setting("metadata").and(format!("[{key:?}] is {value}, and must be a string"))
}

/// Refuses a limit for the event loop so short that a busy machine exceeds it.
pub(crate) fn watch_limit(value: &str, lengths: &str) -> Text {
    Text::setting("watch_loop").and(format!(" is {value}, and must be true for the lease, false for off, or at least 100 ms: {lengths}, not negative; or a string such as \"10s\" or \"500ms\""))
}

/// Refuses an interval of zero between health checks.
pub(crate) fn health_interval(value: &str, lengths: &str) -> Text {
    Text::setting("health_interval").and(format!(" is {value}, and must be longer than zero: {lengths}, not negative; or a string such as \"10s\" or \"500ms\""))
}

// end of refusals

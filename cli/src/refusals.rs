//! The texts with which the command line refuses what it cannot read; clap names the option and the value.

// generated: refusals
/// Refuses text that is not a duration.
pub(crate) fn no_length() -> String {
    "a time is a number with a unit, such as 1500ms, 30s or 5m".into()
}

/// Refuses a time after which an action would be repeated without a pause.
pub(crate) fn short_interval(least: &str) -> String {
    format!("it must be at least {least}")
}

/// Refuses an invalid win delay.
pub(crate) fn no_win_delay() -> String {
    "write automatic, cautious, or a time such as 10s".into()
}

/// Refuses metadata without a key.
pub(crate) fn no_pair() -> String {
    "write a key and a value, such as address=10.0.0.7:8080".into()
}

/// Refuses text that is not a number of bytes.
pub(crate) fn no_size() -> String {
    "write a number of bytes, such as 10MB or 64KiB".into()
}

// end of refusals

//! Times on the command line.

use std::time::Duration;

/// Parses a time, such as `1500ms`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "a time is a number with a unit, such as 1500ms, 30s or 5m".to_owned())
}

/// Parses an interval, long enough that a periodic action cannot run without a pause.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    const LEAST: Duration = Duration::from_millis(10);
    match time(text)? {
        time if time >= LEAST => Ok(time),
        _ => Err("it must be at least 10ms".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_with_a_unit() {
        assert_eq!(time("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("0s"), Ok(Duration::ZERO));
        let said = "a time is a number with a unit, such as 1500ms, 30s or 5m";
        assert_eq!(time("soon"), Err(said.into()));
    }

    #[test]
    fn an_interval_is_at_least_ten_milliseconds() {
        assert_eq!(interval("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(interval("9ms"), Err("it must be at least 10ms".into()));
    }
}

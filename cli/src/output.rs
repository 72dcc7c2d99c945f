//! The commands' standard output, and the format of numbers in it.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::failure::Failure;

/// Writes a line at once. Returns false if the reader is gone, which is not a failure: `incumbent … | head`.
pub(crate) fn line(text: impl std::fmt::Display) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        result => Ok(result.map(|()| true)?),
    }
}

/// Writes a text. It is not a failure if the reader is gone.
pub(crate) fn text(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// A span as text for a person: `41 ms`, `1.73 s`, `2 min 5 s`, `3 h 7 min`, `12 d 4 h`.
pub(crate) fn span(span: Duration) -> String {
    let millis = span.as_millis();
    match millis {
        0 => format!("{:.1} ms", span.as_secs_f64() * 1e3),
        1..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{:.2} s", span.as_secs_f64()),
        60_000..3_600_000 => format!("{} min {} s", millis / 60_000, millis / 1_000 % 60),
        3_600_000..86_400_000 => format!("{} h {} min", millis / 3_600_000, millis / 60_000 % 60),
        _ => format!("{} d {} h", millis / 86_400_000, millis / 3_600_000 % 24),
    }
}

/// Milliseconds, with microseconds as decimals, for JSON.
pub(crate) fn millis(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}

/// The wall clock in milliseconds since 1970, for JSON.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_well_at_every_length() {
        let shown = |micros| span(Duration::from_micros(micros));
        assert_eq!(shown(250), "0.2 ms");
        assert_eq!(shown(41_900), "41 ms");
        assert_eq!(shown(1_734_000), "1.73 s");
        assert_eq!(shown(125_000_000), "2 min 5 s");
        assert_eq!(shown(11_220_000_000), "3 h 7 min");
        assert_eq!(shown(1_051_200_000_000), "12 d 4 h");
    }

    #[test]
    fn milliseconds_keep_their_microseconds_and_no_more() {
        assert_eq!(millis(Duration::from_nanos(1_234_567_890)), 1234.568);
    }
}

//! Times and texts as people and programs read them.

use std::time::Duration;

/// A span as text for a person: `41 ms`, `1.73 s`, `2 min 5 s`, `3 h 7 min`, `12 d 4 h`.
pub fn span(span: Duration) -> String {
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
pub fn millis(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}

/// A text, quoted as one word for a shell.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
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

//! The commands' standard output.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use incumbent::store::shown::{millis, span};

use crate::failure::Failure;

/// Writes a line at once. Returns false if the reader is gone, as in `incumbent … | head`, which is not a failure.
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

/// The wall clock in milliseconds since 1970, for JSON.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

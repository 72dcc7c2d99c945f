//! The log, on the standard error: errors only, unless more is asked for.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::stderr::{Log, report};

/// The variable that sets the filter, in the notation of `RUST_LOG`.
pub(crate) const VARIABLE: &str = "INCUMBENT_LOG";

/// Starts to log; a larger `verbosity` logs more.
pub(crate) fn start(verbosity: u8) {
    let by_flag = match verbosity {
        // Commands report a connection's warning in their own words.
        0 => "error,incumbent::driver::connection=off",
        1 => "warn,incumbent=info",
        2 => "warn,incumbent=debug",
        _ => "info,incumbent=trace",
    };
    let asked = std::env::var(VARIABLE).ok().filter(|_| verbosity == 0);
    let filter = EnvFilter::try_new(asked.as_deref().unwrap_or(by_flag)).unwrap_or_else(|error| {
        report(format_args!("incumbent: {VARIABLE} cannot be read, and is ignored: {error}"));
        EnvFilter::new(by_flag)
    });
    let in_colour = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(in_colour).with_writer(|| Log).init();
}

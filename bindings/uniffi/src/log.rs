//! Log records, pulled by one thread of the language.

use std::collections::HashMap;

use incumbent_ffi::log as source;

use crate::value::Failure;

/// The level of a log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum LogLevel {
    /// A message to or from the store.
    Trace,
    /// A decision of the election.
    Debug,
    /// A term begins or ends.
    Info,
    /// A promise is at risk.
    Warning,
    /// A person must act.
    Error,
}

/// A log record.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct LogRecord {
    /// The level.
    pub level: LogLevel,
    /// The module that logs it.
    pub target: String,
    /// The text.
    pub text: String,
    /// The fields of the record: `election`, `candidate`, `term`.
    pub fields: HashMap<String, String>,
}

/// Keeps the log records of at least this level for a thread that takes them; nothing for none. Returns true for the
/// first call in a process: its caller starts that thread.
#[uniffi::export]
pub fn keep_logs(least: Option<LogLevel>) -> Result<bool, Failure> {
    source::set_threshold(least.map(|least| match least {
        LogLevel::Trace => source::LogLevel::Trace,
        LogLevel::Debug => source::LogLevel::Debug,
        LogLevel::Info => source::LogLevel::Info,
        LogLevel::Warning => source::LogLevel::Warning,
        LogLevel::Error => source::LogLevel::Error,
    }));
    Ok(source::keep()?)
}

/// Waits for log records on this thread, and takes them. Returns none once no more can come.
#[uniffi::export]
pub fn take_logs() -> Vec<LogRecord> {
    let record = |record: source::Record| LogRecord {
        level: match record.level {
            source::LogLevel::Trace => LogLevel::Trace,
            source::LogLevel::Debug => LogLevel::Debug,
            source::LogLevel::Info => LogLevel::Info,
            source::LogLevel::Warning => LogLevel::Warning,
            source::LogLevel::Error => LogLevel::Error,
        },
        target: record.target,
        text: record.message,
        fields: record.fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    };
    source::take().into_iter().map(record).collect()
}

//! Hands log records to every event loop that requests them.

#![allow(deprecated, reason = "like the notifier: a log keeps no event loop running")]

use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use incumbent_ffi::log::{LogLevel, Record, forward, set_threshold};
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Error, Result, Status};
use napi_derive::napi;

/// The most records that wait for one event loop; further ones are dropped and counted.
const BACKLOG: usize = 1024;

/// A log record.
#[napi(object, object_from_js = false, js_name = "LogRow")]
pub struct LogRow {
    pub level: &'static str,
    pub target: String,
    pub message: String,
    pub fields: Vec<Vec<String>>,
    /// The number of records that were dropped since the previous one.
    pub missed: u32,
}

type Sink = ThreadsafeFunction<LogRow, (), LogRow, Status, false, true, BACKLOG>;

/// An event loop that requested records.
struct Open {
    id: u32,
    least: LogLevel,
    sink: Sink,
    missed: u32,
}

static TAPS: Mutex<Taps> = Mutex::new(Taps { last: 0, open: Vec::new() });
static FORWARDED: Once = Once::new();

struct Taps {
    last: u32,
    open: Vec<Open>,
}

/// Calls a function with each log record, in the event loop that made it, until it is closed.
#[napi(js_name = "LogTap")]
pub struct LogTap {
    id: u32,
}

#[napi]
impl LogTap {
    #[napi(constructor)]
    pub fn new(sink: Function<'_, LogRow, ()>, least: String) -> Result<Self> {
        let least = parsed_level(&least)?;
        let builder = sink.build_threadsafe_function::<LogRow>();
        let sink = builder.weak::<true>().max_queue_size::<BACKLOG>().build()?;
        let mut taps = taps();
        taps.last = taps.last.wrapping_add(1);
        let id = taps.last;
        taps.open.push(Open { id, least, sink, missed: 0 });
        taps.set_threshold();
        drop(taps);
        FORWARDED.call_once(|| {
            forward(tell);
        });
        Ok(Self { id })
    }

    /// Ends it: no more records are handed on.
    #[napi]
    pub fn close(&self) {
        let mut taps = taps();
        let place = taps.open.iter().position(|tap| tap.id == self.id);
        let closed = place.map(|place| taps.open.swap_remove(place));
        taps.set_threshold();
        drop(taps);
        drop(closed);
    }
}

impl Drop for LogTap {
    fn drop(&mut self) {
        self.close();
    }
}

impl Taps {
    /// Sets the lowest level that any event loop requested, so that no other record is made.
    fn set_threshold(&self) {
        set_threshold(self.open.iter().map(|tap| tap.least).min());
    }
}

fn taps() -> MutexGuard<'static, Taps> {
    TAPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Called on the thread for logs.
fn tell(record: Record) {
    for tap in taps().open.iter_mut().filter(|tap| record.level >= tap.least) {
        let fields = record.fields.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]);
        let row = LogRow {
            level: level(record.level),
            target: record.target.clone(),
            message: record.message.clone(),
            fields: fields.collect(),
            missed: tap.missed,
        };
        match tap.sink.call(row, ThreadsafeFunctionCallMode::NonBlocking) {
            Status::QueueFull => tap.missed = tap.missed.saturating_add(1),
            // An event loop that has ended needs no record.
            _ => tap.missed = 0,
        }
    }
}

fn level(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Trace => "trace",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warning => "warn",
        LogLevel::Error => "error",
    }
}

fn parsed_level(name: &str) -> Result<LogLevel> {
    let all = [LogLevel::Trace, LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error];
    let found = all.into_iter().find(|one| level(*one) == name);
    found.ok_or_else(|| Error::new(Status::InvalidArg, format!("{name:?} is not a log level")))
}

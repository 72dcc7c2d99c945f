//! Hands log records to a language's own logging.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record as SpanRecord};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::Result;
use crate::engine::Engine;

/// The most records that may wait to be handed on or taken; further ones are dropped and counted.
const BACKLOG: usize = 1024;

/// The level of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// A message to or from the store.
    Trace = 1,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The level.
    pub level: LogLevel,
    /// The module that logs it, such as `incumbent::hub`.
    pub target: String,
    /// The text.
    pub message: String,
    /// The fields of the record: `election`, `candidate`, `term`.
    pub fields: Vec<(&'static str, String)>,
}

/// The lowest level that is handed on; 0 for none.
static LEAST: AtomicU8 = AtomicU8::new(0);

type Sink = dyn Fn(Record) + Send + Sync;
static DELIVERY: OnceLock<Delivery> = OnceLock::new();
static WAITING: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// The way in which records reach the language.
enum Delivery {
    /// By a call, on a thread of this crate.
    Called(Box<Sink>),
    /// Kept until a thread of the language takes them.
    Kept,
}

/// Hands each record from now on to `sink`, on a thread of its own; none until a [threshold](set_threshold) is set.
/// Works once in a process: returns whether this was the first call.
pub fn forward(sink: impl Fn(Record) + Send + Sync + 'static) -> bool {
    begin(Delivery::Called(Box::new(sink)))
}

/// Keeps each record from now on for one thread that [takes](take) it; none until a [threshold](set_threshold) is set.
/// Returns true for the first call in a process: its caller starts that thread.
///
/// For a language whose interpreter must not be entered by an unknown thread. Such a thread creates and deletes an
/// interpreter state for each record. If the process forks meanwhile, a thread that the child lacks holds the lock of
/// those states.
///
/// # Errors
/// `StoreUnavailable` if the operating system refuses a thread.
pub fn keep() -> Result<bool> {
    begin(Delivery::Kept);
    Ok(!std::mem::replace(&mut Engine::get()?.records.lock().has_taker, true))
}

/// Waits for records and takes them. Returns none once the engine was [shut down](crate::shut_down), or if there is no
/// engine.
pub fn take() -> Vec<Record> {
    Engine::running().map_or_else(Vec::new, |engine| engine.records.take())
}

fn begin(delivery: Delivery) -> bool {
    DELIVERY.set(delivery).is_ok() && tracing::subscriber::set_global_default(Forwarder).is_ok()
}

/// The records of one process that are not taken yet. They belong to the engine: a forked child has its own, whose lock
/// no thread of its parent holds.
#[derive(Default)]
pub(crate) struct Records {
    waiting: Mutex<Waiting>,
    came: Condvar,
}

#[derive(Default)]
struct Waiting {
    records: VecDeque<Record>,
    has_taker: bool,
    is_over: bool,
}

impl Records {
    fn put(&self, record: Record) {
        let mut waiting = self.lock();
        if waiting.records.len() >= BACKLOG || waiting.is_over {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.records.push_back(record);
        drop(waiting);
        self.came.notify_one();
    }

    fn take(&self) -> Vec<Record> {
        let mut waiting = self.lock();
        while waiting.records.is_empty() && !waiting.is_over {
            waiting = self.came.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.records.drain(..).collect()
    }

    /// Stops keeping records; those already kept can still be taken.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.came.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands on records of at least this level; `None` for none.
pub fn set_threshold(least: Option<LogLevel>) {
    LEAST.store(least.map_or(0, |least| least as u8), Ordering::Relaxed);
}

/// The number of records that were dropped because they were not taken in time.
pub fn dropped() -> usize {
    DROPPED.load(Ordering::Relaxed)
}

struct Forwarder;

impl Subscriber for Forwarder {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Checked at each record, because the threshold changes.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let least = LEAST.load(Ordering::Relaxed);
        least != 0 && level(*metadata.level()) as u8 >= least
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &SpanRecord<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        // A forked child has no thread to hand records on.
        let (Some(engine), Some(delivery)) = (Engine::running(), DELIVERY.get()) else { return };
        let mut reading = Reading::default();
        event.record(&mut reading);
        let record = Record {
            level: level(*event.metadata().level()),
            target: event.metadata().target().to_owned(),
            message: reading.message,
            fields: reading.fields,
        };
        match delivery {
            Delivery::Kept => engine.records.put(record),
            Delivery::Called(sink) => call(engine, sink, record),
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Calls `sink` with the record, on the thread for logs.
fn call(engine: &'static Engine, sink: &'static Sink, record: Record) {
    let Some(wakes) = engine.logs() else { return };
    if WAITING.fetch_add(1, Ordering::Relaxed) >= BACKLOG {
        WAITING.fetch_sub(1, Ordering::Relaxed);
        DROPPED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let counted = Counted;
    wakes.call(Box::new(move || {
        let _counted = counted;
        sink(record);
    }));
}

/// A record that is handed on, counted until it is dropped.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

fn level(level: Level) -> LogLevel {
    match level {
        Level::TRACE => LogLevel::Trace,
        Level::DEBUG => LogLevel::Debug,
        Level::INFO => LogLevel::Info,
        Level::WARN => LogLevel::Warning,
        Level::ERROR => LogLevel::Error,
    }
}

#[derive(Default)]
struct Reading {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Visit for Reading {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _ = write!(self.message, "{value:?}");
        } else {
            self.fields.push((field.name(), format!("{value:?}")));
        }
    }
}

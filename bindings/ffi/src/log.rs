//! What is logged, handed to a language's own logging.

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

/// The most that waits to be told or taken; beyond it what is logged is dropped, and counted.
const BACKLOG: usize = 1024;

/// How loud something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loudness {
    /// A message between us and the store.
    Trace = 1,
    /// A decision.
    Debug,
    /// A term begins or ends.
    Info,
    /// A promise is at risk.
    Warning,
    /// A person must act.
    Error,
}

/// Something that is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// How loud.
    pub loudness: Loudness,
    /// Which part of the program says it, such as `incumbent::hub`.
    pub target: String,
    /// What it says.
    pub message: String,
    /// What it is about: `election`, `candidate`, `term`.
    pub fields: Vec<(&'static str, String)>,
}

/// The least loud that is handed on; 0 for nothing at all.
static LEAST: AtomicU8 = AtomicU8::new(0);

type Sink = dyn Fn(Record) + Send + Sync;
static WAY: OnceLock<Way> = OnceLock::new();
static WAITING: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// How what is logged reaches the language.
enum Way {
    /// By a call, on a thread of our own.
    Called(Box<Sink>),
    /// It is kept until a thread of the language's takes it.
    Taken,
}

/// Hands what is logged from now on to `sink`, on a thread of its own; nothing, until a
/// [threshold](set_threshold) is set. Once in a process: whether this was the first call.
pub fn forward(sink: impl Fn(Record) + Send + Sync + 'static) -> bool {
    begin(Way::Called(Box::new(sink)))
}

/// Keeps what is logged from now on for one thread that [takes](take) it: nothing, until a
/// [threshold](set_threshold) is set. True for the first call in a process, whose caller starts that thread.
///
/// It is for a language whose interpreter must not be entered by a thread it does not know: one that does so for each
/// record makes and ends a state of that interpreter each time, and a process that forks meanwhile has a child in which
/// the lock of those states is held by no thread that is there.
///
/// # Errors
/// `Broken` when the operating system refuses a thread.
pub fn keep() -> Result<bool> {
    begin(Way::Taken);
    Ok(!std::mem::replace(&mut Engine::get()?.records.lock().has_taker, true))
}

/// Waits for what is logged, and takes it; nothing once the engine was [shut down](crate::shut_down), and where there
/// is none.
pub fn take() -> Vec<Record> {
    Engine::running().map_or_else(Vec::new, |engine| engine.records.take())
}

fn begin(way: Way) -> bool {
    WAY.set(way).is_ok() && tracing::subscriber::set_global_default(Forwarder).is_ok()
}

/// What is logged in one process and not taken yet. It is the engine's: a forked child has another, whose lock no
/// thread of its parent holds.
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

    /// Nothing more is kept; what is there is still taken.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.came.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is at least this loud is handed on; `None` for nothing.
pub fn set_threshold(least: Option<Loudness>) {
    LEAST.store(least.map_or(0, |least| least as u8), Ordering::Relaxed);
}

/// How many records were dropped because nobody took them in time.
pub fn dropped() -> usize {
    DROPPED.load(Ordering::Relaxed)
}

struct Forwarder;

impl Subscriber for Forwarder {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Asked anew each time, because the threshold changes.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let least = LEAST.load(Ordering::Relaxed);
        least != 0 && loudness(*metadata.level()) as u8 >= least
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &SpanRecord<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        // A forked child has no thread that could tell.
        let (Some(engine), Some(way)) = (Engine::running(), WAY.get()) else { return };
        let mut reading = Reading::default();
        event.record(&mut reading);
        let record = Record {
            loudness: loudness(*event.metadata().level()),
            target: event.metadata().target().to_owned(),
            message: reading.message,
            fields: reading.fields,
        };
        match way {
            Way::Taken => engine.records.put(record),
            Way::Called(sink) => call(engine, sink, record),
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Has `sink` called with the record, on the thread for logs.
fn call(engine: &'static Engine, sink: &'static Sink, record: Record) {
    let Some(teller) = engine.logs() else { return };
    if WAITING.fetch_add(1, Ordering::Relaxed) >= BACKLOG {
        WAITING.fetch_sub(1, Ordering::Relaxed);
        DROPPED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let counted = Counted;
    teller.tell(Box::new(move || {
        let _counted = counted;
        sink(record);
    }));
}

/// One record on its way.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

fn loudness(level: Level) -> Loudness {
    match level {
        Level::TRACE => Loudness::Trace,
        Level::DEBUG => Loudness::Debug,
        Level::INFO => Loudness::Info,
        Level::WARN => Loudness::Warning,
        Level::ERROR => Loudness::Error,
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

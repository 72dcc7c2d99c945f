//! What is logged, handed to a language's own logging.

use std::fmt::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record as SpanRecord};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::engine::Engine;

/// The most that waits to be told; beyond it what is logged is dropped, and counted.
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
static SINK: OnceLock<Box<Sink>> = OnceLock::new();
static WAITING: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Hands what is logged from now on to `sink`, on a thread of its own; nothing, until a
/// [threshold](set_threshold) is set. Once in a process: whether this was the first call.
pub fn forward(sink: impl Fn(Record) + Send + Sync + 'static) -> bool {
    let is_first = SINK.set(Box::new(sink)).is_ok();
    is_first && tracing::subscriber::set_global_default(Forwarder).is_ok()
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
        let Some(teller) = Engine::running().and_then(Engine::logs) else { return };
        if WAITING.fetch_add(1, Ordering::Relaxed) >= BACKLOG {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            DROPPED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut reading = Reading::default();
        event.record(&mut reading);
        let record = Record {
            loudness: loudness(*event.metadata().level()),
            target: event.metadata().target().to_owned(),
            message: reading.message,
            fields: reading.fields,
        };
        let counted = Counted;
        teller.tell(Box::new(move || {
            let _counted = counted;
            if let Some(sink) = SINK.get() {
                sink(record);
            }
        }));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
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

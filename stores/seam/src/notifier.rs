//! The thread that runs the user's log subscribers and listeners.
//!
//! A driver renews leases, so no user code may run on its thread: a log subscriber that blocks on a full pipe would
//! cost every term of the store. The driver puts a notice into a bounded queue instead, and never waits. Each driver
//! has one such thread, which starts with the first notice and runs the notices in their order.
//!
//! Log lines get into the queue through `Relay`, a subscriber that is the default of the driver's thread. So the lines
//! of client libraries that run there (async-nats) take the same path as this crate's own, and every line of a driver
//! reaches the user's subscriber from this one thread.
//!
//! Not every notice is kept. If the user's code blocks the thread, notices beyond the limit are dropped and counted,
//! and a warning gives their number.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use incumbent_core::store::{Action, Outcome};
use tokio::sync::oneshot;
use tracing::dispatcher::{self, Dispatch};
use tracing::field::{Field, Value, Visit, display};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, NoSubscriber};
use tracing::{Event, Metadata, Subscriber};

/// The limit of the queue. A term logs about four lines, so the queue holds a few hundred terms while a subscriber
/// blocks.
const LIMIT: usize = 4096;
/// The most fields of a line that are kept, which is the limit of `tracing`.
const FIELDS: usize = 32;

type Notice = Box<dyn FnOnce() + Send>;

/// A handle to the notifier's thread. The thread ends once the last handle has been dropped and the queued notices have
/// run.
#[derive(Clone)]
pub struct Notifier(Arc<Sender>);

struct Sender {
    queue: Arc<Queue>,
    /// The subscriber of the caller that opened the store.
    logs: Dispatch,
}

#[derive(Default)]
struct Queue {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    waiting: VecDeque<Notice>,
    dropped: u64,
    /// Whether the thread runs, or is being started.
    started: bool,
    /// No more notices will come.
    over: bool,
}

impl Notifier {
    /// Returns a notifier that logs to the caller's own subscriber.
    #[allow(clippy::new_without_default, reason = "it depends on the caller's subscriber")]
    pub fn new() -> Self {
        let logs = dispatcher::get_default(Dispatch::clone);
        Self(Arc::new(Sender { queue: Arc::default(), logs }))
    }

    /// Relays the log lines of the current thread to the notifier, until the guard is dropped.
    pub fn relay_logs(&self) -> dispatcher::DefaultGuard {
        dispatcher::set_default(&Dispatch::new(Relay { notifier: self.clone() }))
    }

    /// Runs `notice` on the notifier's thread, after all earlier notices. Returns at once.
    pub fn notify(&self, notice: impl FnOnce() + Send + 'static) {
        let queue = &self.0.queue;
        let mut inner = queue.lock();
        if inner.waiting.len() >= LIMIT {
            inner.dropped += 1;
            return;
        }
        inner.waiting.push_back(Box::new(notice));
        let starts = !std::mem::replace(&mut inner.started, true);
        drop(inner);
        if starts {
            self.start();
        }
        queue.changed.notify_one();
    }

    /// Returns once all earlier notices have run, or at once if the queue is full.
    pub async fn flush(&self) {
        if self.0.queue.lock().started {
            let (done, flushed) = oneshot::channel::<()>();
            self.notify(move || drop(done));
            // The sender is dropped in both cases: the notice has run, or the queue was full.
            let _ = flushed.await;
        }
    }

    fn start(&self) {
        let (queue, logs) = (Arc::clone(&self.0.queue), self.0.logs.clone());
        let thread = std::thread::Builder::new().name("incumbent-notify".into());
        if thread.spawn(move || queue.run(&logs)).is_err() {
            // Without a thread the notices are lost. The next notice tries to start the thread again.
            let mut inner = self.0.queue.lock();
            inner.started = false;
            inner.dropped += inner.waiting.len() as u64;
            inner.waiting.clear();
        }
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.queue.lock().over = true;
        self.queue.changed.notify_one();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, logs: &Dispatch) {
        // If there was no subscriber when the store was opened, the lines go to one that is installed later.
        let _default = (!logs.is::<NoSubscriber>()).then(|| dispatcher::set_default(logs));
        while let Some((notice, dropped)) = self.next() {
            // User code that panics does not affect other notices. The panic hook reports the panic.
            let _ = catch_unwind(AssertUnwindSafe(notice));
            if dropped > 0 {
                let warn = || {
                    tracing::warn!(
                        dropped,
                        "dropped log lines and listener calls: a log subscriber or a listener is too slow"
                    );
                };
                let _ = catch_unwind(AssertUnwindSafe(warn));
            }
        }
    }

    /// The next notice, and the number dropped since the previous one.
    fn next(&self) -> Option<(Notice, u64)> {
        let mut inner = self.lock();
        loop {
            if let Some(notice) = inner.waiting.pop_front() {
                return Some((notice, std::mem::take(&mut inner.dropped)));
            }
            if inner.over {
                return None;
            }
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A subscriber that runs no user code: it copies each line and queues it for the notifier.
///
/// Spans are ignored, because this crate enters none on a driver's thread.
struct Relay {
    notifier: Notifier,
}

impl Subscriber for Relay {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // `tracing` calls this once for each log statement of the program. The answer is that of the user's subscriber,
        // so that no line costs more than without the relay.
        self.notifier.0.logs.register_callsite(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // The relay asks for no level, so that the user's own subscriber determines the levels.
        Some(LevelFilter::OFF)
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        // The user's own filter is called later, on the notifier's thread.
        true
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line { metadata: event.metadata(), values: Vec::new() };
        event.record(&mut line);
        self.notifier.notify(move || line.log());
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A queued log line.
struct Line {
    metadata: &'static Metadata<'static>,
    values: Vec<(Field, Box<dyn Value + Send>)>,
}

impl Line {
    fn keep(&mut self, field: &Field, value: impl Value + Send + 'static) {
        if self.values.len() < FIELDS {
            self.values.push((field.clone(), Box::new(value)));
        }
    }

    /// Logs the line to the subscriber of the current thread.
    fn log(&self) {
        let metadata = self.metadata;
        let fields = metadata.fields();
        // The array must be full. A field without a value counts as absent.
        let Some(filler) = fields.iter().next() else { return };
        let mut values: [(&Field, Option<&dyn Value>); FIELDS] = [(&filler, None); FIELDS];
        for (entry, (field, value)) in values.iter_mut().zip(&self.values) {
            *entry = (field, Some(&**value as &dyn Value));
        }
        let values = fields.value_set(&values);
        dispatcher::get_default(|logs| {
            if logs.enabled(metadata) {
                logs.event(&Event::new(metadata, &values));
            }
        });
    }
}

impl Visit for Line {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.keep(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.keep(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.keep(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.keep(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.keep(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.keep(field, display(format!("{value:?}")));
    }
}

/// A write that was answered, or whose limit has passed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteEvent<'a> {
    /// The election's key.
    pub election: &'a str,
    /// The kind of the write. In etcd, taking a place counts as acquiring, naming a successor in it as renewing, and
    /// deleting it as releasing; keep-alives write nothing.
    pub action: &'a Action,
    /// The outcome; `Unknown` without an answer.
    pub outcome: &'a Outcome,
    /// The time from sending the write until the answer, or until the limit.
    pub took: Duration,
}

type Listener = dyn Fn(&WriteEvent<'_>) + Send + Sync;

/// The user's listener for the outcome of every write, if there is one.
#[derive(Clone, Default)]
pub struct WriteListener(Option<Arc<Listener>>);

impl WriteListener {
    /// Returns a listener that calls this function.
    pub fn new(listener: impl Fn(&WriteEvent<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Calls the listener on the notifier's thread.
    pub fn notify(&self, notifier: &Notifier, election: &Arc<str>, wrote: (&Action, &Outcome, Duration)) {
        let Some(listener) = self.0.clone() else { return };
        let (election, (action, outcome, took)) = (Arc::clone(election), wrote);
        let (action, outcome) = (action.clone(), outcome.clone());
        notifier.notify(move || {
            listener(&WriteEvent { election: &election, action: &action, outcome: &outcome, took });
        });
    }
}

impl fmt::Debug for WriteListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "WriteListener(set)" } else { "WriteListener" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn notices_run_in_their_order_on_a_thread_of_their_own() {
        let notifier = Notifier::new();
        let (seen, order) = mpsc::channel();
        for number in 0..100 {
            let seen = seen.clone();
            notifier.notify(move || seen.send((number, std::thread::current().id())).unwrap());
        }
        notifier.flush().await;
        let seen: Vec<_> = order.try_iter().collect();
        assert_eq!(seen.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
        assert!(seen.iter().all(|(_, thread)| *thread != std::thread::current().id()));
    }

    #[tokio::test]
    async fn a_notice_that_panics_does_not_keep_the_next_from_running() {
        let notifier = Notifier::new();
        let (seen, later) = mpsc::channel();
        notifier.notify(|| panic!("a user's defect"));
        notifier.notify(move || seen.send("later").unwrap());
        notifier.flush().await;
        assert_eq!(later.try_recv(), Ok("later"));
    }

    #[test]
    fn notices_beyond_the_limit_are_dropped_and_their_number_is_logged() {
        let (lines, logged) = mpsc::channel();
        let _default = tracing::subscriber::set_default(Keep(lines));
        let notifier = Notifier::new();
        let (go, gate) = mpsc::channel::<()>();
        let (begins, begun) = mpsc::channel();
        notifier.notify(move || {
            begins.send(()).unwrap();
            gate.recv().unwrap();
        });
        begun.recv().unwrap();
        for _ in 0..LIMIT + 7 {
            notifier.notify(|| {});
        }
        go.send(()).unwrap();
        drop(notifier);
        let line = logged.recv().unwrap();
        assert!(line.contains("dropped=7 ") && line.contains("is too slow"), "{line}");
    }

    #[tokio::test]
    async fn a_line_reaches_the_subscriber_as_it_was_logged_and_from_the_notifiers_thread() {
        let (lines, logged) = mpsc::channel();
        let _default = tracing::subscriber::set_default(Keep(lines));
        let notifier = Notifier::new();
        {
            let _relay = notifier.relay_logs();
            let (election, term) = ("jobs", 7_u64);
            tracing::info!(election, term, lost = true, age = -3, share = 0.5, reason = ?Some(1), "of {election}");
        }
        notifier.flush().await;
        assert_eq!(
            logged.try_recv().unwrap(),
            "INFO incumbent_store::notifier::tests message=of jobs election=\"jobs\" term=7 lost=true age=-3 share=0.5 \
             reason=Some(1) on incumbent-notify"
        );
    }

    /// Writes each line into a channel, with the thread that logged it.
    struct Keep(mpsc::Sender<String>);

    impl Subscriber for Keep {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target().starts_with("incumbent")
        }

        fn event(&self, event: &Event<'_>) {
            struct Text(String);
            impl Visit for Text {
                fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                    self.0 += &format!("{}={value:?} ", field.name());
                }
            }
            let mut text = Text(format!("{} {} ", event.metadata().level(), event.metadata().target()));
            event.record(&mut text);
            let thread = std::thread::current();
            let _ = self.0.send(format!("{}on {}", text.0, thread.name().unwrap_or_default()));
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }
}

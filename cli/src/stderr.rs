//! The only writer to the standard error. It knows whether lines are text for a person or JSON. A leader never waits
//! for a reader.
//!
//! A pipe that nothing reads fills up, and a terminal can be halted. A write to either then blocks. In a process where
//! that would matter, [`never_block`] makes a separate thread write.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use incumbent::Warning;
use incumbent::text::Names;
use serde_json::{Value, json};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The queued bytes above which [`wait_for_space`] makes its caller wait.
const SPACE: usize = 1024 * 1024;
/// The most bytes that are kept for a reader. Further lines are left out, but counted.
const MOST: usize = 8 * 1024 * 1024;
/// The longest time for which the program waits, at its end, for a reader that does not read.
const IDLE: Duration = Duration::from_secs(5);

static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Whether every line is a JSON object.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Makes every line a JSON object from now on, or text again.
pub(crate) fn write_json(as_json: bool) {
    AS_JSON.store(as_json, Ordering::Relaxed);
}

/// Returns true if every line is a JSON object.
pub(crate) fn is_json() -> bool {
    AS_JSON.load(Ordering::Relaxed)
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    texts: VecDeque<Vec<u8>>,
    /// The queued bytes, including those being written.
    size: usize,
    left_out: u64,
}

impl State {
    /// Queues a text, or counts it if too much is queued already.
    fn put(&mut self, text: Vec<u8>) {
        if self.size + text.len() > MOST {
            self.left_out += 1;
        } else {
            self.size += text.len();
            self.texts.push_back(text);
        }
    }

    /// The next text to write.
    fn take(&mut self) -> Option<Vec<u8>> {
        if self.texts.is_empty() && self.left_out > 0 {
            let text = format!("{} lines were left out, because they were not read", self.left_out);
            self.left_out = 0;
            self.put(of_warning(None, &text));
        }
        self.texts.pop_front()
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No operation on the state can fail half-way, so a poisoned lock is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the queued texts, and never returns.
    fn write(&self) {
        let mut state = self.lock();
        loop {
            let Some(text) = state.take() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let _ = io::stderr().lock().write_all(&text);
            state = self.lock();
            state.size -= text.len();
            self.changed.notify_all();
        }
    }
}

/// Makes a thread write from now on, so that no caller waits.
///
/// # Errors
/// No thread can be started. Then callers still write their own lines.
pub(crate) fn never_block() -> io::Result<()> {
    let started =
        std::thread::Builder::new().name("stderr".into()).spawn(|| QUEUE.get_or_init(Queue::default).write());
    started.map_err(no_thread)?;
    QUEUE.get_or_init(Queue::default);
    Ok(())
}

/// The error of a thread that could not be started.
pub(crate) fn no_thread(error: io::Error) -> io::Error {
    let said = format!(
        "no thread can be started: {error}; raise the limit on processes and threads (`ulimit -u`, a container's pids limit)"
    );
    io::Error::new(error.kind(), said)
}

/// The error of a process that could not be started.
pub(crate) fn no_process(what: &str, error: io::Error) -> io::Error {
    let remedy = match error.kind() {
        io::ErrorKind::WouldBlock => {
            "; raise the limit on processes and threads (`ulimit -u`, a container's pids limit)"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("{what} cannot be started: {error}{remedy}"))
}

/// Writes a line: the object for a program, or the text for a person. If the reader is gone, the program continues: a
/// leader keeps leading.
pub(crate) fn report(object: Value, text: impl Display) {
    put(line(object, text));
}

/// Writes a line that a person may want to know but that is not a problem.
pub(crate) fn notice(message: impl Display) {
    report(
        json!({ "event": "notice", "message": message.to_string() }),
        format_args!("incumbent: {message}"),
    );
}

/// Writes a problem.
pub(crate) fn warn(message: impl Display) {
    put(of_warning(None, &message.to_string()));
}

/// Writes a warning of a candidate, which has a code for programs.
pub(crate) fn warn_of(warning: &Warning) {
    put(of_warning(Some(warning.code()), &warning.text().spelled(Names::CommandLine)));
}

fn of_warning(code: Option<&str>, message: &str) -> Vec<u8> {
    let mut object = json!({ "event": "warning", "message": message });
    if let Some(code) = code {
        object["code"] = code.into();
    }
    line(object, format_args!("incumbent: {message}"))
}

fn line(object: Value, text: impl Display) -> Vec<u8> {
    if is_json() { format!("{object}\n") } else { format!("{text}\n") }.into_bytes()
}

fn put(text: Vec<u8>) {
    match QUEUE.get() {
        Some(queue) => {
            queue.lock().put(text);
            queue.changed.notify_all();
        }
        None => {
            let _ = io::stderr().lock().write_all(&text);
        }
    }
}

/// Waits until there is space in the queue, for callers that can wait. Cancel-safe.
pub(crate) async fn wait_for_space() {
    while QUEUE.get().is_some_and(|queue| queue.lock().size > SPACE) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until everything has been written, as long as there is a reader.
pub(crate) fn flush() {
    let Some(queue) = QUEUE.get() else { return };
    let mut state = queue.lock();
    while state.size > 0 || state.left_out > 0 {
        let before = (state.size, state.texts.len());
        let waited = queue.changed.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
        state = waited.0;
        if waited.1.timed_out() && before == (state.size, state.texts.len()) {
            return;
        }
    }
}

/// The writer for log lines, which gets a whole line at a time.
#[derive(Debug)]
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        put(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The variable that sets the filter, in the notation of `RUST_LOG`.
pub(crate) const VARIABLE: &str = "INCUMBENT_LOG";

/// Starts to log. A larger `verbosity` logs more. `warns` is true for a command that reports a candidate's warnings
/// itself.
pub(crate) fn start_log(verbosity: u8, warns: bool) {
    let by_flag = match verbosity {
        // Such commands report a connection's failures and warnings themselves, so these are not logged a second time.
        0 if warns => {
            "error,async_nats=off,incumbent::driver=warn,incumbent::driver::opening=off,\
             incumbent::driver::connection=off,incumbent::driver::candidates=off"
        }
        0 => {
            "error,async_nats=off,incumbent::driver=warn,incumbent::driver::connection=off,\
             incumbent::driver::candidates=error"
        }
        1 => "warn,incumbent=info",
        2 => "warn,incumbent=debug",
        _ => "info,incumbent=trace",
    };
    let asked = std::env::var(VARIABLE).ok().filter(|_| verbosity == 0);
    let filter = EnvFilter::try_new(asked.as_deref().unwrap_or(by_flag)).unwrap_or_else(|error| {
        warn(format_args!("{VARIABLE} cannot be read, so it is ignored: {error}"));
        EnvFilter::new(by_flag)
    });
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Log);
    if is_json() {
        std::panic::set_hook(Box::new(|panic| put(line(object("ERROR", "panic", &panic.to_string()), ""))));
        log.with_ansi(false).event_format(Objects).init();
    } else {
        log.with_ansi(io::stderr().is_terminal()).init();
    }
}

/// The log's lines as JSON objects.
struct Objects;

impl<S, N> FormatEvent<S, N> for Objects
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> std::fmt::Result {
        let (mut fields, about) = (Fields::default(), event.metadata());
        event.record(&mut fields);
        let mut object = object(about.level().as_str(), about.target(), &fields.message);
        if !fields.others.is_empty() {
            object["fields"] = fields.others.into();
        }
        writeln!(writer, "{object}")
    }
}

fn object(level: &str, target: &str, message: &str) -> Value {
    json!({ "event": "log", "level": level, "target": target, "message": message })
}

/// The message of a line of the log, and its other fields as text.
#[derive(Debug, Default)]
struct Fields {
    message: String,
    others: serde_json::Map<String, Value>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            name => drop(self.others.insert(name.to_owned(), text.into())),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_left_out_and_counted_once_there_is_space() {
        let mut state = State::default();
        state.put(vec![b'x'; MOST - 2]);
        state.put(b"a\n".to_vec());
        state.put(b"b\n".to_vec());
        state.put(b"c\n".to_vec());
        for size in [MOST - 2, 2] {
            assert_eq!(state.take().map(|text| text.len()), Some(size));
            state.size -= size;
        }
        let said = state.take().unwrap();
        assert_eq!(
            String::from_utf8(said).unwrap(),
            "incumbent: 2 lines were left out, because they were not read\n"
        );
        assert_eq!(state.take(), None);
    }
}

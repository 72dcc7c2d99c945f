//! Programs that print one JSON object a line.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::process::ChildGuard;
use crate::wait;

/// A running program that prints one JSON object a line; all lines are kept.
#[derive(Debug)]
pub struct JsonProgram {
    child: ChildGuard,
    lines: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
}

impl JsonProgram {
    /// Starts a program that prints on its standard output.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn on_stdout(mut command: Command) -> Self {
        command.stdout(Stdio::piped());
        let mut child = spawn(command);
        let stream = child.take_stdout();
        Self::read(child, stream)
    }

    /// Starts a program that prints on its standard error.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn on_stderr(mut command: Command) -> Self {
        command.stderr(Stdio::piped());
        let mut child = spawn(command);
        let stream = child.take_stderr();
        Self::read(child, stream)
    }

    fn read(child: ChildGuard, stream: Option<impl Read + Send + 'static>) -> Self {
        let lines = Arc::<Mutex<Vec<Value>>>::default();
        let reader = stream.map(|stream| {
            let lines = Arc::clone(&lines);
            let parse = |line: String| serde_json::from_str(&line).unwrap_or(Value::String(line));
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    lines.lock().unwrap_or_else(PoisonError::into_inner).push(parse(line));
                }
            })
        });
        Self { child, lines, reader }
    }

    /// The process.
    pub fn child(&mut self) -> &mut ChildGuard {
        &mut self.child
    }

    /// Waits until the program has ended and everything it printed is in [`lines`](Self::lines).
    ///
    /// # Panics
    /// When the program, or a child of it that prints, is still running after `limit`.
    #[track_caller]
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        let status = self.child.wait(limit);
        wait::until("the end of what it prints", limit, || {
            self.reader.as_ref().is_none_or(JoinHandle::is_finished)
        });
        status
    }

    /// Returns everything that the program has printed so far. A line that is not JSON is returned as a string.
    pub fn lines(&self) -> Vec<Value> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for a line whose `event` is `event`, and returns the first.
    ///
    /// # Panics
    /// When none comes within `limit`.
    #[track_caller]
    pub fn await_event(&self, event: &str, limit: Duration) -> Value {
        self.await_line(&format!("a line with event {event:?}"), limit, |line| line["event"] == event)
    }

    /// Waits for a line for which `fits` returns true, and returns the first.
    ///
    /// # Panics
    /// When none comes within `limit`.
    #[track_caller]
    pub fn await_line(&self, what: &str, limit: Duration, fits: impl Fn(&Value) -> bool) -> Value {
        wait::until_some(what, limit, || self.lines().into_iter().find(&fits))
    }
}

#[track_caller]
fn spawn(command: Command) -> ChildGuard {
    let program = command.get_program().to_owned();
    match ChildGuard::spawn(command) {
        Ok(child) => child,
        Err(error) => panic!("cannot start {}: {error}", program.display()),
    }
}

//! The programs of `interop/go`: candidates and a watcher on the official Go client.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::process::ChildGuard;
use crate::{tools, wait};

/// A running Go program that prints one JSON object a line; `interop/README.md` describes them.
#[derive(Debug)]
pub struct GoProgram {
    child: ChildGuard,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl GoProgram {
    /// Starts a candidate by the rules of `nats-kv-leader-elect`, with the `ttl` given or the
    /// bucket's, and without splay.
    ///
    /// # Panics
    /// When the program is not built; the message says what to do.
    #[track_caller]
    pub fn candidate(url: &str, bucket: &str, key: &str, name: &str, ttl: Option<Duration>) -> Self {
        let mut arguments = vec!["-url", url, "-bucket", bucket, "-key", key, "-name", name, "-no-splay"];
        let ttl = ttl.map(|ttl| format!("{}ms", ttl.as_millis()));
        if let Some(ttl) = &ttl {
            arguments.extend(["-ttl", ttl]);
        }
        Self::start("candidate", &arguments)
    }

    /// Starts a watcher of one key.
    ///
    /// # Panics
    /// When the program is not built; the message says what to do.
    #[track_caller]
    pub fn watch(url: &str, bucket: &str, key: &str) -> Self {
        Self::start("watch", &["-url", url, "-bucket", bucket, "-key", key])
    }

    #[track_caller]
    fn start(name: &str, arguments: &[&str]) -> Self {
        let program = tools::go_program(name).unwrap_or_else(|error| panic!("{error}"));
        let mut command = Command::new(&program);
        command.args(arguments).stdout(Stdio::piped());
        let mut child = match ChildGuard::spawn(command) {
            Ok(child) => child,
            Err(error) => panic!("cannot start {}: {error}", program.display()),
        };
        let lines = Arc::<Mutex<Vec<Value>>>::default();
        if let Some(stdout) = child.take_stdout() {
            let lines = Arc::clone(&lines);
            let parse = |line: String| serde_json::from_str(&line).unwrap_or(Value::String(line));
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    lines.lock().unwrap_or_else(PoisonError::into_inner).push(parse(line));
                }
            });
        }
        Self { child, lines }
    }

    /// The process.
    pub fn child(&mut self) -> &mut ChildGuard {
        &mut self.child
    }

    /// Everything it has printed.
    pub fn lines(&self) -> Vec<Value> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has printed a line whose `event` is `event`; the first such line.
    ///
    /// # Panics
    /// When none comes within `limit`.
    #[track_caller]
    pub fn await_event(&self, event: &str, limit: Duration) -> Value {
        self.await_line(&format!("a line with event {event:?}"), limit, |line| line["event"] == event)
    }

    /// Waits until it has printed a line that `fits`; the first such line.
    ///
    /// # Panics
    /// When none comes within `limit`.
    #[track_caller]
    pub fn await_line(&self, what: &str, limit: Duration, fits: impl Fn(&Value) -> bool) -> Value {
        wait::until_some(what, limit, || self.lines().into_iter().find(&fits))
    }
}

//! A handler as a process.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use incumbent::Instant;
use incumbent::core::reconcile::{Handler, RunId};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::run::command::Told;

/// How long after its end the last of a handler's output is waited for: what it left in the background may
/// keep its output open for as long as it likes.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The longest piece of a line that is logged as one.
const LONGEST_LINE: usize = 8 * 1024;

/// What a handler runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Script {
    /// Reads the value of an option: a JSON list of words, or else a line for the shell.
    pub(super) fn read(option: &str, text: &str) -> Result<Self, Failure> {
        if !text.trim_start().starts_with('[') {
            return Ok(Self::Shell(text.into()));
        }
        match serde_json::from_str::<Vec<String>>(text) {
            Ok(words) if !words.is_empty() => Ok(Self::Words(words)),
            // `[ -f x ] && y` begins like a list, and is a line for the shell.
            _ if text.trim_start().starts_with("[ ") => Ok(Self::Shell(text.into())),
            _ => Err(Failure::usage(format!(
                "{option} begins like a JSON list and is none: write it as [\"program\", \"argument\"]"
            ))),
        }
    }

    fn command(&self) -> Command {
        match self {
            Self::Shell(line) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(line);
                shell
            }
            Self::Words(words) => {
                let mut command = Command::new(words.first().map_or("", String::as_str));
                command.args(words.iter().skip(1));
                command
            }
        }
    }
}

/// The option that sets a handler, which is its name in logs.
pub(super) fn option(handler: Handler) -> &'static str {
    match handler {
        Handler::Begin => "on-won",
        Handler::End => "on-lost",
        Handler::Error => "on-error",
    }
}

/// A handler that runs.
pub(super) struct Running {
    pub(super) run: RunId,
    pub(super) handler: Handler,
    process: Result<Process, Option<String>>,
    /// When it is killed at the latest.
    pub(super) kill_at: Option<Instant>,
}

struct Process {
    child: Child,
    group: Pid,
    output: Vec<JoinHandle<()>>,
    ended: Option<(ExitStatus, tokio::time::Instant)>,
}

impl Running {
    /// One for which nothing is to be done. It succeeds at once.
    pub(super) fn nothing(run: RunId, handler: Handler) -> Self {
        Self { run, handler, process: Err(None), kill_at: None }
    }

    /// One that could not be started. It has failed at once.
    pub(super) fn not_started(run: RunId, handler: Handler, error: &io::Error) -> Self {
        Self { run, handler, process: Err(Some(format!("it cannot be started: {error}"))), kill_at: None }
    }

    /// Starts a handler, in a process group of its own. It is not killed with this process: an end that
    /// has begun had better be completed.
    pub(super) fn start(
        run: RunId,
        handler: Handler,
        script: &Script,
        told: &Told<'_>,
        reason: Option<&str>,
        as_json: bool,
    ) -> io::Result<Self> {
        let mut command = script.command();
        told.tell(&mut command);
        if let Some(reason) = reason {
            command.env("INCUMBENT_REASON", reason);
        }
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = tokio::process::Command::from(command).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("the operating system gave no process number"))?;
        let name = option(handler);
        let mut output = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            output.push(tokio::spawn(log(stdout, name, "stdout", as_json)));
        }
        if let Some(stderr) = child.stderr.take() {
            output.push(tokio::spawn(log(stderr, name, "stderr", as_json)));
        }
        let process = Process { child, group, output, ended: None };
        Ok(Self { run, handler, process: Ok(process), kill_at: None })
    }

    /// Sends a signal to it and to whatever it started in its group.
    pub(super) fn signal(&self, signal: Signal) {
        if let Ok(process) = &self.process
            && process.ended.is_none()
        {
            let _ = kill_process_group(process.group, signal);
        }
    }

    /// How it ended, in words; none where it did what it should. Cancel-safe.
    pub(super) async fn ended(&mut self) -> Option<String> {
        let process = match &mut self.process {
            Ok(process) => process,
            Err(failure) => return failure.clone(),
        };
        let (status, at) = match process.ended {
            Some(ended) => ended,
            None => match process.child.wait().await {
                Ok(status) => *process.ended.insert((status, tokio::time::Instant::now())),
                Err(error) => return Some(error.to_string()),
            },
        };
        while let Some(output) = process.output.last_mut() {
            let _ = tokio::time::timeout_at(at + LAST_WORDS, output).await;
            process.output.pop();
        }
        (!status.success()).then(|| status.to_string())
    }
}

/// Logs what a handler says, a line at a time, with its name.
async fn log(mut stream: impl AsyncRead + Unpin, name: &str, of: &str, as_json: bool) {
    let mut rest: Vec<u8> = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let size = match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(size) => size,
        };
        rest.extend(&buffer[..size]);
        while let Some(end) = line_end(&rest) {
            let line: Vec<u8> = rest.drain(..end).collect();
            say(&line, name, of, as_json);
        }
    }
    if !rest.is_empty() {
        say(&rest, name, of, as_json);
    }
}

/// How much of what was read is a line.
fn line_end(read: &[u8]) -> Option<usize> {
    let end = read.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    end.or((read.len() >= LONGEST_LINE).then_some(LONGEST_LINE)).map(|end| end.min(LONGEST_LINE))
}

fn say(line: &[u8], name: &str, of: &str, as_json: bool) {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    // Nobody may be reading any more; that is no reason to end.
    let mut stderr = io::stderr().lock();
    let _ = if as_json {
        writeln!(stderr, "{}", json!({ "event": "output", "handler": name, "stream": of, "line": text }))
    } else {
        writeln!(stderr, "{name}: {text}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_is_a_line_for_the_shell_or_a_list_of_words() {
        let read = |text| Script::read("--on-won", text).unwrap();
        assert_eq!(read("echo 'a b' && true"), Script::Shell("echo 'a b' && true".into()));
        assert_eq!(read("[\"echo\", \"a b\"]"), Script::Words(vec!["echo".into(), "a b".into()]));
        assert_eq!(read("[ -f x ] && rm x"), Script::Shell("[ -f x ] && rm x".into()));
    }

    #[test]
    fn a_list_that_is_none_is_refused() {
        for text in ["[", "[]", "[1, 2]", "[\"echo\""] {
            let refused = Script::read("--on-won", text).unwrap_err().to_string();
            assert!(refused.starts_with("--on-won begins like a JSON list"), "{text}: {refused}");
        }
    }

    #[test]
    fn a_line_ends_at_its_end_or_where_it_is_too_long() {
        assert_eq!(line_end(b"one\ntwo"), Some(4));
        assert_eq!(line_end(b"two"), None);
        let mut long = vec![b'x'; LONGEST_LINE];
        assert_eq!(line_end(&long), Some(LONGEST_LINE));
        long.push(b'\n');
        assert_eq!(line_end(&long), Some(LONGEST_LINE));
    }
}

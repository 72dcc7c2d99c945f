//! A handler as a process.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use incumbent::Instant;
use incumbent::incumbent_core::reconcile::{Handler, RunId};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStderr, ChildStdout};

use super::script::Script;
use crate::run::command::Environment;
use crate::stderr;

/// The most bytes that are logged after a handler's end, before anything else happens. A pipe holds less.
const LAST_WORDS: usize = 1024 * 1024;
/// The most bytes that are logged before other work proceeds.
const AT_ONCE: usize = 64 * 1024;
/// The longest part of a line that is logged as a line of its own.
const LONGEST_LINE: usize = 8 * 1024;

/// The option that sets a handler; also its name in logs.
pub(super) fn option(handler: Handler) -> &'static str {
    match handler {
        Handler::Begin => "on-won",
        Handler::End => "on-lost",
        Handler::Error => "on-error",
    }
}

/// A running handler.
pub(super) struct Running {
    pub(super) run: RunId,
    pub(super) handler: Handler,
    process: Result<Process, Option<String>>,
    /// The latest time at which the handler is killed.
    pub(super) kill_at: Option<Instant>,
}

struct Process {
    child: Child,
    group: Pid,
    output: [Output; 2],
    has_ended: bool,
}

impl Running {
    /// Returns a handler with nothing to run, which succeeds at once.
    pub(super) fn nothing(run: RunId, handler: Handler) -> Self {
        Self { run, handler, process: Err(None), kill_at: None }
    }

    /// Returns a handler that could not be started, which fails at once.
    pub(super) fn not_started(run: RunId, handler: Handler, error: &io::Error) -> Self {
        Self { run, handler, process: Err(Some(format!("it cannot be started: {error}"))), kill_at: None }
    }

    /// Starts a handler in its own process group. The handler is not killed with this process, because the end of work
    /// should be completed once it has begun.
    pub(super) fn start(
        run: RunId,
        handler: Handler,
        script: &Script,
        environment: &Environment<'_>,
        reason: Option<&str>,
    ) -> io::Result<Self> {
        let mut command = script.command();
        environment.set(&mut command);
        if let Some(reason) = reason {
            command.env("INCUMBENT_REASON", reason);
        }
        Self::spawn(run, handler, command)
    }

    /// Spawns a handler whose environment is complete.
    pub(super) fn spawn(run: RunId, handler: Handler, mut command: Command) -> io::Result<Self> {
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = tokio::process::Command::from(command).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group =
            group.ok_or_else(|| io::Error::other("the operating system reported no process number"))?;
        let stdout = child.stdout.take().map(ChildStdout::into_owned_fd).transpose()?;
        let stderr = child.stderr.take().map(ChildStderr::into_owned_fd).transpose()?;
        let name = option(handler);
        let output = [Output::new(stdout, name, "stdout")?, Output::new(stderr, name, "stderr")?];
        let process = Process { child, group, output, has_ended: false };
        Ok(Self { run, handler, process: Ok(process), kill_at: None })
    }

    /// The handler's process group, while the handler runs.
    pub(super) fn group(&self) -> Option<Pid> {
        self.process.as_ref().ok().filter(|process| !process.has_ended).map(|process| process.group)
    }

    /// Sends a signal to the handler and to the processes in its group.
    pub(super) fn signal(&self, signal: Signal) {
        if let Ok(process) = &self.process
            && !process.has_ended
        {
            let _ = kill_process_group(process.group, signal);
        }
    }

    /// Waits until the handler has ended. Returns the reason for its failure, as text; `None` if it succeeded.
    /// Cancel-safe.
    pub(super) async fn ended(&mut self) -> Option<String> {
        let process = match &mut self.process {
            Ok(process) => process,
            Err(failure) => return failure.clone(),
        };
        let [stdout, stderr] = &mut process.output;
        let status = loop {
            tokio::select! {
                status = process.child.wait() => break status,
                () = stdout.read(), if stdout.is_open() => {}
                () = stderr.read(), if stderr.is_open() => {}
            }
        };
        process.has_ended = true;
        for output in &mut process.output {
            output.log(LAST_WORDS);
            output.leave();
        }
        match status {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// A handler's output on one stream, logged a line at a time with the handler's name.
struct Output {
    pipe: Option<Receiver>,
    rest: Vec<u8>,
    name: &'static str,
    of: &'static str,
}

impl Output {
    fn new(fd: Option<OwnedFd>, name: &'static str, of: &'static str) -> io::Result<Self> {
        let pipe = fd.map(Receiver::from_owned_fd).transpose()?;
        Ok(Self { pipe, rest: Vec::new(), name, of })
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Logs the next output. Cancel-safe.
    async fn read(&mut self) {
        if let Some(pipe) = &self.pipe {
            stderr::wait_for_space().await;
            // The read that follows will find an error of this wait again.
            let _ = pipe.readable().await;
            self.log(AT_ONCE);
        }
    }

    /// Logs the available output, at most this many bytes.
    fn log(&mut self, most: usize) {
        let mut buffer = [0; 4096];
        let mut logged = 0;
        while let Some(pipe) = self.pipe.as_ref().filter(|_| logged < most) {
            match pipe.try_read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(size) => {
                    logged += size;
                    self.rest.extend(&buffer[..size]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.pipe = None,
            }
            while let Some(end) = line_end(&self.rest) {
                let line: Vec<u8> = self.rest.drain(..end).collect();
                say(&line, self.name, self.of);
            }
        }
        if self.pipe.is_none() && !self.rest.is_empty() {
            say(&std::mem::take(&mut self.rest), self.name, self.of);
        }
    }

    /// Leaves the output to a task, because processes that the handler left in the background may keep writing.
    fn leave(&mut self) {
        if self.is_open() {
            let mut left = Self { pipe: self.pipe.take(), rest: std::mem::take(&mut self.rest), ..*self };
            tokio::spawn(async move {
                while left.is_open() {
                    left.read().await;
                    tokio::task::yield_now().await;
                }
            });
        }
    }
}

/// The length of the first line in the bytes that were read.
fn line_end(read: &[u8]) -> Option<usize> {
    let end = read.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    end.or((read.len() >= LONGEST_LINE).then_some(LONGEST_LINE)).map(|end| end.min(LONGEST_LINE))
}

fn say(line: &[u8], name: &str, of: &str) {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    let event = json!({ "event": "output", "handler": name, "stream": of, "line": text });
    stderr::report(event, format_args!("{name}: {text}"));
}

#[cfg(test)]
mod tests {
    use super::*;

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

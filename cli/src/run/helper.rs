//! A second process of this program, which acts when this process is gone: the guard of a command, or the cleanup
//! process of handlers.
//!
//! The helper reads orders from its standard input, one in a line. That input ends when this process does, for whatever
//! reason. Then the helper does its duty and ends.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, Lines, ReadBuf, Stdin};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::signals::Signals;
use crate::stderr::{is_json, no_process};

/// The longest time that a live helper may take to confirm an order (2 s).
const CONFIRMING: Duration = Duration::from_secs(2);

/// A message on its way to the helper.
enum Message<T> {
    Order(T),
    /// Confirms that all earlier orders are in the helper's pipe, so that the helper will read them even if this
    /// process dies.
    Confirm(oneshot::Sender<()>),
}

/// The helper, as seen from the process that started it.
pub(super) struct Helper<T> {
    messages: mpsc::UnboundedSender<Message<T>>,
    process: Child,
}

impl<T: Serialize + Send + 'static> Helper<T> {
    /// Starts the hidden command `name`. When this process is gone, the helper removes the folder, if there is one.
    pub(super) fn start(
        name: &str,
        folder: Option<&Path>,
        arguments: impl IntoIterator<Item = String>,
    ) -> io::Result<Self> {
        let mut command = Command::new(this_program()?);
        // The helper gets another process name than this process, so that killing by name does not kill both.
        command.arg0(name).arg(name).args(arguments);
        if let Some(folder) = folder {
            command.arg("--folder").arg(folder);
        }
        command.args(is_json().then_some("--json"));
        // The helper gets its own process group, so that signals to the terminal's group do not reach it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut process =
            command.spawn().map_err(|error| no_process("the process that guards this one", error))?;
        let (messages, mut to_send) = mpsc::unbounded_channel::<Message<T>>();
        if let Some(mut stdin) = process.stdin.take() {
            tokio::spawn(async move {
                while let Some(message) = to_send.recv().await {
                    let order = match message {
                        Message::Order(order) => order,
                        Message::Confirm(confirmed) => {
                            // The caller may no longer wait.
                            let _ = confirmed.send(());
                            continue;
                        }
                    };
                    if stdin.write_all(format!("{}\n", line(&order)).as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { messages, process })
    }

    /// Sends an order. If the helper is gone, [`gone`](Self::gone) reports that.
    pub(super) fn send(&self, order: T) {
        let _ = self.messages.send(Message::Order(order));
    }

    /// Waits until the helper has received every order, and returns true if it has. A helper that takes too long is
    /// killed, and so [gone](Self::gone).
    pub(super) async fn has_received(&mut self) -> bool {
        let (confirmed, confirmation) = oneshot::channel();
        // If the order cannot be sent, there will be no answer either, and the wait below ends.
        let _ = self.messages.send(Message::Confirm(confirmed));
        if timeout(CONFIRMING, confirmation).await.is_ok_and(|confirmed| confirmed.is_ok()) {
            return true;
        }
        // A helper that has already ended need not be killed.
        let _ = self.process.start_kill();
        false
    }

    /// Waits until the helper has ended, which should not happen. Cancel-safe.
    pub(super) async fn gone(&mut self) {
        let _ = self.process.wait().await;
    }

    /// Sends a last order, and waits until the helper has ended.
    pub(super) async fn dismiss(self, order: T) {
        self.send(order);
        let Self { messages, mut process } = self;
        drop(messages);
        let _ = process.wait().await;
    }
}

/// The path of the running program, from which another process is started. The program's file may have been replaced by
/// another version, or removed.
pub(super) fn this_program() -> io::Result<PathBuf> {
    // This is the kernel's link to the running program. A child of this process resolves it to the same file.
    let running = PathBuf::from("/proc/self/exe");
    match cfg!(target_os = "linux") && fs::metadata(&running).is_ok() {
        true => Ok(running),
        false => std::env::current_exe(),
    }
}

/// Writes an order as a line, which is empty if the order cannot be text, for instance because of a path that is not
/// UTF-8.
pub(super) fn line(order: &impl Serialize) -> String {
    serde_json::to_string(order).unwrap_or_default()
}

/// The orders as the helper reads them.
pub(super) struct Orders {
    lines: Lines<BufReader<Input>>,
    signals: Signals,
}

/// The standard input.
enum Input {
    /// A pipe, which can be read without a thread. The system might refuse a thread.
    Pipe(pipe::Receiver),
    Other(Stdin),
}

impl Input {
    fn standard() -> Self {
        let input = io::stdin().as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd);
        input.map_or_else(|_| Self::Other(tokio::io::stdin()), Self::Pipe)
    }
}

impl AsyncRead for Input {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(context, buffer),
            Self::Other(stdin) => Pin::new(stdin).poll_read(context, buffer),
        }
    }
}

impl Orders {
    /// Sets the helper's process name, and ignores signals from now on. A helper must survive signals to every process
    /// of a service, and the kernel's signals to a stopped group whose supervisor has died.
    ///
    /// # Errors
    /// The signals cannot be caught.
    pub(super) fn new(name: &CStr) -> io::Result<Self> {
        let signals = Signals::new()?;
        // `ps`, `pkill` and `killall` use this name. On systems other than Linux, they use the first word of the
        // command line.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_name(name);
        #[cfg(not(target_os = "linux"))]
        let _ = name;
        Ok(Self { lines: BufReader::new(Input::standard()).lines(), signals })
    }

    /// The next order; `None` when the supervisor is gone, perhaps while it wrote an order. Cancel-safe.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> Option<T> {
        loop {
            tokio::select! {
                line = self.lines.next_line() => match line.ok().flatten()? {
                    // The line is an order that could not be written as text.
                    line if line.is_empty() => {}
                    line => return serde_json::from_str(&line).ok(),
                },
                _ = self.signals.next() => {}
            }
        }
    }

    /// Ignores signals until the work is done.
    pub(super) async fn undisturbed(&mut self, work: impl Future<Output = ()>) {
        tokio::select! {
            () = work => {}
            () = async { loop { self.signals.next().await; } } => {}
        }
    }
}

/// Removes the folder of the process that is gone. A process that ended normally has already removed its folder.
pub(super) fn remove(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
}

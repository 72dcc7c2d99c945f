//! The source of messages: the events of an election, or a person who types.

use std::io::{self, BufRead as _, IsTerminal, Write};
use std::time::Duration;

use incumbent::incumbent_core::reconcile::Message;
use incumbent::{Candidate, Event, Events, Store};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::timeout;

use crate::stderr::{is_json, no_thread, warn};

/// The name of the store for a run without a store.
pub(super) const CONSOLE: &str = "console:";

/// The source of messages.
pub(super) enum Source {
    Store {
        store: Store,
        candidate: Candidate,
        events: Events,
    },
    /// `None` once the input has ended.
    Console(Option<Console>),
}

pub(super) enum Incoming {
    Event(Event),
    Typed(Message),
    Over,
}

impl Source {
    /// Opens a console for a person who types messages.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn console() -> io::Result<Self> {
        Console::new().map(|console| Self::Console(Some(console)))
    }

    /// The next event. Cancel-safe.
    pub(super) async fn next(&mut self) -> Incoming {
        match self {
            Self::Store { events, .. } => events.next().await.map_or(Incoming::Over, Incoming::Event),
            Self::Console(Some(console)) => match console.next().await {
                Some(message) => Incoming::Typed(message),
                None => {
                    *self = Self::Console(None);
                    Incoming::Over
                }
            },
            Self::Console(None) => std::future::pending().await,
        }
    }

    /// Returns true if the store answers within this time, or if the source is the console, which has no store.
    pub(super) async fn answers(&self, within: Duration) -> bool {
        match self {
            Self::Store { store, .. } => {
                timeout(within, store.store_info()).await.is_ok_and(|answer| answer.is_ok())
            }
            Self::Console(_) => true,
        }
    }

    /// Whether the source may produce an event. A typed message is read only once the previous handler has returned.
    pub(super) fn is_ready(&self, is_running: bool) -> bool {
        matches!(self, Self::Store { .. }) || !is_running
    }

    pub(super) fn prompt(&self) {
        if let Self::Console(Some(console)) = self {
            console.prompt();
        }
    }
}

/// Reads typed messages.
pub(super) struct Console {
    lines: UnboundedReceiver<String>,
}

impl Console {
    pub(super) fn new() -> io::Result<Self> {
        let (typed, lines) = mpsc::unbounded_channel();
        let read = move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                // Once the election has ended, no more lines are read.
                if typed.send(line).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("console".into()).spawn(read).map_err(no_thread)?;
        Ok(Self { lines })
    }

    /// Prompts for a message, if a person types.
    pub(super) fn prompt(&self) {
        if io::stdin().is_terminal() && !is_json() {
            let mut stderr = io::stderr();
            let _ = write!(stderr, "{}> ", understood()).and_then(|()| stderr.flush());
        }
    }

    /// The next message; `None` at the end of the input. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            let line = self.lines.recv().await?;
            match read(&line) {
                Ok(message) => return Some(message),
                Err(mistake) => {
                    warn(mistake);
                    self.prompt();
                }
            }
        }
    }
}

fn understood() -> String {
    Message::ALL.map(Message::word).join(", ")
}

fn read(line: &str) -> Result<Message, String> {
    let word = line.trim();
    let known = Message::ALL.into_iter().find(|message| message.word().eq_ignore_ascii_case(word));
    known.ok_or_else(|| format!("{word:?} is not understood; type one of {}", understood()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_words_are_understood_and_a_mistake_is_answered_with_them() {
        assert_eq!(read("LEADER"), Ok(Message::Leader));
        assert_eq!(read("  notleader "), Ok(Message::NotLeader));
        assert_eq!(read("ERROR"), Ok(Message::Error));
        let mistake = "\"LEAD\" is not understood; type one of LEADER, NOTLEADER, ERROR";
        assert_eq!(read("LEAD"), Err(mistake.into()));
    }
}

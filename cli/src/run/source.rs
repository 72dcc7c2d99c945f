//! The source of messages: an election, or a person.

use std::io::{IsTerminal, Write};

use incumbent::incumbent_core::reconcile::Message;
use incumbent::{Candidate, Event, Events, Store};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use crate::stderr::{is_json, warn};

/// The store name that means no store.
pub(super) const CONSOLE: &str = "console:";

/// The source of messages.
pub(super) enum Source {
    Store {
        store: Store,
        candidate: Candidate,
        events: Events,
    },
    /// None once the input has ended.
    Console(Option<Console>),
}

pub(super) enum Incoming {
    Event(Event),
    Typed(Message),
    Over,
}

impl Source {
    /// A person who types messages.
    pub(super) fn console() -> Self {
        Self::Console(Some(Console::new()))
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

    /// Whether it may produce an event: a typed message is read when the previous handler has returned.
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
    lines: Lines<BufReader<Stdin>>,
}

impl Console {
    pub(super) fn new() -> Self {
        Self { lines: BufReader::new(tokio::io::stdin()).lines() }
    }

    /// Prompts for a message, if a person types.
    pub(super) fn prompt(&self) {
        if std::io::stdin().is_terminal() && !is_json() {
            let mut stderr = std::io::stderr();
            let _ = write!(stderr, "{}> ", understood()).and_then(|()| stderr.flush());
        }
    }

    /// The next message; none at the end of the input. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            let line = self.lines.next_line().await.ok()??;
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

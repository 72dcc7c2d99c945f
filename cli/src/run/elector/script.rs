//! A handler's script: a line for the shell, or a list of words.

use std::process::Command;

use incumbent::incumbent_core::reconcile::Handler;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::run::args::Args;

/// The scripts that the user sets.
pub(super) struct Scripts {
    begin: Option<Script>,
    pub(super) end: Option<Script>,
    error: Option<Script>,
}

impl Scripts {
    pub(super) fn read(args: &Args) -> Result<Self, Failure> {
        let read = |option: &str, text: &Option<String>| {
            text.as_deref().map(|text| Script::read(option, text)).transpose()
        };
        Ok(Self {
            begin: read("--on-won", &args.handlers.on_won)?,
            end: read("--on-lost", &args.handlers.on_lost)?,
            error: read("--on-error", &args.handlers.on_error)?,
        })
    }

    pub(super) fn of(&self, handler: Handler) -> Option<&Script> {
        match handler {
            Handler::Begin => self.begin.as_ref(),
            Handler::End => self.end.as_ref(),
            Handler::Error => self.error.as_ref(),
        }
    }
}

/// A handler's script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Script {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Script {
    /// Parses an option's value: a JSON list of words, or else a line for the shell.
    pub(super) fn read(option: &str, text: &str) -> Result<Self, Failure> {
        if !text.trim_start().starts_with('[') {
            return Ok(Self::Shell(text.into()));
        }
        match serde_json::from_str::<Vec<String>>(text) {
            Ok(words) if !words.is_empty() => Ok(Self::Words(words)),
            // `[ -f x ] && y` begins like a list, but is a line for the shell.
            _ if text.trim_start().starts_with("[ ") => Ok(Self::Shell(text.into())),
            _ => Err(Failure::usage(format!(
                "{option} begins like a JSON list but is not one: write it as [\"program\", \"argument\"]"
            ))),
        }
    }

    pub(super) fn command(&self) -> Command {
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
}

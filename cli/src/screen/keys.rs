//! Keyboard input.

use std::io;

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, read};
use tokio::sync::mpsc;

use crate::stderr::no_thread;

/// A key with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C, which is not a signal in raw mode.
    Interrupt,
    /// The terminal's size has changed.
    Resized,
}

/// The keys that are pressed from now on. They are read until the process ends.
pub(crate) struct Keys(mpsc::UnboundedReceiver<Key>);

impl Keys {
    /// # Errors
    /// No thread can be started.
    pub(super) fn read() -> io::Result<Self> {
        let (give, take) = mpsc::unbounded_channel();
        let pass_on = move || {
            // The loop ends when the terminal is gone.
            while let Ok(event) = read() {
                if let Some(key) = key(&event)
                    && give.send(key).is_err()
                {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("keys".into()).spawn(pass_on).map_err(no_thread)?;
        Ok(Self(take))
    }

    /// The next key; `None` if the terminal is gone. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Key> {
        self.0.recv().await
    }
}

fn key(event: &Event) -> Option<Key> {
    match event {
        Event::Resize(..) => Some(Key::Resized),
        Event::Key(KeyEvent { code, modifiers, kind, .. }) if *kind != KeyEventKind::Release => {
            of_code(*code, *modifiers)
        }
        _ => None,
    }
}

fn of_code(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    match code {
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Interrupt),
        KeyCode::Char(c) if !modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            Some(Key::Char(c))
        }
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::PageUp => Some(Key::PageUp),
        KeyCode::PageDown => Some(Key::PageDown),
        KeyCode::Home => Some(Key::Home),
        KeyCode::End => Some(Key::End),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::Backspace => Some(Key::Backspace),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_is_an_interrupt_and_not_a_character() {
        assert_eq!(of_code(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Interrupt));
        assert_eq!(of_code(KeyCode::Char('c'), KeyModifiers::NONE), Some(Key::Char('c')));
        assert_eq!(of_code(KeyCode::Char('Q'), KeyModifiers::SHIFT), Some(Key::Char('Q')));
        assert_eq!(of_code(KeyCode::Char('q'), KeyModifiers::ALT), None);
    }
}

//! Draws lines on a terminal, and leaves it as it was.

use std::io::{self, Stdout, Write};

use crossterm::style::{Attribute, Color, Print, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen,
};
use crossterm::{cursor, execute, queue};

use super::table::{Line, Tone};

/// A terminal while the table is shown on it. What was there before comes back when it is dropped.
pub(super) struct Screen {
    out: Stdout,
}

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        let mut out = io::stdout();
        execute!(out, EnterAlternateScreen, cursor::Hide)?;
        Ok(Self { out })
    }

    /// Columns and rows; those of an old terminal where it does not say.
    pub(super) fn size() -> (usize, usize) {
        match crossterm::terminal::size() {
            Ok((columns, rows)) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
            _ => (80, 24),
        }
    }

    pub(super) fn draw(&mut self, lines: &[Line]) -> io::Result<()> {
        queue!(self.out, BeginSynchronizedUpdate, cursor::MoveTo(0, 0))?;
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                queue!(self.out, Print("\r\n"))?;
            }
            for (tone, text) in &line.0 {
                paint(&mut self.out, *tone)?;
                queue!(self.out, Print(text), ResetColor, SetAttribute(Attribute::Reset))?;
            }
            queue!(self.out, Clear(ClearType::UntilNewLine))?;
        }
        queue!(self.out, Clear(ClearType::FromCursorDown), EndSynchronizedUpdate)?;
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(self.out, LeaveAlternateScreen, cursor::Show);
    }
}

/// Colours only where `NO_COLOR` does not ask for none (<https://no-color.org>).
fn paint(out: &mut Stdout, tone: Tone) -> io::Result<()> {
    let colour = |out: &mut Stdout, colour| match std::env::var_os("NO_COLOR") {
        Some(asked) if !asked.is_empty() => Ok(()),
        _ => queue!(out, SetForegroundColor(colour)),
    };
    match tone {
        Tone::Plain => Ok(()),
        Tone::Dim => queue!(out, SetAttribute(Attribute::Dim)),
        Tone::Strong => queue!(out, SetAttribute(Attribute::Bold)),
        Tone::Good => colour(out, Color::Green),
        Tone::Warn => colour(out, Color::Yellow),
        Tone::Bad => {
            queue!(out, SetAttribute(Attribute::Bold))?;
            colour(out, Color::Red)
        }
    }
}

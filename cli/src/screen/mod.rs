//! Draws lines on a terminal, and leaves it as it was.

mod keys;
mod line;

use std::io::{self, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::style::{Attribute, Color, Print, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen,
};
use crossterm::{cursor, execute, queue, terminal};

pub(crate) use keys::{Key, Keys};
pub(crate) use line::{Line, Tone, bar, cell, shortened};

/// A terminal while something is shown on it. What was there before comes back when it is dropped, and where the
/// program panics.
pub(crate) struct Screen {
    out: Stdout,
}

/// Whether the terminal is ours now.
static SHOWN: AtomicBool = AtomicBool::new(false);

impl Screen {
    /// For something to look at.
    pub(crate) fn open() -> io::Result<Self> {
        if !can_draw() {
            return Err(io::Error::other("the terminal is one that cannot be drawn on: TERM is dumb"));
        }
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                before(panic);
            }));
        });
        SHOWN.store(true, Ordering::Relaxed);
        let mut screen = Self { out: io::stdout() };
        execute!(screen.out, EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// For something that is told by keys what to do: each is read as it is pressed, Ctrl-C too.
    pub(crate) fn open_with_keys() -> io::Result<(Self, Keys)> {
        let screen = Self::open()?;
        terminal::enable_raw_mode()?;
        Ok((screen, Keys::read()))
    }

    /// Columns and rows; those of an old terminal where it does not say.
    pub(crate) fn size() -> (usize, usize) {
        match terminal::size() {
            Ok((columns, rows)) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
            _ => (80, 24),
        }
    }

    pub(crate) fn draw(&mut self, lines: &[Line]) -> io::Result<()> {
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
        restore();
    }
}

/// Whether a terminal, where there is one, is more than a printer.
pub(crate) fn can_draw() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Puts the terminal back as it was.
fn restore() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        // Where it is no more, there is nothing to restore. Raw mode is left where it was entered.
        let _ = terminal::disable_raw_mode();
        let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
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
        Tone::Chosen => queue!(out, SetAttribute(Attribute::Reverse)),
        Tone::Strong => queue!(out, SetAttribute(Attribute::Bold)),
        Tone::Good => colour(out, Color::Green),
        Tone::Warn => colour(out, Color::Yellow),
        Tone::Bad => {
            queue!(out, SetAttribute(Attribute::Bold))?;
            colour(out, Color::Red)
        }
    }
}

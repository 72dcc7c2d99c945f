//! Draws lines on a terminal, restores it afterwards, and listens for the signals that end a program there.

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
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use keys::{Key, Keys};
pub(crate) use line::{Line, Tone, bar, cell, shortened};

/// A terminal while something is drawn on it. Its earlier content comes back when this is dropped, and where the
/// program panics.
pub(crate) struct Screen {
    out: Stdout,
}

/// True if we draw on the terminal now.
static SHOWN: AtomicBool = AtomicBool::new(false);

impl Screen {
    /// Opens a screen that takes no input.
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

    /// Opens a screen that takes keys: each is read as it is pressed, Ctrl-C too.
    pub(crate) fn open_with_keys() -> io::Result<(Self, Keys)> {
        let screen = Self::open()?;
        terminal::enable_raw_mode()?;
        Ok((screen, Keys::read()))
    }

    /// Columns and rows; 80 by 24 where the terminal does not report them.
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

/// Returns true if the terminal, where there is one, can do more than print lines.
pub(crate) fn can_draw() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Restores the terminal.
fn restore() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        // A terminal that is gone needs no restoring. Raw mode is left where it was entered.
        let _ = terminal::disable_raw_mode();
        let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
    }
}

/// Sets colours unless `NO_COLOR` asks for none (<https://no-color.org>).
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

/// Signals that ask for the end, from a person or a supervisor.
pub(crate) struct Signals([Signal; 3]);

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        let listen = |kind| signal(kind);
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(listen);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    /// Returns when one has come. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

//! Opens a terminal to draw on with `ratatui`, restores it afterwards, and listens for the signals that end a program there.

mod keys;
#[cfg(test)]
pub(crate) mod tests;
mod text;
pub(crate) mod tone;

use std::io::{self, Stdout};
use std::mem::ManuallyDrop;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::backend::CrosstermBackend;
use ratatui::buffer::CellDiffOption;
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
};
use ratatui::crossterm::{cursor, execute, queue, terminal};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::widgets::Widget;
use ratatui::{Terminal, TerminalOptions, Viewport};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use keys::{Key, Keys};
pub(crate) use text::{bar, columns, fitting, title};

/// A terminal while something is drawn on it. Its earlier content comes back when this is dropped or the program
/// panics.
pub(crate) struct Screen {
    /// The terminal is never dropped, because its drop would complain on standard error about a terminal that is gone,
    /// and panic if standard error is gone too.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    area: Rect,
    /// The time at which every cell was last written.
    written: Option<Instant>,
    has_colours: bool,
}

/// The interval at which every cell is written, changed or not (1 s). The terminal may echo keys that are not read, and
/// other programs may write to it.
const WHOLE: Duration = Duration::from_secs(1);

/// True while this program draws on the terminal.
static SHOWN: AtomicBool = AtomicBool::new(false);

impl Screen {
    /// Opens a screen that takes no input.
    pub(crate) fn open() -> io::Result<Self> {
        if !can_draw() {
            return Err(io::Error::other("this terminal cannot be drawn on: TERM is dumb"));
        }
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                before(panic);
            }));
        });
        let area = area();
        let options = TerminalOptions { viewport: Viewport::Fixed(area) };
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stdout()), options)?;
        SHOWN.store(true, Ordering::Relaxed);
        // `NO_COLOR` asks for no colours (<https://no-color.org>).
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|asked| asked.is_empty());
        let screen = Self { terminal: ManuallyDrop::new(terminal), area, written: None, has_colours };
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// Opens a screen that takes keys. Each key is read as it is pressed, including Ctrl-C.
    pub(crate) fn open_with_keys() -> io::Result<(Self, Keys)> {
        let screen = Self::open()?;
        terminal::enable_raw_mode()?;
        Ok((screen, Keys::read()?))
    }

    /// Draws on the whole terminal.
    pub(crate) fn draw(&mut self, picture: impl Widget) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let area = area();
        if area != self.area {
            self.area = area;
            self.terminal.resize(area)?;
        }
        let is_whole = self.written.is_none_or(|written| written.elapsed() >= WHOLE);
        if is_whole {
            self.written = Some(Instant::now());
        }
        let has_colours = self.has_colours;
        self.terminal.draw(|frame| {
            frame.render_widget(picture, area);
            for cell in &mut frame.buffer_mut().content {
                if is_whole {
                    cell.set_diff_option(CellDiffOption::AlwaysUpdate);
                }
                if !has_colours {
                    cell.set_fg(Color::Reset);
                }
            }
        })?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// The size of the terminal; 80 columns and 24 rows if it does not report its size.
fn area() -> Rect {
    match terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => Rect::new(0, 0, columns, rows),
        _ => Rect::new(0, 0, 80, 24),
    }
}

/// Returns true if the terminal, if there is one, can do more than print lines.
pub(crate) fn can_draw() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Restores the terminal.
fn restore() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        // A terminal that is gone need not be restored. Raw mode is left only if it was entered.
        let _ = terminal::disable_raw_mode();
        let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
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

    /// Waits until one of the signals has come. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

//! A program on a pseudo-terminal, and the screen as an emulator shows it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use incumbent_testkit::process::ChildGuard;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

pub(crate) use incumbent_testkit::terminal::{pieces, terminal};

use crate::support::{LIMIT, incumbent};

/// The text on the terminal before the program starts. The text must be there again afterwards.
const BEFORE: &str = "$ what was typed before";
/// The escape sequence at the end of a picture.
pub(crate) const DRAWN: &[u8] = b"\x1b[?2026l";

/// The program on its own terminal, and the emulated screen.
pub(crate) struct Terminal {
    child: ChildGuard,
    keyboard: File,
    program_side: OwnedFd,
    modes: Termios,
    bytes: Receiver<Vec<u8>>,
    unseen: Vec<u8>,
    emulator: vt100::Parser,
    /// Whether the terminal has always been large enough for its earlier content.
    is_wide: bool,
}

impl Terminal {
    #[track_caller]
    pub(crate) fn start(arguments: &[&str], columns: u16, rows: u16) -> Self {
        Self::start_with(arguments, &[], columns, rows)
    }

    #[track_caller]
    pub(crate) fn start_with(
        arguments: &[&str],
        environment: &[(&str, &str)],
        columns: u16,
        rows: u16,
    ) -> Self {
        let (ours, theirs) = terminal();
        tcsetwinsize(&ours, size(columns, rows)).unwrap();
        let modes = tcgetattr(&theirs).unwrap();
        let mut command = incumbent(arguments);
        command.envs(environment.iter().copied());
        command.stdin(theirs.try_clone().unwrap());
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs.try_clone().unwrap());
        let mut emulator = vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 0);
        emulator.process(format!("{BEFORE}\r\n").as_bytes());
        let child = ChildGuard::spawn(command).unwrap();
        let keyboard = File::from(ours.try_clone().unwrap());
        let program_side = theirs.into();
        Self {
            child,
            keyboard,
            program_side,
            modes,
            bytes: read(ours),
            unseen: Vec::new(),
            emulator,
            is_wide: columns >= 60,
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.emulator.screen_mut().set_size(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap());
        tcsetwinsize(&self.keyboard, size(columns, rows)).unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.pid().try_into().unwrap()).unwrap(), signal).unwrap();
    }

    pub(crate) fn is_coloured(&self) -> bool {
        let screen = self.emulator.screen();
        let (rows, columns) = screen.size();
        let mut cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
        cells.any(|(row, column)| {
            screen.cell(row, column).is_some_and(|cell| cell.fgcolor() != vt100::Color::Default)
        })
    }

    fn lines(&self) -> Vec<String> {
        let screen = self.emulator.screen();
        let (_, columns) = screen.size();
        screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect()
    }

    /// Waits for a complete picture that matches, and returns its lines. No line of a picture may be broken.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, found: impl Fn(&[String]) -> bool) -> Vec<String> {
        let started = Instant::now();
        loop {
            while let Some(at) = self.unseen.windows(DRAWN.len()).position(|bytes| bytes == DRAWN) {
                let picture: Vec<u8> = self.unseen.drain(..at + DRAWN.len()).collect();
                self.emulator.process(&picture);
                let lines = self.lines();
                let screen = self.emulator.screen();
                // Only a picture for an earlier size may be broken.
                let mut rows = 0..screen.size().0.get();
                if found(&lines) && !rows.any(|row| screen.row_wrapped(row)) {
                    assert!(screen.alternate_screen() && screen.hide_cursor(), "{lines:#?}");
                    return lines;
                }
            }
            match self.bytes.recv_timeout(LIMIT.saturating_sub(started.elapsed())) {
                Ok(bytes) => self.unseen.extend(bytes),
                Err(error) => panic!("{what} never came ({error}): {:#?}", self.lines()),
            }
        }
    }

    /// Waits for a picture that has a line with this text.
    #[track_caller]
    pub(crate) fn until_line(&mut self, text: &str) -> Vec<String> {
        self.until(text, |lines| lines.iter().any(|line| line.contains(text)))
    }

    /// Waits until the terminal has received this text, whether part of a picture or not.
    #[track_caller]
    pub(crate) fn until_output(&mut self, text: &str) {
        while !self.unseen.windows(text.len()).any(|bytes| bytes == text.as_bytes()) {
            match self.bytes.recv_timeout(LIMIT) {
                Ok(bytes) => self.unseen.extend(bytes),
                Err(error) => panic!("{text:?} never came ({error}): {:#?}", self.lines()),
            }
        }
    }

    /// Waits for the program's end, and checks that the terminal is restored. Returns the last output.
    #[track_caller]
    pub(crate) fn ends(mut self, code: i32) -> Vec<String> {
        assert_eq!(self.child.wait(LIMIT).code(), Some(code), "{:#?}", self.lines());
        let modes = tcgetattr(&self.program_side).unwrap();
        assert_eq!(
            (modes.local_modes, modes.input_modes, modes.output_modes),
            (self.modes.local_modes, self.modes.input_modes, self.modes.output_modes)
        );
        // This is the last open end on the program's side. Closing it ends the reader.
        drop(self.program_side);
        self.emulator.process(&self.unseen);
        while let Ok(bytes) = self.bytes.recv_timeout(LIMIT) {
            self.emulator.process(&bytes);
        }
        let screen = self.emulator.screen();
        let (_, columns) = screen.size();
        let mut lines: Vec<String> =
            screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect();
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{lines:#?}");
        assert_eq!((screen.fgcolor(), screen.bold()), (vt100::Color::Default, false));
        let first = lines.remove(0);
        if self.is_wide {
            assert_eq!(first, BEFORE);
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// The bytes as they arrive, until no writer is left.
fn read(terminal: OwnedFd) -> Receiver<Vec<u8>> {
    let (give, take) = mpsc::channel();
    std::thread::spawn(move || {
        let mut terminal = File::from(terminal);
        let mut buffer = [0; 4096];
        while let Ok(size @ 1..) = terminal.read(&mut buffer) {
            if give.send(buffer[..size].to_vec()).is_err() {
                return;
            }
        }
    });
    take
}

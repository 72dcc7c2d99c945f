//! A pseudo-terminal for a program, without an emulator.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The two ends of a pseudo-terminal of 80 columns and 24 rows.
pub fn terminal() -> (OwnedFd, File) {
    open().unwrap_or_else(|error| panic!("no pseudo-terminal: {error}"))
}

fn open() -> io::Result<(OwnedFd, File)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    // Close on exec: the program inherits no copy of our end, so the terminal is gone once we close it.
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let name = OsStr::from_bytes(name.as_bytes());
    let theirs = OpenOptions::new().read(true).write(true).open(name)?;
    tcsetwinsize(&ours, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((ours, theirs))
}

/// Returns everything that a program writes to the terminal, piece by piece. The channel ends when the program has
/// closed the terminal.
pub fn pieces(terminal: OwnedFd) -> Receiver<String> {
    let (give, take) = mpsc::channel();
    thread::spawn(move || {
        let mut terminal = File::from(terminal);
        let mut buffer = [0; 4096];
        while let Ok(size) = terminal.read(&mut buffer) {
            if size == 0 || give.send(String::from_utf8_lossy(&buffer[..size]).into_owned()).is_err() {
                return;
            }
        }
    });
    take
}

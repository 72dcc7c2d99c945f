//! The live table on a pseudo-terminal.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use incumbent_testkit::process::ChildGuard;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{LIMIT, incumbent};

/// The two ends of a pseudo-terminal of 80 columns and 24 rows.
pub(crate) fn terminal() -> (OwnedFd, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
    tcsetwinsize(&ours, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    (ours, theirs)
}

pub(crate) fn pieces(terminal: OwnedFd) -> Receiver<String> {
    let (give, take) = mpsc::channel();
    std::thread::spawn(move || {
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

#[test]
fn a_terminal_shows_a_live_table_and_is_restored_at_ctrl_c() {
    let (ours, theirs) = terminal();
    let mut command = incumbent(&["demo", "--workers", "4", "--faults", "none"]);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs);
    let mut demo = ChildGuard::spawn(command).unwrap();
    let pieces = pieces(ours);
    let mut shown = String::new();
    let started = Instant::now();
    let until = |shown: &mut String, what: &str| {
        while !shown.contains(what) {
            let piece = pieces.recv_timeout(LIMIT.saturating_sub(started.elapsed()));
            shown.push_str(&piece.unwrap_or_else(|error| panic!("{what:?} never came ({error}): {shown}")));
        }
    };
    until(&mut shown, "leading");
    assert!(shown.starts_with("\u{1b}[?1049h"), "not on the alternate screen: {shown:?}");
    for part in ["incumbent demo", "candidate", "left of 2.00 s", "ada", "dara", "two leaders: never", "█"]
    {
        assert!(shown.contains(part), "{part:?} in {shown}");
    }
    kill_process(Pid::from_raw(demo.pid().try_into().unwrap()).unwrap(), Signal::INT).unwrap();
    shown.clear();
    until(&mut shown, "at no time were there two leaders");
    let restored = shown.find("\u{1b}[?1049l").unwrap();
    let cursor = shown.find("\u{1b}[?25h").unwrap();
    let said = shown.find("1 term in ").unwrap();
    assert!(restored < said && cursor < said, "{shown:?}");
    assert_eq!(demo.wait(LIMIT).code(), Some(0));
}

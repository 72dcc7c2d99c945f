//! `--file`: a file that exists while this candidate leads, for work that checks it before it begins.
//!
//! The file holds the same line as the [deadline file](super::deadline): the deadline of the proven lease, by the
//! machine's clock and by the wall clock, and the token. A separate thread writes and removes the file; the
//! [guard](super::guard) removes it if this process is stopped or gone. If both are gone, as after a crash of the
//! machine, the line itself shows that its lease is over, and the next candidate with this file removes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use incumbent::{Clock, Instant, Token};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::deadline;
use crate::failure::Failure;
use crate::stderr::{no_thread, warn};

/// The longest line that is read from a file, in bytes. Two numbers and a token take less.
const LONGEST: u64 = 256;
/// The longest wait for the disk when the file is closed (2 s).
const CLOSING: Duration = Duration::from_secs(2);

/// The file of one term, as its guard sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TermFile {
    path: String,
    token: String,
}

impl TermFile {
    /// Removes the file if it still belongs to that term. Returns true if it did.
    pub(super) fn remove(&self) -> bool {
        let is_its = Line::read(Path::new(&self.path)).is_ok_and(|line| line.token.to_string() == self.token);
        is_its && fs::remove_file(&self.path).is_ok()
    }
}

/// The content of a candidate's file.
#[derive(Clone, Copy, Debug)]
struct Line {
    deadline: Instant,
    /// The deadline in seconds since 1970.
    unix: f64,
    token: Token,
}

impl Line {
    fn read(path: &Path) -> io::Result<Self> {
        let invalid = |why| io::Error::new(io::ErrorKind::InvalidData, why);
        let found = fs::symlink_metadata(path)?;
        if !found.is_file() || found.len() > LONGEST {
            return Err(invalid("it is not a file of a candidate"));
        }
        Self::parse(&fs::read_to_string(path)?).ok_or_else(|| invalid("it is not a file of a candidate"))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let deadline = Instant::from_nanos(words.next()?.parse().ok()?);
        let (unix, token) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().is_none().then_some(Self { deadline, unix, token })
    }

    /// Returns true if the lease of the line is over. After a restart of the machine its clock begins again, so the
    /// wall clock decides.
    fn is_over(&self, now: Instant, unix: Duration) -> bool {
        now >= self.deadline || unix.as_secs_f64() >= self.unix
    }
}

/// The file of a candidate.
#[derive(Debug)]
pub(super) struct LeaderFile {
    path: String,
    orders: Sender<Order>,
    /// The file's thread has ended.
    ended: oneshot::Receiver<()>,
    /// The line of a file that another candidate left there. That candidate may still lead.
    found: Option<Line>,
}

enum Order {
    Write {
        text: String,
        /// The time by which the file must be gone.
        until: Instant,
    },
    Remove(TermFile),
}

impl LeaderFile {
    /// # Errors
    /// Something else exists at the path, or the path cannot be written.
    pub(super) fn new(path: &str, clock: &Clock) -> Result<Self, Failure> {
        let refused = |why: String| Failure::usage(format!("--file {path} {why}; name another place"));
        let place = std::path::absolute(path).map_err(|error| refused(format!("is not a path: {error}")))?;
        let found = match Line::read(&place) {
            Ok(line) => Some(line),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(refused(format!("exists: {error}"))),
        };
        let Some(folder) = place.parent().filter(|_| place.file_name().is_some()) else {
            return Err(refused("names a folder".into()));
        };
        tempfile::tempfile_in(folder).map_err(|error| refused(format!("cannot be written: {error}")))?;
        let (orders, to_do) = mpsc::channel();
        let (path, clock) = (place.to_string_lossy().into_owned(), clock.clone());
        let thread = std::thread::Builder::new().name("leader-file".into());
        let (done, ended) = oneshot::channel();
        let work = move || {
            work(&place, &to_do, &clock);
            // The caller may not wait.
            let _ = done.send(());
        };
        thread.spawn(work).map_err(no_thread)?;
        Ok(Self { path, orders, ended, found })
    }

    /// The file in that term.
    pub(super) fn of(&self, token: Token) -> TermFile {
        TermFile { path: self.path.clone(), token: token.to_string() }
    }

    /// Orders the file to be written, or to be removed if the write comes too late.
    pub(super) fn write(&mut self, deadline: Instant, until: Instant, token: Token, clock: &Clock) {
        self.found = None;
        // If the thread is gone, there is no file, which is always safe.
        let _ = self.orders.send(Order::Write { text: deadline::line(deadline, token, clock), until });
    }

    /// Has the file removed.
    pub(super) fn remove(&self, token: Token) {
        let _ = self.orders.send(Order::Remove(self.of(token)));
    }

    /// Waits until every order has been carried out, or for [`CLOSING`] if the disk hangs.
    pub(super) async fn close(self) {
        drop(self.orders);
        let _ = timeout(CLOSING, self.ended).await;
    }

    /// Returns true if an earlier candidate's file may exist.
    pub(super) fn has_leftover(&self) -> bool {
        self.found.is_some()
    }

    /// Orders the removal of an earlier candidate's file once its lease has run out.
    pub(super) fn sweep(&mut self, now: Instant) {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if self.found.is_some_and(|line| line.is_over(now, unix)) {
            // A living candidate may have written the file again since the last read.
            self.found = Line::read(Path::new(&self.path)).ok();
            if let Some(over) = self.found.take_if(|line| line.is_over(now, unix)) {
                self.remove(over.token);
            }
        }
    }
}

/// Carries orders out until the sender is gone.
fn work(path: &Path, orders: &Receiver<Order>, clock: &Clock) {
    let new = beside(path);
    let mut is_failing = false;
    for order in orders {
        match order {
            Order::Remove(file) => drop(file.remove()),
            Order::Write { text, until } => {
                if clock.now() >= until {
                    continue;
                }
                match fs::write(&new, text).and_then(|()| fs::rename(&new, path)) {
                    Err(error) if !is_failing => {
                        is_failing = true;
                        let path = path.display();
                        warn(format_args!("the file {path} of this leader cannot be written: {error}"));
                    }
                    written => is_failing &= written.is_err(),
                }
                if clock.now() >= until {
                    let _ = fs::remove_file(path);
                }
            }
        }
    }
}

/// The path to which the next line is written before it replaces the file as a whole.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.next"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "18ea2824e4e5a66d-0000000000000001";

    #[test]
    fn a_line_is_over_by_either_clock() {
        let line = Line::parse(&format!("5000000000 1000.500 {TOKEN}\n")).unwrap();
        let over = |nanos, unix| line.is_over(Instant::from_nanos(nanos), Duration::from_millis(unix));
        assert!(!over(4_999_999_999, 1_000_499));
        assert!(over(5_000_000_000, 1_000_499));
        // The machine has been started again since the line was written.
        assert!(over(1, 1_000_500));
    }

    #[test]
    fn a_file_of_another_term_or_of_another_program_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("leads");
        let file = TermFile { path: path.to_string_lossy().into_owned(), token: TOKEN.into() };
        for text in ["hello".to_owned(), "5 1.5 18ea2824e4e5a66d-0000000000000002\n".to_owned()] {
            fs::write(&path, &text).unwrap();
            assert!(!file.remove());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, format!("5 1.5 {TOKEN}\n")).unwrap();
        assert!(file.remove());
        assert!(!path.exists());
    }

    #[test]
    fn what_comes_too_late_is_not_written_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("leads");
        let (give, take) = mpsc::channel();
        give.send(Order::Write { text: "x".into(), until: Instant::from_nanos(1) }).unwrap();
        drop(give);
        work(&path, &take, &Clock::system());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

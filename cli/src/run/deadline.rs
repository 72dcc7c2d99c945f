//! A file that holds the proven deadline of the lease.
//!
//! The file has one line: the deadline in nanoseconds of the machine's clock (`CLOCK_BOOTTIME` on Linux, so the first
//! number of /proc/uptime is the same clock in seconds), the same instant in seconds since 1970 by the wall clock at
//! the time of writing, and the token. Each renewal replaces the file as a whole. If a line cannot be written, that is
//! reported, and the file with the old line is removed.
//!
//! A separate thread writes the file, so that a disk or a folder that hangs does not delay the end of a command.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use incumbent::{Clock, Instant, Token};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::place::Place;
use crate::stderr::{no_thread, notice, warn};

/// The longest time that a command waits for the file before it begins.
const WRITING: Duration = Duration::from_secs(2);

/// The file, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct DeadlineFile {
    path: PathBuf,
    /// The folder that holds only this file, if there is one.
    folder: Option<TempDir>,
    said: Option<(Instant, Token)>,
    lines: Sender<Line>,
}

/// A line to write, and the caller that waits until it has been written.
struct Line {
    text: String,
    written: Option<oneshot::Sender<()>>,
}

impl DeadlineFile {
    /// Finds a place for the file, whose content is still empty.
    pub(super) fn new() -> io::Result<Self> {
        let (place, folder) = Place::find()?;
        let path = place.path();
        let (lines, to_write) = mpsc::channel();
        std::thread::Builder::new()
            .name("deadline".into())
            .spawn(move || write_all(place, &to_write))
            .map_err(no_thread)?;
        Ok(Self { path, folder, said: None, lines })
    }

    /// The file's folder, which another process must remove if this one cannot.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(TempDir::path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Orders a deadline to be written if it differs from the last one. Until it has been written, the file holds an
    /// earlier deadline, which does no harm.
    pub(super) fn say(&mut self, deadline: Instant, token: Token, clock: &Clock) {
        self.send(deadline, token, clock, None);
    }

    /// Orders a deadline to be written, and waits until it has been written or the write has failed. The term's work
    /// begins in either case. A writer that takes too long is reported.
    pub(super) async fn write(&mut self, deadline: Instant, token: Token, clock: &Clock) {
        let (written, is_written) = oneshot::channel();
        self.said = None;
        self.send(deadline, token, clock, Some(written));
        if timeout(WRITING, is_written).await.is_err() {
            warn(format_args!("writing the deadline to its file takes longer than {WRITING:?}"));
        }
    }

    fn send(&mut self, deadline: Instant, token: Token, clock: &Clock, written: Option<oneshot::Sender<()>>) {
        if self.said == Some((deadline, token)) {
            return;
        }
        let text = line(deadline, token, clock);
        // If the thread is gone, no answer comes, which the waiting caller notices.
        let _ = self.lines.send(Line { text, written });
        self.said = Some((deadline, token));
    }
}

/// The line for a deadline.
pub(super) fn line(deadline: Instant, token: Token, clock: &Clock) -> String {
    let left = deadline.since(clock.now());
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + left;
    format!("{} {}.{:03} {token}\n", deadline.as_nanos(), unix.as_secs(), unix.subsec_millis())
}

/// Writes lines until the sender is gone. Of several waiting lines, only the last is written.
fn write_all(mut place: Place, lines: &Receiver<Line>) {
    let mut is_failing = false;
    while let Ok(first) = lines.recv() {
        let mut waiting = vec![first];
        waiting.extend(lines.try_iter());
        let text = waiting.last().map(|line| line.text.clone()).unwrap_or_default();
        match place.write(&text) {
            Err(error) if !is_failing => {
                is_failing = true;
                warn(format_args!(
                    "the deadline cannot be written to its file, so the file is removed: {error}"
                ));
            }
            Err(_) => {}
            Ok(()) if is_failing => {
                is_failing = false;
                notice("the deadline is written to its file again");
            }
            Ok(()) => {}
        }
        for written in waiting.into_iter().filter_map(|line| line.written) {
            // The caller may no longer wait.
            let _ = written.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use incumbent::incumbent_core::{Incarnation, Revision};

    use super::*;

    #[tokio::test]
    async fn the_file_has_one_line_of_three_words_and_its_folder_has_nothing_else() {
        let clock = Clock::system();
        let mut file = DeadlineFile::new().unwrap();
        let token = Token { incarnation: Incarnation(7), sequence: Revision(3) };
        for renewal in 1..4 {
            let deadline = clock.now() + Duration::from_secs(renewal);
            file.write(deadline, token, &clock).await;
            let said = fs::read_to_string(file.path()).unwrap();
            let words: Vec<&str> = said.split_whitespace().collect();
            assert_eq!((words.len(), said.lines().count()), (3, 1));
            assert_eq!(words[0], deadline.as_nanos().to_string());
            assert_eq!(words[2], token.to_string());
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
            let unix: f64 = words[1].parse().unwrap();
            assert!(unix > now - 60.0 && unix < now + 60.0, "{unix} at {now}");
        }
        let folder = file.folder().unwrap().to_owned();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        drop(file);
        assert!(!folder.exists());
    }
}

//! A file that holds the proven deadline of the lease.
//!
//! One line: the deadline in nanoseconds of the machine's clock (`CLOCK_BOOTTIME` on Linux, so the first number
//! of /proc/uptime is the same clock in seconds), the same instant in seconds since 1970 by the wall clock at the
//! time of writing, and the token. Each renewal replaces the file as a whole.
//!
//! A thread of its own writes it, so that a disk or a folder that hangs does not delay the end of a command.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use incumbent::{Clock, Instant, Token};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::stale::{self, Lock};

/// The longest time that a command waits for the file before it begins.
const WRITING: Duration = Duration::from_secs(2);

/// The file and its folder, removed when this is dropped.
#[derive(Debug)]
pub(super) struct DeadlineFile {
    folder: TempDir,
    said: Option<(Instant, Token)>,
    lines: Sender<Line>,
    /// Marks the folder as in use.
    _lock: Lock,
}

/// A line to write, and where to send the result.
struct Line {
    text: String,
    written: Option<oneshot::Sender<io::Result<()>>>,
}

impl DeadlineFile {
    /// Makes its folder, still empty.
    pub(super) fn new() -> io::Result<Self> {
        // The command may run as another user; the file holds no secret.
        let open_to_read = fs::Permissions::from_mode(0o755);
        let mut builder = tempfile::Builder::new();
        builder.prefix(stale::FOLDERS).permissions(open_to_read);
        let (folder, lock) =
            stale::locked(|| builder.tempdir(), TempDir::path).map_err(crate::failure::no_folder)?;
        let (lines, to_write) = mpsc::channel();
        let place = folder.path().to_owned();
        std::thread::Builder::new().name("deadline".into()).spawn(move || write_all(&place, &to_write))?;
        Ok(Self { folder, said: None, lines, _lock: lock })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("deadline")
    }

    /// Has a deadline written where it differs from the last one. Until then the file holds an earlier deadline, which
    /// does no harm.
    pub(super) fn say(&mut self, deadline: Instant, token: Token, clock: &Clock) {
        self.send(deadline, token, clock, None);
    }

    /// Does the same, and waits until it is written.
    ///
    /// # Errors
    /// It cannot be written, or takes longer than a command can wait.
    pub(super) async fn write(&mut self, deadline: Instant, token: Token, clock: &Clock) -> io::Result<()> {
        let (written, is_written) = oneshot::channel();
        self.said = None;
        self.send(deadline, token, clock, Some(written));
        match timeout(WRITING, is_written).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(io::Error::other("the thread that writes it is gone")),
            Err(_) => {
                Err(io::Error::new(io::ErrorKind::TimedOut, format!("it was not written in {WRITING:?}")))
            }
        }
    }

    fn send(
        &mut self,
        deadline: Instant,
        token: Token,
        clock: &Clock,
        written: Option<oneshot::Sender<io::Result<()>>>,
    ) {
        if self.said == Some((deadline, token)) {
            return;
        }
        let text = line(deadline, token, clock);
        // Without the thread no answer comes, and the waiting caller notices that.
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

/// Writes lines until the sender is gone; of several waiting lines only the last.
fn write_all(folder: &Path, lines: &Receiver<Line>) {
    while let Ok(first) = lines.recv() {
        let mut waiting = vec![first];
        waiting.extend(lines.try_iter());
        let text = waiting.last().map(|line| line.text.clone()).unwrap_or_default();
        let new = folder.join("next");
        let result = fs::write(&new, text).and_then(|()| fs::rename(new, folder.join("deadline")));
        if let Err(error) = &result {
            tracing::warn!(%error, "the deadline cannot be written to its file");
        }
        for written in waiting.into_iter().filter_map(|line| line.written) {
            let said =
                result.as_ref().copied().map_err(|error| io::Error::new(error.kind(), error.to_string()));
            // The waiting caller may have given up.
            let _ = written.send(said);
        }
    }
}

#[cfg(test)]
mod tests {
    use incumbent::incumbent_core::{Incarnation, Revision};

    use super::*;

    #[tokio::test]
    async fn the_file_has_one_line_of_three_words_and_nothing_else_is_left_beside_it() {
        let clock = Clock::system();
        let mut file = DeadlineFile::new().unwrap();
        let token = Token { incarnation: Incarnation(7), sequence: Revision(3) };
        for renewal in 1..4 {
            let deadline = clock.now() + Duration::from_secs(renewal);
            file.write(deadline, token, &clock).await.unwrap();
            let said = fs::read_to_string(file.path()).unwrap();
            let words: Vec<&str> = said.split_whitespace().collect();
            assert_eq!((words.len(), said.lines().count()), (3, 1));
            assert_eq!(words[0], deadline.as_nanos().to_string());
            assert_eq!(words[2], token.to_string());
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
            let unix: f64 = words[1].parse().unwrap();
            assert!(unix > now - 60.0 && unix < now + 60.0, "{unix} at {now}");
        }
        assert_eq!(fs::read_dir(file.folder()).unwrap().count(), 1);
        let folder = file.folder().to_owned();
        drop(file);
        assert!(!folder.exists());
    }
}

//! A file that says until when the lease is proven.
//!
//! One line: the deadline in nanoseconds of the machine's clock (`CLOCK_BOOTTIME` on Linux, so the first number
//! of /proc/uptime is the same clock in seconds), the same instant in seconds since 1970 by the wall clock at the
//! time of writing, and the token. Each renewal replaces the file as a whole.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use incumbent::{Clock, Instant, Token};
use tempfile::TempDir;

/// The file, and the folder it is in, removed when this is dropped.
#[derive(Debug)]
pub(super) struct DeadlineFile {
    folder: TempDir,
    said: Option<(Instant, Token)>,
}

impl DeadlineFile {
    /// Its folder, with nothing in it yet.
    pub(super) fn new() -> io::Result<Self> {
        // The command may be somebody else's; there is nothing secret in it.
        let open_to_read = fs::Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().prefix("incumbent-").permissions(open_to_read).tempdir();
        let folder = folder.map_err(crate::failure::no_folder)?;
        Ok(Self { folder, said: None })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("deadline")
    }

    /// Says a deadline, where it is another than before.
    pub(super) fn say(&mut self, deadline: Instant, token: Token, clock: &Clock) -> io::Result<()> {
        if self.said == Some((deadline, token)) {
            return Ok(());
        }
        let left = deadline.since(clock.now());
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + left;
        let line =
            format!("{} {}.{:03} {token}\n", deadline.as_nanos(), unix.as_secs(), unix.subsec_millis());
        let new = self.folder.path().join("next");
        fs::write(&new, line)?;
        fs::rename(new, self.path())?;
        self.said = Some((deadline, token));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use incumbent::core::{Incarnation, Revision};

    use super::*;

    #[test]
    fn the_file_has_one_line_of_three_words_and_nothing_else_is_left_beside_it() {
        let clock = Clock::system();
        let mut file = DeadlineFile::new().unwrap();
        let token = Token { incarnation: Incarnation(7), sequence: Revision(3) };
        for renewal in 1..4 {
            let deadline = clock.now() + Duration::from_secs(renewal);
            file.say(deadline, token, &clock).unwrap();
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

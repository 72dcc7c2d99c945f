//! What a `sqlite:` URL says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Error, ErrorKind, Result};

/// Where the file is, and how it is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteSettings {
    /// The file. SQLite keeps two more beside it, with `-wal` and `-shm` added to the name.
    pub path: PathBuf,
    /// How often a watcher asks whether another process has written, 1 ms to 1 s; 10 ms unless set.
    /// Nobody asks while nobody watches. Measured on a small virtual machine, an idle watcher costs
    /// 0.7 % of a core at 5 ms, 0.5 % at 10 ms and 0.35 % at 20 ms, most of it for waking up.
    pub poll: Duration,
    /// Make the file where it does not exist, as by default; otherwise that is an error.
    pub create: bool,
}

impl SqliteSettings {
    /// The file at `path`, with the defaults.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), poll: Duration::from_millis(10), create: true }
    }

    /// How often a watcher asks whether another process has written.
    #[must_use]
    pub fn poll(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }

    /// Whether to make the file where it does not exist.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// The same with an absolute path, so that a change of the working directory does not matter,
    /// and every value checked.
    pub(super) fn resolved(&self) -> Result<Self> {
        let (shortest, longest) = (Duration::from_millis(1), Duration::from_secs(1));
        if !(shortest..=longest).contains(&self.poll) {
            return Err(Error::new(
                ErrorKind::InvalidSetting,
                format!("poll is {:?}; set it between {shortest:?} and {longest:?}", self.poll),
            ));
        }
        Ok(Self { path: absolute(&self.path)?, ..self.clone() })
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let Some(file) = path.file_name() else {
        let message = format!("{} does not name a file; write sqlite:elections.db", path.display());
        return Err(Error::new(ErrorKind::InvalidSetting, message));
    };
    if let Ok(path) = path.canonicalize() {
        return Ok(path);
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = folder.canonicalize().map_err(|cause| {
        let message = format!("the folder {} cannot be opened; make it first ({cause})", folder.display());
        Error::new(ErrorKind::NotFound, message).caused_by(cause)
    })?;
    Ok(folder.join(file))
}

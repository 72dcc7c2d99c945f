//! The settings of a `sqlite:` URL.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::refusals;
use incumbent_store::selectors;
use incumbent_store::{Error, ErrorKind, Result, Settings as _};

/// The location of the file, and how it is watched.
///
/// A URL of the form `sqlite:PATH` has the parameters:
///
/// <!-- generated: parameters -->
/// | setting | meaning | by default |
/// |---|---|---|
/// | `create=false` | Whether a missing file or topic is created | it is |
/// | `poll=10ms` | The interval at which the file is checked for changes, from 1 ms to 1 s | a tenth of the shortest lease after the last check, from 10 ms to 1 s |
/// | `fuse=true` | States that only this machine reaches the file on FUSE, and that file locks work there |  |
/// <!-- end of parameters -->
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteSettings {
    /// The file. SQLite keeps a journal next to it, with `-journal` added to the name.
    pub path: PathBuf,
    /// The interval at which the file is checked for changes, from 1 ms to 1 s; by default a tenth of the shortest
    /// lease after the last check, from 10 ms to 1 s.
    ///
    /// On Linux the kernel usually reports changes at once; then the checks only catch changes that it did not report.
    pub poll: Option<Duration>,
    /// Whether the file is created if it does not exist, as it is by default. Otherwise a missing file is an error.
    pub create: bool,
    /// States that only this machine reaches the file on FUSE, and that file locks work there.
    ///
    /// Any file system may be behind FUSE.
    pub fuse: bool,
    /// Whether to open a read-only file too, for programs that only watch its elections. Every write to it fails.
    pub read_only: bool,
}

impl SqliteSettings {
    /// Creates settings for the file at `path`, with the defaults.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), poll: None, create: true, fuse: false, read_only: false }
    }

    /// Sets [`poll`](#structfield.poll).
    #[must_use]
    pub fn poll(mut self, poll: Duration) -> Self {
        self.poll = Some(poll);
        self
    }

    /// Sets [`fuse`](#structfield.fuse).
    #[must_use]
    pub fn fuse(mut self, fuse: bool) -> Self {
        self.fuse = fuse;
        self
    }

    /// Sets [`create`](#structfield.create).
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets whether to open also a file that can only be read.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Checks every value and makes the path absolute, so that changing the working directory does not matter.
    pub(super) fn resolved(&self) -> Result<Self> {
        let (shortest, longest) = (Duration::from_millis(1), Duration::from_secs(1));
        if let Some(poll) = self.poll.filter(|poll| !(shortest..=longest).contains(poll)) {
            return Err(Error::from(refusals::poll(poll, shortest, longest)));
        }
        selectors::check(ErrorKind::InvalidSetting, self.selectors())?;
        Ok(Self { path: absolute(&self.path)?, ..self.clone() })
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let Some(file) = path.file_name().filter(|_| !is_folder) else {
        let refused = refusals::no_file(&path.display().to_string());
        return Err(Error::named(ErrorKind::InvalidSetting, refused));
    };
    if let Ok(path) = path.canonicalize() {
        return Ok(path);
    }
    if path.is_symlink() {
        let message =
            format!("{} is a link to a file that does not exist; name the file itself", path.display());
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = folder.canonicalize().map_err(|cause| {
        let message = format!("the folder {} cannot be opened; create it first ({cause})", folder.display());
        Error::new(ErrorKind::NotFound, message).caused_by(cause)
    })?;
    Ok(folder.join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_file_relative_or_absolute() {
        let read = |url: &str| SqliteSettings::from_url(url).unwrap();
        assert_eq!(read("sqlite:elections.db"), SqliteSettings::new("elections.db"));
        assert_eq!(read("sqlite:/var/lib/e.db"), SqliteSettings::new("/var/lib/e.db"));
        assert_eq!(read("sqlite:///var/lib/e.db"), SqliteSettings::new("/var/lib/e.db"));
        assert_eq!(read("sqlite:100%25.db"), SqliteSettings::new("100%.db"));
        let all = SqliteSettings::new("e.db").poll(Duration::from_millis(5)).create(false).fuse(true);
        assert_eq!(read("sqlite:e.db?poll=5ms&create=false&fuse=true"), all);
    }
}

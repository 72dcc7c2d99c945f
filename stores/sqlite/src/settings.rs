//! The settings of a `sqlite:` URL.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::refusals;
use incumbent_store::query;
use incumbent_store::selectors::{self, Selector, named};
use incumbent_store::{Error, ErrorKind, Result};

/// The location of the file, and how it is watched.
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
    /// Create the file if it does not exist (the default); otherwise that is an error.
    pub create: bool,
    /// States that only this machine reaches the file on FUSE, and that file locks work there.
    ///
    /// Any file system may be behind FUSE.
    pub fuse: bool,
    /// Also open a read-only file, for programs that only watch its elections; every write fails.
    pub read_only: bool,
}

impl SqliteSettings {
    /// Reads a URL of the form `sqlite:PATH`. The parameters:
    ///
    /// <!-- generated: parameters -->
    /// | setting | meaning | by default |
    /// |---|---|---|
    /// | `create=false` | Whether a missing file or topic is created | it is |
    /// | `poll=10ms` | The interval at which the file is checked for changes, from 1 ms to 1 s | a tenth of the shortest lease after the last check, from 10 ms to 1 s |
    /// | `fuse=true` | States that only this machine reaches the file on FUSE, and that file locks work there |  |
    /// <!-- end of parameters -->
    ///
    /// # Errors
    /// `InvalidUrl`.
    pub fn from_url(url: &str) -> Result<Self> {
        let invalid = |message: &str| Err(Error::new(ErrorKind::InvalidUrl, message));
        let (path, mut query) = query::split("sqlite", url.strip_prefix("sqlite:").unwrap_or(url))?;
        // Other libraries read the first part of sqlite://a/b as a host, or as a folder, so it is refused here.
        let path = match path.strip_prefix("//") {
            Some(absolute) if absolute.starts_with('/') => absolute,
            Some(_) => {
                return invalid(
                    "sqlite:// takes no host, only an absolute path; write sqlite:elections.db or \
                     sqlite:///var/lib/elections.db",
                );
            }
            None => &path,
        };
        if path.is_empty() {
            return invalid("sqlite: names no file; write sqlite:elections.db");
        }
        if path == ":memory:" {
            return invalid("SQLite's :memory: is shared with no other process; write memory: instead");
        }
        let defaults = Self::new(path);
        let settings = Self {
            poll: query.duration("poll")?,
            create: query.flag("create")?.unwrap_or(defaults.create),
            fuse: query.flag("fuse")?.unwrap_or(defaults.fuse),
            ..defaults
        };
        query.finish()?;
        selectors::check(ErrorKind::InvalidUrl, settings.selectors())?;
        Ok(settings)
    }

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

    /// Sets whether to also open a file that can only be read.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// The texts that select this store's elections: the path, and the file's name in it.
    pub fn selectors(&self) -> impl Iterator<Item = Selector<'_>> {
        let file = self.path.file_name().filter(|name| *name != self.path.as_os_str());
        named("path", self.path.to_string_lossy())
            .chain(file.into_iter().flat_map(|name| named("file", name.to_string_lossy())))
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

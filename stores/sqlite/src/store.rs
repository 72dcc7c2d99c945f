//! Implements `Settings` for a SQLite file, for the driver and the tools.

use std::fs::OpenOptions;

use incumbent_store::link::Reports;
use incumbent_store::local::check_text;
use incumbent_store::query;
use incumbent_store::selectors::{self, Selector, named};
use incumbent_store::shown::{millis, span};
use incumbent_store::{
    Adapter, Basis, Clock, Error, ErrorKind, Examination, Finding, InitOptions, InitReport, RecordLink,
    Result, Settings, StoreAdmin,
};
use serde_json::json;

use crate::adapter::Sqlite;
use crate::settings::SqliteSettings;

impl Settings for SqliteSettings {
    type Link = RecordLink;

    fn from_url(url: &str) -> Result<Self> {
        let invalid = |message: &str| Err(Error::new(ErrorKind::InvalidUrl, message));
        let (path, mut query) = query::split("sqlite", url.strip_prefix("sqlite:").unwrap_or(url))?;
        // Other libraries read the first part of sqlite://a/b as a host or as a folder, so such a URL is refused here.
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

    /// The path, and the file's name in it.
    fn selectors(&self) -> Vec<Selector<'_>> {
        let file = self.path.file_name().filter(|name| *name != self.path.as_os_str());
        named("path", self.path.to_string_lossy())
            .chain(file.into_iter().flat_map(|name| named("file", name.to_string_lossy())))
            .collect()
    }

    fn check_key(&self, key: &str) -> Result<()> {
        check_text("key", key)
    }

    async fn connect(&self, reports: Reports) -> Result<RecordLink> {
        Ok(RecordLink::new(self.adapter(&reports.clock).await?, reports))
    }

    async fn adapter(&self, clock: &Clock) -> Result<Box<dyn Adapter>> {
        Ok(Box::new(Sqlite::open(self, clock).await?))
    }

    async fn admin(&self, clock: &Clock) -> Result<Box<dyn StoreAdmin>> {
        Ok(Box::new(Sqlite::open(self, clock).await?))
    }

    /// Creates the file if it does not exist.
    async fn init(&self, options: &InitOptions) -> Result<InitReport> {
        options.of_whole_store()?;
        options.only_of_buckets("a file")?;
        let (info, created) = Sqlite::prepare(self, &Clock::system(), options.never_used).await?;
        let mut report = InitReport::default();
        (report.created, report.never_used) = (created, info.never_used);
        Ok(report)
    }

    /// Opening the file fails if an election on it would be unsafe.
    async fn examine(&self) -> Result<Examination> {
        let mut report = Examination::default();
        report.set("kept", "in a file of this machine", "file");
        report.set("fsync", "every write is on the disk before it is acknowledged", "always");
        report.set("history", "1 value a key", 1);
        report.set("markers", "not needed: candidates see when a record has expired", false);
        match self.poll {
            Some(poll) => report.set("looked_at_every", span(poll), json!({ "ms": millis(poll) })),
            None => {
                report.set(
                    "looked_at_every",
                    "when the kernel reports a change, and occasionally in between",
                    "change",
                );
            }
        }
        // Opening the file for writing changes nothing.
        if let Err(error) = OpenOptions::new().append(true).open(&self.path) {
            report.find(Finding::note(
                format!("this user can only read the file: {error}"),
                "give the candidates' user write permission on the file and its folder",
            ));
        }
        let file = Sqlite::open(self, &Clock::system()).await?;
        report.basis = Some(Basis::Records(file.capabilities(), file.inspect().await?));
        file.close().await;
        Ok(report)
    }
}

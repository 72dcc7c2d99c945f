//! Implements `Settings` for a SQLite file, for the driver and the tools.

use std::fs::OpenOptions;

use incumbent_store::link::Reports;
use incumbent_store::local::check_text;
use incumbent_store::selectors::Selector;
use incumbent_store::shown::{millis, span};
use incumbent_store::{
    Adapter, Basis, Clock, Examination, Finding, InitOptions, InitReport, RecordLink, Result, Settings,
    StoreAdmin,
};
use serde_json::json;

use crate::{Sqlite, SqliteSettings};

impl Settings for SqliteSettings {
    type Link = RecordLink;

    fn from_url(url: &str) -> Result<Self> {
        Self::from_url(url)
    }

    fn selectors(&self) -> Vec<Selector<'_>> {
        self.selectors().collect()
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

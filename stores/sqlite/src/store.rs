//! A SQLite file as a store: what the driver and the tools do with it by its settings.

use incumbent_store::link::Reports;
use incumbent_store::local::check_text;
use incumbent_store::selectors::Selector;
use incumbent_store::{Adapter, Clock, InitOptions, InitReport, RecordLink, Result, Settings, StoreAdmin};

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
}

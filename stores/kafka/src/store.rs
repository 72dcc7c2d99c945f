//! A Kafka cluster as a store: what the driver and the tools do with it by its settings.

use incumbent_core::text::Text;
use incumbent_store::link::Reports;
use incumbent_store::selectors::Selector;
use incumbent_store::settings::no_adapter;
use incumbent_store::{
    Adapter, Clock, Error, ErrorKind, InitOptions, InitReport, Result, Settings, StoreAdmin,
};

use crate::admin::{self, KafkaAdmin};
use crate::link::Groups;
use crate::refusals;
use crate::settings::KafkaSettings;

impl Settings for KafkaSettings {
    type Link = Groups;

    fn from_url(url: &str) -> Result<Self> {
        Self::from_url(url)
    }

    fn selectors(&self) -> Vec<Selector<'_>> {
        self.selectors().collect()
    }

    fn check_key(&self, key: &str) -> Result<()> {
        self.check_key(key)
    }

    async fn connect(&self, reports: Reports) -> Result<Groups> {
        Groups::open(self, reports).await
    }

    async fn adapter(&self, _clock: &Clock) -> Result<Box<dyn Adapter>> {
        Err(no_adapter("consumer groups"))
    }

    async fn admin(&self, _clock: &Clock) -> Result<Box<dyn StoreAdmin>> {
        Ok(Box::new(KafkaAdmin))
    }

    /// Creates the leader topic of one election.
    async fn init(&self, options: &InitOptions) -> Result<InitReport> {
        options.only_of_buckets("Kafka")?;
        if options.never_used {
            return Err(invalid(refusals::new_topic()));
        }
        let Some(election) = &options.election else {
            return Err(invalid(refusals::no_election()));
        };
        let made = admin::init(self, election).await?;
        let mut report = InitReport::default();
        (report.created, report.topic) = (made.created, Some(made.topic));
        Ok(report)
    }

    fn fail_fast(self, fail_fast: bool) -> Self {
        self.fail_fast(fail_fast)
    }
}

fn invalid(refused: Text) -> Error {
    Error::named(ErrorKind::InvalidSetting, refused)
}

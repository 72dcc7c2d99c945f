//! The SQLite store: the contract, accidents of its file, and several processes on one file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../contract/records/mod.rs"]
mod contract;
mod crowd;
#[path = "../../../contract/every_store.rs"]
mod every_store;
mod file;
mod one_file;
mod processes;
mod registration;
mod restored;

use std::path::PathBuf;
use std::time::Duration;

use contract::Fixture;
use incumbent::clock::Clock;
use incumbent::incumbent_core::Instant;
use incumbent::store::{Adapter, Sqlite, SqliteSettings, StoreAdmin, StoreSettings};
use tempfile::TempDir;

/// A file in its own folder, on a clock that moves only when a test moves it.
struct File {
    folder: TempDir,
    clock: Clock,
}

impl File {
    fn settings(&self) -> SqliteSettings {
        SqliteSettings::new(self.path())
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("elections.db")
    }

    async fn open(&self) -> Sqlite {
        Sqlite::open(&self.settings(), &self.clock).await.unwrap()
    }
}

impl Fixture for File {
    async fn start() -> Self {
        let clock = Clock::manual(Instant::from_nanos(60_000_000_000));
        Self { folder: tempfile::tempdir().unwrap(), clock }
    }

    async fn connect(&self) -> Box<dyn Adapter> {
        Box::new(self.open().await)
    }

    async fn operator(&self) -> Box<dyn StoreAdmin> {
        Box::new(self.open().await)
    }

    async fn recreate(&self) {
        std::fs::remove_file(self.path()).unwrap();
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn pass(&self, span: Duration) {
        self.clock.advance(span);
    }
}

contract::store_contract!(File);

mod by_url {
    use incumbent::CampaignOptions;
    use incumbent::store::InitOptions;

    use super::*;

    /// A file on the machine's own clock.
    struct ByUrl(TempDir);

    impl every_store::Fixture for ByUrl {
        async fn start() -> Self {
            let fixture = Self(tempfile::tempdir().unwrap());
            let settings: StoreSettings = every_store::Fixture::url(&fixture).parse().unwrap();
            settings.init(&InitOptions::new().never_used(true)).await.unwrap();
            fixture
        }

        fn url(&self) -> String {
            format!("sqlite:{}", self.0.path().join("elections.db").display())
        }

        fn preparation(&self) -> Option<InitOptions> {
            Some(InitOptions::new())
        }

        fn options(&self, name: &str) -> CampaignOptions {
            CampaignOptions::new().name(name).splay(Duration::ZERO)
        }
    }

    every_store::tests!(ByUrl);
}

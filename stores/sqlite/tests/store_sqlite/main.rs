//! The SQLite store: the contract, accidents of its file, and several processes on one file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../contract/mod.rs"]
mod contract;
mod crowd;
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
use incumbent::store::{Adapter, Sqlite, SqliteSettings, StoreAdmin};
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

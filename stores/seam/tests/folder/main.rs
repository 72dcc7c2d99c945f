//! A new store, written against the seam in one file. It passes the contract, and an election on it outlives faults of
//! its processes and changes of its folder.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../contract/records/mod.rs"]
mod contract;
mod processes;
mod store;

use std::time::Duration;

use contract::Fixture;
use incumbent_core::Instant;
use incumbent_store::{Adapter, Clock, StoreAdmin};
use store::Folder;
use tempfile::TempDir;

/// A folder store on a clock that only a test moves, so expiry is exact.
struct Folders(TempDir, Clock, Folder);

impl Fixture for Folders {
    async fn start() -> Self {
        let clock = Clock::manual(Instant::from_nanos(1_000_000_000));
        let folder = tempfile::tempdir().unwrap();
        Folder::create(folder.path(), &clock).unwrap();
        let first = Folder::open(folder.path(), &clock);
        Self(folder, clock, first)
    }

    async fn connect(&self) -> Box<dyn Adapter> {
        Box::new(self.2.again())
    }

    async fn operator(&self) -> Box<dyn StoreAdmin> {
        Box::new(self.2.again())
    }

    async fn recreate(&self) {
        Folder::create(self.0.path(), &self.1).unwrap();
    }

    fn clock(&self) -> &Clock {
        &self.1
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn pass(&self, span: Duration) {
        self.1.advance(span);
    }
}

contract::store_contract!(Folders);

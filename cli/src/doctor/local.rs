//! Stores without a server.

use std::fs::OpenOptions;

use incumbent::CampaignOptions;
use incumbent::store::{MemorySettings, SqliteSettings, StoreSettings};
use serde_json::json;

use super::report::{Finding, Report};
use super::{Elections, open};
use crate::failure::Failure;
use crate::output::{millis, span};

/// An SQLite file; opening it fails if an election on it would be unsafe.
pub(super) async fn file(
    name: String,
    settings: SqliteSettings,
    options: &CampaignOptions,
) -> Result<Report, Failure> {
    let mut report = Report::new(name);
    report.set("kept", "in a file of this machine", "file");
    report.set("fsync", "every write is on the disk before it is acknowledged", "always");
    report.set("history", "1 value a key", 1);
    report.set("markers", "not needed: candidates see when a record has expired", false);
    match settings.poll {
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
    if let Err(error) = OpenOptions::new().append(true).open(&settings.path) {
        report.find(Finding::note(
            format!("this user can only read the file: {error}"),
            "give the candidates' user write permission on the file and its folder",
        ));
    }
    examine(&mut report, StoreSettings::Sqlite(settings), options).await?;
    Ok(report)
}

/// A store in memory: visible to this process alone.
pub(super) async fn memory(
    name: String,
    settings: MemorySettings,
    options: &CampaignOptions,
) -> Result<Report, Failure> {
    let mut report = Report::new(name);
    report.set("kept", "in the memory of one process", "memory");
    report.set("markers", if settings.markers { "yes" } else { "no" }, settings.markers);
    report.find(Finding::note(
        "other processes cannot see a store in memory, and it is gone when its process ends",
        "use it in tests, and sqlite:, nats: or etcd: elsewhere",
    ));
    examine(&mut report, StoreSettings::Memory(settings), options).await?;
    Ok(report)
}

async fn examine(
    report: &mut Report,
    settings: StoreSettings,
    options: &CampaignOptions,
) -> Result<(), Failure> {
    let store = open(settings).await?;
    let info = store.store_info().await?;
    report.judge_this_machine();
    report.forecast_with(options, store.capabilities(), &info);
    report.has(Elections::of(&store).await?);
    Ok(store.close().await?)
}

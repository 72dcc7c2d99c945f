//! The program of the README of the crate `incumbent`.

use std::time::Duration;

use incumbent::{CampaignOptions, Store, Term};

#[tokio::main]
async fn main() -> incumbent::Result<()> {
    // nats://host:4222/BUCKET or etcd://host:2379/PREFIX for a server; a file is for the processes of one machine.
    let store = Store::open("sqlite:elections.db").await?;
    let candidate = store.campaign("billing-cron", CampaignOptions::new()).await?;
    candidate.lead(work).await
}

/// Dropped the moment the term ends, and called again in the next one.
async fn work(term: Term) {
    loop {
        println!("leading with token {}", term.token());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

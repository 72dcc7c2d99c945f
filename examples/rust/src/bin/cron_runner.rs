//! Runs a job every second, in one of any number of processes.
//!
//! ```sh
//! cargo run -p incumbent-examples --bin cron_runner -- sqlite:elections.db
//! ```
//!
//! Start it twice and stop the leader with Ctrl-C: the other takes over at once. Kill the leader instead, and
//! the other takes over when the lease is over.

use std::time::Duration;

use incumbent::{CampaignOptions, Result, Store, Term};

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".into());
    let store = Store::open(&url).await?;
    // The call returns at once: this process is a candidate now, and not yet a leader.
    let candidate = store.campaign("cron", CampaignOptions::new()).await?;

    let lead = candidate.lead(run_jobs);
    let stop = async {
        // Without a handler for Ctrl-C there is no clean way to stop, so an error stops the program too.
        let _ = tokio::signal::ctrl_c().await;
        // Drains: the term lasts until `run_jobs` has returned, and only then may another candidate lead.
        candidate.close().await
    };
    tokio::try_join!(lead, stop)?;
    store.close().await
}

/// The work of one term. It is dropped, wherever it waits, the moment the term ends.
async fn run_jobs(term: Term) {
    println!("leading with token {}", term.token());
    let mut every_second = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            _ = every_second.tick() => println!("the job runs"),
            // The candidate is leaving: finish the running job, then return.
            () = term.draining() => return println!("the last job is done"),
        }
    }
}

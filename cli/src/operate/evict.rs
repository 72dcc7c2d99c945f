//! `incumbent evict`: takes leadership from the leader.

use std::time::Duration;

use incumbent::Leader;
use incumbent::incumbent_core::record::Entry;
use serde_json::json;

use super::Bench;
use super::confirm::confirm;
use crate::failure::Failure;
use crate::output::{line, millis, span};
use crate::store::StoreArgs;

/// End the term of an election's leader, against its will
///
/// Deletes the leader's record. The leader loses its term as soon as it observes the deletion. A leader that is
/// stopped or cut off does not observe it, and leads until its deadline, so the next leader waits until the old
/// lease is certainly over. The command prints how long that takes.
///
/// `incumbent hand-over` is gentler: the leader finishes its work, and the successor leads without a wait. Evict a
/// leader that does not answer, and whose lease is too long to wait for.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The election's key
    key: String,
    /// Do not ask for a confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    store: StoreArgs,
}

const EXAMPLES: &str = "\
Examples:
  incumbent evict nightly-report --store nats://127.0.0.1:4222/ELECTIONS
  incumbent evict nightly-report --store sqlite:elections.db --yes --json";

/// `incumbent evict`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let bench = Bench::open(&args.store).await?;
    let evicted = evict(&bench, args, as_json).await;
    bench.close().await?;
    evicted
}

async fn evict(bench: &Bench, args: &Args, as_json: bool) -> Result<(), Failure> {
    let key = &args.key;
    let entry = bench.store.entry(key).await?;
    let Some(leader) = entry.live().map(Leader::of) else {
        if as_json {
            line(json!({ "election": key, "evicted": null, "wait_ms": null }))?;
        } else {
            line(format_args!("{key} is vacant already"))?;
        }
        return Ok(());
    };
    let wait = wait_of_the_next(&entry, bench.store.store_info().await?.max_age);
    confirm(question(key, &leader, wait), args.yes).await?;
    bench.evict(key, &leader).await?;
    if as_json {
        line(json!({ "election": key, "evicted": leader.name, "wait_ms": wait.map(millis) }))?;
    } else {
        line(format_args!("{key}: {} is evicted", leader.name))?;
        match wait {
            Some(wait) => line(format_args!(
                "the next leader waits {}, until the lease of {} is certainly over",
                span(wait),
                leader.name
            ))?,
            None => line("the next leader waits for a lease of its own")?,
        };
    }
    Ok(())
}

/// The question that is asked before an eviction.
pub(crate) fn question(key: &str, leader: &Leader, wait: Option<Duration>) -> String {
    let waits = wait.map_or_else(|| "for a lease of its own".into(), span);
    format!("Evict {} from {key}? The next leader waits {waits}.", leader.name)
}

/// The wait of a candidate that finds the tombstone: the holder's lease, or the longest lease possible in the
/// store, whichever is longer. A candidate whose own lease is longer waits for that.
pub(crate) fn wait_of_the_next(entry: &Entry, max_age: Option<Duration>) -> Option<Duration> {
    let lease = entry.live().and_then(|record| record.lease);
    lease.max(max_age)
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::incumbent_core::Revision;
    use incumbent::incumbent_core::record::Record;

    fn waits(lease: Option<u64>, max_age: Option<u64>) -> Option<u64> {
        let record = Record {
            revision: Revision(1),
            candidate: "ada".into(),
            stamp: None,
            lease: lease.map(Duration::from_secs),
            claim: None,
            metadata: Vec::new(),
            oversize: None,
        };
        wait_of_the_next(&Entry::Live(record), max_age.map(Duration::from_secs)).map(|wait| wait.as_secs())
    }

    #[test]
    fn the_next_leader_waits_for_the_longest_lease_the_one_before_can_have() {
        assert_eq!(waits(Some(5), Some(30)), Some(30));
        assert_eq!(waits(Some(30), Some(5)), Some(30));
        assert_eq!(waits(Some(5), None), Some(5));
        assert_eq!(waits(None, Some(30)), Some(30));
        assert_eq!(waits(None, None), None);
    }
}

//! `incumbent observe`: every change of leadership, as it happens.

use std::time::{Duration, SystemTime};

use incumbent::{Observation, Store};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{line, millis, unix_ms};
use crate::status::leader_json;
use crate::store::{Limit, StoreArgs};

/// Print who leads an election, and every change of leader
///
/// Begins with the present leader. It takes no part in the election, and prints a vacancy as soon as the store
/// shows it.
///
/// On Kafka the group names no leader. The command prints the candidate that last wrote a heartbeat as the leader,
/// until its lease is over; among goNELI's members, it prints the member that writes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The election's key
    key: String,
    /// End after this many lines
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// End after this time, such as 30s or 5m; by default at Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = crate::lease::time)]
    duration: Option<Duration>,
    #[command(flatten)]
    store: StoreArgs,
}

const EXAMPLES: &str = "\
Examples:
  incumbent observe nightly-report --store nats://127.0.0.1:4222/ELECTIONS
      Until Ctrl-C.
  incumbent observe nightly-report --store sqlite:elections.db --json --count 1
      The present leader, as a line of JSON.
  incumbent observe nightly-report --store etcd://127.0.0.1:2379/app --for 5m
      Includes candidates of other software.
  incumbent observe nightly-report --store kafka://127.0.0.1:9092/app
      By the heartbeats in the leader topic.";

/// `incumbent observe`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let settings = args.store.settings_of(&args.key)?;
    let limit = args.duration.map_or(Limit::NONE, Limit::of);
    let store = tokio::select! {
        opened = args.store.open(Store::builder(), settings) => opened?,
        () = limit.over() => return Err(limit.unanswered("no state of the election was received")),
        ended = tokio::signal::ctrl_c() => return Ok(ended?),
    };
    let watch = async {
        let mut observer = store.observe(&args.key).await?;
        let mut printed = 0;
        while args.count.is_none_or(|count| printed < count) {
            let Some(seen) = observer.next().await else { break };
            let age = observer.age(&seen);
            let text = match as_json {
                true => json_of(&seen, age).to_string(),
                // The text has a space instead of the T, as ISO 8601 and RFC 3339 allow for readability.
                false => format!(
                    "{} {}",
                    humantime::format_rfc3339_seconds(SystemTime::now()).to_string().replace('T', " "),
                    text_of(&seen)
                ),
            };
            if !line(text)? {
                break;
            }
            printed += 1;
        }
        Ok(())
    };
    let watched = tokio::select! {
        watched = watch => watched,
        // The end of the given time is not a failure.
        () = limit.over() => Ok(()),
        ended = tokio::signal::ctrl_c() => Ok(ended?),
    };
    store.close().await?;
    watched
}

fn text_of(seen: &Observation) -> String {
    let election = &seen.election;
    match &seen.leader {
        None => format!("{election}: vacant"),
        Some(leader) => {
            let metadata: String =
                leader.metadata.iter().map(|(name, text)| format!(", {name} = {text}")).collect();
            format!("{election}: {} leads since revision {}{metadata}", leader.name, leader.revision.0)
        }
    }
}

fn json_of(seen: &Observation, age: Duration) -> serde_json::Value {
    json!({
        "election": *seen.election,
        "leader": seen.leader.as_ref().map(leader_json),
        "age_ms": millis(age),
        "unix_ms": unix_ms(),
    })
}

//! `incumbent status`: who leads now.

mod output;
mod seen;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal as _, stdout};

use futures_util::{StreamExt as _, stream};
use incumbent::Store;
use incumbent::store::CandidateInfo;

use crate::failure::Failure;
use crate::output::line;
use crate::store::{Answered, Limit, OnceArgs, is_kafka, is_queue};
use output::{HEADINGS, json_of, row, table, text_of};
pub(crate) use output::{leader_json, state};
use seen::Seen;
pub(crate) use seen::is_of;

/// Show who leads an election, or all elections of a store
///
/// Reads what the store holds, from the store's leading server, and changes nothing. A leader that crashed is shown
/// until its lease is over. On etcd the leader is the first candidate of the queue, whatever its software, and the
/// other candidates follow in the queue's order. On Kafka the leader is the candidate that last wrote a heartbeat, and
/// the candidates are the members of the group.
///
/// For the holder of the lease, the command shows how long it has led, its fencing token, when it last renewed the
/// lease and how much of the lease is left; the leader itself stops earlier, by the margin. Token and age are what the
/// holder wrote; for other software neither is known. Then come the candidates that answered: whether each holds the
/// lease or waits, and for how long it has been a candidate. Other software does not answer, nor does a candidate that
/// is cut off.
///
/// The state of an election is `held`, or one of four kinds of vacancy: `released` by its holder, `deleted` by an
/// operator, `expired`, or `vacant` if no record of any holder is left.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    once: OnceArgs,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The election's key
    key: Option<String>,
    /// Every election of the store
    #[arg(long)]
    all: bool,
}

const EXAMPLES: &str = "\
Examples:
  incumbent status nightly-report --store nats://127.0.0.1:4222/ELECTIONS
  incumbent status --all --store sqlite:elections.db --json
  incumbent status nightly-report --store etcd://127.0.0.1:2379/app";

/// The most elections that are queried at a time.
const AT_ONCE: usize = 16;

/// `incumbent status`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let settings = match &args.which.key {
        Some(key) => args.once.store.settings_of(key)?,
        None => args.once.store.settings_to_look()?,
    };
    let (is_queue, is_group) = (is_queue(&settings), is_kafka(&settings));
    let Answered { store, .. } = args.once.open(settings, Limit::NONE).await?;
    let result = match &args.which.key {
        Some(key) => one(&store, key, is_queue, is_group, as_json).await,
        None => all(&store, is_queue, is_group, as_json).await,
    };
    store.close().await?;
    result
}

async fn one(store: &Store, key: &str, is_queue: bool, is_group: bool, as_json: bool) -> Result<(), Failure> {
    let candidates = store.candidates(key).await?;
    let seen = Seen { candidates, is_group, ..Seen::now(store, key, None, is_queue).await? };
    if as_json {
        line(json_of(&seen))?;
        return Ok(());
    }
    for text in text_of(&seen) {
        if !line(text)? {
            break;
        }
    }
    Ok(())
}

async fn all(store: &Store, is_queue: bool, is_group: bool, as_json: bool) -> Result<(), Failure> {
    let candidates = store.all_candidates().await?;
    let entries = store.entries().await?;
    let standing_in = |key: &str| {
        let all = candidates.as_ref()?.iter().filter(|candidate| *candidate.election == *key);
        Some(all.cloned().collect::<Vec<CandidateInfo>>())
    };
    let asked = entries.into_iter().map(|watched| async move {
        let seen = Seen::now(store, &watched.key, Some(watched.entry), is_queue).await;
        seen.map(|seen| Seen { candidates: standing_in(&seen.key), is_group, ..seen })
    });
    let elections: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let elections = elections.into_iter().collect::<Result<Vec<_>, Failure>>()?;
    if as_json {
        for seen in &elections {
            if !line(json_of(seen))? {
                break;
            }
        }
        return Ok(());
    }
    if elections.is_empty() {
        line(if is_queue {
            "no candidate is in any election here"
        } else {
            "no election has a record here: none was ever held, or all records have expired"
        })?;
        return Ok(());
    }
    let rows: Vec<_> =
        std::iter::once(HEADINGS.map(str::to_owned)).chain(elections.iter().map(row)).collect();
    let width = stdout().is_terminal().then(ratatui::crossterm::terminal::size).and_then(Result::ok);
    for text in table(&rows, width.map(|(columns, _)| columns)) {
        if !line(text)? {
            break;
        }
    }
    Ok(())
}

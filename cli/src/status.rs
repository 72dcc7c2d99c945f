//! `incumbent status`: who holds a seat now.

use std::time::Duration;

use incumbent::core::record::Entry;
use incumbent::store::Watched;
use incumbent::{Leader, Store};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{line, millis, span};
use crate::store::StoreArgs;

/// Say who holds the seat of an election, or of all elections of a store
///
/// It asks whoever leads the store and changes nothing. It says what the store holds: a leader that crashed is
/// there until its lease is over. Of one election it says when its record was last renewed, and what is left of the
/// lease; the leader itself stops a little earlier, by the margin that `doctor` prints. The revision is that of the
/// last renewal: the term's token is the one of its first write, which the store has not kept. Since when somebody
/// leads, with which token, and who else would like to, no store knows: `observe` and `top` tell changes as they
/// come, and a leader its own token.
///
/// A seat is `held`, or vacant: `released` by its holder, `deleted` by somebody, `expired`, or `vacant` where
/// nothing is left of any holder.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    store: StoreArgs,
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

The exit code is 0 whether the seat is held or vacant.";

/// `incumbent status`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let store = args.store.open_to_look().await?;
    let told = match &args.which.key {
        Some(key) => one(&store, key, as_json).await,
        None => all(&store, as_json).await,
    };
    store.close().await?;
    told
}

async fn one(store: &Store, key: &str, as_json: bool) -> Result<(), Failure> {
    let (entry, ago) = with_age(store, key).await?;
    if as_json {
        let mut told = json_of(key, &entry);
        if let Some(told) = told.as_object_mut() {
            told.insert("renewed_ms_ago".into(), json!(ago.map(millis)));
            told.insert("left_ms".into(), json!(left(&entry, ago).map(millis)));
        }
        line(told)?;
        return Ok(());
    }
    for text in text_of(key, &entry, ago) {
        line(text)?;
    }
    Ok(())
}

/// How often an entry is read that is renewed while we ask for its age.
const TRIES: usize = 3;

/// What the key holds, and how long ago a live record was written, where the store says so.
async fn with_age(store: &Store, key: &str) -> Result<(Entry, Option<Duration>), Failure> {
    let mut entry = store.entry(key).await?;
    for _ in 0..TRIES {
        let Some(record) = entry.live() else { break };
        let Some(written) = store.written(key).await? else { break };
        if written.revision == record.revision {
            return Ok((entry, Some(written.ago)));
        }
        entry = store.entry(key).await?;
    }
    Ok((entry, None))
}

/// What is left of the holder's lease, by the store's clock.
fn left(entry: &Entry, ago: Option<Duration>) -> Option<Duration> {
    let lease = entry.live().and_then(|record| record.lease)?;
    Some(lease.saturating_sub(ago?))
}

async fn all(store: &Store, as_json: bool) -> Result<(), Failure> {
    let elections = store.entries().await?;
    if as_json {
        for Watched { key, entry } in &elections {
            if !line(json_of(key, entry))? {
                break;
            }
        }
        return Ok(());
    }
    if elections.is_empty() {
        line("no election was ever held here")?;
        return Ok(());
    }
    let rows = elections.iter().map(|Watched { key, entry }| row(key, entry));
    for text in aligned(std::iter::once(HEADINGS.map(str::to_owned)).chain(rows).collect()) {
        if !line(text)? {
            break;
        }
    }
    Ok(())
}

const HEADINGS: [&str; 5] = ["election", "seat", "leader", "lease", "revision"];

fn row(key: &str, entry: &Entry) -> [String; 5] {
    let record = entry.live();
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    [
        key.to_owned(),
        seat(entry).into(),
        or_nothing(record.map(|record| record.candidate.clone())),
        or_nothing(record.and_then(|record| record.lease).map(span)),
        or_nothing(entry.revision().map(|revision| revision.0.to_string())),
    ]
}

/// The rows of a table, each column as wide as its widest cell.
fn aligned<const N: usize>(rows: Vec<[String; N]>) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// How a seat stands, in a word.
pub(crate) fn seat(entry: &Entry) -> &'static str {
    match entry {
        Entry::Vacant => "vacant",
        Entry::Live(_) => "held",
        Entry::Released(_) => "released",
        Entry::Deleted { .. } => "deleted",
        Entry::Expired { .. } => "expired",
    }
}

/// A leader as JSON has it everywhere.
pub(crate) fn leader_json(leader: &Leader) -> Value {
    let metadata = leader.metadata.iter().map(|(key, text)| (key.clone(), json!(text)));
    json!({
        "name": leader.name,
        "nonce": leader.nonce.map(|nonce| nonce.to_string()),
        "revision": leader.revision.0,
        "metadata": metadata.collect::<serde_json::Map<_, _>>(),
    })
}

fn json_of(key: &str, entry: &Entry) -> Value {
    let successor = match entry {
        Entry::Released(release) => release.successor.as_deref(),
        _ => None,
    };
    json!({
        "election": key,
        "seat": seat(entry),
        "leader": entry.live().map(|record| leader_json(&Leader::of(record))),
        "lease_ms": entry.live().and_then(|record| record.lease).map(millis),
        "revision": entry.revision().map(|revision| revision.0),
        "successor": successor,
    })
}

fn text_of(key: &str, entry: &Entry, ago: Option<Duration>) -> Vec<String> {
    let mut lines = vec![format!("election  {key}")];
    let mut say = |what: &str, value: String| lines.push(format!("{what:<8}  {value}"));
    match entry {
        Entry::Vacant => say("leader", "(vacant: nobody has held it, or its record is gone)".into()),
        Entry::Released(release) => {
            let next = release.successor.as_ref().map(|to| format!(", handed over to {to}"));
            say("leader", format!("(vacant: given up{})", next.unwrap_or_default()));
        }
        Entry::Deleted { .. } => say("leader", "(vacant: somebody deleted the record)".into()),
        Entry::Expired { .. } => say("leader", "(vacant: the lease is over)".into()),
        Entry::Live(record) => {
            say("leader", record.candidate.clone());
            if record.stamp.is_none() {
                say("", "(written by other software)".into());
            }
            if let Some(lease) = record.lease {
                let left = left(entry, ago).map(|left| format!(", {} left", span(left)));
                say("lease", span(lease) + &left.unwrap_or_default());
            }
            if let Some(ago) = ago {
                say("renewed", format!("{} ago", span(ago)));
            }
            for (name, text) in &record.metadata {
                say("metadata", format!("{name} = {text}"));
            }
        }
    }
    if let Some(revision) = entry.revision() {
        say("revision", revision.0.to_string());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::core::record::{Attempt, Nonce, Record, Release, Stamp};
    use incumbent::core::{Incarnation, Revision};

    fn held() -> Entry {
        Entry::Live(Record {
            revision: Revision(42),
            candidate: "worker-7".into(),
            stamp: Some(Stamp { nonce: Nonce(7), attempt: Attempt(3) }),
            lease: Some(Duration::from_secs(15)),
            metadata: vec![("address".into(), "10.0.0.7:8080".into())],
        })
    }

    fn released() -> Entry {
        Entry::Released(Release {
            revision: Revision(43),
            stamp: None,
            owed: Duration::ZERO,
            incarnation: Incarnation(1),
            successor: Some("worker-8".into()),
        })
    }

    #[test]
    fn a_seat_that_is_held_is_told_with_its_holder() {
        assert_eq!(
            text_of("jobs", &held(), Some(Duration::from_millis(1_250))),
            [
                "election  jobs",
                "leader    worker-7",
                "lease     15.00 s, 13.75 s left",
                "renewed   1.25 s ago",
                "metadata  address = 10.0.0.7:8080",
                "revision  42",
            ]
        );
        let expected = json!({
            "election": "jobs",
            "seat": "held",
            "leader": {
                "name": "worker-7",
                "nonce": "00000000000000000000000000000007",
                "revision": 42,
                "metadata": { "address": "10.0.0.7:8080" },
            },
            "lease_ms": 15000.0,
            "revision": 42,
            "successor": null,
        });
        assert_eq!(json_of("jobs", &held()), expected);
    }

    #[test]
    fn a_seat_that_was_given_up_is_told_with_the_successor() {
        let text = text_of("jobs", &released(), None);
        assert_eq!(text[1], "leader    (vacant: given up, handed over to worker-8)");
        let json = json_of("jobs", &released());
        assert_eq!((json["seat"].as_str(), json["successor"].as_str()), (Some("released"), Some("worker-8")));
    }

    #[test]
    fn all_elections_make_a_table() {
        let rows = [("jobs", held()), ("nightly-report", released()), ("new", Entry::Vacant)];
        let rows = rows.iter().map(|(key, entry)| row(key, entry));
        let table = aligned(std::iter::once(HEADINGS.map(str::to_owned)).chain(rows).collect());
        assert_eq!(
            table,
            [
                "election        seat      leader    lease    revision",
                "jobs            held      worker-7  15.00 s  42",
                "nightly-report  released  -         -        43",
                "new             vacant    -         -        -",
            ]
        );
    }

    #[test]
    fn every_vacancy_says_why() {
        let revision = Revision(9);
        let why = |entry: &Entry| text_of("jobs", entry, None)[1].clone();
        assert!(why(&Entry::Vacant).contains("nobody has held it"));
        assert!(why(&Entry::Deleted { revision }).contains("deleted"));
        assert!(why(&Entry::Expired { revision }).contains("the lease is over"));
    }
}

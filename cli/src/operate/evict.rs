//! `incumbent evict`: takes leadership from the leader.

use std::time::Duration;

use incumbent::incumbent_core::record::Entry;
use incumbent::{Leader, Observer};
use serde_json::json;
use tokio::time::timeout;

use super::{Bench, is_same, settings_for_order};
use crate::failure::Failure;
use crate::output::{line, millis, span};
use crate::store::{Limit, OnceArgs};

/// End the term of an election's leader, against its will
///
/// Deletes the leader's record; on etcd, its place in the queue. The leader loses its term as soon as it observes the
/// deletion. A leader that is stopped or cut off does not observe it, and leads until its deadline, so the next leader
/// waits until the old lease is certainly over; on etcd at most until the leader has reported its loss. The command
/// prints how long that takes. On etcd the next leader does not wait for a leader of other software, which may
/// continue.
///
/// An evicted candidate that keeps campaigning may take the lease again. With `--for` the command stays and evicts it
/// each time before it leads, so that only the other candidates can lead for a while. Each time the next leader waits
/// again. On etcd, a candidate that is alone in the queue leads at once, until it is evicted again.
///
/// `incumbent hand-over` is gentler: the leader finishes its work, and the successor leads without a wait. Evict only a
/// leader that does not answer and whose lease is too long to wait for.
///
/// The command evicts only the leader that the store shows when the command begins. If the store does not answer at
/// first, --yes does not count: by the time it answers, a healthy candidate may lead.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The election's key
    key: String,
    /// Keep the leader out for this long, or until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = crate::lease::time)]
    duration: Option<Duration>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    once: OnceArgs,
}

const EXAMPLES: &str = "\
Examples:
  incumbent evict nightly-report --store nats://127.0.0.1:4222/ELECTIONS
  incumbent evict nightly-report --store sqlite:elections.db --yes --json
  incumbent evict nightly-report --store sqlite:elections.db --for 10m
      Another candidate leads meanwhile.
  incumbent evict nightly-report --store etcd://127.0.0.1:2379/app";

/// `incumbent evict`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let settings = settings_for_order(&args.once, &args.key)?;
    let bench = Bench::open(&args.once, settings, Limit::NONE).await?;
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
    let wait = Wait::after(&entry, bench.store.store_info().await?.max_age, bench.is_queue);
    bench.confirm(question(key, &leader, wait), args.yes).await?;
    // The observer starts before the eviction, so as not to miss a lease that is taken right after it.
    let observer = match args.duration {
        Some(_) => Some(bench.store.observe(key).await?),
        None => None,
    };
    bench.evict(key, &leader).await?;
    report(key, &leader, wait, as_json)?;
    let (Some(limit), Some(observer)) = (args.duration, observer) else { return Ok(()) };
    tokio::select! {
        // The end of the given time is not a failure.
        kept = timeout(limit, keep_out(bench, key, &leader, observer, as_json)) => kept.unwrap_or(Ok(())),
        ended = tokio::signal::ctrl_c() => Ok(ended?),
    }
}

/// Evicts the campaigns of that name each time they have the lease.
async fn keep_out(
    bench: &Bench,
    key: &str,
    evicted: &Leader,
    mut observer: Observer,
    as_json: bool,
) -> Result<(), Failure> {
    while let Some(seen) = observer.next().await {
        let Some(holder) = seen.leader.filter(|holder| holder.name == evicted.name) else { continue };
        let entry = bench.store.entry(key).await?;
        // The lease that the observer saw may have run out by now.
        if !entry.live().map(Leader::of).is_some_and(|now| is_same(&now, &holder)) {
            continue;
        }
        let wait = Wait::after(&entry, bench.store.store_info().await?.max_age, bench.is_queue);
        if bench.remove(key, &holder).await?.is_ok() {
            report(key, &holder, wait, as_json)?;
        }
    }
    Ok(())
}

/// Prints who was evicted, and for how long the next leader waits.
fn report(key: &str, leader: &Leader, wait: Wait, as_json: bool) -> Result<(), Failure> {
    if as_json {
        line(json!({ "election": key, "evicted": leader.name, "wait_ms": wait.longest().map(millis) }))?;
    } else {
        let name = &leader.name;
        line(format_args!("{key}: {name} is evicted"))?;
        line(match wait {
            Wait::Exactly(wait) => {
                format!("the next leader waits {}, until the lease of {name} is certainly over", span(wait))
            }
            Wait::AtMost(wait) => {
                format!(
                    "the next leader waits until {name} has reported its loss, for {} at most",
                    span(wait)
                )
            }
            Wait::OwnLease => "the next leader waits as long as its own lease".into(),
            Wait::Nothing => {
                format!(
                    "the next leader does not wait: {name} runs other software, and may continue until it notices"
                )
            }
        })?;
    }
    Ok(())
}

/// The question that is asked before an eviction.
pub(crate) fn question(key: &str, leader: &Leader, wait: Wait) -> String {
    let name = &leader.name;
    let consequence = match wait {
        Wait::Exactly(wait) => format!("The next leader waits {}.", span(wait)),
        Wait::AtMost(wait) => {
            format!("The next leader waits until {name} has stopped, for {} at most.", span(wait))
        }
        Wait::OwnLease => "The next leader waits as long as its own lease.".into(),
        Wait::Nothing => "It runs other software, and may keep working while the next leader does.".into(),
    };
    format!("Evict {name} from {key}? {consequence}")
}

/// The time that the next leader waits after an eviction. A candidate with a longer lease of its own waits for that
/// lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The next leader waits exactly this long: the holder's lease, or the longest lease possible in the store if that
    /// is longer.
    Exactly(Duration),
    /// The next leader waits until the holder has removed its companion, but at most for the holder's lease.
    AtMost(Duration),
    /// The holder's record states no lease.
    OwnLease,
    /// The holder has no companion, because it is other software.
    Nothing,
}

impl Wait {
    pub(crate) fn after(entry: &Entry, max_age: Option<Duration>, is_queue: bool) -> Self {
        let record = entry.live();
        let lease = record.and_then(|record| record.lease);
        match lease.max(max_age) {
            _ if is_queue && record.is_some_and(|record| record.write_id.is_none()) => Self::Nothing,
            Some(wait) if is_queue => Self::AtMost(wait),
            Some(wait) => Self::Exactly(wait),
            None => Self::OwnLease,
        }
    }

    /// The longest possible wait, if the holder's lease is known.
    fn longest(self) -> Option<Duration> {
        match self {
            Self::Exactly(wait) | Self::AtMost(wait) => Some(wait),
            Self::Nothing => Some(Duration::ZERO),
            Self::OwnLease => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incumbent::incumbent_core::Revision;
    use incumbent::incumbent_core::record::{Attempt, Nonce, Record, WriteId};

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn held(lease: Option<u64>, is_ours: bool) -> Entry {
        let write_id = is_ours.then_some(WriteId { nonce: Nonce(7), attempt: Attempt(1) });
        Entry::Live(Record {
            revision: Revision(1),
            candidate: "ada".into(),
            write_id,
            lease: lease.map(seconds),
            term_info: None,
            metadata: Vec::new(),
            oversize: None,
        })
    }

    #[test]
    fn the_next_leader_waits_for_the_longest_lease_the_one_before_can_have() {
        let waits =
            |lease, max_age: Option<u64>| Wait::after(&held(lease, true), max_age.map(seconds), false);
        assert_eq!(waits(Some(5), Some(30)), Wait::Exactly(seconds(30)));
        assert_eq!(waits(Some(30), Some(5)), Wait::Exactly(seconds(30)));
        assert_eq!(waits(Some(5), None), Wait::Exactly(seconds(5)));
        assert_eq!(waits(None, Some(30)), Wait::Exactly(seconds(30)));
        assert_eq!(waits(None, None), Wait::OwnLease);
    }

    #[test]
    fn in_a_queue_it_waits_until_the_one_before_has_stopped_and_for_no_other_software() {
        assert_eq!(Wait::after(&held(Some(15), true), None, true), Wait::AtMost(seconds(15)));
        let foreign = Wait::after(&held(Some(60), false), None, true);
        assert_eq!((foreign, foreign.longest()), (Wait::Nothing, Some(Duration::ZERO)));
    }
}

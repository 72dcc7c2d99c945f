//! `incumbent init`: prepares a store for elections.

use std::time::Duration;

use incumbent::Clock;
use incumbent::store::etcd;
use incumbent::store::nats::{Difference, InitOptions, InitReport, init, survey};
use incumbent::store::{EtcdSettings, NatsSettings, Sqlite, SqliteSettings, StoreSettings};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{line, span};
use crate::store::{StoreArgs, is_kafka, shown};

/// Prepare a store for elections, or report how an existing bucket differs
///
/// A NATS bucket gets file storage, a history of 1, a TTL (the lease of its elections) and the replicas asked
/// for; without --markers it also refuses purges, which would take the record of a leader away. A
/// bucket that exists is compared and left as it is, unless --update is given.
///
/// An SQLite file is made where it does not exist; each of its elections has the lease of its candidates.
///
/// Under a prefix of etcd the birth record is written, by which candidates notice that the cluster was wiped or replaced;
/// each election has the lease of its candidates. The first candidate writes it too, where there is none.
///
/// In Kafka the leader topic of one election is created; the first candidate creates it too, where it may.
///
/// In a new store no candidate leads before the store is one lease old: it may replace another store, in which a
/// candidate still leads.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The election whose topic is created, in Kafka
    #[arg(value_name = "KEY")]
    election: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
    /// The bucket's TTL, which is the lease duration: how long no other candidate leads after a crash; 30s for a new
    /// bucket, and as it is for one that exists
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time)]
    lease: Option<Duration>,
    /// On how many servers of a cluster the bucket is kept: 1, 3 or 5; 1 for a new bucket, and as it is for one that
    /// exists
    #[arg(long, value_name = "N")]
    replicas: Option<u32>,
    /// Let the server report a lease that is over (2.11 or newer): fail-over without a poll. Not where
    /// candidates of the Go library take part
    #[arg(long)]
    markers: bool,
    /// Let each election have a lease of its own, in whole seconds and below the bucket's (2.11 or newer)
    #[arg(long)]
    own_leases: bool,
    /// State that no election was ever held under this name, so that the first leader need not wait for a
    /// lease. Only by hand: where a script remakes a store under a leader there can be two. Refused for a store that
    /// has been written to
    #[arg(long)]
    new: bool,
    /// Change a bucket that exists and differs
    #[arg(long, visible_alias = "apply")]
    update: bool,
}

const EXAMPLES: &str = "\
Examples:
  export INCUMBENT_STORE=nats://127.0.0.1:4222/ELECTIONS
  incumbent init --lease 15s --replicas 3
      A bucket on three servers, for leases of 15 s; or how it differs.
  incumbent init --lease 30s --replicas 3 --update
      Makes it so.
  incumbent init --store sqlite:/var/lib/app/elections.db
      A file for the processes of this machine.
  incumbent init --store etcd://127.0.0.1:2379/app --new
      A prefix that no election was ever held under.";

/// `incumbent init`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let settings = args.store.settings()?;
    if let Some(election) = &args.election
        && !is_kafka(&settings)
    {
        return Err(Failure::usage(format!(
            "{election:?} is an election, and this store is prepared as a whole; leave the key out"
        )));
    }
    match settings {
        StoreSettings::Nats(settings) => bucket(args, &settings, as_json).await,
        StoreSettings::Sqlite(settings) => file(args, &settings, as_json).await,
        StoreSettings::Etcd(settings) => prefix(args, &settings, as_json).await,
        #[cfg(feature = "kafka")]
        StoreSettings::Kafka(settings) => topic(args, &settings, as_json).await,
        _ => Err(Failure::usage(
            "a store of this kind needs no preparation; `init` is for sqlite:, nats:, etcd: and kafka:",
        )),
    }
}

async fn bucket(args: &Args, settings: &NatsSettings, as_json: bool) -> Result<(), Failure> {
    let (lease, replicas) = asked(args, settings).await;
    let options = InitOptions::new(lease)
        .replicas(replicas)
        .markers(args.markers)
        .own_leases(args.own_leases)
        .never_used(args.new)
        .update(args.update);
    let report = init(settings, &options).await?;
    let store = args.store.url().as_deref().map(shown).unwrap_or_default();
    if as_json {
        line(json_of(&store, &report))?;
    } else {
        for text in text_of(settings.bucket(), &report, args.new, lease) {
            line(text)?;
        }
    }
    if report.updated || report.differences.is_empty() {
        return Ok(());
    }
    let remedy = if report.differences.iter().all(|difference| difference.changeable) {
        "`incumbent init --update` with the same options sets it right"
    } else {
        "NATS does not allow all of these changes: delete the bucket and make it again with `incumbent init`"
    };
    Err(Failure::refused(format!("the bucket {:?} is not as asked for; {remedy}", settings.bucket())))
}

/// The lease of a new bucket.
const LEASE: Duration = Duration::from_secs(30);

/// The lease and the replicas: as asked for, else as an existing bucket has them, which nothing asks to change.
async fn asked(args: &Args, settings: &NatsSettings) -> (Duration, u32) {
    let existing = match (args.lease, args.replicas) {
        (Some(_), Some(_)) => None,
        // A bucket that cannot be examined is not there, or `init` reports why.
        _ => survey(&settings.clone().fail_fast(true), &Clock::system()).await.ok(),
    };
    let lease = args.lease.or_else(|| existing.as_ref()?.max_age).unwrap_or(LEASE);
    let replicas = args.replicas.or_else(|| existing.as_ref().map(|bucket| bucket.replicas)).unwrap_or(1);
    (lease, replicas)
}

async fn file(args: &Args, settings: &SqliteSettings, as_json: bool) -> Result<(), Failure> {
    only_of_buckets(args, "a file")?;
    let existed = settings.path.exists();
    let info = Sqlite::init(settings, &Clock::system(), args.new).await?;
    let path = settings.path.display();
    if as_json {
        let created = json!({
            "store": format!("sqlite:{path}"),
            "created": !existed,
            "never_used": info.never_used,
        });
        line(created)?;
    } else if existed {
        line(format_args!("{path} is ready for elections"))?;
    } else {
        line(format_args!("made {path}"))?;
        if !info.never_used {
            line("no candidate leads in it before it is as old as a candidate's lease")?;
        }
    }
    Ok(())
}

#[cfg(feature = "kafka")]
async fn topic(
    args: &Args,
    settings: &incumbent::store::KafkaSettings,
    as_json: bool,
) -> Result<(), Failure> {
    use incumbent::store::kafka;

    only_of_buckets(args, "Kafka")?;
    if args.new {
        return Err(Failure::usage(
            "--new is for a store with an age, and a topic of Kafka has none; leave it out",
        ));
    }
    let Some(election) = &args.election else {
        return Err(Failure::usage("each election of Kafka has a topic of its own; give the election's key"));
    };
    let kafka::InitReport { topic, created } = kafka::init(settings, election).await?;
    let store = args.store.url().as_deref().map(shown).unwrap_or_default();
    if as_json {
        line(json!({ "store": store, "topic": topic, "created": created }))?;
    } else if created {
        line(format_args!("created the topic {topic}"))?;
    } else {
        line(format_args!("the topic {topic} is there; `incumbent doctor` shows its settings"))?;
    }
    Ok(())
}

async fn prefix(args: &Args, settings: &EtcdSettings, as_json: bool) -> Result<(), Failure> {
    only_of_buckets(args, "etcd")?;
    let etcd::InitReport { created, incarnation, never_used, .. } = etcd::init(settings, args.new).await?;
    let store = args.store.url().as_deref().map(shown).unwrap_or_default();
    if as_json {
        let incarnation = incarnation.0.to_string();
        line(
            json!({ "store": store, "created": created, "never_used": never_used, "incarnation": incarnation }),
        )?;
    } else if created {
        line(format_args!("wrote the birth record of {store}"))?;
        if !never_used {
            line("no candidate leads there before it is as old as a candidate's lease")?;
        }
    } else {
        line(format_args!("{store} is ready for elections"))?;
    }
    Ok(())
}

/// Refuses the options that mean something for a bucket alone.
fn only_of_buckets(args: &Args, this: &str) -> Result<(), Failure> {
    let of_buckets = [
        ("--markers", args.markers),
        ("--own-leases", args.own_leases),
        ("--replicas", args.replicas.is_some()),
    ];
    match of_buckets.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => {
            Err(Failure::usage(format!("{option} is for a bucket of NATS, and this is {this}: leave it out")))
        }
    }
}

fn json_of(store: &str, report: &InitReport) -> serde_json::Value {
    let difference = |difference: &Difference| {
        json!({
            "setting": difference.setting,
            "is": difference.is,
            "should": difference.should,
            "changeable": difference.changeable,
        })
    };
    json!({
        "store": store,
        "created": report.created,
        "updated": report.updated,
        "differences": report.differences.iter().map(difference).collect::<Vec<_>>(),
    })
}

fn text_of(bucket: &str, report: &InitReport, is_new: bool, lease: Duration) -> Vec<String> {
    let mut lines = Vec::new();
    if report.created {
        lines.push(format!("made the bucket {bucket}"));
        if !is_new {
            lines.push(format!("no candidate leads in it before it is a lease old: {}", span(lease)));
        }
    } else if report.differences.is_empty() {
        lines.push(format!("the bucket {bucket} is ready for elections"));
    }
    let verb = if report.updated { "was" } else { "is" };
    for Difference { setting, is, should, .. } in &report.differences {
        let setting = match *setting {
            "max_age" => "max_age (--lease)",
            "num_replicas" => "num_replicas (--replicas)",
            setting => setting,
        };
        lines.push(if report.updated {
            format!("{setting} {verb} {is}, and is {should} now")
        } else {
            format!("{setting} {verb} {is}, and should be {should}")
        });
    }
    lines
}

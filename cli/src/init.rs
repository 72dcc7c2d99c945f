//! `incumbent init`: prepares a store for elections.

use std::time::Duration;

use incumbent::store::{Difference, InitOptions, InitReport, StoreSettings};
use incumbent::{Error, ErrorKind};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{line, span};
use crate::store::{StoreArgs, shown};

/// Prepare a store for elections, or report how an existing bucket differs
///
/// A NATS bucket gets file storage, a history of 1, a TTL (the lease of its elections) and the replicas asked for;
/// without --markers it also refuses purges, which would remove a leader's record. An existing bucket is compared and
/// left as it is, unless --update is given.
///
/// An SQLite file is created if it does not exist. Candidates choose the lease of each of its elections.
///
/// Under a prefix of etcd the birth record is written, from which candidates notice that the cluster was wiped or
/// replaced; without it, the first candidate writes it. Candidates choose the lease of each election.
///
/// In Kafka the leader topic of one election is created; without it, the first candidate creates it, if permitted.
///
/// In a new store no candidate leads until the store is one lease old: it may replace another store in which a
/// candidate still leads.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Kafka: the election whose topic is created
    #[arg(value_name = "KEY")]
    election: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
    // generated: options
    /// States that no election ever ran there. Otherwise no candidate leads until the store is one lease old, because
    /// it may replace another in which a candidate still leads. Only by hand, or in a test: if a program recreates a
    /// store under a leader, there can be two leaders. Refused for a store that has been written to
    #[arg(long)]
    new: bool,
    /// NATS: the lease of the bucket's elections, which is its TTL; by default 30 s for a new bucket; an existing one
    /// keeps its own. Other stores do not read this option, which may be meant for candidates
    #[arg(long, value_name = "TIME", value_parser = crate::lease::time)]
    lease: Option<Duration>,
    /// NATS: the number of servers that keep the bucket: 1, 3 or 5; by default 1 for a new bucket; an existing one
    /// keeps its own
    #[arg(long, value_name = "NUMBER")]
    replicas: Option<u32>,
    /// NATS: the bucket's size limit in bytes, if the account requires one; at least 65536; by default none for a new
    /// bucket; an existing one keeps its own. Write 10MB or 64KiB, for example
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    max_bytes: Option<u64>,
    /// NATS: whether watches report expiry, for a fail-over without a poll (2.11 or newer). Not for a bucket that
    /// candidates of the Go library share
    #[arg(long)]
    markers: bool,
    /// NATS: whether each election can have its own lease, in whole seconds and below the bucket's (2.11 or newer)
    #[arg(long)]
    own_leases: bool,
    /// NATS: whether to change an existing bucket that differs; by default the differences are reported, outside Rust
    /// as the error UNSAFE_STORE, and nothing is changed
    #[arg(long, visible_alias = "apply")]
    update: bool,
    // end of options
}

const EXAMPLES: &str = "\
Examples:
  export INCUMBENT_STORE=nats://127.0.0.1:4222/ELECTIONS
  incumbent init --lease 15s --replicas 3
      Creates a bucket on three servers for leases of 15 s, or prints how the
      existing one differs.
  incumbent init --lease 30s --replicas 3 --update
      Changes it.
  incumbent init --store sqlite:/var/lib/app/elections.db
      A file for the processes of this machine.
  incumbent init --store etcd://127.0.0.1:2379/app --new
      A prefix under which no election ever ran.";

/// `incumbent init`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<(), Failure> {
    let settings = args.store.settings()?;
    let report = settings.init(&args.options(&settings)).await.map_err(failed)?;
    let (store, shown_as) = named(args, &settings);
    if as_json {
        line(json_of(&store, &settings, &report))?;
    } else {
        for text in text_of(&shown_as, &settings, &report) {
            line(text)?;
        }
    }
    if report.is_ready() {
        return Ok(());
    }
    let remedy = if report.is_correctable() {
        "`incumbent init --update` with the same options corrects it"
    } else {
        "NATS does not allow all of these changes: delete the bucket and create it again with `incumbent init`"
    };
    Err(Failure::refused(format!("the bucket {shown_as:?} differs from the requested settings; {remedy}")))
}

impl Args {
    fn options(&self, settings: &StoreSettings) -> InitOptions {
        let mut options = InitOptions::new();
        // generated: requirements
        options = options.never_used(self.new);
        if let Some(lease) = self.lease {
            options = options.lease(lease);
        }
        if let Some(replicas) = self.replicas {
            options = options.replicas(replicas);
        }
        if let Some(max_bytes) = self.max_bytes {
            options = options.max_bytes(max_bytes);
        }
        options = options.markers(self.markers);
        options = options.own_leases(self.own_leases);
        options = options.update(self.update);
        // end of requirements
        // A lease from the environment may be meant for candidates.
        if !matches!(settings, StoreSettings::Nats(_)) {
            options.lease = None;
        }
        match &self.election {
            Some(election) => options.election(election),
            None => options,
        }
    }
}

/// A number of bytes, which may have a unit.
fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("", 1),
        ("KB", 1000),
        ("MB", 1000 * 1000),
        ("GB", 1000 * 1000 * 1000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| *factor);
    let bytes =
        factor.zip(number.parse::<u64>().ok()).and_then(|(factor, number)| number.checked_mul(factor));
    bytes.filter(|bytes| i64::try_from(*bytes).is_ok()).ok_or_else(crate::refusals::no_size)
}

/// Converts an error. A refused setting is an error of the command line.
fn failed(error: Error) -> Failure {
    let is_setting = error.kind() == ErrorKind::InvalidSetting;
    let failure = Failure::from(error);
    if is_setting { failure.of_usage() } else { failure }
}

/// The name of the store, first for JSON and then for text.
fn named(args: &Args, settings: &StoreSettings) -> (String, String) {
    let url = args.store.url().as_deref().map(shown).unwrap_or_default();
    match settings {
        StoreSettings::Nats(settings) => (url, settings.bucket().to_owned()),
        StoreSettings::Sqlite(settings) => {
            let path = settings.path.display();
            (format!("sqlite:{path}"), path.to_string())
        }
        _ => (url.clone(), url),
    }
}

fn json_of(store: &str, settings: &StoreSettings, report: &InitReport) -> serde_json::Value {
    let difference = |difference: &Difference| {
        json!({
            "setting": difference.setting,
            "is": difference.is,
            "should": difference.should,
            "changeable": difference.changeable,
        })
    };
    let InitReport { created, updated, never_used, differences, topic, incarnation, .. } = report;
    if let StoreSettings::Nats(_) = settings {
        let differences: Vec<_> = differences.iter().map(difference).collect();
        json!({ "store": store, "created": created, "updated": updated, "differences": differences })
    } else if let Some(topic) = topic {
        json!({ "store": store, "topic": topic, "created": created })
    } else if let Some(incarnation) = incarnation {
        let incarnation = incarnation.0.to_string();
        json!({ "store": store, "created": created, "never_used": never_used, "incarnation": incarnation })
    } else {
        json!({ "store": store, "created": created, "never_used": never_used })
    }
}

fn text_of(store: &str, settings: &StoreSettings, report: &InitReport) -> Vec<String> {
    let InitReport { created, never_used, lease, topic, .. } = report;
    let (what, waits) = match settings {
        StoreSettings::Nats(_) => {
            let lease = lease.map(span).unwrap_or_default();
            (
                format!("the bucket {store}"),
                format!("no candidate can lead until it is one lease old: {lease}"),
            )
        }
        StoreSettings::Etcd(_) => {
            (store.to_owned(), "no candidate can lead before one lease has passed".into())
        }
        _ => (store.to_owned(), "no candidate can lead before one lease has passed".into()),
    };
    let mut lines = Vec::new();
    match (topic, created) {
        (Some(topic), true) => lines.push(format!("created the topic {topic}")),
        (Some(topic), false) => {
            lines.push(format!("the topic {topic} exists; `incumbent doctor` shows its settings"));
        }
        (None, true) => {
            let verb =
                if matches!(settings, StoreSettings::Etcd(_)) { "wrote the birth record of" } else { "made" };
            lines.push(format!("{verb} {what}"));
            if !never_used {
                lines.push(waits);
            }
        }
        (None, false) if report.differences.is_empty() => {
            lines.push(format!("{what} is ready for elections"))
        }
        (None, false) => {}
    }
    let verb = if report.updated { "was" } else { "is" };
    for difference in &report.differences {
        let Difference { is, should, .. } = difference;
        let setting = match difference.option() {
            Some(option) => format!("{} (--{option})", difference.setting),
            None => difference.setting.to_owned(),
        };
        lines.push(if report.updated {
            format!("{setting} {verb} {is}, and is now {should}")
        } else {
            format!("{setting} {verb} {is}, and should be {should}")
        });
    }
    lines
}

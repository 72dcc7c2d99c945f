//! `incumbent doctor`: the effective settings of a store, and their problems.

mod report;

use incumbent::{ElectionInfo, Store};
use report::Report;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgs;
use crate::output::line;
use crate::store::{StoreArgs, shown};

/// Check a store's settings, and print what they mean for its elections
///
/// Reads the store's effective settings and changes nothing. Then it prints what candidates with these settings can
/// count on, in numbers: the longest vacancy after a crash, how long before the end of its lease a leader stops,
/// whether a term survives the failure of one of the store's servers, and how many writes an election costs per day.
///
/// A setting that would allow two leaders is reported as `broken`, with the remedy; one that costs time or reserve
/// as `weak`; anything else worth knowing as `note`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    lease: LeaseArgs,
}

const EXAMPLES: &str = "\
Examples:
  incumbent doctor --store nats://127.0.0.1:4222/ELECTIONS
  incumbent doctor --store nats://127.0.0.1:4222/ELECTIONS --lease 5s --json
  incumbent doctor --store sqlite:elections.db --preset fast
  incumbent doctor --store etcd://10.0.0.1,10.0.0.2,10.0.0.3/app";

/// `incumbent doctor`.
pub(crate) async fn run(args: &Args, as_json: bool) -> Result<Exit, Failure> {
    let settings = args.store.settings_to_look()?;
    let name = args.store.url().as_deref().map(shown).unwrap_or_default();
    let mut report = Report::new(name, settings.examine().await?, &args.lease.options());
    if report.may_list() {
        let store = Store::builder().fail_fast(true).open_settings(settings).await?;
        report.has(Elections::of(&store).await?);
        store.close().await?;
    }
    if as_json {
        line(report.json())?;
    } else {
        for text in report.text() {
            if !line(text)? {
                break;
            }
        }
    }
    Ok(if report.is_safe() && report.is_open() { Exit::Done } else { Exit::Refused })
}

/// The elections of a store.
#[derive(Clone, Copy, Debug, Default)]
struct Elections {
    total: u64,
    led: u64,
    /// The number of elections that candidates of other software lead.
    foreign: u64,
}

impl Elections {
    async fn of(store: &Store) -> Result<Self, Failure> {
        let mut elections = Self::default();
        for ElectionInfo { leader, .. } in store.list().await? {
            elections.total += 1;
            elections.led += u64::from(leader.is_some());
            elections.foreign += u64::from(leader.is_some_and(|leader| leader.nonce.is_none()));
        }
        Ok(elections)
    }
}

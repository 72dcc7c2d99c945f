//! The demo's command line.

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use incumbent_rig::schedule::Fault;

use crate::failure::Failure;
use crate::lease::LeaseArgs;
use crate::store::StoreArgs;

/// Watch candidates elect, lose and re-elect a leader
///
/// Ten candidates, each a process of its own, campaign in one election, by default in an SQLite file in a
/// temporary folder. Meanwhile the leader is killed, stopped for longer than its lease, restarted, asked to
/// hand over, and has its key deleted and overwritten; the demo prints what happened and how long each vacancy
/// lasted.
///
/// It also proves that there never were two leaders: every candidate asks itself a thousand times a
/// second whether it leads, and records the machine's clock before and after. If two candidates can
/// be shown to have led at the same instant, the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) store: StoreArgs,
    /// Run the candidates as tasks of this process, on a store in memory; none is killed or stopped
    #[arg(long, conflicts_with_all = ["store", "context"])]
    pub(super) in_process: bool,
    /// The number of candidates
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(2..=50))]
    pub(super) workers: u16,
    /// The election's key; by default a key that no other program uses
    #[arg(long)]
    pub(super) key: Option<String>,
    #[command(flatten)]
    pub(super) lease: LeaseArgs,
    /// Start campaigning at once, without a random wait
    #[arg(long)]
    pub(super) no_splay: bool,
    /// End after this time, such as 30s or 5m; by default at Ctrl-C on a terminal, and after 30 s elsewhere
    #[arg(long = "for", value_name = "TIME", value_parser = crate::lease::time)]
    pub(super) duration: Option<Duration>,
    /// The faults to make, separated by commas
    #[arg(long, value_enum, value_name = "FAULT", value_delimiter = ',', default_value = "all")]
    pub(super) faults: Vec<Choice>,
    /// The seed that decides which faults are made and when; shown at the end
    #[arg(long, value_name = "NUMBER")]
    pub(super) seed: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  incumbent demo
      Ten processes on an SQLite file, until Ctrl-C.
  incumbent demo --for 60s --faults kill,stop --json
      Only these two faults for a minute, as lines of JSON. The last line is a
      summary: terms, overlaps, faults by kind, and the length of vacancies
      (p50, p90, p99, max).
  incumbent demo --store nats://127.0.0.1:4222/ELECTIONS
      On a NATS server, with the lease that the bucket says. A bucket that is
      missing is made.
  incumbent demo --in-process --workers 3
      Three tasks of one process.

The lease is 2 s (preset fast) on an embedded store and what the bucket says on
NATS, unless --lease says otherwise. Ctrl-C ends the demo in good order: every
candidate resigns. A second Ctrl-C kills.";

/// The value of `--faults`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    All,
    None,
    One(Fault),
}

impl Choice {
    /// The faults that these choices select.
    pub(super) fn faults(choices: &[Self], in_process: bool) -> Result<Vec<Fault>, Failure> {
        let possible = |fault: &Fault| !(in_process && fault.needs_process());
        if choices.contains(&Self::None) {
            return Ok(Vec::new());
        }
        if choices.contains(&Self::All) {
            return Ok(Fault::ALL.into_iter().filter(possible).collect());
        }
        let is_chosen = |fault: &Fault| choices.contains(&Self::One(*fault));
        let faults: Vec<Fault> = Fault::ALL.into_iter().filter(is_chosen).collect();
        match faults.iter().find(|fault| !possible(fault)) {
            None => Ok(faults),
            Some(fault) => Err(Failure::usage(format!(
                "--faults {} needs candidates in separate processes; remove it or --in-process",
                fault.name()
            ))),
        }
    }
}

impl ValueEnum for Choice {
    fn value_variants<'a>() -> &'a [Self] {
        use Fault::{Delete, HandOver, Kill, Overwrite, Restart, Stop};
        &[
            Self::All,
            Self::None,
            Self::One(Kill),
            Self::One(Stop),
            Self::One(Restart),
            Self::One(HandOver),
            Self::One(Delete),
            Self::One(Overwrite),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::All => ("all", "Every fault that can be made"),
            Self::None => ("none", "No fault"),
            Self::One(fault) => {
                let help = match fault {
                    Fault::Kill => "Kill the leader's process (SIGKILL), and start it again",
                    Fault::Stop => {
                        "Stop the leader's process for longer than its lease (SIGSTOP), then let it continue"
                    }
                    Fault::Restart => "Let the leader leave cleanly, and start it again",
                    Fault::HandOver => "Let the leader hand over to a named candidate",
                    Fault::Delete => "Delete the election's key, as an operator might",
                    Fault::Overwrite => "Overwrite the election's key, as other software might",
                };
                (fault.name(), help)
            }
        };
        Some(PossibleValue::new(name).help(help))
    }
}

//! The command line of `cargo sim`.

use std::path::PathBuf;

use super::lists::{Faults, Keep, Simulated};

/// Run simulated elections through faults, and check that there are never two leaders
///
/// Runs the real rules, with many candidates, on a simulated store, network and clocks. A seed decides which faults are
/// injected and when; every invariant is checked after every step. A failing seed is printed first, with the fewest
/// faults that reproduce it and the command to do so. The same seed gives the same run, byte for byte, on every
/// machine.
#[derive(Debug, clap::Parser)]
#[command(name = "cargo sim", after_help = EXAMPLES, max_term_width = 100)]
pub(super) struct Args {
    /// The number of seeds to run; 100 by default, or 1 if a single run is shown
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seeds: Option<u64>,
    /// The first seed
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) seed: u64,
    /// The store to simulate: nats (a key of a bucket), etcd (a queue of keys) or kafka (a consumer group)
    #[arg(long, value_name = "STORE", default_value = "nats")]
    pub(super) store: Simulated,
    /// The kinds of faults that seeds choose from, separated by commas, or `none`; all by default. `help` lists them
    #[arg(long, value_name = "KIND,...")]
    pub(super) faults: Option<Faults>,
    /// The number of candidates
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) candidates: u16,
    /// The number of additional candidates that use Go software: the library nats-kv-leader-elect, in etcd
    /// concurrency.Election, in kafka goNELI; with nats, faults against which that library has no defence, such as
    /// deletions, are left out
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(super) go_peers: u8,
    /// Give every candidate the default settings; otherwise seeds also choose win delays, back-offs, separate leases
    /// and more
    #[arg(long)]
    pub(super) plain: bool,
    /// Keep only the faults at these places in the seed's script, separated by commas, or `none`
    #[arg(long, value_name = "PLACE,...")]
    pub(super) keep: Option<Keep>,
    /// Limit the phase with faults to this many seconds; by default the seed decides
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) lasts: Option<u64>,
    /// Print everything that happens in one seed's run
    #[arg(long, help_heading = "One run closely")]
    pub(super) trace: bool,
    /// Draw one seed's run, as an .svg picture or an .html page
    #[arg(long, help_heading = "One run closely", value_name = "FILE")]
    pub(super) timeline: Option<PathBuf>,
    /// The number of runs at a time; by default the number of processors. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) jobs: Option<u16>,
    /// Write JSON, one line for each result
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    /// Returns true if a single run is shown, not the results of many.
    pub(super) fn looks_closely(&self) -> bool {
        self.trace || self.timeline.is_some()
    }
}

const EXAMPLES: &str = "\
Examples:
  cargo sim --seeds 10000
      Ten thousand runs: simulated hours, faults by kind, terms, the longest
      vacancy.
  cargo sim --seeds 1000 --faults loss,delay,pause --candidates 20
  cargo sim --faults help
      Every kind of fault, with what is promised under it.
  cargo sim --seed 5 --trace | less
  cargo sim --seed 5 --timeline run.html
      One run, as text and as a picture.

With --json the last line is the summary; if a seed failed, the line before it
names the seed.

Exit codes:
  0  every invariant held
  1  an invariant does not hold, or the output cannot be written
  2  the command line is invalid";

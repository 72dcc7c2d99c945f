//! `cargo sim`: simulated elections, many of them or one in detail.
//!
//! ```text
//!   args ── the command line; lists ── its lists of faults and of places
//!   main ── the choice of the runs, and the exit code
//!     └── runs ── seeds by the thousand, or one run written down or drawn; progress ── how far that is
//!   output ── the results, for people and for machines
//! ```

mod args;
mod lists;
mod output;
mod progress;
mod runs;

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use incumbent_sim::{Choice, Kind, Script, Seeds};

use args::Args;
use lists::Faults;

/// The default number of seeds.
const SEEDS: u64 = 100;

/// The exit codes other than success. The first is for an invariant that does not hold, or output that cannot be
/// written; the second for an invalid command line.
const FAILED: u8 = 1;
const USAGE: u8 = 2;

/// The reason why no run was made or shown.
#[derive(Debug)]
enum Failure {
    /// The command line asks for something invalid.
    Usage(String),
    Io(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(format!("the output cannot be written: {error}"))
    }
}

fn main() -> ExitCode {
    let (code, message) = match run(&Args::parse()) {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => return ExitCode::from(FAILED),
        Err(Failure::Usage(message)) => (USAGE, message),
        Err(Failure::Io(message)) => (FAILED, message),
    };
    eprintln!("error: {message}");
    ExitCode::from(code)
}

/// Returns whether every invariant held.
fn run(args: &Args) -> Result<bool, Failure> {
    if args.faults == Some(Faults::Help) {
        return list_faults(args).map(|()| true);
    }
    let first = choice(args)?;
    if args.looks_closely() { runs::one(args, &first) } else { runs::many(args, &first) }
}

/// Writes a line at once. Returns false if the reader has ended, as in `cargo sim … | head`, which is not a failure.
fn line(text: impl Display) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        result => Ok(result.map(|()| true)?),
    }
}

/// The first run to make, after all early checks.
fn choice(args: &Args) -> Result<Choice, Failure> {
    let of_one =
        [("--trace", args.trace), ("--timeline", args.timeline.is_some()), ("--keep", args.keep.is_some())];
    if let Some((option, _)) = of_one.iter().find(|(_, given)| *given)
        && args.seeds.is_some_and(|seeds| seeds > 1)
    {
        return Err(Failure::Usage(format!(
            "{option} shows one run, but --seeds asks for {}: leave --seeds out, and choose the run with --seed",
            args.seeds.unwrap_or(SEEDS)
        )));
    }
    if let Some(file) = &args.timeline
        && !file.extension().is_some_and(|extension| extension == "svg" || extension == "html")
    {
        return Err(Failure::Usage(format!(
            "--timeline writes {:?}, but the name must end in .svg or .html",
            file.display().to_string()
        )));
    }
    let choice = Choice {
        seed: args.seed,
        store: args.store.0,
        candidates: args.candidates.into(),
        faults: args.faults.clone().and_then(Faults::kinds),
        peers: args.go_peers.into(),
        plain: args.plain,
        keep: None,
        lasts: args.lasts.map(Duration::from_secs),
    };
    let Some(keep) = &args.keep else { return Ok(choice) };
    let script = Script::of(&choice).faults;
    if let Some(place) = keep.0.iter().find(|place| **place >= script.len()) {
        return Err(Failure::Usage(format!(
            "--keep names the fault at place {place}, but the script of seed {} has only {} faults, from place 0: use \
             the same seed, candidates and faults as the run that printed the places",
            choice.seed,
            script.len()
        )));
    }
    Ok(Choice { keep: Some(keep.0.clone()), ..choice })
}

/// The seeds to run.
fn seeds(args: &Args) -> Result<Seeds, Failure> {
    let count = args.seeds.unwrap_or(if args.keep.is_some() { 1 } else { SEEDS });
    Seeds::new(args.seed, count).ok_or_else(|| {
        Failure::Usage(format!(
            "--seed {} with --seeds {count} exceeds the last seed, {}: start lower, or run fewer",
            args.seed,
            u64::MAX
        ))
    })
}

fn list_faults(args: &Args) -> Result<(), Failure> {
    for kind in Kind::ALL.iter().filter(|kind| kind.is_of(args.store.0)) {
        let more = if args.json { line(output::kind_json(*kind))? } else { line(output::kind_text(*kind))? };
        if !more {
            break;
        }
    }
    Ok(())
}

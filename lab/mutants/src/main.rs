//! `incumbent-mutants`: breaks the rules of an election one at a time, and checks that one of the checks notices.
//!
//! A normal build writes and builds a workspace whose core can be broken, and runs that workspace's hunt; see
//! docs/internals/mutants.md.
//! docs/internals/mutants.md.

mod finding;
mod hunt;
mod induction_script;
mod pack;
mod page;
mod queue_script;
mod script;
mod session_script;
mod switches;
mod table;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;
use incumbent_sim::{Choice, Script, Store, run_traced};

use finding::Finding;
use hunt::Hunt;
use table::{ALL, Mutant, find};

const EXAMPLES: &str = "Examples:
  incumbent-mutants                              break every rule in turn
  incumbent-mutants --mutant busy-loses          break one
  incumbent-mutants --mutant busy-loses --trace 1  show what happens in one run of it
  incumbent-mutants --json                       one line of JSON for each, for machines
  incumbent-mutants --list                       print the mutants, and run nothing
  incumbent-mutants --page docs/internals/mutants.md       write the table into the page";

/// Breaks the rules of an election one at a time, and reports whether the simulator or the model checker notices
///
/// A rule that can be broken unnoticed is a gap in the checks, and makes the exit code 1.
#[derive(Debug, Parser)]
#[command(name = "incumbent-mutants", version, after_help = EXAMPLES)]
struct Args {
    /// Break only this rule; may be given several times. `none` breaks nothing
    #[arg(long = "mutant", value_name = "NAME")]
    mutants: Vec<String>,
    /// The number of seeds to run with all faults before trying fewer kinds
    #[arg(long, value_name = "N", default_value_t = hunt::BLIND)]
    blind: u64,
    /// The number of seeds to run with each selection of fewer faults
    #[arg(long, value_name = "N", default_value_t = hunt::SWARM)]
    swarm: u64,
    /// The number of rules to break at a time; by default one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// End each hunt at the first notice, by the simulator or the model checker
    #[arg(long, conflicts_with = "page")]
    until_noticed: bool,
    /// Print one line of JSON for each rule
    #[arg(long)]
    json: bool,
    /// Print the mutants, and run nothing
    #[arg(long)]
    list: bool,
    /// Print everything that happens in the run of this seed, with all faults and one mutant
    #[arg(long, value_name = "SEED")]
    trace: Option<u64>,
    /// Write the table into this page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Check that this page lists exactly the present mutants, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with = "page")]
    check_page: Option<PathBuf>,
    /// Hunt in this process; a hunt starts its own processes this way
    #[arg(long, hide = true)]
    alone: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match go(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns true if every mutant is caught and the control is not.
fn go(args: &Args) -> Result<bool> {
    if let Some(file) = &args.check_page {
        page::check(file)?;
        return Ok(true);
    }
    let mutants = chosen(&args.mutants)?;
    if args.list {
        for mutant in mutants.iter().flatten() {
            println!("{:<32} {}\n{:<32} {}", mutant.name, mutant.breaks, "", mutant.known_from);
        }
        return Ok(true);
    }
    if option_env!("INCUMBENT_BREAKABLE").is_none() {
        return Ok(workspace::run()?.success());
    }
    if let Some(seed) = args.trace {
        let [mutant] = mutants[..] else { bail!("--trace wants one --mutant") };
        if !args.alone {
            let status = pack::alone(mutant)?.args(["--trace", &seed.to_string()]).status()?;
            return Ok(status.success());
        }
        let store = mutant.map_or(Store::Nats, Mutant::store);
        let choice = Choice { store, ..Choice::of_seed(seed) };
        let traced = run_traced(&choice, true, false);
        println!("{}\n{}", Script::of(&choice), traced.trace);
        if let Some(violation) = &traced.outcome.violation {
            println!("{violation}");
        }
        return Ok(traced.outcome.violation.is_none());
    }
    let hunt = Hunt { blind: args.blind, swarm: args.swarm, until_noticed: args.until_noticed };
    if args.alone {
        let [mutant] = mutants[..] else { bail!("--alone wants one --mutant") };
        println!("{}", serde_json::to_string(&hunt.run(mutant))?);
        return Ok(true);
    }
    let jobs = match args.jobs {
        Some(jobs) => jobs.into(),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let findings = pack::hunt(&mutants, hunt, jobs, |finding| print(finding, args.json))?;
    if let Some(file) = &args.page {
        page::write(file, &findings)?;
    }
    let bad: Vec<_> = findings.iter().filter(|finding| !finding.is_well()).map(|f| f.name.as_str()).collect();
    if !bad.is_empty() && !args.json {
        println!("not as it should be: {}", bad.join(", "));
    }
    Ok(bad.is_empty())
}

/// The named mutants; if none is named, all of them and the control.
fn chosen(names: &[String]) -> Result<Vec<Option<&'static Mutant>>> {
    if names.is_empty() {
        return Ok(std::iter::once(None).chain(ALL.iter().map(Some)).collect());
    }
    names.iter().map(|name| find(name)).collect()
}

fn print(finding: &Finding, json: bool) -> Result<()> {
    if json {
        println!("{}", serde_json::to_string(finding)?);
    } else {
        println!("{:<32} {}", finding.name, finding.outcome());
    }
    Ok(())
}

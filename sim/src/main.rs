//! `incumbent-sim`: many runs, or one of them closely.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use incumbent_sim::{Choice, Kind, Tally, describe, run, shrink, timeline, trace};

/// Runs elections through simulated faults and checks that there never are two leaders.
#[derive(Debug, Parser)]
#[command(name = "incumbent-sim", version)]
struct Args {
    /// How many seeds to run
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The kinds of faults that seeds choose from; all where none is named
    #[arg(long, value_delimiter = ',', value_name = "KIND")]
    faults: Option<Vec<Kind>>,
    /// How many candidates
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=100))]
    candidates: u8,
    /// Only the faults at these places of the script
    #[arg(long, value_delimiter = ',', value_name = "PLACE")]
    keep: Option<Vec<usize>>,
    /// Print everything that happens in the first seed's run
    #[arg(long)]
    trace: bool,
    /// Draw the first seed's run, as an .svg picture or an .html page
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let first = Choice {
        seed: args.seed,
        candidates: args.candidates.into(),
        faults: args.faults.clone(),
        keep: args.keep.clone(),
    };
    if args.trace {
        let (outcome, text) = trace(&first);
        print!("{}{text}", describe(&first));
        return match outcome.violation {
            Some(violation) => {
                println!("{violation}");
                ExitCode::FAILURE
            }
            None => ExitCode::SUCCESS,
        };
    }
    if let Some(file) = &args.timeline {
        let (_, svg) = timeline(&first);
        let html = file.extension().is_some_and(|extension| extension == "html");
        let text = if html { page(&svg) } else { svg };
        if let Err(error) = std::fs::write(file, text) {
            eprintln!("{} cannot be written: {error}", file.display());
            return ExitCode::FAILURE;
        }
        return ExitCode::SUCCESS;
    }
    run_all(&args, &first)
}

fn run_all(args: &Args, first: &Choice) -> ExitCode {
    let began = Instant::now();
    let mut total = Tally::default();
    let failed = (args.seed..args.seed.saturating_add(args.seeds)).try_for_each(|seed| {
        let choice = Choice { seed, ..first.clone() };
        let outcome = run(&choice);
        total.add(&outcome.tally);
        match outcome.violation {
            Some(violation) => ControlFlow::Break((choice, violation)),
            None => ControlFlow::Continue(()),
        }
    });
    let took = began.elapsed();
    if let ControlFlow::Break((choice, violation)) = failed {
        println!("seed {} fails\n{violation}", choice.seed);
        let (shrunk, violation) = shrink(&choice, &violation);
        println!("with as few faults as it takes:\n{violation}\n{}", describe(&shrunk));
        return ExitCode::FAILURE;
    }
    print!("{total}");
    let rate = total.hours() / took.as_secs_f64() * 60.0;
    println!("took {:.1} s: {rate:.0} simulated hours a minute", took.as_secs_f64());
    ExitCode::SUCCESS
}

/// The picture as a page of its own.
fn page(svg: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>incumbent: a simulated run</title>\n\
         <style>:root {{ color-scheme: light dark }} body {{ margin: 1rem }}</style>\n{svg}</html>\n"
    )
}

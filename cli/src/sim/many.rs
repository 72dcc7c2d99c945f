//! Runs of many seeds.

use std::num::NonZeroUsize;
use std::thread;

use incumbent_sim::{Choice, Script, Summary, run_seeds, shrink};

use super::progress::Progress;
use super::{Args, output, seeds};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::line;

pub(super) fn run(args: &Args, first: &Choice, as_json: bool) -> Result<Exit, Failure> {
    let seeds = seeds(args)?;
    let asked = args.jobs.and_then(|jobs| NonZeroUsize::new(jobs.into()));
    let jobs = asked.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let mut progress = Progress::of(seeds.count());
    let Summary { tally, failed } = run_seeds(seeds, first, jobs, |tally| progress.show(tally));
    let took = progress.took();
    progress.clear();
    let exit = if failed.is_some() { Exit::Failure } else { Exit::Done };
    if let Some((choice, violation)) = failed {
        let more = if as_json { true } else { line(output::failure_text(&choice, &violation))? };
        let (shrunk, shorter) = shrink(&choice, &violation);
        let script = Script::of(&shrunk);
        let more = more
            && if as_json {
                line(output::failure_json(&choice, &violation, &shorter, &script))?
            } else {
                line(output::shrunk_text(&shorter, &script))?
            };
        if !more {
            return Ok(exit);
        }
    }
    if as_json {
        line(output::summary_json(seeds, jobs, &tally, took))?;
    } else {
        line(output::summary_text(jobs, &tally, took))?;
    }
    Ok(exit)
}

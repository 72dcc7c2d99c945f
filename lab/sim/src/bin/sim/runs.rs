//! The runs themselves: those of many seeds, or one run in detail.

use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use incumbent_sim::{Choice, Script, Summary, run_seeds, run_traced, shrink};

use super::progress::Progress;
use super::{Args, Failure, line, output, seeds};

/// Runs many seeds, and shrinks the first failure. Returns whether every invariant held.
pub(super) fn many(args: &Args, first: &Choice) -> Result<bool, Failure> {
    let (seeds, as_json) = (seeds(args)?, args.json);
    let asked = args.jobs.and_then(|jobs| NonZeroUsize::new(jobs.into()));
    let jobs = asked.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let mut progress = Progress::of(seeds.count(), as_json);
    let Summary { tally, failed } = run_seeds(seeds, first, jobs, |tally| progress.show(tally));
    let took = progress.took();
    progress.clear();
    let holds = failed.is_none();
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
            return Ok(holds);
        }
    }
    if as_json {
        line(output::summary_json(seeds, jobs, &tally, took))?;
    } else {
        line(output::summary_text(jobs, &tally, took))?;
    }
    Ok(holds)
}

/// Shows one run: everything that happens in it, or a picture of it. Returns whether every invariant held.
pub(super) fn one(args: &Args, choice: &Choice) -> Result<bool, Failure> {
    let as_json = args.json;
    let traced = run_traced(choice, args.trace, args.timeline.is_some());
    let holds = traced.outcome.violation.is_none();
    if let Some(file) = &args.timeline {
        write(file, &traced.picture)?;
    }
    let script = Script::of(choice);
    let mut more = as_json || line(script.to_string().trim_end())?;
    for event in traced.trace.lines() {
        more = more && if as_json { line(output::trace_json(event))? } else { line(event)? };
        if !more {
            return Ok(holds);
        }
    }
    if as_json {
        line(output::run_json(&script, &traced.outcome, args.timeline.as_deref()))?;
    } else if let Some(violation) = traced.outcome.violation.filter(|_| more) {
        line(violation)?;
    }
    Ok(holds)
}

fn write(file: &Path, svg: &str) -> Result<(), Failure> {
    let html = file.extension().is_some_and(|extension| extension == "html");
    let text = if html { page(svg) } else { svg.to_owned() };
    let cannot = |error| Failure::Io(format!("{} cannot be written: {error}", file.display()));
    std::fs::write(file, text).map_err(cannot)
}

/// The picture as a separate page.
fn page(svg: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>incumbent: a simulated run</title>\n\
         <style>:root {{ color-scheme: light dark }} body {{ margin: 1rem }}</style>\n{svg}</html>\n"
    )
}

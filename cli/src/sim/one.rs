//! One run in detail: everything that happens in it, or a picture of it.

use std::path::Path;

use incumbent_sim::{Choice, Script, run_traced};

use super::{Args, output};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::line;

pub(super) fn run(args: &Args, choice: &Choice, as_json: bool) -> Result<Exit, Failure> {
    let traced = run_traced(choice, args.trace, args.timeline.is_some());
    let exit = if traced.outcome.violation.is_some() { Exit::Failure } else { Exit::Done };
    if let Some(file) = &args.timeline {
        write(file, &traced.picture)?;
    }
    let script = Script::of(choice);
    let mut more = as_json || line(script.to_string().trim_end())?;
    for event in traced.trace.lines() {
        more = more && if as_json { line(output::trace_json(event))? } else { line(event)? };
        if !more {
            return Ok(exit);
        }
    }
    if as_json {
        line(output::run_json(&script, &traced.outcome, args.timeline.as_deref()))?;
    } else if let Some(violation) = traced.outcome.violation.filter(|_| more) {
        line(violation)?;
    }
    Ok(exit)
}

fn write(file: &Path, svg: &str) -> Result<(), Failure> {
    let html = file.extension().is_some_and(|extension| extension == "html");
    let text = if html { page(svg) } else { svg.to_owned() };
    let cannot = |error| Failure::failed(format!("{} cannot be written: {error}", file.display()));
    std::fs::write(file, text).map_err(cannot)
}

/// The picture as a page of its own.
fn page(svg: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>incumbent: a simulated run</title>\n\
         <style>:root {{ color-scheme: light dark }} body {{ margin: 1rem }}</style>\n{svg}</html>\n"
    )
}

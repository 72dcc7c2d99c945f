//! `cargo xtask hunt`: runs fresh seeds until the time is over, and files the runs that fail.
//!
//! ```text
//!   args ── the command line
//!   memory ── the allocator
//!   progress ── how far the hunt is, and what it finds meanwhile
//!   main ── the hunt, its files and its summary
//! ```

mod args;
mod memory;
mod progress;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use incumbent_sim::hunt::{Red, Report, hunt};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use args::{Args, Asked};
use progress::{Progress, again};

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

/// The exit codes other than success: a run failed, or the hunt could not be made.
const FOUND: u8 = 1;
const NOT_MADE: u8 = 2;

/// The exit code of a program ended by SIGINT.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let args = match args::parse(std::env::args().skip(1)) {
        Ok(Asked::Hunt(args)) => args,
        Ok(Asked::Help) => {
            return match print(args::HELP) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::from(NOT_MADE),
            };
        }
        Err(error) => {
            eprintln!("error: {error}\n\nSee `cargo xtask hunt --help`.");
            return ExitCode::from(NOT_MADE);
        }
    };
    match go(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FOUND),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(NOT_MADE)
        }
    }
}

/// Returns whether nothing was found.
fn go(args: &Args) -> Result<bool, String> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The first signal ends the hunt with its summary, and the second ends the program.
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|error| format!("cannot handle signal {signal}: {error}"))?;
    }
    // A run that panics is a finding, and the finding prints the message.
    let print_panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().name() == Some("main") {
            print_panic(panic);
        }
    }));
    eprintln!("{args}");
    let mut progress = Progress::new(args, Arc::clone(&interrupted));
    let report = hunt(&args.wanted, args.limits, args.jobs, &mut progress);
    drop(progress);
    let filed = args.red.as_deref().map_or(Ok(Vec::new()), |folder| file(folder, &report))?;
    let printed = if args.json { print(&(report.json() + "\n")) } else { print(&text(&report, &filed)) };
    printed.map_err(|error| format!("cannot print the summary: {error}"))?;
    Ok(report.findings.is_empty())
}

/// Writes a file for each shrunk finding. Returns one line for each.
fn file(folder: &Path, report: &Report) -> Result<Vec<String>, String> {
    let mut filed = Vec::new();
    for finding in report.findings.iter().filter(|finding| finding.shrunk.is_some()) {
        let red = Red::of(finding);
        let file = folder.join(red.file_name());
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, red.to_string()))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        filed.push(file.display().to_string());
    }
    Ok(filed)
}

fn text(report: &Report, filed: &[String]) -> String {
    let mut text = report.to_string();
    let shrunk = report.findings.iter().filter(|finding| finding.shrunk.is_some());
    for finding in shrunk {
        let (choice, violation) = finding.shortest();
        text += &format!(
            "\nseed {} on {}, shrunk: {violation}\n  {}\n",
            choice.seed,
            choice.store.name(),
            again(choice)
        );
    }
    let left = report.findings.iter().filter(|finding| finding.shrunk.is_none()).count();
    if left > 0 {
        text += &format!(
            "\n{left} more runs that failed by the same invariants are printed above but not shrunk.\n"
        );
    }
    for file in filed {
        text += &format!("filed: {file}\n");
    }
    text
}

fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

//! `incumbent-applications`: one election in each of several frameworks, on real nats-servers, under one schedule of
//! faults.
//!
//! - [`application`]: the frameworks, and the commands that start their programs;
//! - [`trial`]: the schedule, and what has to be true of every application;
//! - [`work`]: the lines that a program writes while it is at work, and the check that no two were at work at once.
//!
//! The programs are in `python`, `node` and `spring`, one small file for each framework, written as the documentation
//! recommends. They share nothing but the form of a line.
#![cfg(unix)]
#![allow(clippy::panic, reason = "a trial that fails ends its thread")]

mod application;
mod trial;
mod work;

use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::json;

use application::{ALL, Application};
use trial::Figures;

/// Runs applications under faults, some at a time: three processes of each, a server that is away, a leader that is
/// killed, one that is stopped and continued, and SIGTERM to all. Fails if two were ever at work at once, if work
/// began again later than `incumbent doctor` promises, or if a process did not end by itself.
#[derive(Debug, Parser)]
#[command(name = "incumbent-applications", version)]
struct Cli {
    /// The applications; without any, all whose language is given
    names: Vec<String>,
    /// The command line `incumbent`
    #[arg(long, value_name = "FILE", required_unless_present = "list")]
    cli: Option<PathBuf>,
    /// A virtual environment with the Python package and the frameworks
    #[arg(long, value_name = "FOLDER")]
    python: Option<PathBuf>,
    /// A copy of `node` with the npm package and the frameworks installed
    #[arg(long, value_name = "FOLDER")]
    node: Option<PathBuf>,
    /// A folder with a class path for each release of Spring Boot, `3.5` and `4.0`
    #[arg(long, value_name = "FOLDER")]
    spring: Option<PathBuf>,
    /// The number of applications at a time: more of them disturb each other, and times are measured
    #[arg(long, value_name = "N", default_value_t = 4)]
    at_once: usize,
    /// Print one JSON object for each application
    #[arg(long)]
    json: bool,
    /// List the applications
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns true if every application has passed.
fn run(cli: &Cli) -> Result<bool> {
    if let Some(unknown) = cli.names.iter().find(|name| ALL.iter().all(|one| one.name != **name)) {
        anyhow::bail!("there is no application {unknown}; --list lists them");
    }
    let is_chosen = |one: &&Application| {
        if cli.names.is_empty() {
            cli.home(one).is_some()
        } else {
            cli.names.iter().any(|name| name == one.name)
        }
    };
    let chosen: Vec<_> = ALL.iter().filter(is_chosen).collect();
    if cli.list {
        ALL.iter().for_each(|one| println!("{}", one.name));
        return Ok(true);
    }
    ensure!(!chosen.is_empty(), "no application is chosen: give --python, --node or --spring");
    let program = cli.cli.as_ref().context("give --cli")?;
    // Raises the priority, because times are measured and servers and applications must not wait for a compiler. Only
    // the superuser may do that; for others it fails.
    let _ = rustix::process::nice(-10);
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..cli.at_once.max(1) {
            scope.spawn(|| {
                while let Some(one) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let trial = catch_unwind(|| trial::run(one, program, cli.home(one)));
                    let outcome = trial.unwrap_or_else(|_| Err(anyhow::anyhow!("see its panic above")));
                    report(one, &outcome, cli.json);
                    failed.fetch_add(usize::from(outcome.is_err()), Ordering::Relaxed);
                }
            });
        }
    });
    Ok(failed.into_inner() == 0)
}

impl Cli {
    /// The folder of the application's language, if the command line gives it.
    fn home(&self, application: &Application) -> Option<&PathBuf> {
        match application.language {
            application::Language::Python => self.python.as_ref(),
            application::Language::Node => self.node.as_ref(),
            application::Language::Spring => self.spring.as_ref(),
        }
    }
}

fn report(application: &Application, outcome: &Result<Figures>, as_json: bool) {
    let name = application.name;
    match (outcome, as_json) {
        (Ok(figures), true) => {
            println!("{}", json!({ "name": name, "seconds": figures.whole.as_secs_f64() }));
        }
        (Ok(figures), false) => println!("{name}: {figures}"),
        (Err(error), true) => println!("{}", json!({ "name": name, "error": format!("{error:#}") })),
        (Err(error), false) => println!("{name} failed: {error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_applications_are_listed_without_the_command_line() {
        assert!(Cli::try_parse_from(["incumbent-applications", "--list"]).is_ok_and(|cli| cli.list));
        assert!(Cli::try_parse_from(["incumbent-applications"]).is_err());
    }
}
